/** The view of a session, folded from its events: whatever a turn does, wherever its reader begins, stops or begins anew. */
import fc from 'fast-check';
import { type CallOutcome, EVENT_DURABILITY, type SessionEvent } from 'looprig';
import { manualClock, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { EMPTY_VIEW, reduce, reduceAll, withoutDrafts } from '../../src/report/model/reduce.ts';
import { tracksOf } from '../../src/report/model/spans.ts';
import type { CallView, SessionView, TurnView } from '../../src/report/model/view.ts';
import { open, play, reached, saying } from '../cases/setup.ts';
import { runScenario, scenarios } from '../support/scenario.ts';

const TIME = 120_000;

function holds(check: (events: readonly SessionEvent[]) => void): Promise<void> {
  return fc.assert(
    fc.asyncProperty(scenarios, async scenario => check((await runScenario(scenario)).observed)),
    { numRuns: 300 },
  );
}

const isEnduring = ({ type }: SessionEvent): boolean => EVENT_DURABILITY[type] === 'enduring';

/** What stands in a view whether or not its reader was there in time for what is not enduring. */
function lasting(view: SessionView): SessionView {
  const turns = view.turns.map(turn => ({
    ...turn,
    steps: turn.steps.map(({ reasoning: _reasoning, writing: _writing, ...step }) => ({
      ...step,
      ...(step.usage === undefined ? { text: '' } : {}),
      calls: step.calls.map(({ progress: _progress, isLate: _isLate, ...call }) => call),
    })),
  }));
  return { ...view, at: 0, turns: turns as unknown as readonly TurnView[] };
}

/** What must be true of any view. */
function expectConsistent(view: SessionView): void {
  const underWay = view.turns.filter(({ end }) => end === undefined);
  expect(underWay.length).toBeLessThanOrEqual(1);
  for (const turn of view.turns) {
    const calls = turn.steps.flatMap(step => step.calls);
    expect(new Set(calls.map(({ callId }) => callId)).size).toBe(calls.length);
    expect(turn.peak).toBeGreaterThanOrEqual(turn.running);
    expect(turn.peak).toBeLessThanOrEqual(turn.limits.parallel ?? Number.POSITIVE_INFINITY);
    expect(turn.steps.map(({ step }) => step)).toEqual(turn.steps.map((_, index) => index + 1));
    if (turn.end === undefined) expectRunning(turn, calls);
    else expectEnded(turn, calls);
    for (const call of calls) expectInOrder(call, turn);
  }
}

function expectRunning(turn: TurnView, calls: readonly CallView[]): void {
  expect(turn.calls).toBe(calls.length);
  expect(turn.running).toBe(calls.filter(call => call.startedAt !== undefined && call.endedAt === undefined).length);
  expect(turn.openGates).toBe(calls.filter(({ gate }) => gate !== undefined && gate.resolvedAt === undefined).length);
  expect(turn.state).toBe(turn.openGates > 0 ? 'waiting' : 'running');
  const totals = turn.steps.map(step => step.usage?.totalTokens ?? 0);
  expect(turn.usage.totalTokens).toBe(totals.reduce((sum, tokens) => sum + tokens, 0));
}

function expectEnded(turn: TurnView, calls: readonly CallView[]): void {
  expect(['done', 'failed', 'interrupted']).toContain(turn.state);
  expect([turn.running, turn.openGates]).toEqual([0, 0]);
  expect(turn.steps.every(({ endedAt, writing }) => endedAt !== undefined && writing.length === 0)).toBe(true);
  expect(calls.filter(({ outcome }) => outcome === undefined)).toEqual([]);
}

/** A call waits for a person, then for others, then for a slot, then runs; nothing of it overlaps, and all of it is within its batch. */
function expectInOrder(call: CallView, turn: TurnView): void {
  const step = turn.steps.find(({ calls }) => calls.includes(call))!;
  const batch = tracksOf(step, turn.limits.parallel, Math.max(...step.calls.map(lastOf)))!;
  const spans = batch.tracks.find(track => track.call === call)!.spans;
  const order = ['person', 'call', 'slot', 'running'];
  expect(spans.map(({ kind }) => order.indexOf(kind))).toEqual(
    [...new Set(spans.map(({ kind }) => order.indexOf(kind)))].sort((a, b) => a - b),
  );
  for (const [index, { kind, from, to, isOpen }] of spans.entries()) {
    const frame = kind === 'person' ? batch.asked! : batch.ran;
    expect([from <= to, frame.from <= from, to <= frame.to]).toEqual([true, true, true]);
    if (index > 0) expect(spans[index - 1]!.to).toBeLessThanOrEqual(from);
    if (isOpen) expect(step.endedAt).toBeUndefined();
  }
}

function lastOf({ gate, calledAt = 0, startedAt = 0, endedAt = 0 }: CallView): number {
  return Math.max(gate?.openedAt ?? 0, gate?.resolvedAt ?? 0, calledAt, startedAt, endedAt);
}

describe('the view of random sessions', () => {
  it('holds together after each event', { timeout: TIME }, () =>
    holds(events => {
      let view = EMPTY_VIEW;
      for (const event of events) {
        view = reduce(view, event);
        expectConsistent(view);
      }
    }),
  );

  it('is the same without the events that do not endure, but for what only they tell', { timeout: TIME }, () =>
    holds(events => {
      expect(lasting(reduceAll(EMPTY_VIEW, events.filter(isEnduring)))).toEqual(lasting(reduceAll(EMPTY_VIEW, events)));
    }),
  );

  it('is the same for a reader that was cut off anywhere, and reads on or begins anew', { timeout: TIME }, () =>
    holds(events => {
      const whole = reduceAll(EMPTY_VIEW, events);
      const cut = Math.floor(events.length / 2);
      const before = withoutDrafts(reduceAll(EMPTY_VIEW, events.slice(0, cut)));
      const missed = events.slice(cut).filter(isEnduring);
      expect(lasting(reduceAll(before, missed))).toEqual(lasting(whole));
      expect(lasting(reduceAll(before, events.filter(isEnduring)))).toEqual(lasting(whole));
    }),
  );

  it('leaves the views before it as they were, and what an event is not about the same object', { timeout: TIME }, () =>
    holds(events => {
      const views = [EMPTY_VIEW];
      for (const event of events) views.push(freezeAll(reduce(views.at(-1)!, event)));
      for (const [index, view] of views.entries()) {
        for (const turn of view.turns.slice(0, -1)) {
          if (views[index + 1]?.turns.includes(turn) === false) expect(views[index + 1]!.turns.at(-1)).not.toBe(turn);
        }
      }
    }),
  );
});

function freezeAll(view: SessionView): SessionView {
  Object.freeze(view.turns);
  Object.freeze(view.waiting);
  for (const turn of view.turns) {
    Object.freeze(turn);
    Object.freeze(turn.steps);
    for (const step of turn.steps) for (const call of Object.freeze(step).calls) Object.freeze(call);
  }
  return Object.freeze(view);
}

const done: ScriptedReply = { text: 'done' };

/** The spans of each call of the first step, from the beginning of the batch. */
function spansIn(view: SessionView, now = view.at): Record<string, readonly (readonly unknown[])[]> {
  const turn = view.turns[0]!;
  const batch = tracksOf(turn.steps[0]!, turn.limits.parallel, now)!;
  return Object.fromEntries(
    batch.tracks.map(({ call, spans }) => [
      call.callId,
      spans.map(({ kind, from, to, isOpen }) => [kind, from - batch.ran.from, to - batch.ran.from, isOpen]),
    ]),
  );
}

describe('the tracks of a batch', () => {
  const sleeps = (name: string, options: object = {}) =>
    scriptedTool(name, { sleepMs: ({ ms }) => Number(ms), ...options });

  async function playBatch(calls: readonly (readonly [tool: string, id: string, ms: number])[], parallel: number) {
    const clock = manualClock();
    const tools = [sleeps('look', { clock }), sleeps('write', { clock, resource: () => 'file' })];
    const batch = { calls: calls.map(([tool, id, ms]) => ({ tool, id, input: { ms } })) };
    const opened = await open({ model: saying(batch, done), tools, clock, limits: { parallel } });
    await play(opened);
    return reduceAll(EMPTY_VIEW, opened.events);
  }

  it('tell waiting for a call on the same resource from waiting for a slot', async () => {
    const view = await playBatch(
      [
        ...[['write', 'a', 30] as const, ['write', 'b', 10] as const],
        ...[['look', 'c', 20] as const, ['look', 'd', 5] as const],
      ],
      2,
    );
    expect(spansIn(view)).toEqual({
      a: [['running', 0, 30, false]],
      b: [
        ['call', 0, 30, false],
        ['running', 30, 40, false],
      ],
      c: [['running', 0, 20, false]],
      d: [
        ['slot', 0, 20, false],
        ['running', 20, 25, false],
      ],
    });
    expect(view.turns[0]).toMatchObject({ peak: 2, running: 0, calls: 4, iterations: 1, state: 'done' });
  });

  it('have a call that is free but finds no slot wait first for the one, then for the other', async () => {
    const view = await playBatch(
      [
        ...[['write', 'a', 10] as const, ['look', 'b', 30] as const],
        ...[['look', 'c', 30] as const, ['write', 'd', 10] as const],
      ],
      2,
    );
    expect(spansIn(view).d).toEqual([
      ['call', 0, 10, false],
      ['slot', 10, 30, false],
      ['running', 30, 40, false],
    ]);
  });

  it('show a person’s time apart, and what goes on as open', async () => {
    const clock = manualClock();
    const tool = scriptedTool('delete', {
      ...{ clock, sleepMs: 40, access: () => [{ action: 'fs.delete', target: 'a' }] },
    });
    const model = saying(
      {
        calls: [
          { tool: 'delete', id: 'a' },
          { tool: 'delete', id: 'b' },
        ],
      },
      done,
    );
    const opened = await open({ model, tools: [tool], clock, rig: { gate: { ask: true } } });
    const turn = opened.session.submit('go');
    await reached(turn, 'gate.opened');
    await clock.advance(5_000);
    const asked = reduceAll(EMPTY_VIEW, opened.events);
    expect(asked.turns[0]).toMatchObject({ state: 'waiting', openGates: 2 });
    expect(spansIn(asked, clock.now())).toEqual({
      a: [['person', -5_000, 0, true]],
      b: [['person', -5_000, 0, true]],
    });
    const [first, second] = opened.session.gates;
    await opened.session.answer(first!.gateId, { decision: 'approve' });
    await opened.session.answer(second!.gateId, { decision: 'deny', reason: 'no' });
    await clock.runUntil(turn.result);
    const view = reduceAll(EMPTY_VIEW, opened.events);
    expect(spansIn(view).a).toEqual([
      ['person', -5_000, 0, false],
      ['running', 0, 40, false],
    ]);
    const [call, denied] = view.turns[0]!.steps[0]!.calls;
    expect(call).toMatchObject({ outcome: 'done' satisfies CallOutcome, gate: { decision: 'approved' } });
    expect(denied).toMatchObject({ outcome: 'denied', gate: { decision: 'denied', reason: 'no' } });
  });
});
