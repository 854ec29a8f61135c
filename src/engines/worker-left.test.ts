/** What a worker still knows of a turn that it has left because it waits for a person. */
import { defineLoop, defineRig, defineTool, memoryStore } from 'looprig';
import { manualClock, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { Feeds } from './feed.ts';
import { watchOf } from './watch.ts';
import { Worker } from './worker.ts';

const tool = defineTool({
  name: 'write',
  description: 'Writes.',
  input: { type: 'object' },
  create: () => ({ access: () => [{ action: 'write', target: 'x' }], execute: () => 'ok' }),
});

/** A worker that has left a turn at its gate. */
async function bench(isOneOfSeveral: boolean) {
  const clock = manualClock();
  const store = memoryStore();
  const mailbox = store.mailbox!;
  const model = scriptedModel([{ calls: [{ tool: 'write' }] }]);
  const rig = defineRig({
    loops: [defineLoop({ name: 'clerk', model, tools: [tool] })],
    store,
    clock,
    gate: { ask: true },
  });
  const watch = watchOf(store, mailbox, clock);
  const keeping = { gateTimeoutMs: rig.gateTimeoutMs, keepMs: 0, keepSessions: 100 };
  const parts = { mailbox, watch, clock, ...keeping, onRefusal: () => {}, isOneOfSeveral };
  const open: typeof rig.open = options => rig.open(options);
  const feeds = new Feeds({ store, watch, clock, onError: () => {} });
  const worker = new Worker({ open, store, clock }, parts, feeds, async () => {});
  const sessionId = await rig.begin();
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Write.' }] };
  const content = { type: 'submit' as const, turnId: 'turn', message };
  await mailbox.post(sessionId, { mailId: 'turn', at: 0, content });
  const run = () => worker.run({ sessionId, turnId: 'turn' }, { cancelled: new AbortController().signal });
  expect((await run()).status).toBe('waiting');
  return { worker, store, sessionId, run };
}

it('is where its journal ended, until the session is gone', async () => {
  const { worker, store, sessionId, run } = await bench(true);
  expect(worker.left).toBe(1);
  await store.delete(sessionId, (await store.find(sessionId))!.lastSeq);
  expect(await run()).toEqual({ status: 'done' });
  expect(worker.left).toBe(0);
});

it('is nothing where its engine may have it go on in any process', async () => {
  const { worker } = await bench(false);
  expect(worker.left).toBe(0);
});
