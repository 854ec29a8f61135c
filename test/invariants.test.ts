/** The invariants of DESIGN.md, each against random turns. A failure prints the seed and the smallest turn that shows it. */
import fc from 'fast-check';
import { isTerminal, type SessionEvent, type TurnEvent } from 'looprig';
import { assertPaired } from 'looprig/testing';
import { expect, it } from 'vitest';
import {
  CALL_TIMEOUT_MS,
  type Company,
  DRAIN_MS,
  longestMs,
  runScenario,
  type Scenario,
  scenarios,
  TOKENS_PER_STEP,
  type Trace,
} from './support/scenario.ts';
import { tamper } from './support/tamper.ts';

const RUNS = 2_000;
const TIME = 120_000;

function holds(check: (trace: Trace) => void): Promise<void> {
  return fc.assert(
    fc.asyncProperty(scenarios, async scenario => check(await runScenario(scenario))),
    { numRuns: RUNS },
  );
}

/** Where in the order of events each call was announced, started and answered. */
function lives(events: readonly (TurnEvent | SessionEvent)[]) {
  const calls = new Map<string, { step: string; called?: number; started?: number; completed?: number }>();
  events.forEach((event, at) => {
    if (event.type !== 'tool.called' && event.type !== 'tool.started' && event.type !== 'tool.completed') return;
    const life = calls.get(event.callId) ?? { step: event.stepId };
    const stage = event.type === 'tool.called' ? 'called' : event.type === 'tool.started' ? 'started' : 'completed';
    expect(life[stage], `${event.type} of ${event.callId} comes once`).toBeUndefined();
    life[stage] = at;
    calls.set(event.callId, life);
  });
  return calls;
}

/** Invariant 1. */
function oneResultEach({ history, lastHistory, restoredHistory, requests, next }: Trace): void {
  assertPaired(history);
  assertPaired(lastHistory);
  for (const prompt of requests) assertPaired(prompt);
  expect(restoredHistory).toEqual(lastHistory);
  expect(lastHistory.slice(0, history.length)).toEqual(history);
  expect(next.at(-1)?.status).toBe('done');
}

/** Invariant 3. */
function boundedBatches({ events, scenario, runs }: Trace): void {
  const calls = lives(events);
  let running = 0;
  let peak = 0;
  for (const event of events) {
    if (event.type === 'tool.started') running += 1;
    if (event.type === 'tool.completed' && calls.get(event.callId)?.started !== undefined) running -= 1;
    peak = Math.max(peak, running);
  }
  expect(peak).toBeLessThanOrEqual(scenario.parallel);
  expect(running).toBe(0);
  for (const { called, started, completed } of calls.values()) {
    expect(called).toBeDefined();
    expect(completed).toBeGreaterThan(called!);
    if (started !== undefined) expect(completed).toBeGreaterThan(started);
  }
  const ran = runs.map(run => {
    const life = calls.get(run.callId);
    expect(life?.started, `${run.callId} ran, so it was told to start`).toBeDefined();
    return { ...run, started: life!.started!, completed: life!.completed! };
  });
  expect(new Set(ran.map(({ callId }) => callId)).size, 'no call runs twice').toBe(ran.length);
  // Two calls of one step that must not meet do not meet, and keep their order.
  for (const [place, first] of ran.entries()) {
    for (const second of ran.slice(place + 1)) {
      if (first.step !== second.step) continue;
      const alone = first.plan.tool === 'alone' || second.plan.tool === 'alone';
      const keyed = first.plan.tool === 'keyed' && second.plan.tool === 'keyed' && first.plan.key === second.plan.key;
      if (!alone && !(keyed && (first.plan.write || second.plan.write))) continue;
      expect(first.completed, 'conflicting calls do not overlap').toBeLessThan(second.started);
      const order = scenario.steps[first.step]!.calls;
      expect(order.indexOf(first.plan)).toBeLessThan(order.indexOf(second.plan));
    }
  }
}

