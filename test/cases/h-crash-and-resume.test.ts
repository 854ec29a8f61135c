/**
 * Cases of a process that ends in the middle: what it did is known or said to be unknown, and nothing happens twice. A process dies at an
 * append, just before it is written or just after; what it had done by then is done, and nothing of it goes on.
 */
import {
  JournalConflictError,
  JournalError,
  type JournalStore,
  memoryStore,
  type Session,
  type Turn,
  type TurnResult,
} from 'looprig';
import { collect, type ManualClock, manualClock, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { dyingAt, leftBy, openOn, readingOn, recordsOf } from './restart.ts';
import { expectNextTurn, expectSound, expectValidPrompt, type OpenedSession, resultsIn, type SetUp } from './setup.ts';

const UNKNOWN = 'interrupted: the process ended while it ran; it may or may not have taken effect';
const MAYBE = 'interrupted; it may or may not have taken effect';
const NOT_RUN = 'not run: interrupted';

const done: ScriptedReply = { text: 'done' };
const BATCH: ScriptedReply = {
  calls: [
    { tool: 'fast', id: 'c1' },
    { tool: 'slow', id: 'c2' },
  ],
};

interface Play {
  readonly replies: readonly ScriptedReply[];
  readonly idempotent?: boolean;
  readonly gated?: boolean;
}

/** The effects of all processes, and how one is set up. */
function world({ replies, idempotent = false, gated = false }: Play) {
  const effects: string[] = [];
  const setUp = (clock: ManualClock = manualClock()): SetUp => {
    const tool = (name: string, sleepMs: number) =>
      scriptedTool(name, {
        ...{ clock, idempotent },
        ...(gated ? { access: () => [{ action: 'mail.send', target: name }] } : {}),
        returns: async (_input, { callId }) => {
          effects.push(callId);
          await new Promise<void>(resolve => clock.setTimer(resolve, sleepMs));
          return `${name} result`;
        },
      });
    const tools = [tool('fast', 10), tool('slow', 1_000)];
    return { model: readingOn(...replies), tools, clock, rig: gated ? { gate: { ask: true } } : {} };
  };
  return { effects, setUp };
}

/** Approves whatever the turn asks for. */
async function approveAll(session: Session, turn: Turn): Promise<void> {
  for (const { gateId } of session.gates) await session.answer(gateId, { decision: 'approve' });
  for await (const event of turn) {
    if (event.type !== 'gate.opened' || !session.gates.some(({ gateId }) => gateId === event.gateId)) continue;
    await session.answer(event.gateId, { decision: 'approve' });
  }
}

/** Runs a turn in a process that dies at its n-th append. Gives the session's id, or nothing where it was not even opened. */
async function runAndDie(
  store: JournalStore,
  { setUp }: ReturnType<typeof world>,
  nth: number,
  when: 'before' | 'after',
  sessionId?: string,
): Promise<{ readonly how: 'died' | 'settled'; readonly sessionId: string | undefined }> {
  const { store: mortal, died } = dyingAt(store, nth, when);
  let id = sessionId;
  const work = async (): Promise<'settled'> => {
    const { session } = await openOn(mortal, { ...setUp(clock) }, sessionId);
    id = session.id;
    const turn = session.unfinished === undefined ? session.submit('go') : session.resume();
    void approveAll(session, turn);
    await turn.result;
    return 'settled';
  };
  const clock = manualClock();
  const how = await clock.runUntil(Promise.race([work(), died]));
  return { how, sessionId: id };
}

/** Every moment at which a process can die in this play, until one lives on. */
async function* deaths(play: Play) {
  for (let nth = 2; ; nth++) {
    for (const when of ['before', 'after'] as const) {
      const parts = world(play);
      const store = memoryStore();
      const { how, sessionId } = await runAndDie(store, parts, nth, when);
      if (how === 'settled') return;
      yield { nth, when, ...parts, store, sessionId: sessionId!, place: `${when} append ${nth}` };
    }
  }
}

/** What the journal knows of calls: those with a result, and those that have only started. */
async function knownIn(store: JournalStore, sessionId: string) {
  const records = await recordsOf(store, sessionId);
  const ids = (type: 'tool.started' | 'tool.completed'): readonly string[] =>
    records.flatMap(record => (record.type === type ? [record.callId] : []));
  const completed = ids('tool.completed');
  const started = ids('tool.started').filter(callId => !completed.includes(callId));
  const terminal = records.some(({ type }) => ['turn.done', 'turn.failed', 'turn.interrupted'].includes(type));
  const begun = records.some(({ type }) => type === 'turn.started');
  return { completed, started, isOpen: begun && !terminal, begun };
}

async function resumed(opened: OpenedSession): Promise<TurnResult> {
  const { session, clock } = opened;
  const turn = session.resume();
  void approveAll(session, turn);
  const { events, result } = await clock.runUntil(collect(turn));
  expectSound({ ...opened, events });
  return result;
}

const count = (effects: readonly string[], callId: string): number => effects.filter(one => one === callId).length;

describe('a batch that a process leaves in the middle', () => {
  const replies = [BATCH, done];

  it('case 65: keeps the result of the fast call; the slow one is unknown, and neither runs again', async () => {
    const { effects, setUp } = world({ replies });
    const store = memoryStore();
    const first = await openOn(store, setUp());
    first.session.submit('go');
    await first.clock.advance(500);
    expect(effects).toEqual(['c1', 'c2']);
    const opened = await openOn(await leftBy(store, first.session.id), setUp(), first.session.id);
    expect(await resumed(opened)).toMatchObject({ status: 'done', text: 'done', calls: 2, iterations: 1 });
    expect(effects).toEqual(['c1', 'c2']);
    expect(resultsIn(opened.model.requests[0]!.prompt)).toEqual([
      ['c1', 'fast result'],
      ['c2', UNKNOWN],
    ]);
    await expectNextTurn({ ...opened, events: [] });
  });

  it('case 65: declared safe to repeat, the slow call alone runs again, under its own id', async () => {
    const { effects, setUp } = world({ replies, idempotent: true });
    const store = memoryStore();
    const first = await openOn(store, setUp());
    first.session.submit('go');
    await first.clock.advance(500);
    const opened = await openOn(await leftBy(store, first.session.id), setUp(), first.session.id);
    expect(await resumed(opened)).toMatchObject({ status: 'done', text: 'done', calls: 2 });
    expect(effects).toEqual(['c1', 'c2', 'c2']);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'fast result'],
      ['c2', 'slow result'],
    ]);
    await expectNextTurn({ ...opened, events: [] });
  });

  it.each([false, true])(
    'case 65: wherever it dies, recorded results are used, and no call takes effect twice unless it may (idempotent: %s)',
    async idempotent => {
      const places: string[] = [];
      for await (const { place, store, sessionId, effects, setUp } of deaths({ replies, idempotent })) {
        places.push(place);
        const { completed, started, isOpen } = await knownIn(store, sessionId);
        const before = [...effects];
        const opened = await openOn(store, setUp(), sessionId);
        if (isOpen) {
          expect({ place, result: await resumed(opened) }).toMatchObject({
            place,
            result: { status: 'done', calls: 2 },
          });
        } else await opened.clock.runUntil(opened.session.submit('go').result);
        for (const [callId, name] of [
          ['c1', 'fast'],
          ['c2', 'slow'],
        ] as const) {
          const isUnknown = !idempotent && started.includes(callId);
          const again = effects.slice(before.length).filter(one => one === callId);
          if (completed.includes(callId) || isUnknown) expect({ place, again }).toEqual({ place, again: [] });
          if (!idempotent) expect({ place, runs: count(effects, callId) <= 1 }).toEqual({ place, runs: true });
          const shown = new Map(resultsIn(opened.session.history)).get(callId);
          expect({ place, shown }).toEqual({ place, shown: isUnknown ? UNKNOWN : `${name} result` });
        }
        await expectNextTurn({ ...opened, events: [] });
      }
      expect(places.length).toBeGreaterThan(8);
    },
  );
});

