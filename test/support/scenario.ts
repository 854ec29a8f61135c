/**
 * Random turns: what the model asks for, how the tools behave, what the limits are, what goes wrong and when somebody interrupts. A
 * scenario runs on the manual clock and gives a trace that each invariant is checked against.
 */
import fc from 'fast-check';
import {
  type AnyLanguageModel,
  defineLoop,
  defineRig,
  defineTool,
  EVENT_DURABILITY,
  type GateOptions,
  isTerminal,
  type Message,
  type ModelRequest,
  memoryStore,
  type Session,
  type SessionEvent,
  type ToolBudget,
  type ToolCall,
  type ToolMiddleware,
  type Turn,
  type TurnEvent,
  type TurnResult,
  toolResult,
} from 'looprig';
import { forever, type ManualClock, manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';

/** What one call does when it runs. */
interface Behaviour {
  readonly kind: (typeof ENDING)[number] | (typeof ODD)[number] | (typeof STUBBORN)[number];
  readonly ms: number;
}

const ENDING = ['returns', 'parts', 'sync', 'throws'] as const;
const ODD = ['nothing', 'cycle', 'getter', 'unreadable', 'thenable', 'ends'] as const;
const STUBBORN = ['hangs', 'deaf', 'heeds'] as const;

/** One call as the model makes it. */
interface CallPlan {
  readonly tool: 'plain' | 'keyed' | 'alone' | 'gated' | 'ghost' | '__proto__';
  readonly id: 'own' | 'same' | 'empty';
  readonly text: 'good' | 'broken' | 'list' | 'unfit' | 'nothing';
  readonly behaviour: Behaviour;
  readonly key: number;
  readonly write: boolean;
}

/** One response of the model, and what is wrong with the request that it answers. */
interface StepPlan {
  readonly calls: readonly CallPlan[];
  readonly cutOff: boolean;
  readonly text: boolean;
  readonly trouble: 'none' | 'tried again' | 'breaks off' | 'paused' | 'slow' | 'never';
}

/** A turn. */
export interface Scenario {
  readonly steps: readonly StepPlan[];
  readonly parallel: number;
  readonly iterations: number;
  readonly calls: number;
  readonly tokens: number | undefined;
  readonly atLimit: 'fail' | 'answer';
  /** Whether the model asks for tools even when they are off. */
  readonly insists: boolean;
  readonly stream: boolean;
  readonly specification: 'v4' | 'v3' | 'v2';
  readonly gate: 'allow' | 'deny' | 'approve' | 'refuse';
  readonly answerMs: number;
  /** When somebody interrupts, by the clock, or as what the n-th enduring event sets off. */
  readonly interruptAt: number | undefined;
  readonly interruptAtEvent: number | undefined;
  readonly turnTimeoutMs: number | undefined;
  readonly steerAt: number | undefined;
  readonly queueAt: number | undefined;
  /** A reader that breaks off, or throws, after so many events. */
  readonly readerStopsAfter: number;
}

function mostly<T>(usual: fc.Arbitrary<T>, seldom: fc.Arbitrary<T>, weight = 6): fc.Arbitrary<T> {
  return fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: seldom });
}

const maybe = (arbitrary: fc.Arbitrary<number>, freq = 1): fc.Arbitrary<number | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq });

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  kind: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<Behaviour['kind']>(...ENDING) },
    { weight: 2, arbitrary: fc.constantFrom<Behaviour['kind']>(...ODD) },
    { weight: 2, arbitrary: fc.constantFrom<Behaviour['kind']>(...STUBBORN) },
  ),
  ms: fc.integer({ min: 0, max: 60 }),
});

