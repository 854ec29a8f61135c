// A model that never stops asking for tools: the turn ends at its limit, failed or with one closing answer.
import { defineLoop, defineRig, defineTool, ToolLimitError } from 'looprig';
import { forever, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

let runs = 0;
const search = defineTool({
  name: 'search',
  description: 'Looks something up.',
  input: z.object({ page: z.number() }),
  execute: ({ page }) => {
    runs += 1;
    return `page ${page}: nothing yet`;
  },
});

// Asks for the next two pages each time, unless it is told that it may not (`toolChoice: none`).
const runaway = () =>
  scriptedModel(
    forever(({ toolChoice }, index) => {
      if (toolChoice?.type === 'none') return { text: 'I found nothing in the pages that I could read.' };
      return { calls: [0, 1].map(n => ({ tool: 'search', input: { page: 2 * index + n } })) };
    }),
  );

const limits = { iterations: 10, calls: 7 };
const strict = defineLoop({ name: 'strict', model: runaway(), tools: [search], limits });
const polite = defineLoop({ name: 'polite', model: runaway(), tools: [search], limits, atLimit: 'answer' });
const rig = defineRig({ loops: [strict, polite] });

await using first = await rig.open({ loop: 'strict' });
const failed = await first.submit('Find it.').result;
if (failed.status === 'failed' && ToolLimitError.is(failed.error)) {
  const { limit, calls, maxCalls } = failed.error;
  console.log(`${failed.status}: ${limit}, ${calls} asked for, ${maxCalls} allowed, ${runs} run`);
}

await using second = await rig.open({ loop: 'polite' });
const answered = await second.run('Find it.');
console.log(`${answered.status} (limited by ${answered.limited?.limit}): ${answered.text}`);
