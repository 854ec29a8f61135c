/** A store that fails, at whichever append: the turn says so, nothing ran that was not written, and the session can be opened again. */
import {
  defineLoop,
  defineRig,
  JournalConflictError,
  JournalError,
  type JournalRecord,
  type LoopDefinition,
  type Session,
  type TurnResult,
} from 'looprig';
import {
  assertPaired,
  collect,
  forever,
  type ManualClock,
  manualClock,
  type ScriptedReply,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { DISK_FULL, type Fault, type WatchedStore, watchedStore } from './support/watched-store.ts';

const replies: readonly ScriptedReply[] = [
  { text: 'I look.', calls: [{ tool: 'a' }, { tool: 'slow' }, { tool: 'gated' }, { tool: 'ghost' }] },
  { error: Object.assign(new Error('busy'), { isRetryable: true }) },
  { text: 'And again.', calls: [{ tool: 'a' }, { tool: 'slow' }, { tool: 'slow' }] },
  { text: 'done' },
];

interface Bench {
  readonly loop: LoopDefinition;
  readonly store: WatchedStore;
  readonly clock: ManualClock;
  /** Every run of a tool, with what the store held when it began. */
  readonly runs: readonly { readonly callId: string; readonly written: readonly JournalRecord[] }[];
  open(sessionId?: string): Promise<Session>;
}

/** A loop with tools that look at the store when they run. */
function bench(slowStore = false, script: readonly ScriptedReply[] = replies): Bench {
  const store = watchedStore({ slow: slowStore });
  const clock = manualClock();
  const runs: { callId: string; written: readonly JournalRecord[] }[] = [];
  const tool = (name: string, options: object) =>
    scriptedTool(name, {
      clock,
      returns: (_, call) => {
        runs.push({ callId: call.callId, written: store.records });
        return `${name} result`;
      },
      ...options,
    }).definition;
  const tools = [
    tool('a', {}),
    tool('slow', { sleepMs: 50, resource: () => 'k' }),
    tool('gated', { access: () => [{ action: 'act', target: 'x' }] }),
  ];
  let asked = 0;
  const model = scriptedModel(
    forever(() => script[asked++] ?? { text: 'fine' }),
    { clock },
  );
  const loop = defineLoop({ name: 'bench', model, tools, limits: { parallel: 2 } });
  const gate = { rules: [{ action: 'act', decision: 'allow' as const }] };
  const rig = defineRig({ loops: [loop], store, clock, gate });
  return { loop, store, clock, runs, open: sessionId => rig.open(sessionId === undefined ? {} : { sessionId }) };
}

function expectJournalError(result: TurnResult): void {
  expect(result.status).toBe('failed');
  const error = result.status === 'failed' ? result.error : undefined;
  expect(JournalError.is(error)).toBe(true);
  expect(error).toMatchObject({ name: 'JournalError', kind: 'store_failed' });
  expect(error?.message).toContain(DISK_FULL);
  expect(error?.cause).toMatchObject({ message: DISK_FULL });
}

/** What the session's journal says of its turns: each begun one ends once. */
async function expectWholeJournal(store: WatchedStore, sessionId: string): Promise<void> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  const begun = records.flatMap(record => (record.type === 'turn.started' ? [record.turnId] : []));
  const ended = records.flatMap(record =>
    /^turn\.(done|failed|interrupted)$/.test(record.type) && 'turnId' in record ? [record.turnId] : [],
  );
  expect(ended).toEqual(begun);
}

describe.each<Fault>(['throws', 'rejects', 'writes and rejects'])('a store whose n-th append %s', fault => {
  it.each([false, true])(
    'fails the turn with JournalError, runs nothing whose start was not written, and the session opens again (slow store: %s)',
    async slow => {
      const whole = bench(slow);
      const untroubled = await whole.open();
      expect(await whole.clock.runUntil(untroubled.submit('go').result)).toMatchObject({
        status: 'done',
        text: 'done',
        calls: 7,
      });
      const appends = whole.store.appends.length - 1; // the first opened the session
      expect(appends).toBeGreaterThan(8);

      for (let nth = 1; nth <= appends; nth++) {
        const { store, clock, runs, open } = bench(slow);
        const session = await open();
        store.failAt(nth, fault);
        const turn = session.submit('go');
        const { events, result } = await clock.runUntil(collect(turn), { maxMs: 100_000 });
        expectJournalError(result);
        expect(events.at(-1), `append ${nth}`).toMatchObject({ type: 'turn.failed', error: { name: 'JournalError' } });
        expect(events.filter(({ type }) => /^turn\.(done|failed|interrupted)$/.test(type))).toHaveLength(1);
        for (const { callId, written } of runs) {
          const isStarted = written.some(record => record.type === 'tool.started' && record.callId === callId);
          expect(isStarted, `append ${nth}: ${callId} ran`).toBe(true);
        }
        const ran = runs.length;
        const attempts = store.attempts;
        await clock.advance(10_000);
        expect(runs, `append ${nth}: nothing runs afterwards`).toHaveLength(ran);
        expect(store.attempts, `append ${nth}: nothing is appended afterwards`).toBe(attempts);
        expect(() => session.submit('more')).toThrow(JournalError);
        await clock.runUntil(session.close());

        store.failAt(undefined);
        const again = await open(session.id);
        assertPaired(again.history);
        expect(await clock.runUntil(again.submit('and now?').result), `append ${nth}`).toMatchObject({
          status: 'done',
        });
        assertPaired(again.history);
        await clock.runUntil(again.close());
        await expectWholeJournal(store, session.id);
      }
    },
    60_000,
  );
});

