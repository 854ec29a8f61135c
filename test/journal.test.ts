/** What is written when, what happens when it cannot be written, and who may write. */
import { defineLoop, defineRig, defineTool, type JournalRecord, memoryStore } from 'looprig';
import { assertPaired, forever, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { watchedStore } from './support/watched-store.ts';

const step: ScriptedReply = { calls: [{ tool: 't', input: { n: 1 } }] };

it('a step of one call is two appends: response and start, result and commit', async () => {
  const store = watchedStore();
  const tool = scriptedTool('t', { returns: 'x' });
  const loop = defineLoop({
    name: 'l',
    model: scriptedModel([step, step, { text: 'done' }]),
    tools: [tool.definition],
  });
  const session = await defineRig({ loops: [loop], store }).open();
  await session.run('go');
  expect(store.appends.map(records => records.map(({ type }) => type))).toEqual([
    ['session.opened'],
    ['turn.started', 'step.started'],
    ['step.responded', 'tool.called', 'tool.started'],
    ['tool.completed', 'step.done', 'step.started'],
    ['step.responded', 'tool.called', 'tool.started'],
    ['tool.completed', 'step.done', 'step.started'],
    ['step.responded', 'step.done', 'turn.done'],
  ]);
});

it('what is written of a step does not grow with the steps before it', async () => {
  const store = watchedStore();
  const tool = scriptedTool('t', { returns: 'x' });
  const replies = Array.from(
    { length: 60 },
    (_, n): ScriptedReply => ({ calls: [{ tool: 't', input: { n: n + 100 } }] }),
  );
  const model = scriptedModel([...replies, { text: 'done' }]);
  const loop = defineLoop({ name: 'l', model, tools: [tool.definition], limits: { iterations: 100, calls: 1_000 } });
  await (await defineRig({ loops: [loop], store, clock: manualClock() }).open()).run('go');
  const bytes = new Map<string, number>();
  for (const record of store.records) {
    if (!('stepId' in record)) continue;
    bytes.set(record.stepId, (bytes.get(record.stepId) ?? 0) + JSON.stringify(record).length);
  }
  const sizes = [...bytes.values()].slice(20, 60); // ids and numbers of the same length
  expect(Math.max(...sizes) - Math.min(...sizes)).toBe(0);
});

it('no call runs before its response, its announcement and its own start are in the store', async () => {
  const store = watchedStore();
  const seen: JournalRecord['type'][][] = [];
  const tool = scriptedTool('t', (_, { callId }) => {
    seen.push(
      store.records.filter(record => !('callId' in record) || record.callId === callId).map(record => record.type),
    );
    return 'x';
  });
  const calls = [1, 2, 3].map(n => ({ tool: 't', input: { n } }));
  const model = scriptedModel([{ calls }, { text: 'done' }]);
  const loop = defineLoop({ name: 'l', model, tools: [tool.definition], limits: { parallel: 1 } });
  await (await defineRig({ loops: [loop], store }).open()).run('go');
  expect(seen).toHaveLength(3);
  for (const types of seen) expect(types.slice(-3)).toEqual(['step.responded', 'tool.called', 'tool.started']);
});

describe('a store that fails', () => {
  const appendsOfTheTurn = Array.from({ length: 8 }, (_, index) => index + 2);

  it.each(appendsOfTheTurn)(
    'at append %i ends the turn failed, runs nothing unrecorded, and leaves a history that works',
    async failAt => {
      const store = watchedStore();
      store.failAt(failAt, 'throws');
      const tool = scriptedTool('t', { returns: 'x' });
      const both: ScriptedReply = {
        calls: [
          { tool: 't', input: { n: 1 } },
          { tool: 't', input: { n: 2 } },
        ],
      };
      const model = scriptedModel([both, step, step, { text: 'done' }, { text: 'again' }, { text: 'again' }]);
      const loop = defineLoop({ name: 'l', model, tools: [tool.definition], limits: { parallel: 1 } });
      const rig = defineRig({ loops: [loop], store });
      const session = await rig.open();
      const turn = session.submit('go');
      const events: string[] = [];
      for await (const event of turn) events.push(event.type);
      const result = await turn.result;
      expect(result).toMatchObject({ status: 'failed', error: { name: 'JournalError', kind: 'store_failed' } });
      expect(events.filter(type => /^turn\.(done|failed|interrupted)$/.test(type))).toEqual(['turn.failed']);
      const started = new Set(store.records.flatMap(record => (record.type === 'tool.started' ? [record.callId] : [])));
      expect(tool.runs.every(run => started.has(run.callId))).toBe(true);
      assertPaired(session.history);
      expect(() => session.submit('more')).toThrow('could not be written: no space left on the device');
      await session.close();
      store.failAt(undefined);
      const again = await rig.open({ sessionId: session.id });
      assertPaired(again.history);
      await again.run('more');
      assertPaired(again.history);
      expect(new Set(tool.runs.map(run => run.callId)).size).toBe(tool.count);
    },
  );
});

it('of two sessions that write one journal the stale one is refused, and nothing of it is mixed in', async () => {
  const store = memoryStore();
  const loop = defineLoop({ name: 'l', model: scriptedModel(forever({ text: 'hello' })) });
  const rig = defineRig({ loops: [loop], store });
  const first = await rig.open();
  await first.run('one');
  const second = await rig.open({ sessionId: first.id });
  await second.run('two');
  expect(await first.submit('three').result).toMatchObject({
    status: 'failed',
    error: { kind: 'conflict', sessionId: first.id },
  });
  await second.run('four');
  const said = second.history.flatMap(message => (message.role === 'user' ? message.content : []));
  expect(said.map(part => part.type === 'text' && part.text)).toEqual(['one', 'two', 'four']);
  const restored = await rig.open({ sessionId: first.id });
  expect(restored.history).toEqual(second.history);
});

it('a session that cannot be written when it is opened leaves no tools behind, and opening one again writes nothing', async () => {
  const disposed: string[] = [];
  const hangs = defineTool({
    name: 't',
    description: 'Hangs.',
    input: { type: 'object' },
    create: ({ sessionId }) => ({
      execute: () => new Promise<string>(() => {}),
      [Symbol.dispose]: () => void disposed.push(sessionId),
    }),
  });
  const store = watchedStore();
  const loop = defineLoop({ name: 'l', model: scriptedModel([step]), tools: [hangs] });
  const rig = defineRig({ loops: [loop], store, clock: manualClock() });
  const lost = await rig.open();
  for await (const event of lost.submit('go')) if (event.type === 'tool.started') break;
  store.failAt(1);
  await expect(rig.open()).rejects.toMatchObject({ name: 'JournalError', kind: 'store_failed' });
  expect(disposed).toEqual([expect.any(String)]);
  const written = store.records.length;
  expect((await rig.open({ sessionId: lost.id })).unfinished).toBeDefined();
  expect(store.records).toHaveLength(written);
});
