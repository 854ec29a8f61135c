/** The invariants of DESIGN.md, each against random turns. A failure prints the seed and the smallest turn that shows it. */

import fc from 'fast-check';
import { isTerminal, type Message, type TurnEvent } from 'looprig';
import { assertPaired } from 'looprig/testing';
import { expect, it } from 'vitest';
import { CALL_TIMEOUT_MS, type Company, DRAIN_MS, runScenario, scenarios, type Trace } from './support/scenario.ts';

const RUNS = 2_000;
const TIME = 120_000;

function holds(check: (trace: Trace) => void, company?: () => Company): Promise<void> {
  const property = fc.asyncProperty(scenarios, async scenario => check(await runScenario(scenario, company?.())));
  return fc.assert(property, { numRuns: RUNS });
}

/** Where in the order of events each call was announced, started and answered. */
function lives(events: readonly TurnEvent[]) {
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

function oneResultEach({ history, requests, next }: Trace): void {
  assertPaired(history);
  for (const prompt of requests) assertPaired(prompt.filter(message => message.role !== 'system'));
  expect(next.status).toBe('done');
}

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
  // Two calls of one step that must not meet do not meet, and keep their order.
  const ran = runs.flatMap(run => {
    const life = calls.get(run.callId);
    return life?.started === undefined ? [] : [{ ...run, started: life.started, completed: life.completed! }];
  });
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

function nothingBeyondLimits({ runs, scenario, result, events }: Trace): void {
  expect(runs.length).toBeLessThanOrEqual(scenario.calls);
  expect(new Set(runs.map(run => run.step)).size).toBeLessThanOrEqual(scenario.iterations);
  // The first response that goes beyond a limit, and everything after it, runs nothing.
  let asked = 0;
  const beyond = scenario.steps.findIndex(({ calls }, step) => {
    asked += calls.length;
    return step + 1 > scenario.iterations || asked > scenario.calls;
  });
  if (beyond !== -1) expect(runs.every(run => run.step < beyond)).toBe(true);
  const isStopped = scenario.interruptAt !== undefined || scenario.turnTimeoutMs !== undefined;
  if (beyond === -1 || isStopped) return;
  if (scenario.atLimit === 'answer') expect(result).toMatchObject({ status: 'done', limited: {} });
  else expect(result).toMatchObject({ status: 'failed', error: { kind: 'tool_limit' } });
  expect(events.filter(event => event.type === 'tool.started')).toHaveLength(runs.length);
}

function oneEndInTime({ events, sessionEvents, result, scenario, stoppedAt, endedAt }: Trace): void {
  const ends = events.filter(isTerminal);
  expect(ends).toHaveLength(1);
  expect(events.at(-1)?.seq).toBe(ends[0]?.seq);
  expect(ends[0]?.type).toBe(`turn.${result.status}`);
  const enduring = sessionEvents.filter(
    event => 'turnId' in event && event.turnId === events[0]?.turnId && isTerminal(event),
  );
  expect(enduring).toHaveLength(1);
  if (stoppedAt !== undefined && result.status === 'interrupted')
    expect(endedAt - stoppedAt).toBeLessThanOrEqual(DRAIN_MS);
  const { turnTimeoutMs } = scenario;
  if (turnTimeoutMs !== undefined) expect(endedAt).toBeLessThanOrEqual(turnTimeoutMs + DRAIN_MS);
  const longest = scenario.steps.reduce((sum, { calls }) => sum + calls.length * CALL_TIMEOUT_MS, 0);
  expect(endedAt).toBeLessThanOrEqual(longest + DRAIN_MS);
}

it(
  'invariant 1: every call in committed history has exactly one result, in the message after it, and the next turn works',
  () => {
    return holds(oneResultEach);
  },
  TIME,
);

it(
  'invariant 3: never more than `parallel` calls run, and calls on one resource keep call order',
  () => {
    return holds(boundedBatches);
  },
  TIME,
);

it('invariant 4: beyond a limit nothing runs', () => holds(nothingBeyondLimits), TIME);

it('invariant 7: a turn has exactly one terminal event, and settles in bounded time', () => holds(oneEndInTime), TIME);

it(
  'invariant 8: hostile tools, observers and models break none of the others',
  () => {
    return holds(
      trace => {
        oneResultEach(trace);
        boundedBatches(trace);
        nothingBeyondLimits(trace);
        oneEndInTime(trace);
        expect(JSON.stringify(trace.history)).not.toContain('tampered');
        expect(JSON.stringify(trace.requests)).not.toContain('tampered');
      },
      () => {
        const kept: Record<string, unknown>[] = [];
        return {
          tool(input, call) {
            Reflect.set(input, 'tampered', true);
            for (const name of ['callId', 'toolName', 'sessionId', 'budget', 'run', 'answerFor'])
              Reflect.set(call, name, 'tampered');
            Reflect.set(call.budget, 'calls', 1_000_000);
            for (const value of kept) value.tampered = true; // what was returned before is changed afterwards
            call.progress({
              get tampered(): never {
                throw new Error('hostile');
              },
            } as never);
          },
          returned() {
            const value: Record<string, unknown> = { returned: true };
            kept.push(value);
            return value;
          },
          observer(event) {
            Reflect.set(event, 'type', 'tampered');
            if (event.seq % 3 === 0) throw new Error('hostile observer');
          },
          model(prompt) {
            for (const message of prompt) {
              Reflect.set(message, 'role', 'tampered');
              if (Array.isArray(message.content)) {
                for (const part of message.content) Reflect.set(part, 'type', 'tampered');
                Reflect.set(message.content, 'length', 0);
              }
            }
            prompt.push({ role: 'user', content: [{ type: 'text', text: 'kept out' }] } as Message);
            prompt.reverse();
          },
        };
      },
    );
  },
  TIME,
);
