/** What becomes of a session, and of those that wait for its end, where its tools will not end. */
import { defineLoop, defineRig, defineTool, delegate, memoryStore } from 'looprig';
import { createHost, localEngine } from 'looprig/engines';
import { forever, manualClock, scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';

/** A tool whose disposer never settles, or throws. */
const toolWith = (disposer: () => Promise<void>) =>
  defineTool({
    ...{ name: 'stubborn', description: 'Does not end.', input: { type: 'object' } },
    create: () => ({ execute: () => 'done', [Symbol.asyncDispose]: disposer }),
  });
const hangs = () => new Promise<void>(() => {});
const throws = () => Promise.reject(new Error('no'));

it('a session whose tool never ends is closed after 10 seconds, and says so', async () => {
  const clock = manualClock();
  const loop = defineLoop({ name: 'clerk', model: scriptedModel([{ text: 'Yes.' }]), tools: [toolWith(hangs)] });
  const session = await defineRig({ loops: [loop], clock }).open();
  const result = await session.run('Hi');
  expect(result.text).toBe('Yes.');
  const closed = session.close().catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(await closed).toMatchObject({ name: 'AggregateError', errors: [{ name: 'BindError', kind: 'left_behind' }] });
});

it.each([
  ['never settles', hangs],
  ['throws', throws],
])('the answer of a delegate is not lost by a disposer of its that %s', async (_how, disposer) => {
  const clock = manualClock();
  const tools = [toolWith(disposer)];
  const child = defineLoop({ name: 'child', model: scriptedModel([{ text: 'found' }]), tools });
  const model = scriptedModel([{ calls: [{ tool: 'child', input: { task: 'look' } }] }, { text: 'all' }]);
  const parent = defineLoop({ name: 'parent', model, tools: [delegate(child, { description: 'Looks.' })] });
  await using session = await defineRig({ loops: [parent], clock }).open();
  const result = await clock.runUntil(session.submit('Go.').result);
  expect(result).toMatchObject({ status: 'done', text: 'all' });
  expect(JSON.stringify(session.history)).toContain('"value":"found"');
});

it('a host whose session has a tool that never ends runs its next turn, and is closed', async () => {
  const clock = manualClock();
  const store = memoryStore();
  const model = scriptedModel(forever(() => ({ text: 'Yes.' })));
  const loop = defineLoop({ name: 'clerk', model, tools: [toolWith(hangs)] });
  const host = createHost({
    rig: defineRig({ loops: [loop], store, clock }),
    engine: localEngine({ clock }),
    keepMs: 0,
  });
  await host.serve();
  const sessionId = await host.begin();
  for (const input of ['One', 'Two']) {
    const { turnId } = await host.submit(sessionId, input);
    await clock.runUntil(
      (async () => {
        for await (const event of host.events(sessionId))
          if (event.type === 'turn.done' && event.turnId === turnId) return;
      })(),
    );
  }
  await clock.runUntil(host.close());
  expect((await store.find(sessionId))?.lastSeq).toBeGreaterThan(0);
});
