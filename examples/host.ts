// One process asks, another runs the turns: what is asked waits in the session's mailbox, what happens stands in its journal.
import { defineLoop, defineRig, defineTool, isTerminal, memoryStore } from 'looprig';
import { createHost, localEngine } from 'looprig/engines';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount to a person.',
  input: z.object({ to: z.string(), euros: z.number() }),
  create: () => ({
    access: ({ to, euros }) => [{ action: 'pay', target: `${to}: ${euros} EUR` }],
    execute: ({ to, euros }) => `paid ${euros} EUR to ${to}`,
  }),
});

// Here both are in one process, and share its memory. Elsewhere: a PostgreSQL store, and an engine that workers serve.
const store = memoryStore();
const engine = localEngine();
const model = scriptedModel([{ calls: [{ tool: 'pay', input: { to: 'Ada', euros: 500 } }] }, { text: 'It is paid.' }]);
const rigOf = () =>
  defineRig({ loops: [defineLoop({ name: 'clerk', model, tools: [pay] })], store, gate: { ask: true } });

await using web = createHost({ rig: rigOf(), engine });
await using worker = createHost({ rig: rigOf(), engine, keepMs: 0 });
await worker.serve();

const sessionId = await web.begin();
const { turnId } = await web.submit(sessionId, 'Pay Ada what we owe her.', { idempotencyKey: 'order-7' });
for await (const event of web.events(sessionId)) {
  if (event.type === 'gate.opened') {
    console.log(`asks: ${event.requests[0]?.target}`); // the turn has left the worker's memory, or is about to
    await web.answer(sessionId, event.gateId, { decision: 'edit', input: { to: 'Ada', euros: 50 } });
  }
  if (event.type === 'tool.completed' && event.output.type === 'text') console.log(event.output.value.split('\n')[0]);
  if (isTerminal(event)) break;
}
const again = await web.submit(sessionId, 'Pay Ada what we owe her.', { idempotencyKey: 'order-7' });
console.log(`asked again: ${again.turnId === turnId ? 'the same turn' : 'another turn'}, new: ${again.isNew}`);
