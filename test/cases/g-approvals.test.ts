/** Cases of approvals: whoever answers, whenever, in whichever process, an approval is for one call as it was shown. */
import { type GateAnswer, type JournalStore, memoryStore, type PendingGate } from 'looprig';
import { type ScriptedReply, type ScriptedTool, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { leftBy, openOn, readingOn, recordsOf } from './restart.ts';
import { expectNextTurn, expectValidPrompt, type OpenedSession, resultsIn, type SetUp } from './setup.ts';

const done: ScriptedReply = { text: 'done' };
const call = (tool: string, id: string, n: number) => ({ tool, id, input: { n } });

/** Two tools in each process, and what they did in all of them. */
function shop(...replies: readonly ScriptedReply[]) {
  const ran: string[] = [];
  const act = (name: string, more: object = {}): ScriptedTool =>
    scriptedTool(name, {
      ...more,
      returns: ({ n }: { n?: unknown }, { callId }: { callId: string }) => {
        ran.push(callId);
        return `${name} ${n}`;
      },
    });
  const access = ({ n }: { n?: unknown }) => [{ action: 'act', target: `x${n}` }];
  const setUp = (more: Partial<SetUp> = {}): SetUp => ({
    model: readingOn(...replies),
    tools: [act('free'), act('gated', { access })],
    rig: { gate: { ask: true } },
    repeat: false,
    ...more,
  });
  return { ran, setUp, act };
}

/** Submits, and waits until these calls wait for a person. */
async function waiting(opened: OpenedSession, ...callIds: readonly string[]) {
  const turn = opened.session.submit('go');
  await opened.clock.advance(1);
  expect(opened.session.gates.map(({ callId }) => callId)).toEqual(callIds);
  return { turn, gates: opened.session.gates };
}

const idOf = (gates: readonly PendingGate[], callId: string): string =>
  gates.find(gate => gate.callId === callId)!.gateId;

const ANSWERS: Readonly<Record<string, GateAnswer>> = {
  approve: { decision: 'approve' },
  approveAlways: { decision: 'approveAlways' },
  deny: { decision: 'deny', reason: 'not that one' },
  edit: { decision: 'edit', input: { n: 7 } },
};

/** What a call of `gated` with this number is answered with. */
function resultOf(answer: string, n: number): string {
  if (answer === 'deny') return 'permission denied: not that one';
  if (answer === 'edit') return 'gated 7\n\nNote: a person changed the arguments of this call to {"n":7}';
  return `gated ${n}`;
}

describe('the user says something else instead of deciding', () => {
  const batch: ScriptedReply = { calls: [call('free', 'f', 0), call('gated', 'c1', 1), call('gated', 'c2', 2)] };

  it.each(['in the process that waits', 'in another one', 'in another one that took the turn up'])(
    'case 51: %s the calls are closed as denied, none runs, and a late approval is refused',
    async where => {
      for (const answeredBefore of [undefined, 'approve', 'deny'] as const) {
        const { ran, setUp } = shop(batch, done);
        const store = memoryStore();
        const first = await openOn(store, setUp());
        const { gates } = await waiting(first, 'c1', 'c2');
        let opened = first;
        if (where !== 'in the process that waits') {
          opened = await openOn(await leftBy(store, first.session.id), setUp(), first.session.id);
        }
        const { session, clock } = opened;
        const resumed = where.endsWith('took the turn up') ? session.resume() : undefined;
        await clock.advance(1);
        if (answeredBefore !== undefined) await session.answer(idOf(gates, 'c1'), ANSWERS[answeredBefore]!);
        const old = resumed ?? session.turn;
        const next = session.submit('never mind');
        expect(await clock.runUntil(next.result)).toMatchObject({ status: 'done', text: 'done' });
        if (old !== undefined) {
          expect(await old.result).toMatchObject({ status: 'interrupted', reason: 'the user moved on' });
        }
        const movedOn = 'permission denied: the user moved on';
        const c1 = { approve: 'not run: interrupted', deny: 'permission denied: not that one' };
        expect(resultsIn(session.history)).toEqual([
          ['f', 'not run: interrupted'],
          ['c1', answeredBefore === undefined ? movedOn : expect.stringMatching(/^(not run|permission denied)/)],
          ['c2', movedOn],
        ]);
        if (answeredBefore === 'approve') expect(resultsIn(session.history)[1]).toEqual(['c1', c1.approve]);
        for (const { gateId } of gates) {
          for (const answer of Object.values(ANSWERS)) {
            await expect(session.answer(gateId, answer)).rejects.toMatchObject({ kind: 'closed_gate', gateId });
          }
        }
        expect([ran, session.gates]).toEqual([[], []]);
        await expectNextTurn({ ...opened, events: [] });
      }
    },
  );
});

describe('a batch of a free and a gated call', () => {
  const orders = [
    ['f', 'g'],
    ['g', 'f'],
  ] as const;
  const cases = orders.flatMap(order =>
    Object.keys(ANSWERS).flatMap(answer =>
      (['before', 'after', 'by a third process before'] as const).map(when => [answer, when, order] as const),
    ),
  );

  it.each(cases)(
    'case 52: restarted and answered with %s %s it is resumed, runs each call once and shows the model both results (%j)',
    async (answer, when, order) => {
      const calls = order.map(id => call(id === 'f' ? 'free' : 'gated', id, 1));
      const { ran, setUp } = shop({ calls }, done);
      const store = memoryStore();
      const first = await openOn(store, setUp());
      const { gates } = await waiting(first, 'g');
      expect(ran).toEqual([]); // the free one waits with it
      let left = await leftBy(store, first.session.id);
      if (when === 'by a third process before') {
        const second = await openOn(left, setUp(), first.session.id);
        await second.session.answer(gates[0]!.gateId, ANSWERS[answer]!);
        left = await leftBy(left, first.session.id);
      }
      const opened = await openOn(left, setUp(), first.session.id);
      const { session, clock } = opened;
      if (when === 'before') await session.answer(gates[0]!.gateId, ANSWERS[answer]!);
      const turn = session.resume();
      await clock.advance(1);
      if (when === 'after') await session.answer(gates[0]!.gateId, ANSWERS[answer]!);
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect([...ran].sort()).toEqual(answer === 'deny' ? ['f'] : ['f', 'g']);
      expect(resultsIn(opened.model.requests[0]!.prompt)).toEqual(
        order.map(id => [id, id === 'f' ? 'free 1' : resultOf(answer, 1)]),
      );
      await expectNextTurn({ ...opened, events: [] });
    },
  );
});

describe('two gated calls of one batch', () => {
  const RESTARTS = ['never', 'before both', 'between them', 'after both'] as const;
  const pairs = Object.keys(ANSWERS).flatMap(one => Object.keys(ANSWERS).map(other => [one, other] as const));

  it.each(pairs)(
    'cases 54, 55: answered with %s and %s, in any order and across restarts, each gets its own answer and runs at most once',
    async (one, other) => {
      for (const order of [
        ['g0', 'g1'],
        ['g1', 'g0'],
      ] as const) {
        for (const restart of RESTARTS) {
          for (const resumesFirst of [true, false]) {
            const { ran, setUp } = shop({ calls: [call('gated', 'g0', 0), call('gated', 'g1', 1)] }, done);
            let store: JournalStore = memoryStore();
            let opened = await openOn(store, setUp());
            let { turn, gates } = await waiting(opened, 'g0', 'g1');
            const { id } = opened.session;
            const leave = async (): Promise<void> => {
              store = await leftBy(store, id);
              opened = await openOn(store, setUp(), id);
              if (resumesFirst) turn = opened.session.resume();
              await opened.clock.advance(1);
            };
            const answers: Readonly<Record<string, string>> = { g0: one, g1: other };
            const answer = (callId: string) => opened.session.answer(idOf(gates, callId), ANSWERS[answers[callId]!]!);
            if (restart === 'before both') await leave();
            await answer(order[0]);
            await opened.clock.advance(1);
            expect(ran).toEqual([]); // nothing runs before the batch is decided
            expect(opened.session.gates.map(({ callId }) => callId)).toEqual([order[1]]);
            if (restart === 'between them') await leave();
            if (restart === 'after both') {
              // The process that waits would go on: the answers are given in one that does not.
              store = await leftBy(store, id);
              opened = await openOn(store, setUp(), id);
            }
            await answer(order[1]);
            if (restart === 'after both') await leave();
            for (const { gateId } of gates) {
              await expect(opened.session.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({
                kind: 'closed_gate',
              });
            }
            if (restart !== 'never' && !resumesFirst) turn = opened.session.resume();
            expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done', calls: 2 });
            expect(ran).toEqual(['g0', 'g1'].filter(callId => answers[callId] !== 'deny'));
            expect(resultsIn(opened.session.history)).toEqual([
              ['g0', resultOf(one, 0)],
              ['g1', resultOf(other, 1)],
            ]);
            for (const { prompt } of opened.model.requests) expectValidPrompt(prompt);
          }
        }
      }
    },
  );
});

describe('a restart under which the rule is missing', () => {
  const others: readonly (readonly [string, (parts: ReturnType<typeof shop>) => Partial<SetUp>])[] = [
    ['the rig has no gate', () => ({ rig: {} })],
    ['the rig asks nobody', () => ({ rig: { gate: { ask: false } } })],
    ['everything is allowed', () => ({ rig: { gate: { rules: [{ action: '*', decision: 'allow' }] } } })],
    ['the loop allows everything', () => ({ rig: {}, gate: { rules: [{ action: '*', decision: 'allow' }] } })],
    [
      'the tool asks for something else',
      ({ act }) => ({
        tools: [act('free'), act('gated', { access: () => [{ action: 'other', target: 'y' }] })],
      }),
    ],
    ['the tool asks for nothing', ({ act }) => ({ tools: [act('free'), act('gated')] })],
  ];

  it.each(others)('case 57: a call that was declined never runs: %s', async (_, other) => {
    for (const when of ['before the restart', 'before it is resumed', 'after it is resumed']) {
      const parts = shop({ calls: [call('gated', 'c1', 1)] }, done);
      const { ran, setUp } = parts;
      const store = memoryStore();
      const first = await openOn(store, setUp());
      const { gates } = await waiting(first, 'c1');
      const { id } = first.session;
      let left = await leftBy(store, id);
      if (when === 'before the restart') {
        await (await openOn(left, setUp(), id)).session.answer(gates[0]!.gateId, ANSWERS.deny!);
        left = await leftBy(left, id);
      }
      const opened = await openOn(left, setUp(other(parts)), id);
      const { session, clock } = opened;
      if (when === 'before it is resumed') await session.answer(gates[0]!.gateId, ANSWERS.deny!);
      const turn = session.resume();
      await clock.advance(1);
      expect({ when, ran }).toEqual({ when, ran: [] });
      if (when === 'after it is resumed') await session.answer(gates[0]!.gateId, ANSWERS.deny!);
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done' });
      expect({ when, ran }).toEqual({ when, ran: [] });
      expect(resultsIn(session.history)).toEqual([['c1', 'permission denied: not that one']]);
    }
  });
});

describe('an approval', () => {
  const pay = (id: string, n: number, tool = 'gated') => ({ calls: [call(tool, id, n)] });
  const afterwards: readonly (readonly [string, ScriptedReply])[] = [
    ['other arguments', pay('c2', 99)],
    ['other arguments, without an id of its own', pay('', 99)],
    ['the same arguments once more', pay('c2', 10)],
    ['another tool', pay('c2', 10, 'refund')],
  ];

  it.each(afterwards)('case 58: is for the call that was shown: %s must be asked for again', async (_, next) => {
    for (const restart of ['never', 'before it is answered', 'before it is used', 'after it was used']) {
      const { ran, setUp, act } = shop(pay('c1', 10), next, done);
      const access = ({ n }: { n?: unknown }) => [{ action: 'act', target: `x${n}` }];
      const tools = () => [act('gated', { access }), act('refund', { access })];
      let store: JournalStore = memoryStore();
      let opened = await openOn(store, setUp({ tools: tools() }));
      const { gates } = await waiting(opened, 'c1');
      const { id } = opened.session;
      const again = async (): Promise<void> => {
        store = await leftBy(store, id);
        opened = await openOn(store, setUp({ tools: tools() }), id);
      };
      if (restart.startsWith('before')) await again();
      await opened.session.answer(gates[0]!.gateId, ANSWERS.approve!);
      if (restart === 'before it is used') await again();
      let turn = opened.session.turn ?? opened.session.resume();
      await opened.clock.advance(1);
      if (restart === 'after it was used') {
        await again();
        turn = opened.session.resume();
        await opened.clock.advance(1);
      }
      expect({ restart, ran }).toEqual({ restart, ran: ['c1'] });
      const [gate] = opened.session.gates;
      expect(gate?.gateId).not.toBe(gates[0]!.gateId);
      await opened.session.answer(gate!.gateId, ANSWERS.deny!);
      expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect(ran).toEqual(['c1']);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', 'gated 10'],
        [gate!.callId, 'permission denied: not that one'],
      ]);
    }
  });

  it('case 58: is used for what the journal has, and the model is not asked again for it', async () => {
    const { ran, setUp } = shop(pay('c1', 10), done);
    const store = memoryStore();
    const first = await openOn(store, setUp());
    const { gates } = await waiting(first, 'c1');
    const { id } = first.session;
    const changed = shop(pay('c1', 99), done); // a model that would ask for something else now
    const opened = await openOn(await leftBy(store, id), { ...setUp(), model: changed.setUp().model }, id);
    const turn = opened.session.resume();
    await opened.session.answer(gates[0]!.gateId, ANSWERS.approve!);
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect([ran, opened.model.count]).toEqual([['c1'], 1]);
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'gated 10']]);
  });

  it('case 58: does not outlive its turn: a turn that goes on after an interrupt asks again', async () => {
    const { ran, setUp } = shop({ calls: [call('gated', 'c1', 10), call('gated', 'c2', 11)] }, pay('c3', 10), done);
    const opened = await openOn(memoryStore(), setUp());
    const { turn, gates } = await waiting(opened, 'c1', 'c2');
    await opened.session.answer(idOf(gates, 'c1'), ANSWERS.approve!);
    turn.interrupt();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
    const next = opened.session.continue();
    await opened.clock.advance(1);
    expect([ran, opened.session.gates.map(({ callId }) => callId)]).toEqual([[], ['c3']]);
    await opened.session.answer(opened.session.gates[0]!.gateId, ANSWERS.approve!);
    expect(await opened.clock.runUntil(next.result)).toMatchObject({ status: 'done' });
    expect(ran).toEqual(['c3']);
  });
});