/** The response that goes first beyond a limit, if the turn gets so far: its place and the limit. */
function beyond({
  steps,
  iterations,
  calls,
  tokens,
}: Scenario): { readonly place: number; readonly limit: string } | undefined {
  let asked = 0;
  for (const [place, step] of steps.entries()) {
    asked += step.calls.length;
    const used = (place + 1) * TOKENS_PER_STEP;
    const limit =
      place + 1 > iterations
        ? 'iterations'
        : asked > calls
          ? 'calls'
          : used > (tokens ?? Number.POSITIVE_INFINITY)
            ? 'tokens'
            : undefined;
    if (limit !== undefined) return { place, limit };
  }
  return undefined;
}

/** Invariant 4. */
function nothingBeyondLimits({ runs, scenario, result, observed }: Trace): void {
  const { iterations, calls, tokens = Number.POSITIVE_INFINITY } = scenario;
  expect(runs.length).toBeLessThanOrEqual(calls);
  expect(runs.some(({ step }) => scenario.steps[step]!.cutOff)).toBe(false);
  expect(new Set(runs.map(run => run.step)).size).toBeLessThanOrEqual(iterations);
  const first = beyond(scenario);
  if (first !== undefined) expect(runs.every(run => run.step < first.place)).toBe(true);
  for (const { step, budget } of runs) {
    const asked = scenario.steps.slice(0, step + 1).reduce((sum, plan) => sum + plan.calls.length, 0);
    expect(budget).toEqual({
      ...{ iterationsLeft: iterations - step - 1, callsLeft: calls - asked },
      tokensLeft: tokens - (step + 1) * TOKENS_PER_STEP,
    });
  }
  expect(observed.filter(({ type }) => type === 'tool.started').length).toBeGreaterThanOrEqual(runs.length);
  // Where nothing else ends the turn before, it ends at the limit.
  const { interruptAt, interruptAtEvent, turnTimeoutMs, gate, queueAt } = scenario;
  // Who says something else while a person is asked ends the turn too.
  const movesOn = gate === 'approve' || gate === 'refuse' ? queueAt : undefined;
  const isStopped = [interruptAt, interruptAtEvent, turnTimeoutMs, movesOn].some(when => when !== undefined);
  const reached = scenario.steps.slice(0, first === undefined ? 0 : first.place + 1);
  const endsBefore = reached.some(
    ({ trouble, calls: planned }) =>
      trouble === 'breaks off' || planned.some(({ behaviour }) => behaviour.kind === 'ends'),
  );
  if (first === undefined || isStopped || endsBefore) return;
  const isInsisted = scenario.insists && scenario.steps[first.place + 1] !== undefined;
  if (scenario.atLimit === 'answer' && !isInsisted) {
    expect(result).toMatchObject({ status: 'done', limited: { limit: first.limit } });
  } else if (scenario.atLimit === 'fail' || scenario.steps[first.place + 1]?.trouble !== 'breaks off') {
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'tool_limit', limit: first.limit } });
  }
}

/** Invariant 7. */
function oneEndInTime({ turnId, events, observed, result, scenario, stopped, runs, endedAt, lateRuns }: Trace): void {
  const ends = events.filter(isTerminal);
  expect(ends).toHaveLength(1);
  expect(events.at(-1)).toBe(ends[0]);
  expect(ends[0]?.type).toBe(`turn.${result.status}`);
  const isOfTurn = (event: SessionEvent): boolean => 'turnId' in event && event.turnId === turnId;
  expect(observed.filter(event => isOfTurn(event) && isTerminal(event))).toHaveLength(1);
  expect(lateRuns, 'nothing runs after the end').toBe(0);
  // The end of one turn comes before the beginning of the next.
  const order = observed
    .filter(event => event.type === 'turn.started' || isTerminal(event))
    .map(({ type }) => type === 'turn.started');
  expect(order.every((isStart, place) => isStart === (place % 2 === 0))).toBe(true);
  if (stopped !== undefined && result.status === 'interrupted') {
    expect(endedAt - stopped.at).toBeLessThanOrEqual(DRAIN_MS);
    expect(runs.length, 'no call starts after the interrupt').toBe(stopped.runs);
  }
  const asked =
    scenario.gate === 'approve' || scenario.gate === 'refuse' ? scenario.steps.length * scenario.answerMs : 0;
  if (scenario.turnTimeoutMs !== undefined)
    expect(endedAt - asked).toBeLessThanOrEqual(scenario.turnTimeoutMs + DRAIN_MS);
  if (scenario.interruptAt !== undefined) expect(endedAt).toBeLessThanOrEqual(scenario.interruptAt + DRAIN_MS);
  if (!scenario.steps.some(({ trouble }) => trouble === 'never'))
    expect(endedAt).toBeLessThanOrEqual(longestMs(scenario));
  expect(CALL_TIMEOUT_MS).toBeGreaterThan(DRAIN_MS);
}

