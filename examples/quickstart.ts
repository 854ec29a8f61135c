import { defineLoop, defineRig, defineTool } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const stock = defineTool({
  name: 'stock',
  description: 'How many pieces of an article are in stock.',
  input: z.object({ article: z.string() }),
  execute: ({ article }) => ({ article, pieces: article.length }), // your own code here
});

const clerk = defineLoop({
  name: 'clerk',
  // Any AI SDK model: anthropic('…'), openai('…'), google('…'). This one plays a script, so that the example needs no key.
  model: scriptedModel([
    {
      calls: [
        { tool: 'stock', input: { article: 'lamp' } },
        { tool: 'stock', input: { article: 'chair' } },
      ],
    },
    { text: 'There are 4 lamps and 5 chairs.' },
  ]),
  system: 'You answer questions about the stock.',
  tools: [stock],
  limits: { iterations: 10, calls: 20, parallel: 4 },
});

const rig = defineRig({ loops: [clerk] });
const session = await rig.open();
const turn = session.submit('How many lamps and chairs are there?');

for await (const event of turn) {
  if (event.type === 'tool.completed') console.log(event.toolName, event.outcome, `${event.durationMs} ms`);
}
const result = await turn.result;
if (result.status === 'done') console.log(result.text, `(${result.iterations} iteration, ${result.calls} calls)`);
else console.error(result.status);
await session.close();
