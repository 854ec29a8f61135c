import { describe, expect, it } from 'vitest';
import type { AccessRequest } from '../define/tool.ts';
import { GateError, SessionError } from '../errors.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { PermissionRequest } from '../run/context.ts';
import { Interruption } from '../run/interruption.ts';
import { GateKeeper, type GateOptions, type GateRule } from './gate.ts';

const access = (action: string, target: string): AccessRequest => ({ action, target });
const request = (callId: string, ...requests: AccessRequest[]): PermissionRequest => {
  return { stepId: 't.1', callId, toolName: 'tool', requests, summary: undefined };
};

/** Gates whose records can be looked at, and whose journal can be made to fail. */
function openGates(options?: GateOptions) {
  const journal: JournalEntry[] = [];
  const attempted: JournalEntry[] = [];
  let broken: Error | undefined;
  const gates = new GateKeeper(options, async entries => {
    attempted.push(...entries);
    await null;
    if (broken !== undefined) throw broken;
    journal.push(...entries);
  });
  const interruption = new Interruption();
  const decide = (...requests: PermissionRequest[]) => gates.decide('t', interruption, requests);
  const opened = () => journal.flatMap(entry => (entry.type === 'gate.opened' ? [entry] : []));
  const settle = () => new Promise(resolve => setImmediate(resolve));
  const breakJournal = () => {
    broken = new Error('the disk is full');
  };
  return { gates, interruption, journal, attempted, decide, opened, settle, breakJournal };
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
    [undefined, 'an answer needs a decision: "approve" or "deny"'],
    [{}, 'an answer needs a decision: "approve" or "deny"'],
    [{ decision: 'allow' }, 'an answer needs a decision: "approve" or "deny"'],
    [{ decision: 'deny', reason: 7 }, 'the reason of an answer must be text, not 7'],
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

describe('an interrupt', () => {
  it('closes the open gates of its turn as denied, records that, and keeps what was decided', async () => {
    const { gates, interruption, decide, opened, settle, journal } = openGates({ ask: true });
    const decided = decide(request('a', access('x', 'y')), request('b', access('x', 'z')));
    const other = gates.decide('other', new Interruption(), [request('c', access('x', 'y'))]);
    await settle();
    const [first, second, third] = opened();
    await gates.answer(first!.gateId, { decision: 'approve' });
    interruption.stop({ kind: 'interrupted', reason: undefined });
    await expect(gates.answer(second!.gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(await decided).toEqual([ALLOWED, refused('interrupted')]);
    expect(journal.at(-1)).toMatchObject({ type: 'gate.resolved', decision: 'denied', reason: 'interrupted' });
    await gates.answer(third!.gateId, { decision: 'approve' });
    expect(await other).toEqual([ALLOWED]);
  });

  it('before or while gates open closes them too', async () => {
    for (const early of [true, false]) {
      const { interruption, decide } = openGates({ ask: true });
      if (early) interruption.stop({ kind: 'interrupted', reason: undefined });
      const decided = decide(request('a', access('x', 'y')));
      interruption.stop({ kind: 'interrupted', reason: undefined });
      expect(await decided).toEqual([refused('interrupted')]);
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