const call: fc.Arbitrary<CallPlan> = fc.record({
  tool: mostly<CallPlan['tool']>(
    fc.constantFrom('plain', 'keyed'),
    fc.constantFrom('alone', 'gated', 'ghost', '__proto__'),
    3,
  ),
  id: mostly<CallPlan['id']>(fc.constant('own'), fc.constantFrom('same', 'empty')),
  text: mostly<CallPlan['text']>(fc.constant('good'), fc.constantFrom('broken', 'list', 'unfit', 'nothing'), 8),
  behaviour,
  key: fc.integer({ min: 0, max: 2 }),
  write: fc.boolean(),
});

const step: fc.Arbitrary<StepPlan> = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 7 }),
  cutOff: mostly(fc.constant(false), fc.constant(true), 9),
  text: fc.boolean(),
  trouble: mostly<StepPlan['trouble']>(
    fc.constant('none'),
    fc.constantFrom('tried again', 'breaks off', 'paused', 'slow', 'never'),
    5,
  ),
});

/** Any turn. */
export const scenarios: fc.Arbitrary<Scenario> = fc
  .record({
    steps: fc.array(step, { maxLength: 4 }),
    parallel: fc.integer({ min: 1, max: 4 }),
    iterations: fc.integer({ min: 1, max: 5 }),
    calls: fc.integer({ min: 1, max: 20 }),
    tokens: maybe(fc.integer({ min: 10, max: 80 }), 5),
    atLimit: fc.constantFrom<Scenario['atLimit']>('fail', 'answer'),
    insists: mostly(fc.constant(false), fc.constant(true), 2),
    stream: fc.boolean(),
    specification: mostly<Scenario['specification']>(fc.constant('v4'), fc.constantFrom('v3', 'v2'), 3),
    gate: fc.constantFrom<Scenario['gate']>('allow', 'deny', 'approve', 'refuse'),
    answerMs: fc.integer({ min: 0, max: 100 }),
    interruptAt: maybe(mostly(fc.integer({ min: 0, max: 150 }), fc.integer({ min: 0, max: 2_500 }), 3)),
    interruptAtEvent: maybe(fc.integer({ min: 1, max: 40 }), 2),
    turnTimeoutMs: maybe(fc.integer({ min: 1, max: 200 }), 4),
    steerAt: maybe(fc.integer({ min: 0, max: 150 }), 3),
    queueAt: maybe(fc.integer({ min: 0, max: 150 }), 3),
    readerStopsAfter: fc.integer({ min: 0, max: 30 }),
  })
  .map(scenario => {
    // A model that never answers is ended by somebody.
    const isEndless = scenario.steps.some(({ trouble }) => trouble === 'never');
    return isEndless && scenario.turnTimeoutMs === undefined
      ? { ...scenario, interruptAt: scenario.interruptAt ?? 150 }
      : scenario;
  });

/** Longest time of one call, and the longest that an interrupted turn waits. */
export const CALL_TIMEOUT_MS = 100;
export const DRAIN_MS = 40;
/** What each response costs, and how long a slow one and the wait before a second attempt may take. */
export const TOKENS_PER_STEP = 15;
const SLOW_MS = 30;
const RETRY_MS = 1_000;

/** The longest that a scenario which nobody interrupts can take. */
export function longestMs({ steps, answerMs }: Scenario): number {
  const ofSteps = steps.map(({ calls }) => calls.length * CALL_TIMEOUT_MS + answerMs + SLOW_MS + RETRY_MS);
  return ofSteps.reduce((sum, ms) => sum + ms, DRAIN_MS);
}

/** One run of a tool. */
interface Run {
  readonly callId: string;
  readonly plan: CallPlan;
  readonly step: number;
  readonly budget: ToolBudget;
  readonly startedAt: number;
}

