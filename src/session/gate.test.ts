import { describe, expect, it } from 'vitest';
import { type GateRule, resolveRules } from '../define/gate.ts';
import type { AccessRequest } from '../define/tool.ts';
import { GateError, SessionError } from '../errors.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { PermissionRequest } from '../run/context.ts';
import { Interruption } from '../run/interruption.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { GateKeeper, MOVED_ON } from './gate.ts';
import type { GateAnswer } from './gate-answer.ts';
import type { GateOptions } from './gate-options.ts';
import { SessionState } from './history.ts';

const access = (action: string, target: string): AccessRequest => ({ action, target });
const request = (callId: string, ...requests: AccessRequest[]): PermissionRequest => {
  return { stepId: 't.1', callId, toolName: 'tool', requests, summary: undefined };
};

/** Gates whose records can be looked at, and whose journal can be made to fail. With `state`, those that another process left. */
function openGates(options?: GateOptions, state = new SessionState(), loopRules: readonly GateRule[] = []) {
  const journal: JournalEntry[] = [];
  const attempted: JournalEntry[] = [];
  const clock = manualClock();
  let broken: Error | undefined;
  const gates = new GateKeeper({
    ...{ options, state, clock },
    waits: () => {},
    loopRules: resolveRules(loopRules, 'rules', (_field, message) => new Error(message)),
    async append(entries) {
      attempted.push(...entries);
      await null;
      if (broken !== undefined) throw broken;
      journal.push(...entries);
      for (const entry of entries) state.apply({ ...entry, seq: journal.length, at: clock.now() });
    },
    async checkEdit(_toolName, input) {
      const { target } = input as { target?: string };
      return target === undefined ? { problem: 'target: missing' } : { access: [access('write', target)] };
    },
  });
  const interruption = new Interruption();
  const decide = (...requests: PermissionRequest[]) => gates.decide('t', interruption, requests);
  const opened = () => journal.flatMap(entry => (entry.type === 'gate.opened' ? [entry] : []));
  const settle = () => new Promise(resolve => setImmediate(resolve));
  const breakJournal = () => {
    broken = new Error('the disk is full');
  };
  return { gates, interruption, journal, attempted, clock, state, decide, opened, settle, breakJournal };
}

const ALLOWED = { allowed: true };
const refused = (reason: string) => ({ allowed: false, reason });

describe('rules', () => {
  const rule = (decision: GateRule['decision'], action = '*', target?: string): GateRule => {
    return target === undefined ? { action, decision } : { action, target, decision };
  };

  it.each<readonly [string, readonly GateRule[], boolean]>([
    ['allow what they name', [rule('allow', 'fs.write', 'src/**')], true],
    ['say nothing about another action', [rule('allow', 'fs.read')], false],
    ['say nothing about another target', [rule('allow', 'fs.write', 'test/**')], false],
    ['are about all actions with *', [rule('allow')], true],
    ['that deny beat those that allow, after them', [rule('allow'), rule('deny', 'fs.write')], false],
    ['that deny beat those that allow, before them', [rule('deny', 'fs.write'), rule('allow')], false],
    ['that allow beat those that ask, whatever their order', [rule('ask', 'fs.write'), rule('allow')], true],
  ])('%s', async (_, rules, allowed) => {
    const { decide } = openGates({ rules });
    expect(await decide(request('c', access('fs.write', 'src/a.ts')))).toMatchObject([{ allowed }]);
  });

  it('allow a call only if all that it wants is allowed, and say what is not', async () => {
    const rules = [rule('allow', 'read'), rule('deny', 'write')];
    const { decide, journal } = openGates({ rules });
    expect(
      await decide(
        request('a', access('read', 'x'), access('read', 'y')),
        request('b', access('read', 'x'), access('write', 'y')),
        request('c', access('read', 'x'), access('send', 'z')),
      ),
    ).toEqual([
      ALLOWED,
      refused('a rule forbids write on y'),
      refused('nothing here allows send on z, and nobody can be asked'),
    ]);
    expect(journal).toEqual([]);
  });

  it('that deny are not asked about', async () => {
    const { decide, journal } = openGates({ rules: [rule('deny', 'write')], ask: true });
    expect(await decide(request('a', access('send', 'x'), access('write', 'y')))).toEqual([
      refused('a rule forbids write on y'),
    ]);
    expect(journal).toEqual([]);
  });

  it.each<readonly [unknown, string]>([
    ['allow', 'gate.rules must be a list of rules, not "allow"'],
    [[undefined], 'gate.rules[0] must be given as an object, not undefined'],
    [[{ decision: 'allow' }], 'gate.rules[0].action must be text, not undefined'],
    [
      [{ action: 'a', target: /a/, decision: 'allow' }],
      'gate.rules[0].target must be a pattern or absent, not an object',
    ],
    [[{ action: 'a', decision: 'yes' }], 'gate.rules[0].decision must be "allow", "deny" or "ask", not "yes"'],
    [
      [{ action: 'a', targets: 'src/**', decision: 'allow' }],
      'gate.rules[0] has no option "targets": it takes action, target, decision',
    ],
  ])('that are none are refused with a sentence: %j', (rules, message) => {
    const open = () => openGates({ rules } as GateOptions);
    expect(open).toThrow(SessionError);
    expect(open).toThrow(expect.objectContaining({ kind: 'invalid_option', message }));
  });
});