describe('a store that fails while', () => {
  it('the session is opened refuses to open it, and disposes the tools', async () => {
    const { store, open } = bench();
    store.failAt(1);
    await expect(open()).rejects.toThrow(DISK_FULL);
    store.failAt(undefined);
    expect((await open()).history).toEqual([]);
  });

  it('turns are queued fails them too, each with its own result', async () => {
    const { store, clock, open } = bench();
    const session = await open();
    const turns = ['one', 'two', 'three'].map(input => session.submit(input));
    store.failAt(3);
    for (const turn of turns) {
      const { events, result } = await clock.runUntil(collect(turn));
      expectJournalError(result);
      expect(events.at(-1)?.type).toBe('turn.failed');
    }
  });

  it('an input is steered refuses it, or makes its turn fail: it is not lost in silence', async () => {
    const { store, clock, open } = bench();
    const session = await open();
    const turn = session.submit('go');
    await clock.advance(10);
    store.failAt(1);
    const steered = await session.steer('more').then(
      () => 'taken',
      error => JournalError.is(error) && 'refused',
    );
    expect(steered).toBe('refused');
    expectJournalError(await clock.runUntil(turn.result));
  });

  it('the mode changes, or a gate is answered, rejects that', async () => {
    const clock = manualClock();
    const store = watchedStore();
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const model = scriptedModel(forever({ calls: [{ tool: 'gated' }] }));
    const loop = defineLoop({ name: 'l', model, tools: [gated.definition], modes: { a: {}, b: {} }, initialMode: 'a' });
    const session = await defineRig({ loops: [loop], store, clock, gate: { ask: true } }).open();
    const turn = session.submit('go');
    for await (const event of turn) {
      if (event.type !== 'gate.opened') continue;
      store.failAt(1);
      await expect(session.answer(event.gateId, { decision: 'approve' })).rejects.toBeInstanceOf(JournalError);
      break;
    }
    expectJournalError(await clock.runUntil(turn.result));
    expect(gated.count).toBe(0);
    await expect(session.setMode('b')).rejects.toBeInstanceOf(JournalError);
  });

  it('tools run lets the running ones end, or be told to stop: none is left without its signal', async () => {
    const clock = manualClock();
    const store = watchedStore();
    const slow = scriptedTool('slow', { sleepMs: 60_000, clock });
    const quick = scriptedTool('quick', { sleepMs: 10, clock });
    const model = scriptedModel([{ calls: [{ tool: 'slow' }, { tool: 'quick' }, { tool: 'quick' }] }]);
    const loop = defineLoop({ name: 'l', model, tools: [slow.definition, quick.definition], limits: { parallel: 2 } });
    const session = await defineRig({ loops: [loop], store, clock }).open();
    const turn = session.submit('go');
    await clock.advance(5);
    store.failAt(1);
    expectJournalError(await clock.runUntil(turn.result));
    expect(quick.count).toBe(1);
    await clock.advance(0);
    expect(slow.runs[0]?.aborted).toBe(true);
  });
});

describe('two writers on one session', () => {
  it('the stale one is refused with JournalConflictError, runs nothing, and nothing is lost or doubled', async () => {
    const { store, clock, runs, open } = bench(false, [{ text: 'one' }, { text: 'two' }, { calls: [{ tool: 'a' }] }]);
    const first = await open();
    await clock.runUntil(first.submit('from the first').result);
    const second = await open(first.id);
    expect(await clock.runUntil(second.submit('from the second').result)).toMatchObject({
      status: 'done',
      text: 'two',
    });
    const { events, result } = await clock.runUntil(collect(first.submit('from the stale one')));
    const error = result.status === 'failed' ? result.error : undefined;
    expect(JournalConflictError.is(error)).toBe(true);
    expect(error).toMatchObject({ kind: 'conflict', sessionId: first.id });
    expect(events).toMatchObject([{ type: 'turn.failed', error: { name: 'JournalConflictError', kind: 'conflict' } }]);
    expect(runs).toEqual([]);
    expect(() => first.submit('again')).toThrow(JournalConflictError);
    expect(await clock.runUntil(second.submit('still here').result)).toMatchObject({ status: 'done' });
    await expectWholeJournal(store, first.id);
    const text = JSON.stringify(store.records);
    expect(text).not.toContain('from the stale one');
    expect(text.split('from the second')).toHaveLength(2);
  });

  it('the one that becomes stale in the middle of a turn runs no further call', async () => {
    const { store, clock, runs, open } = bench(false, [
      { calls: [{ tool: 'slow' }, { tool: 'slow' }, { tool: 'slow' }] },
    ]);
    const first = await open();
    const turn = first.submit('go');
    await clock.advance(10);
    const second = await open(first.id);
    const next = second.submit('and now?'); // ends the turn that seems to have been cut short
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'failed', error: { kind: 'conflict' } });
    expect(runs).toHaveLength(1);
    expect(await clock.runUntil(next.result)).toMatchObject({ status: 'done' });
    assertPaired(second.history);
    await expectWholeJournal(store, first.id);
  });
});