describe('always', () => {
  /** A tool that runs a command line, as a person sees it. */
  function terminal() {
    const ran: string[] = [];
    const argsOf = (input: object): readonly string[] => ('args' in input ? (input.args as string[]) : []);
    const run = () =>
      scriptedTool('run', {
        access: (input: object) => [{ action: 'process.run', target: argsOf(input).join(' ') }],
        returns: (input: object) => {
          ran.push(argsOf(input).join(' '));
          return 'ran';
        },
      });
    const commands: readonly (readonly string[] | undefined)[] = [['ls'], ['ls'], ['rm'], undefined, ['ls', '-a']];
    const replies = commands.map(
      (args, index): ScriptedReply => ({
        calls: [{ tool: 'run', id: `c${index}`, input: args === undefined ? {} : { args } }],
      }),
    );
    const open = (store: JournalStore, sessionId?: string) =>
      openOn(
        store,
        { model: readingOn(...replies, done), tools: [run()], rig: { gate: { ask: true } }, repeat: false },
        sessionId,
      );
    return { ran, open };
  }

  const anything = { action: 'process.run', decision: 'allow' as const };
  const scopes: readonly (readonly [string, GateAnswer, readonly string[]])[] = [
    ['this call', { decision: 'approve' }, ['ls', 'rm', '', 'ls -a']],
    ['these arguments', { decision: 'approveAlways' }, ['rm', '', 'ls -a']],
    ['a pattern', { decision: 'approveAlways', rules: [{ ...anything, target: 'ls*' }] }, ['rm', '']],
    ['this tool', { decision: 'approveAlways', rules: [anything] }, []],
  ];

  it.each(scopes.flatMap(scope => [false, true].map(restarts => [...scope, restarts] as const)))(
    'case 60: of %s allows that, and asks for everything else (%#)',
    async (_, answer, asked, restarts) => {
      const { ran, open } = terminal();
      let store: JournalStore = memoryStore();
      let opened = await open(store);
      let turn = opened.session.submit('go');
      await opened.clock.advance(1);
      await opened.session.answer(opened.session.gates[0]!.gateId, answer);
      const targets: string[] = [];
      for (;;) {
        await opened.clock.advance(1);
        if (opened.session.turn === undefined) break;
        if (restarts) {
          store = await leftBy(store, opened.session.id);
          opened = await open(store, opened.session.id);
          turn = opened.session.resume();
          await opened.clock.advance(1);
        }
        const [gate] = opened.session.gates;
        targets.push(gate!.requests[0]!.target);
        await opened.session.answer(gate!.gateId, { decision: 'deny' });
      }
      expect(await turn.result).toMatchObject({ status: 'done', text: 'done', calls: 5 });
      expect(targets).toEqual(asked);
      expect(ran).toEqual(
        ['ls', 'ls', 'rm', '', 'ls -a'].filter((target, index) => index === 0 || !asked.includes(target)),
      );
    },
  );

  it('case 60: of a call without arguments is for calls without arguments', async () => {
    const ran: unknown[] = [];
    const run = scriptedTool('run', {
      access: (input: { args?: string[] }) => [{ action: 'process.run', target: (input.args ?? []).join(' ') }],
      returns: input => void ran.push(input),
    });
    const calls = [{}, { args: ['rm'] }, {}].map(
      (input, n): ScriptedReply => ({ calls: [{ tool: 'run', id: `c${n}`, input }] }),
    );
    const opened = await openOn(memoryStore(), {
      ...{ model: readingOn(...calls, done), tools: [run], rig: { gate: { ask: true } }, repeat: false },
    });
    const turn = opened.session.submit('go');
    await opened.clock.advance(1);
    await opened.session.answer(opened.session.gates[0]!.gateId, { decision: 'approveAlways' });
    await opened.clock.advance(1);
    expect(opened.session.gates.map(({ callId }) => callId)).toEqual(['c1']);
    await opened.session.answer(opened.session.gates[0]!.gateId, { decision: 'deny' });
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(ran).toEqual([{}, {}]);
  });

  it('case 60: in one session says nothing in another', async () => {
    const { ran, open } = terminal();
    const store = memoryStore();
    const one = await open(store);
    one.session.submit('go');
    await one.clock.advance(1);
    await one.session.answer(one.session.gates[0]!.gateId, { decision: 'approveAlways', rules: [anything] });
    await one.clock.runUntil(one.session.turn!.result);
    const before = ran.length;
    const other = await open(store);
    other.session.submit('go');
    await other.clock.advance(1);
    expect([ran.length, other.session.gates.map(({ callId }) => callId)]).toEqual([before, ['c0']]);
  });
});

