/**
 * Random turns: what the model asks for, how the tools behave, what the limits are, and when somebody interrupts. A scenario runs on
 * the manual clock and gives a trace that each invariant is checked against.
 */

import fc from 'fast-check';
import {
  defineLoop,
  defineRig,
  defineTool,
  type Message,
  type ModelRequest,
  type SessionEvent,
  type ToolCall,
  type TurnEvent,
  type TurnResult,
} from 'looprig';
import { forever, manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';

/** What one call does when it runs. */
interface Behaviour {
  readonly kind: 'returns' | 'throws' | 'sync' | 'nothing' | 'cycle' | 'hangs' | 'deaf' | 'heeds';
  readonly ms: number;
}

/** One call as the model makes it. */
interface CallPlan {
  readonly tool: 'plain' | 'keyed' | 'alone' | 'ghost' | '__proto__';
  readonly id: 'own' | 'same' | 'empty';
  readonly text: 'good' | 'broken' | 'list' | 'unfit';
  readonly behaviour: Behaviour;
  readonly key: number;
  readonly write: boolean;
}

/** One response of the model. */
interface StepPlan {
  readonly calls: readonly CallPlan[];
  readonly cutOff: boolean;
  readonly text: boolean;
}

/** A turn. */
export interface Scenario {
  readonly steps: readonly StepPlan[];
  readonly parallel: number;
  readonly iterations: number;
  readonly calls: number;
  readonly atLimit: 'fail' | 'answer';
  readonly stream: boolean;
  readonly interruptAt: number | undefined;
  readonly turnTimeoutMs: number | undefined;
}

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('returns' as const) },
    { weight: 4, arbitrary: fc.constantFrom('throws' as const, 'sync' as const, 'nothing' as const, 'cycle' as const) },
    { weight: 2, arbitrary: fc.constantFrom('hangs' as const, 'deaf' as const, 'heeds' as const) },
  ),
  ms: fc.integer({ min: 0, max: 60 }),
});

const call: fc.Arbitrary<CallPlan> = fc.record({
  tool: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('plain' as const, 'keyed' as const) },
    { weight: 1, arbitrary: fc.constantFrom('alone' as const, 'ghost' as const, '__proto__' as const) },
  ),
  id: fc.oneof(
    { weight: 6, arbitrary: fc.constant('own' as const) },
    { weight: 1, arbitrary: fc.constantFrom('same' as const, 'empty' as const) },
  ),
  text: fc.oneof(
    { weight: 8, arbitrary: fc.constant('good' as const) },
    { weight: 1, arbitrary: fc.constantFrom('broken' as const, 'list' as const, 'unfit' as const) },
  ),
  behaviour,
  key: fc.integer({ min: 0, max: 2 }),
  write: fc.boolean(),
});

/** Any turn. */
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(
    fc.record({
      calls: fc.array(call, { minLength: 1, maxLength: 7 }),
      cutOff: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      text: fc.boolean(),
    }),
    { maxLength: 4 },
  ),
  parallel: fc.integer({ min: 1, max: 4 }),
  iterations: fc.integer({ min: 1, max: 5 }),
  calls: fc.integer({ min: 1, max: 20 }),
  atLimit: fc.constantFrom('fail', 'answer'),
  stream: fc.boolean(),
  interruptAt: fc.option(fc.integer({ min: 0, max: 150 }), { nil: undefined }),
  turnTimeoutMs: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined, freq: 4 }),
});

/** Longest time of one call, and the longest that an interrupted turn waits. */
export const CALL_TIMEOUT_MS = 100;
export const DRAIN_MS = 40;

/** What a scenario came to. */
export interface Trace {
  readonly scenario: Scenario;
  readonly events: readonly TurnEvent[];
  readonly sessionEvents: readonly SessionEvent[];
  readonly result: TurnResult;
  readonly history: readonly Message[];
  readonly requests: readonly (readonly Message[])[];
  /** Runs of tools: the call's id and the plan that it followed. */
  readonly runs: readonly { readonly callId: string; readonly plan: CallPlan; readonly step: number }[];
  readonly stoppedAt: number | undefined;
  readonly endedAt: number;
  /** What the next turn on the session came to. */
  readonly next: TurnResult;
}

/** What hostile company a scenario is run in. */
export interface Company {
  /** Called with everything that a tool gets its hands on. */
  readonly tool?: (input: object, call: ToolCall) => void;
  readonly observer?: (event: SessionEvent) => void;
  readonly model?: (prompt: Message[]) => void;
  /** What a tool that returns gives. */
  readonly returned?: () => object;
}