describe('a gate', () => {
  it('is opened for each call that must be asked, all in one append, with what is not allowed yet', async () => {
    const { gates, decide, opened, settle } = openGates({ rules: [{ action: 'read', decision: 'allow' }], ask: true });
    const decided = decide(request('a', access('read', 'x'), access('write', 'y')), request('b', access('read', 'x')), {
      ...request('c', access('send', 'z')),
      summary: 'sends z',
    });
    await settle();
    expect(opened()).toMatchObject([
      { turnId: 't', stepId: 't.1', callId: 'a', toolName: 'tool', requests: [{ action: 'write', target: 'y' }] },
      { callId: 'c', requests: [{ action: 'send', target: 'z' }], summary: 'sends z' },
    ]);
    const [first, second] = opened();
    await gates.answer(second!.gateId, { decision: 'approve' });
    await gates.answer(first!.gateId, { decision: 'deny', reason: 'not y' });
    expect(await decided).toEqual([refused('not y'), ALLOWED, ALLOWED]);
  });

  it('lets a call run only after its decision is recorded', async () => {
    const { gates, decide, opened, settle, journal } = openGates({ ask: true });
    const recorded = decide(request('a', access('x', 'y'))).then(() => journal.map(({ type }) => type));
    await settle();
    await gates.answer(opened()[0]!.gateId, { decision: 'approve' });
    expect(await recorded).toEqual(['gate.opened', 'gate.resolved']);
  });

  it('takes one answer: a second one, even at the same time, is refused and changes nothing', async () => {
    const { gates, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    const { gateId } = opened()[0]!;
    const answers = await Promise.allSettled([
      gates.answer(gateId, { decision: 'deny' }),
      gates.answer(gateId, { decision: 'approve' }),
    ]);
    expect(answers).toMatchObject([{ status: 'fulfilled' }, { reason: { kind: 'closed_gate', gateId } }]);
    await expect(gates.answer(gateId, { decision: 'approve' })).rejects.toThrow(GateError);
    expect(await decided).toEqual([refused('a person said no')]);
    expect(journal.filter(({ type }) => type === 'gate.resolved')).toMatchObject([{ decision: 'denied' }]);
  });

  it.each<readonly [unknown, string]>([
    [undefined, 'an answer needs a decision: "approve", "approveAlways", "deny" or "edit"'],
    [{}, 'an answer needs a decision: "approve", "approveAlways", "deny" or "edit"'],
    [{ decision: 'allow' }, 'an answer needs a decision: "approve", "approveAlways", "deny" or "edit"'],
    [{ decision: 'deny', reason: 7 }, 'the reason of an answer must be text, not 7'],
    [{ decision: 'approve', reason: 'yes' }, 'an answer has no option "reason": it takes decision'],
    [{ decision: 'edit' }, 'the input of an answer must be a JSON object, not undefined'],
    [{ decision: 'edit', input: 'all' }, 'the input of an answer must be a JSON object, not "all"'],
    [{ decision: 'edit', input: {} }, 'these arguments cannot be taken: target: missing'],
    [{ decision: 'approveAlways', rules: 'all' }, 'rules must be a list of rules, not "all"'],
    [
      { decision: 'approveAlways', rules: [{ action: '*', decision: 'deny' }] },
      'the rules of an answer must allow, not deny',
    ],
  ])('stays open for an answer that is none: %j', async (answer, message) => {
    const { gates, decide, opened, settle } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    const { gateId } = opened()[0]!;
    await expect(gates.answer(gateId, answer as never)).rejects.toMatchObject({ kind: 'invalid_answer', message });
    await gates.answer(gateId, { decision: 'approve' });
    expect(await decided).toEqual([ALLOWED]);
  });

  it('that nobody knows is refused', async () => {
    const { gates } = openGates({ ask: true });
    await expect(gates.answer('nobody', { decision: 'approve' })).rejects.toMatchObject({ kind: 'unknown_gate' });
  });

  it('denied without a word, or with a blank one, says that a person said no', async () => {
    for (const answer of [{ decision: 'deny' as const }, { decision: 'deny' as const, reason: ' ' }]) {
      const { gates, decide, opened, settle } = openGates({ ask: true });
      const decided = decide(request('a', access('x', 'y')));
      await settle();
      await gates.answer(opened()[0]!.gateId, answer);
      expect(await decided).toEqual([refused('a person said no')]);
    }
  });
});

describe('approval for always', () => {
  const again = (...requests: AccessRequest[]) => request(`again ${JSON.stringify(requests)}`, ...requests);

  it('allows what was shown for the rest of the session, and nothing else', async () => {
    const { gates, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('write', 'src/a.ts')));
    await settle();
    await gates.answer(opened()[0]!.gateId, { decision: 'approveAlways' });
    expect(await decided).toEqual([ALLOWED]);
    const rules = [{ action: 'write', target: 'src/a.ts', decision: 'allow' }];
    expect(journal.at(-1)).toMatchObject({ type: 'gate.resolved', decision: 'approved', rules });
    expect(await decide(again(access('write', 'src/a.ts')))).toEqual([ALLOWED]);
    expect(opened()).toHaveLength(1);
    void decide(again(access('write', 'src/b.ts')), again(access('read', 'src/a.ts')));
    await settle();
    expect(opened()).toHaveLength(3);
  });

  it('may be wider, and holds for the calls of its batch that wait', async () => {
    const { gates, decide, opened, settle } = openGates({ ask: true });
    const decided = decide(
      request('a', access('write', 'src/a.ts')),
      request('b', access('write', 'src/b.ts')),
      request('c', access('write', 'test/c.ts')),
    );
    await settle();
    const [first, , third] = opened();
    await gates.answer(first!.gateId, {
      decision: 'approveAlways',
      rules: [{ action: 'write', target: 'src/**', decision: 'allow' }],
    });
    expect(gates.pending.map(({ callId }) => callId)).toEqual(['c']);
    await gates.answer(third!.gateId, { decision: 'deny' });
    expect(await decided).toEqual([ALLOWED, ALLOWED, refused('a person said no')]);
  });

  it('never beats a rule that denies', async () => {
    const { gates, decide, opened, settle } = openGates({ ask: true, rules: [{ action: 'send', decision: 'deny' }] });
    const decided = decide(request('a', access('write', 'x')));
    await settle();
    const rules = [{ action: '*', decision: 'allow' as const }];
    await gates.answer(opened()[0]!.gateId, { decision: 'approveAlways', rules });
    await decided;
    expect(await decide(again(access('send', 'x')))).toEqual([refused('a rule forbids send on x')]);
    expect(await decide(again(access('read', 'x')))).toEqual([ALLOWED]);
  });

  it('of a target that would be a pattern needs to be told which rule', async () => {
    const { gates, decide, opened, settle } = openGates({ ask: true });
    void decide(request('a', access('write', 'src/*')));
    await settle();
    await expect(gates.answer(opened()[0]!.gateId, { decision: 'approveAlways' })).rejects.toMatchObject({
      kind: 'invalid_answer',
      message: 'the target "src/*" would be a pattern: say which rules to make, with "rules"',
    });
  });
});