describe('an approved call that took effect before the process ended', () => {
  const mail: ScriptedReply = { calls: [{ tool: 'fast', id: 'c1' }] };

  it('case 66: is unknown and not sent again; to send it again needs a new approval', async () => {
    const { effects, setUp } = world({ replies: [mail, { calls: [{ tool: 'fast', id: 'c2' }] }, done], gated: true });
    const store = memoryStore();
    const first = await openOn(store, setUp());
    first.session.submit('go');
    await first.clock.advance(1);
    const [approved] = first.session.gates;
    await first.session.answer(approved!.gateId, { decision: 'approve' });
    await first.clock.advance(1);
    expect(effects).toEqual(['c1']);
    const opened = await openOn(await leftBy(store, first.session.id), setUp(), first.session.id);
    const { session, clock } = opened;
    expect(session.gates).toEqual([]);
    await expect(session.answer(approved!.gateId, { decision: 'approve' })).rejects.toMatchObject({
      kind: 'closed_gate',
    });
    const turn = session.resume();
    await clock.advance(1);
    expect([effects, session.gates.map(({ callId }) => callId)]).toEqual([['c1'], ['c2']]);
    await session.answer(session.gates[0]!.gateId, { decision: 'approve' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(effects).toEqual(['c1', 'c2']);
    expect(resultsIn(session.history)).toEqual([
      ['c1', UNKNOWN],
      ['c2', 'fast result'],
    ]);
  });

  it('case 66: wherever it dies, one approval lets the call take effect once at most', async () => {
    let unknown = 0;
    for await (const { place, store, sessionId, effects, setUp } of deaths({ replies: [BATCH, done], gated: true })) {
      const { started, isOpen } = await knownIn(store, sessionId);
      const decided = (await recordsOf(store, sessionId)).filter(({ type }) => type === 'gate.resolved').length;
      const opened = await openOn(store, setUp(), sessionId);
      if (isOpen) await resumed(opened);
      else {
        const turn = opened.session.submit('go');
        void approveAll(opened.session, turn);
        await opened.clock.runUntil(turn.result);
      }
      unknown += started.length;
      for (const callId of ['c1', 'c2']) {
        expect({ place, callId, runs: count(effects, callId) <= 1 }).toEqual({ place, callId, runs: true });
      }
      const gates = (await recordsOf(store, sessionId)).filter(({ type }) => type === 'gate.opened').length;
      expect({ place, gates }).toEqual({ place, gates: 2 }); // what was approved is not asked again
      expect({ place, decided: decided <= 2 }).toEqual({ place, decided: true });
    }
    expect(unknown).toBeGreaterThan(0);
  });
});

describe('a session whose process ended in the middle', () => {
  const replies = [BATCH, done];

  it.each([false, true])(
    'case 67: opens with a valid history wherever it died, and takes the next input without a resume (idempotent: %s)',
    async idempotent => {
      for await (const { place, store, sessionId, effects, setUp } of deaths({ replies, idempotent })) {
        const { completed, started, isOpen } = await knownIn(store, sessionId);
        const before = [...effects];
        const opened = await openOn(store, setUp(), sessionId);
        const { session, clock, model } = opened;
        expectValidPrompt([...session.history, { role: 'user', content: [{ type: 'text', text: 'x' }] }]);
        expect({ place, isOpen: session.unfinished !== undefined }).toEqual({ place, isOpen });
        if (!isOpen) continue;
        const result = await clock.runUntil(session.submit('something else').result);
        expect({ place, result }).toMatchObject({ place, result: { status: 'done' } });
        for (const { prompt } of model.requests) expectValidPrompt(prompt);
        const shown = new Map(resultsIn(model.requests[0]!.prompt));
        for (const [callId, value] of shown) {
          const name = callId === 'c1' ? 'fast' : 'slow';
          const expected = completed.includes(callId) ? `${name} result` : started.includes(callId) ? MAYBE : NOT_RUN;
          expect({ place, callId, value }).toEqual({ place, callId, value: expected });
          // Neither did another input run what the unfinished turn had left.
          expect(count(effects, callId)).toBe(count(before, callId));
        }
        await expectNextTurn({ ...opened, events: [] });
      }
    },
  );

  it('case 67: so does one whose next process dies too, wherever that is', async () => {
    let pairs = 0;
    for await (const first of deaths({ replies })) {
      if (!(await knownIn(first.store, first.sessionId)).isOpen) continue;
      for (let nth = 1; ; nth++) {
        const store = await leftBy(first.store, first.sessionId);
        const parts = world({ replies });
        const { how } = await runAndDie(store, parts, nth, 'after', first.sessionId);
        if (how === 'settled') break;
        pairs += 1;
        const opened = await openOn(store, parts.setUp(), first.sessionId);
        expectValidPrompt([...opened.session.history, { role: 'user', content: [{ type: 'text', text: 'x' }] }]);
        if (opened.session.unfinished !== undefined) expect(await resumed(opened)).toMatchObject({ status: 'done' });
        for (const callId of ['c1', 'c2']) {
          const started = count(first.effects, callId) + count(parts.effects, callId);
          expect({ first: first.place, nth, callId, once: started <= 1 }).toEqual({
            ...{ first: first.place, nth, callId, once: true },
          });
        }
        await expectNextTurn({ ...opened, events: [] });
      }
    }
    expect(pairs).toBeGreaterThan(20);
  });
});

describe('two processes on one session', () => {
  const replies = [BATCH, done];

  /** A session that two processes have open, idle or with a turn that neither began. */
  async function twice(state: 'idle' | 'unfinished') {
    const parts = world({ replies });
    const store = memoryStore();
    const first = await openOn(store, parts.setUp());
    const { id } = first.session;
    let shared: JournalStore = store;
    if (state === 'unfinished') {
      first.session.submit('go');
      await first.clock.advance(500);
      shared = await leftBy(store, id);
      parts.effects.length = 0;
    } else await first.session.close();
    const [one, other] = [await openOn(shared, parts.setUp(), id), await openOn(shared, parts.setUp(), id)];
    return { ...parts, one, other, store: shared, id };
  }

  const acts: readonly (readonly [string, 'idle' | 'unfinished', (session: Session) => Promise<unknown>])[] = [
    ['submits', 'idle', session => session.submit('go').result],
    ['resumes', 'unfinished', session => session.resume().result],
    ['submits and leaves the unfinished turn', 'unfinished', session => session.submit('other').result],
    ['continues', 'unfinished', session => session.continue().result],
  ];
  const isLost = (outcome: unknown): boolean =>
    JournalConflictError.is(outcome) || JournalConflictError.is((outcome as { error?: unknown })?.error);

  it.each(acts)(
    'case 69: the second that %s is refused: nothing of it is mixed in, and it takes nothing any more',
    async (_, state, act) => {
      for (const together of [false, true]) {
        const { effects, one, other, store, id, setUp } = await twice(state);
        const play = (opened: OpenedSession) =>
          opened.clock.runUntil(act(opened.session).catch((error: unknown) => error));
        const outcomes = together ? await Promise.all([play(one), play(other)]) : [await play(one), await play(other)];
        expect(outcomes.map(isLost).sort()).toEqual([false, true]);
        const [winner, loser] = isLost(outcomes[0]) ? [other, one] : [one, other];
        expect(outcomes.find(outcome => !isLost(outcome))).toMatchObject({ status: 'done' });
        for (const callId of ['c1', 'c2']) expect(count(effects, callId)).toBeLessThanOrEqual(1);
        const before = await recordsOf(store, id);
        expect(() => loser.session.submit('more')).toThrow(JournalConflictError);
        await expect(loser.session.steer('more')).rejects.toThrow(JournalError);
        await loser.session.close();
        expect(await recordsOf(store, id)).toEqual(before);
        expect(before.map(({ seq }) => seq)).toEqual(before.map((_record, index) => index + 1));
        await expectNextTurn({ ...winner, events: [] });
        const again = await openOn(store, setUp(), id);
        expect(again.session.history).toEqual(winner.session.history);
        await expectNextTurn({ ...again, events: [] });
      }
    },
  );

  it('case 69: of two that answer one gate, one decides', async () => {
    for (const together of [false, true]) {
      const { effects, setUp } = world({ replies: [{ calls: [{ tool: 'fast', id: 'c1' }] }, done], gated: true });
      const store = memoryStore();
      const first = await openOn(store, setUp());
      first.session.submit('go');
      await first.clock.advance(1);
      const { id, gates } = first.session;
      const shared = await leftBy(store, id);
      const [one, other] = [await openOn(shared, setUp(), id), await openOn(shared, setUp(), id)];
      const answer = ({ session }: OpenedSession, decision: 'approve' | 'deny') =>
        session.answer(gates[0]!.gateId, { decision }).then(
          () => 'decided',
          (error: unknown) => error,
        );
      const told = together
        ? await Promise.all([answer(one, 'deny'), answer(other, 'approve')])
        : [await answer(one, 'deny'), await answer(other, 'approve')];
      expect(told[0]).toBe('decided');
      expect(JournalConflictError.is(told[1])).toBe(true);
      expect(await resumed(one)).toMatchObject({ status: 'done' });
      expect(effects).toEqual([]);
      expect(resultsIn(one.session.history)).toEqual([['c1', 'permission denied: a person said no']]);
    }
  });

  it('case 69: a process that was overtaken in the middle of a turn starts nothing more', async () => {
    const { effects, setUp } = world({ replies: [BATCH, { calls: [{ tool: 'fast', id: 'c3' }] }, done] });
    const store = memoryStore();
    const first = await openOn(store, setUp());
    const turn = first.session.submit('go');
    await first.clock.advance(500); // stands still, and is taken for dead
    const second = await openOn(store, setUp(), first.session.id);
    expect(await resumed(second)).toMatchObject({ status: 'done', text: 'done' });
    const ran = [...effects];
    const result = await first.clock.runUntil(turn.result);
    expect(isLost(result)).toBe(true);
    expect(effects).toEqual(ran);
    expect([count(effects, 'c1'), count(effects, 'c2'), count(effects, 'c3')]).toEqual([1, 1, 1]);
    await expectNextTurn({ ...second, events: [] });
  });
});
