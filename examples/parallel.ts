// One batch of five calls, three at a time. The two writes of one file keep their order; the others overtake the one that waits.
import { setTimeout as sleep } from 'node:timers/promises';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

let running = 0;
let most = 0;

const append = defineTool({
  name: 'append',
  description: 'Appends a line to a file.',
  input: z.object({ file: z.string(), line: z.string() }),
  resource: ({ file }) => file, // a bare key writes: calls on one file run one after the other
  async execute({ file, line }) {
    running += 1;
    most = Math.max(most, running);
    await sleep(20);
    running -= 1;
    return `${file}: ${line}`;
  },
});

const calls = [
  { tool: 'append', input: { file: 'a.txt', line: 'first' } },
  { tool: 'append', input: { file: 'a.txt', line: 'second' } },
  { tool: 'append', input: { file: 'b.txt', line: 'only' } },
  { tool: 'append', input: { file: 'c.txt', line: 'only' } },
  { tool: 'append', input: { file: 'd.txt', line: 'only' } },
];
const scribe = defineLoop({
  name: 'scribe',
  model: scriptedModel([{ calls }, { text: 'Written.' }]),
  tools: [append],
  limits: { parallel: 3 },
});

await using session = await defineRig({ loops: [scribe] }).open();
const turn = session.submit('Write the lines.');
const started: string[] = [];
const inputs = new Map<string, string>();
for await (const event of turn) {
  if (event.type === 'tool.called') inputs.set(event.callId, Object.values(event.input as object).join(' '));
  if (event.type === 'tool.started') started.push(inputs.get(event.callId) ?? '');
}
console.log('started:', started.join(', '));
console.log('most at a time:', most);

const answers = session.history.find(message => message.role === 'tool');
const outputs = answers?.content.flatMap(part => (part.type === 'tool-result' ? [part.output] : [])) ?? [];
console.log('answered:', outputs.map(output => (output.type === 'text' ? output.value : output.type)).join(', '));