/** What a scenario came to. */
export interface Trace {
  readonly scenario: Scenario;
  readonly turnId: string;
  /** What a reader was told of the turn, and an observer of the session (as texts: nobody changes those). */
  readonly events: readonly TurnEvent[];
  readonly observed: readonly SessionEvent[];
  readonly result: TurnResult;
  readonly history: readonly Message[];
  /** The history at the end of everything, and as a second session has it that was opened from the journal. */
  readonly lastHistory: readonly Message[];
  readonly restoredHistory: readonly Message[];
  readonly requests: readonly (readonly Message[])[];
  readonly runs: readonly Run[];
  /** Runs after the turn had ended. */
  readonly lateRuns: number;
  /** When the turn was interrupted, and how many runs there had been by then. */
  readonly stopped: { readonly at: number; readonly runs: number } | undefined;
  readonly endedAt: number;
  /** What the turns after it came to: those that were steered or queued, and one more. */
  readonly next: readonly TurnResult[];
  readonly records: readonly unknown[];
}

/** What hostile company a scenario is run in. */
export interface Company {
  /** Called with everything that a tool gets its hands on. */
  readonly tool?: (input: object, call: ToolCall) => void;
  readonly observer?: (event: SessionEvent) => unknown;
  readonly reader?: (event: TurnEvent) => void;
  readonly model?: (request: ModelRequest) => void;
  readonly middleware?: ToolMiddleware;
  /** What a tool that returns gives. */
  readonly returned?: () => object;
}

type Input = { step: number; index: number };

/** Runs a scenario to its end, and one more turn on the same session. */
export async function runScenario(scenario: Scenario, company: Company = {}): Promise<Trace> {
  const clock = manualClock();
  const store = memoryStore();
  const runs: Run[] = [];
  const planOf = ({ step, index }: Input): CallPlan => scenario.steps[step]!.calls[index]!;
  const script = new Script(scenario, company);
  const model = scriptedModel<'v4'>(
    forever((request: ModelRequest) => script.next(request)),
    {
      clock,
      specification: scenario.specification as 'v4', // the same script for all of them
    },
  );
  const execute = (input: Input, toolCall: ToolCall) => {
    const plan = planOf(input);
    const { callId, budget } = toolCall;
    runs.push({ callId, plan, step: input.step, budget: { ...budget }, startedAt: clock.now() });
    company.tool?.(input, toolCall);
    return behave(plan.behaviour, toolCall, clock, company);
  };
  const { parallel, iterations, calls, tokens, atLimit, stream, turnTimeoutMs } = scenario;
  const loop = defineLoop({
    ...{ name: 'random', model: model as AnyLanguageModel, tools: toolsOf(planOf, execute) },
    ...{ atLimit, stream, drainTimeoutMs: DRAIN_MS },
    middlewares: company.middleware === undefined ? [] : [company.middleware],
    limits: { parallel, iterations, calls, tokens, callTimeoutMs: CALL_TIMEOUT_MS, turnTimeoutMs },
  });
  const observed: string[] = [];
  let told = 0;
  let turn: Turn | undefined;
  let stopped: Trace['stopped'];
  const stop = (): void => {
    if (end === undefined) stopped ??= { at: clock.now(), runs: runs.length };
    turn?.interrupt('enough');
    turn?.interrupt('twice');
  };
  let end: { readonly at: number; readonly runs: number } | undefined;
  const observers = [
    (event: SessionEvent) => {
      observed.push(JSON.stringify(event));
      if (EVENT_DURABILITY[event.type] === 'enduring' && ++told === scenario.interruptAtEvent) stop();
      if (!isTerminal(event) || end !== undefined) return;
      end = { at: clock.now(), runs: runs.length }; // the next turn may begin at once
      script.isOver = true;
    },
    (event: SessionEvent) => company.observer?.(event) as never,
  ];
  const rig = defineRig({ loops: [loop], clock, store, observers, gate: gateOf(scenario) });
  const session = await rig.open();
  answerGates(session, scenario, clock);

  const submitted = session.submit('go');
  turn = submitted;
  const read: string[] = [];
  const reading = (async () => {
    for await (const event of submitted) {
      read.push(JSON.stringify(event));
      company.reader?.(event);
    }
  })();
  const careless = (async () => {
    let seen = 0;
    for await (const _ of submitted) if (seen++ === scenario.readerStopsAfter) throw new Error('a reader broke');
  })().catch(() => {});
  submitted.subscribe(); // and one that never reads

  const at = (ms: number | undefined, act: () => void): void => void (ms === undefined || clock.setTimer(act, ms));
  const after: Promise<TurnResult>[] = [];
  at(scenario.interruptAt, stop);
  at(scenario.steerAt, () => {
    const steered = session.steer('rather left');
    after.push(steered.then(decided => (decided.kind === 'folded' ? submitted.result : decided.turn.result)));
  });
  at(scenario.queueAt, () => void after.push(session.submit('another thing').result));

  const result = await clock.runUntil(submitted.result);
  const history = session.history;
  await reading;
  await careless;
  await clock.advance(300); // what was left behind may still settle, what was planned may still come
  const next = await clock.runUntil(Promise.all([...after, session.submit('and now?').result]));
  const lastHistory = session.history;
  await clock.runUntil(session.close());
  const restored = await rig.open({ sessionId: session.id });
  const records: unknown[] = [];
  for await (const record of store.read(session.id, 1)) records.push(record);
  return {
    ...{
      scenario,
      turnId: submitted.id,
      result,
      history,
      lastHistory,
      restoredHistory: restored.history,
      runs,
      records,
    },
    events: read.map(text => JSON.parse(text) as TurnEvent),
    observed: observed.map(text => JSON.parse(text) as SessionEvent),
    requests: model.requests.map(({ prompt }) => prompt),
    ...{ lateRuns: runs.length - (end?.runs ?? 0), stopped, endedAt: end?.at ?? Number.NaN, next },
  };
}