describe('a gate that was open when the process ended', () => {
  it.each(Object.keys(ANSWERS))(
    'case 62: is known to every later process, and takes the answer %s once',
    async answer => {
      for (const restarts of [1, 2, 3]) {
        for (const when of ['before it is resumed', 'after it is resumed']) {
          const { ran, setUp } = shop({ calls: [call('gated', 'c1', 1)] }, done);
          let store: JournalStore = memoryStore();
          let opened = await openOn(store, setUp());
          const { gates, turn: first } = await waiting(opened, 'c1');
          const { id } = opened.session;
          const [{ gateId }] = gates as [PendingGate];
          for (let n = 0; n < restarts; n++) {
            store = await leftBy(store, id);
            opened = await openOn(store, setUp(), id);
            expect(opened.session.unfinished).toEqual({ turnId: first.id, gates, queued: 0 });
            if (n < restarts - 1) opened.session.resume();
            await opened.clock.advance(1);
            expect(opened.session.gates).toEqual(gates);
          }
          const { session, clock } = opened;
          await expect(session.answer('nobody', ANSWERS[answer]!)).rejects.toMatchObject({ kind: 'unknown_gate' });
          if (when === 'before it is resumed') await session.answer(gateId, ANSWERS[answer]!);
          const turn = session.resume();
          await clock.advance(1);
          if (when === 'after it is resumed') await session.answer(gateId, ANSWERS[answer]!);
          await expect(session.answer(gateId, ANSWERS[answer]!)).rejects.toMatchObject({ kind: 'closed_gate', gateId });
          expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done' });
          expect(ran).toEqual(answer === 'deny' ? [] : ['c1']);
          expect(resultsIn(session.history)).toEqual([['c1', resultOf(answer, 1)]]);
          expect(session.gates).toEqual([]);
        }
      }
    },
  );

  it('case 62: belongs to its session alone', async () => {
    const { setUp } = shop({ calls: [call('gated', 'c1', 1)] }, done);
    const store = memoryStore();
    const first = await openOn(store, setUp());
    const { gates } = await waiting(first, 'c1');
    const other = await openOn(store, setUp());
    await expect(other.session.answer(gates[0]!.gateId, ANSWERS.approve!)).rejects.toMatchObject({
      kind: 'unknown_gate',
    });
    expect(first.session.gates).toEqual(gates);
  });

  it('case 62: whose time was over meanwhile is closed with a clear record, before or after the turn is resumed', async () => {
    for (const when of ['before', 'after']) {
      const { ran, setUp } = shop({ calls: [call('gated', 'c1', 1)] }, done);
      const rig = { gate: { ask: true, gateTimeoutMs: 100 } };
      const store = memoryStore();
      const first = await openOn(store, setUp({ rig }));
      const { gates } = await waiting(first, 'c1');
      const { id } = first.session;
      const left = await leftBy(store, id);
      const opened = await openOn(left, setUp({ rig }), id);
      await opened.clock.advance(1_000);
      const late = () => opened.session.answer(gates[0]!.gateId, ANSWERS.approve!);
      if (when === 'before') await expect(late()).rejects.toMatchObject({ kind: 'closed_gate' });
      const { result } = opened.session.resume();
      expect(await opened.clock.runUntil(result)).toMatchObject({ status: 'done', text: 'done' });
      await expect(late()).rejects.toMatchObject({ kind: 'closed_gate' });
      expect(ran).toEqual([]);
      expect(resultsIn(opened.session.history)).toEqual([['c1', 'permission denied: nobody answered in 100 ms']]);
      const closed = (await recordsOf(left, id)).filter(({ type }) => type === 'gate.resolved');
      expect(closed).toMatchObject([{ decision: 'denied', reason: 'nobody answered in 100 ms' }]);
    }
  });

  it.each(['resumed', 'left for another input'])(
    'case 62: whose call no process can make any more is closed with a record when its turn is %s',
    async how => {
      const { ran, setUp, act } = shop({ calls: [call('gated', 'c1', 1)] }, done);
      const store = memoryStore();
      const first = await openOn(store, setUp());
      const { gates } = await waiting(first, 'c1');
      const { id } = first.session;
      const left = await leftBy(store, id);
      const opened = await openOn(left, setUp({ tools: [act('free')] }), id);
      const { session, clock } = opened;
      expect(session.gates).toEqual(gates);
      const turn = how === 'resumed' ? session.resume() : session.submit('never mind');
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
      expect([ran, session.gates]).toEqual([[], []]);
      const closed = (await recordsOf(left, id)).filter(({ type }) => type === 'gate.resolved');
      expect(closed).toMatchObject([{ gateId: gates[0]!.gateId, decision: 'denied' }]);
      await expect(session.answer(gates[0]!.gateId, ANSWERS.approve!)).rejects.toMatchObject({ kind: 'closed_gate' });
    },
  );
});