/** Runs a scenario to its end, and one more turn on the same session. */
export async function runScenario(scenario: Scenario, company: Company = {}): Promise<Trace> {
  const clock = manualClock();
  const runs: { callId: string; plan: CallPlan; step: number }[] = [];
  const planOf = ({ step, index }: { step: number; index: number }): CallPlan => scenario.steps[step]!.calls[index]!;
  type Input = { step: number; index: number };

  const execute = (input: Input, toolCall: ToolCall) => {
    const plan = planOf(input);
    runs.push({ callId: toolCall.callId, plan, step: input.step });
    company.tool?.(input, toolCall);
    return behave(plan.behaviour, toolCall);
  };
  const later = (ms: number): Promise<void> => new Promise(resolve => clock.setTimer(resolve, ms));
  const behave = ({ kind, ms }: Behaviour, toolCall: ToolCall) => {
    if (kind === 'sync') return { at: ms };
    if (kind === 'cycle') {
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      return cycle;
    }
    if (kind === 'hangs') return new Promise<never>(() => {});
    if (kind === 'heeds') {
      return new Promise<never>((_, reject) =>
        toolCall.signal.addEventListener('abort', () => reject(toolCall.signal.reason)),
      );
    }
    return later(kind === 'deaf' ? ms * 20 : ms).then(() => {
      if (kind === 'throws') throw new Error(`failed after ${ms}`);
      return kind === 'nothing' ? undefined : (company.returned?.() ?? `after ${ms}`);
    });
  };
  const input = {
    type: 'object',
    properties: { step: { type: 'integer' }, index: { type: 'integer' } },
    required: ['step', 'index'],
  } as const;
  const tools = [
    defineTool({ name: 'plain', description: 'Runs.', input, execute }),
    defineTool({ name: 'alone', description: 'Runs alone.', input, sequential: true, execute }),
    defineTool({
      name: 'keyed',
      description: 'Works on a key.',
      input,
      resource: given => {
        const { key, write } = planOf(given);
        return { key: `key ${key}`, mode: write ? 'write' : 'read' };
      },
      execute,
    }),
  ];
  let isOver = false;
  const model = scriptedModel(
    forever((request: ModelRequest, step: number) => {
      company.model?.(request.prompt);
      const plan = scenario.steps[step];
      if (isOver || plan === undefined || request.toolChoice?.type === 'none') return { text: `answer ${step}` };
      return reply(plan, step);
    }),
    { clock },
  );
  const { parallel, iterations, calls, atLimit, stream, turnTimeoutMs } = scenario;
  const loop = defineLoop({
    ...{ name: 'random', model, tools, atLimit, stream, repeat: false, drainTimeoutMs: DRAIN_MS },
    limits: { parallel, iterations, calls, callTimeoutMs: CALL_TIMEOUT_MS, turnTimeoutMs },
  });
  const sessionEvents: SessionEvent[] = [];
  const observers = [
    (event: SessionEvent) => void sessionEvents.push(event),
    (event: SessionEvent) => company.observer?.(event),
  ];
  const session = await defineRig({ loops: [loop], clock, observers }).open();
  const events: TurnEvent[] = [];
  const turn = session.submit('go');
  const read = (async () => {
    for await (const event of turn) events.push(event);
  })();
  let stoppedAt: number | undefined;
  if (scenario.interruptAt !== undefined) {
    clock.setTimer(() => {
      stoppedAt = clock.now();
      turn.interrupt('enough');
      turn.interrupt('twice');
    }, scenario.interruptAt);
  }
  const result = await clock.runUntil(turn.result);
  const endedAt = clock.now();
  await read;
  const history = session.history;
  isOver = true;
  const next = await clock.runUntil(session.submit('and now?').result);
  await clock.runUntil(session.close());
  const requests = model.requests.map(request => request.prompt);
  return { scenario, events, sessionEvents, result, history, requests, runs, stoppedAt, endedAt, next };
}

function reply(plan: StepPlan, step: number): ScriptedReply {
  const calls = plan.calls.map((planned, index) => {
    const id = planned.id === 'own' ? `call-${step}-${index}` : planned.id === 'same' ? 'call-0-0' : '';
    const good = JSON.stringify({ step, index });
    const inputText = { good, broken: good.slice(0, -2), list: `[${good}]`, unfit: '{"step":"x"}' }[planned.text];
    return { tool: planned.tool, id, inputText };
  });
  return { ...(plan.text ? { text: 'I look.' } : {}), calls, finishReason: plan.cutOff ? 'length' : 'tool-calls' };
}