describe('an edit', () => {
  it('allows the call with other arguments, recorded as a copy', async () => {
    const { gates, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('write', 'x')));
    await settle();
    const input = { target: 'y' };
    const answered = gates.answer(opened()[0]!.gateId, { decision: 'edit', input });
    input.target = 'z';
    await answered;
    expect(await decided).toEqual([{ allowed: true, input: { target: 'y' } }]);
    expect(journal.at(-1)).toMatchObject({ decision: 'approved', input: { target: 'y' } });
  });

  it('to what a rule forbids is refused, and the gate stays open', async () => {
    const rules = [{ action: 'write', target: 'etc', decision: 'deny' as const }];
    const { gates, decide, opened, settle } = openGates({ ask: true, rules });
    void decide(request('a', access('write', 'x')));
    await settle();
    const { gateId } = opened()[0]!;
    await expect(gates.answer(gateId, { decision: 'edit', input: { target: 'etc' } })).rejects.toMatchObject({
      kind: 'invalid_answer',
      message: 'these arguments cannot be taken: a rule forbids write on etc',
    });
    expect(gates.pending).toHaveLength(1);
  });

  it('that is checked while another answer comes, or the turn stops, is too late', async () => {
    const { gates, interruption, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('write', 'x')), request('b', access('write', 'y')));
    await settle();
    const [first, second] = opened();
    const edits = [first!, second!].map(({ gateId }) =>
      gates.answer(gateId, { decision: 'edit', input: { target: 'z' } }),
    );
    const denied = gates.answer(first!.gateId, { decision: 'deny' });
    interruption.stop({ kind: 'interrupted', reason: undefined });
    await denied;
    const settled = await Promise.allSettled(edits);
    expect(settled).toMatchObject([{ reason: { kind: 'closed_gate' } }, { reason: { kind: 'closed_gate' } }]);
    expect(await decided).toEqual([refused('a person said no'), { ...refused('interrupted'), isInterrupted: true }]);
    expect(journal.filter(({ type }) => type === 'gate.resolved')).toHaveLength(2);
  });
});

