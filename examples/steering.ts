// While a turn runs: a word to it (steer), the next input behind it (queue), and its end before its time (interrupt).
import { defineLoop, defineRig } from 'looprig';
import { assertPaired, scriptedModel, scriptedTool } from 'looprig/testing';

const dig = scriptedTool('dig', { sleepMs: 60_000 }); // heeds its signal, as a good tool does
const look = scriptedTool('look', { sleepMs: 20, returns: 'a chest' });
const model = scriptedModel([
  { calls: [{ tool: 'look' }] },
  { text: 'A chest; I left it shut, as you said.' },
  { text: 'Two more rooms.' },
  { calls: [{ tool: 'dig' }, { tool: 'dig' }] },
]);
const digger = defineLoop({
  name: 'digger',
  model,
  tools: [dig.definition, look.definition],
  limits: { parallel: 1 },
});

await using session = await defineRig({ loops: [digger] }).open();

const first = session.submit('What is in the room?');
const second = session.submit('And what else is there?'); // waits for the first
for await (const event of first) {
  if (event.type !== 'tool.started') continue;
  const steered = await session.steer('Leave everything shut.'); // goes in before the next model call
  console.log('steered:', steered.kind);
}
console.log('first:', (await first.result).text);
console.log('second:', (await second.result).text);

const third = session.submit('Dig here.');
for await (const event of third) if (event.type === 'tool.started') third.interrupt('it is getting dark');
const result = await third.result;
console.log('third:', result.status, result.status === 'interrupted' ? `because ${result.reason}` : '');

assertPaired(session.history); // every call has its one result, also those that did not run
for (const part of session.history.at(-1)?.content ?? []) {
  if (typeof part === 'object' && part.type === 'tool-result' && part.output.type === 'error-text') {
    console.log('-', part.output.value);
  }
}