it(
  'invariant 1: every call in committed history has exactly one result, in the message after it, and the next turn works',
  () => holds(oneResultEach),
  TIME,
);

it(
  'invariant 3: never more than `parallel` calls run, and calls on one resource keep call order',
  () => holds(boundedBatches),
  TIME,
);

it('invariant 4: beyond a limit nothing runs', () => holds(nothingBeyondLimits), TIME);

it('invariant 7: a turn has exactly one terminal event, and settles in bounded time', () => holds(oneEndInTime), TIME);

/** A tool, a middleware, an observer, a reader and a model that change and break whatever they are given. */
function hostile(): Company {
  const kept: Record<string, unknown>[] = [];
  const broken = {
    get tampered(): never {
      throw new Error('hostile');
    },
  };
  return {
    tool(input, call) {
      Reflect.set(input, 'tampered', true);
      for (const name of ['callId', 'toolName', 'sessionId', 'turnId', 'budget', 'signal', 'progress'])
        Reflect.set(call, name, 'tampered');
      tamper(call.budget);
      for (const value of kept) value.tampered = true; // what was returned before is changed afterwards
      call.progress(broken as never);
      call.progress({ progress: [1] });
    },
    middleware(call, next) {
      for (const name of ['callId', 'toolName', 'budget', 'input']) Reflect.set(call, name, 'tampered');
      return next();
    },
    returned() {
      const value: Record<string, unknown> = { returned: true };
      kept.push(value);
      return value;
    },
    observer(event) {
      tamper(event);
      if (event.seq % 3 === 0) throw broken;
      return event.seq % 3 === 1 ? Promise.reject(broken) : undefined;
    },
    reader: event => tamper(event),
    model(request) {
      const { prompt } = request;
      for (const message of [...prompt]) tamper(message);
      for (const tool of request.tools ?? []) tamper(tool);
      prompt.reverse();
      prompt.push({ role: 'user', content: [{ type: 'text', text: 'slipped in' }] });
      tamper(request);
    },
  };
}

/**
 * Company that does nothing. It has a middleware like the hostile one: whether a call is done in the very moment in which its turn is stopped hangs on how
 * many promises its middlewares put between, and that is no change of what happens.
 */
const harmless: Company = { middleware: (_call, next) => next() };

/** What happened, without ids and times that differ from run to run. */
function outline({ records, result, runs }: Trace): unknown {
  const calls = new Map<string, string>();
  const named = (callId: string): string => {
    const name = calls.get(callId) ?? `call ${calls.size}`;
    calls.set(callId, name);
    return name;
  };
  return {
    status: result.status,
    records: records.map(record => {
      const { type, callId, outcome } = record as { type: string; callId?: string; outcome?: string };
      return [type, callId === undefined ? undefined : named(callId), outcome];
    }),
    runs: runs.map(({ callId, startedAt }) => [named(callId), startedAt]),
  };
}

it(
  'invariant 8: hostile tools, middlewares, observers, readers and models break none of the others, and change nothing of what happens',
  () =>
    fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const trace = await runScenario(scenario, hostile());
        oneResultEach(trace);
        boundedBatches(trace);
        nothingBeyondLimits(trace);
        oneEndInTime(trace);
        const { records, lastHistory, result, requests, events, observed } = trace;
        for (const [place, what] of Object.entries({ records, lastHistory, result, requests, events, observed })) {
          const text = JSON.stringify(what);
          const at = text.search(/tampered|slipped in/);
          expect(at === -1 ? undefined : `${place}: ${text.slice(Math.max(0, at - 200), at + 100)}`).toBeUndefined();
        }
        // The waits before a second attempt differ from run to run.
        if (scenario.steps.some(({ trouble }) => trouble === 'tried again')) return;
        expect(outline(trace)).toEqual(outline(await runScenario(scenario, harmless)));
      }),
      { numRuns: RUNS },
    ),
  TIME,
);
