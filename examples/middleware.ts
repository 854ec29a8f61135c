// A middleware is an onion round one call: this one runs a failed call again, and tells readers so.
import { defineLoop, defineRig, defineTool, type ToolMiddleware } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

/** Runs a call again that threw, at most `times` times, and never after its signal was aborted. */
function retry(times: number): ToolMiddleware {
  return async (call, next) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await next();
      } catch (error) {
        if (attempt > times || call.signal.aborted) throw error;
        call.progress({ retrying: attempt });
      }
    }
  };
}

let attempts = 0;
const weather = defineTool({
  name: 'weather',
  description: 'The weather of a city.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => {
    attempts += 1;
    if (attempts < 3) throw new Error('the service is busy');
    return `${city}: 21 °C`;
  },
});

const guide = defineLoop({
  name: 'guide',
  model: scriptedModel([
    { calls: [{ tool: 'weather', input: { city: 'Lisbon' } }] },
    { text: 'It is 21 °C in Lisbon.' },
  ]),
  tools: [weather],
  middlewares: [retry(3)], // the first of the list is outermost
});

await using session = await defineRig({ loops: [guide] }).open();
const turn = session.submit('How warm is it in Lisbon?');
for await (const event of turn) {
  if (event.type === 'tool.progress') console.log('progress', JSON.stringify(event.update));
  if (event.type === 'tool.completed') console.log(event.toolName, event.outcome, `after ${attempts} attempts`);
}
const result = await turn.result;
console.log(result.text, `(${result.calls} call)`);