/** What the model says, request by request. */
class Script {
  /** Set when the turn has ended: whatever is asked then is answered. */
  isOver = false;
  readonly #scenario: Scenario;
  readonly #company: Company;
  #step = 0;
  #hasFailed = false;

  constructor(scenario: Scenario, company: Company) {
    this.#scenario = scenario;
    this.#company = company;
  }

  next(request: ModelRequest): ScriptedReply {
    const areToolsOff = request.toolChoice?.type === 'none'; // read before anybody can change it
    this.#company.model?.(request);
    const plan = this.#scenario.steps[this.#step];
    if (this.isOver || plan === undefined || (areToolsOff && !this.#scenario.insists)) {
      return { text: 'an answer', usage: { inputTokens: TOKENS_PER_STEP } };
    }
    if (plan.trouble === 'tried again' && !this.#hasFailed) {
      this.#hasFailed = true;
      return { text: 'I beg', error: Object.assign(new Error('busy'), { isRetryable: true }), errorAfter: 3 };
    }
    // Version 2 has no word of the provider's own for a pause.
    if (plan.trouble === 'paused' && this.#scenario.specification !== 'v2' && !this.#hasFailed) {
      this.#hasFailed = true;
      return { text: 'wait', finishReason: 'other', rawFinishReason: 'pause_turn', usage: {} };
    }
    this.#hasFailed = false;
    return replyOf(plan, this.#step++);
  }
}

function replyOf(plan: StepPlan, place: number): ScriptedReply {
  const calls = plan.calls.map((planned, index) => {
    const id = planned.id === 'own' ? `call-${place}-${index}` : planned.id === 'same' ? 'call-0-0' : '';
    const good = JSON.stringify({ step: place, index });
    const texts = { good, broken: good.slice(0, -2), list: `[${good}]`, unfit: '{"step":"x"}', nothing: '' };
    return { tool: planned.tool, id, inputText: texts[planned.text] };
  });
  const reply: ScriptedReply = {
    ...(plan.text ? { text: 'I look.', deltas: 2 } : {}),
    ...{ calls, finishReason: plan.cutOff ? 'length' : 'tool-calls', usage: { inputTokens: TOKENS_PER_STEP } },
  };
  if (plan.trouble === 'slow') return { ...reply, delayMs: SLOW_MS };
  if (plan.trouble === 'never')
    return plan.text ? { ...reply, hangAfter: 3, deaf: true } : { delayMs: Number.POSITIVE_INFINITY, deaf: true };
  if (plan.trouble !== 'breaks off') return reply;
  return { ...reply, error: Object.assign(new Error('gone'), { isRetryable: false }), errorAfter: 5 };
}

function toolsOf(
  planOf: (input: Input) => CallPlan,
  execute: (input: Input, call: ToolCall) => never | object | string,
) {
  const input = {
    type: 'object',
    properties: { step: { type: 'integer' }, index: { type: 'integer' } },
    required: ['step', 'index'],
  } as const;
  return [
    defineTool({ name: 'plain', description: 'Runs.', input, execute }),
    defineTool({ name: 'alone', description: 'Runs alone.', input, sequential: true, execute }),
    defineTool({
      ...{ name: 'gated', description: 'Runs when it may.', input, execute },
      access: given => [{ action: 'act', target: `call ${given.step}.${given.index}` }],
      summary: given => `call ${given.step}.${given.index}`,
    }),
    defineTool({
      ...{ name: 'keyed', description: 'Works on a key.', input, execute },
      resource: given => {
        const { key, write } = planOf(given);
        return { key: `key ${key}`, mode: write ? 'write' : 'read' };
      },
    }),
  ];
}

/** What a tool gives, in every way that a tool can. Never undefined at once, to keep its type simple. */
function behave({ kind, ms }: Behaviour, toolCall: ToolCall, clock: ManualClock, company: Company): object | string {
  const hostile = (): never => {
    throw new Error('hostile');
  };
  const unreadable = new Proxy({}, { get: hostile, has: hostile, ownKeys: hostile, getPrototypeOf: hostile });
  const later = (after: number): Promise<void> => new Promise(resolve => clock.setTimer(resolve, after));
  switch (kind) {
    case 'sync':
      return { at: ms };
    case 'cycle': {
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      return cycle;
    }
    case 'unreadable':
      return later(ms).then(() => {
        throw unreadable;
      });
    case 'getter':
      return later(ms).then(() => Object.defineProperty({}, 'x', { enumerable: true, get: () => hostile() }));
    case 'thenable':
      return Object.fromEntries([['then', hostile]]);
    case 'hangs':
      return new Promise<never>(() => {});
    case 'heeds':
      return new Promise<never>((_, reject) => {
        toolCall.signal.addEventListener('abort', () => reject(toolCall.signal.reason));
      });
    case 'deaf':
      return later(ms * 20).then(() => 'late');
    case 'throws':
      return later(ms).then(() => {
        throw new Error(`failed after ${ms}`);
      });
    case 'nothing':
      return later(ms).then(() => undefined);
    case 'parts':
      return later(ms).then(() => {
        const value = company.returned?.() ?? { list: [ms] };
        return toolResult([
          { type: 'text', text: 'seen' },
          { type: 'json', value },
        ]);
      });
    case 'ends':
      return later(ms).then(() => toolResult('that is all', { endTurn: true }));
    case 'returns':
      return later(ms).then(() => company.returned?.() ?? `after ${ms}`);
  }
}

function gateOf({ gate }: Scenario): GateOptions {
  if (gate === 'allow' || gate === 'deny') return { rules: [{ action: 'act', decision: gate }] };
  return { ask: true };
}

/** A person who answers each gate after a while. */
function answerGates(session: Session, { gate, answerMs }: Scenario, clock: ManualClock): void {
  if (gate === 'allow' || gate === 'deny') return;
  void (async () => {
    for await (const event of session.subscribe()) {
      if (event.type !== 'gate.opened') continue;
      const { gateId } = event;
      const decision = gate === 'approve' ? 'approve' : 'deny';
      // Refused where an interrupt closed it meanwhile.
      clock.setTimer(() => void session.answer(gateId, { decision }).catch(() => {}), answerMs);
    }
  })();
}