describe('a gate that nobody answers', () => {
  it('denies its call when its time is over, and takes no answer after that', async () => {
    const { gates, decide, opened, settle, clock } = openGates({ ask: true, gateTimeoutMs: 1_000 });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    await clock.advance(999);
    expect(gates.pending).toHaveLength(1);
    await clock.advance(1);
    expect(await decided).toEqual([refused('nobody answered in 1000 ms')]);
    const late = gates.answer(opened()[0]!.gateId, { decision: 'approve' });
    await expect(late).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(clock.pending).toBe(0);
  });

  it('is closed by an answer that comes when nothing runs and its time is over', async () => {
    const { state, opened, settle, decide } = openGates({ ask: true });
    void decide(request('a', access('x', 'y')));
    await settle();
    const { gateId } = opened()[0]!;
    const later = openGates({ ask: true, gateTimeoutMs: 1_000 }, state);
    await later.clock.advance(5_000);
    await expect(later.gates.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({
      kind: 'closed_gate',
      message: `gate "${gateId}" waited longer than 1000 ms`,
    });
    expect(await later.decide(request('a', access('x', 'y')))).toEqual([refused('nobody answered in 1000 ms')]);
  });

  it.each([0, -1, Number.NaN, '5'])('cannot be given %s ms', gateTimeoutMs => {
    expect(() => openGates({ gateTimeoutMs } as GateOptions)).toThrow('gate.gateTimeoutMs must be a positive number');
  });
});

describe('gates that another process left', () => {
  const left = async (answer?: GateAnswer) => {
    const before = openGates({ ask: true });
    void before.decide(request('a', access('write', 'x')));
    await before.settle();
    const { gateId } = before.opened()[0]!;
    if (answer !== undefined) await before.gates.answer(gateId, answer);
    return { gateId, state: before.state };
  };

  it('are open with the same id, whatever the rules say by now, and are not asked a second time', async () => {
    const { gateId, state } = await left();
    const { gates, decide, opened } = openGates({ rules: [{ action: '*', decision: 'allow' }] }, state);
    expect(gates.pending).toMatchObject([{ gateId, callId: 'a', toolName: 'tool' }]);
    const decided = decide(request('a', access('write', 'x')));
    await gates.answer(gateId, { decision: 'deny', reason: 'no' });
    expect(await decided).toEqual([refused('no')]);
    expect(opened()).toEqual([]);
  });

  it('take their answer before anybody waits for it', async () => {
    const { gateId, state } = await left();
    const { gates, decide } = openGates({ ask: true }, state);
    await gates.answer(gateId, { decision: 'approve' });
    await expect(gates.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(await decide(request('a', access('write', 'x')))).toEqual([ALLOWED]);
  });

  it('and that are answered just when somebody begins to wait for them tell him', async () => {
    const { gateId, state } = await left();
    const { gates, decide } = openGates({ ask: true }, state);
    const answered = gates.answer(gateId, { decision: 'approve' });
    const decided = decide(request('a', access('write', 'x')));
    await answered;
    expect(await decided).toEqual([ALLOWED]);
  });

  it.each<readonly [string, GateAnswer, object]>([
    ['approved', { decision: 'approve' }, ALLOWED],
    ['denied', { decision: 'deny', reason: 'never' }, refused('never')],
    ['edited', { decision: 'edit', input: { target: 'y' } }, { allowed: true, input: { target: 'y' } }],
  ])('and that were %s stay so', async (_, answer, permission) => {
    const { state } = await left(answer);
    expect(await openGates(undefined, state).decide(request('a', access('write', 'x')))).toEqual([permission]);
  });

  it('and that were approved allow what was shown: where the call wants more by now, it is asked for again', async () => {
    const { state } = await left({ decision: 'approve' });
    const { gates, decide, opened, settle } = openGates({ ask: true }, state);
    const decided = decide(request('a', access('write', 'x'), access('send', 'x')));
    await settle();
    expect(opened()).toMatchObject([{ callId: 'a', requests: [{ action: 'write' }, { action: 'send' }] }]);
    await gates.answer(opened()[0]!.gateId, { decision: 'deny' });
    expect(await decided).toEqual([refused('a person said no')]);
    const less = openGates(undefined, (await left({ decision: 'approve' })).state);
    expect(await less.decide(request('a'))).toEqual([ALLOWED]);
  });

  it('are claimed together by whoever ends the turn: no answer comes through after that', async () => {
    const { gateId, state } = await left();
    const { gates } = openGates({ ask: true }, state);
    expect(gates.claimAll().map(({ opened: { gateId: id } }) => id)).toEqual([gateId]);
    expect(gates.claimAll()).toEqual([]);
    await expect(gates.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
  });

  it('and that were approved do not allow what a rule forbids by now', async () => {
    const { state } = await left({ decision: 'approve' });
    const { decide } = openGates({ rules: [{ action: 'write', decision: 'deny' }] }, state);
    expect(await decide(request('a', access('write', 'x')))).toEqual([refused('a rule forbids write on x')]);
  });
});

it('the rules of a loop and those of a rig are one list', async () => {
  const allow = { action: 'write', decision: 'allow' as const };
  const deny = { action: 'write', target: 'etc', decision: 'deny' as const };
  for (const [rig, loop] of [[allow, deny] as const, [deny, allow] as const]) {
    const { decide } = openGates({ rules: [rig] }, undefined, [loop]);
    expect(await decide(request('a', access('write', 'x')), request('b', access('write', 'etc')))).toEqual([
      ALLOWED,
      refused('a rule forbids write on etc'),
    ]);
  }
});

describe('an interrupt', () => {
  it('because the user said something else denies in these words', async () => {
    const { interruption, decide, settle } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    interruption.stop({ kind: 'interrupted', reason: MOVED_ON });
    expect(await decided).toEqual([refused('the user moved on')]);
  });

  it('closes the open gates of its turn as denied, records that, and keeps what was decided', async () => {
    const { gates, interruption, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')), request('b', access('x', 'z')));
    await settle();
    const [first, second] = opened();
    await gates.answer(first!.gateId, { decision: 'approve' });
    interruption.stop({ kind: 'interrupted', reason: undefined });
    await expect(gates.answer(second!.gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(await decided).toEqual([ALLOWED, { ...refused('interrupted'), isInterrupted: true }]);
    expect(journal.at(-1)).toMatchObject({ type: 'gate.resolved', decision: 'denied', reason: 'interrupted' });
  });

  it('before or while gates open closes them too', async () => {
    for (const early of [true, false]) {
      const { interruption, decide } = openGates({ ask: true });
      if (early) interruption.stop({ kind: 'interrupted', reason: undefined });
      const decided = decide(request('a', access('x', 'y')));
      interruption.stop({ kind: 'interrupted', reason: undefined });
      expect(await decided).toEqual([{ ...refused('interrupted'), isInterrupted: true }]);
    }
  });
});

describe('a journal that fails', () => {
  it('when gates open refuses the batch, and leaves no gate behind', async () => {
    const { gates, decide, attempted, breakJournal } = openGates({ ask: true });
    breakJournal();
    await expect(decide(request('a', access('x', 'y')))).rejects.toThrow('the disk is full');
    const [lost] = attempted.flatMap(entry => (entry.type === 'gate.opened' ? [entry.gateId] : []));
    await expect(gates.answer(lost!, { decision: 'approve' })).rejects.toMatchObject({ kind: 'unknown_gate' });
  });

  it('when a gate is answered denies it, and tells who answered', async () => {
    const { gates, decide, opened, settle, breakJournal } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    breakJournal();
    await expect(gates.answer(opened()[0]!.gateId, { decision: 'approve' })).rejects.toThrow('the disk is full');
    expect(await decided).toEqual([refused('the decision could not be recorded')]);
  });

  it('when the turn is interrupted still lets it end', async () => {
    const { interruption, decide, settle, breakJournal } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')));
    await settle();
    breakJournal();
    interruption.stop({ kind: 'interrupted', reason: undefined });
    expect(await decided).toEqual([refused('the decision could not be recorded')]);
  });
});
