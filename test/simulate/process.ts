/**
 * One process of a simulation: its own rig, tools, model and clock over the common disk. It ends at its planned moment: then nothing of it
 * goes on, whatever it was in the middle of; or it is frozen, and thaws later.
 */
import {
  defineLoop,
  defineRig,
  defineTool,
  type JournalRecord,
  type LoopDefinition,
  type ModelRequest,
  type RigOptions,
  type Session,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type ToolCall,
  toolResult,
} from '../../src/index.ts';
import {
  assertPaired,
  type ManualClock,
  manualClock,
  type ScriptedReply,
  scriptedModel,
} from '../../src/testing/index.ts';
import type { Disk } from './disk.ts';
import type { CallPlan, CrashPlan, FaultPlan, Plan, StepPlan } from './plan.ts';
import { Violation } from './watch.ts';

const CALL_TIMEOUT_MS = 100;
export const DRAIN_MS = 40;

/** The mark of an input, by which a model of any process knows where it is. */
export function markOf(turn: number): string {
  return `turn:${turn}`;
}

interface Input {
  readonly turn: number;
  readonly step: number;
  readonly index: number;
  readonly edited?: boolean;
}

/** A promise of its own each time: what waits for one that is shared would be kept for ever. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** A provider that says how long to wait: no jitter, so that a seed gives the same run each time. */
const BUSY = Object.assign(new Error('busy'), { isRetryable: true, responseHeaders: { 'retry-after-ms': '30' } });
const GONE = Object.assign(new Error('gone'), { isRetryable: false });

export class Process {
  readonly clock: ManualClock;
  /** Settles when the process has ended. */
  readonly ended = Promise.withResolvers<'ended'>();
  readonly life: number;
  readonly #plan: Plan;
  readonly #disk: Disk;
  readonly #crash: CrashPlan | undefined;
  readonly #fault: FaultPlan | undefined;
  readonly #counts = { append: 0, effect: 0, request: 0 };
  #isDead = false;
  #isFrozen = false;
  #hasFailed = new Set<string>();
  #session: Session | undefined;
  /** Whether its session is released, or about to be. */
  isLeaving = false;

  constructor(plan: Plan, disk: Disk, life: number, startAt: number) {
    this.#plan = plan;
    this.#disk = disk;
    this.life = life;
    this.clock = manualClock(startAt);
    this.#crash = plan.crashes[life];
    this.#fault = plan.faults[life];
    const { at, nth, releasesIn } = this.#crash ?? {};
    if (at === 'time') this.clock.setTimer(() => this.#endInTime(releasesIn), nth ?? 0);
  }

  get hasEnded(): boolean {
    return this.#isDead || this.#isFrozen;
  }

  /** Lets a frozen process go on; gives whether it was frozen. */
  thaw(): boolean {
    if (!this.#isFrozen) return false;
    this.#isFrozen = false;
    return true;
  }

  /** Opens the session that the disk has, or a new one. */
  async open(): Promise<Session> {
    const { gate, gateTimeoutMs } = this.#plan;
    const rules = gate === 'ask' ? [] : [{ action: 'act', decision: gate }];
    const options: RigOptions<readonly LoopDefinition[]> = {
      loops: [this.#loop()],
      store: this.#disk.seenBy((sessionId, expectedSeq, records) => this.#append(sessionId, expectedSeq, records)),
      gate: { rules, ask: gate === 'ask', ...(gateTimeoutMs === undefined ? {} : { gateTimeoutMs }) },
      clock: this.clock,
    };
    const { sessionId } = this.#disk;
    const session = (await defineRig(options).open(sessionId === undefined ? {} : { sessionId })) as Session;
    this.#answerGates(session);
    this.#session = session;
    return session;
  }

  /** Ends in order, or as it stands. */
  #endInTime(graceMs: number | undefined): void {
    const session = this.#session;
    if (graceMs === undefined || session === undefined || this.hasEnded) {
      this.#end();
      return;
    }
    this.isLeaving = true;
    const from = this.clock.now();
    const most = graceMs + 2 * DRAIN_MS + 10 * this.#plan.storeMs;
    session.release({ graceMs }).then(
      () => {
        const took = this.clock.now() - from;
        if (took > most) this.ended.reject(new Violation(7, `a session took ${took} ms to be released`));
        this.#isDead = true;
        this.ended.resolve('ended');
      },
      error => this.ended.reject(error),
    );
  }

  #end(): void {
    if (this.hasEnded) return;
    // A process that has not opened its session yet would only begin another one.
    if (this.#crash?.thaws === true && this.#disk.sessionId !== undefined) this.#isFrozen = true;
    else this.#isDead = true;
    this.ended.resolve('ended');
  }

  /** Whether the process ends here: at the n-th of this, before or after. */
  #endsAt(at: 'append' | 'effect' | 'request', after: boolean): boolean {
    const crash = this.#crash;
    if (crash?.at !== at || crash.nth !== this.#counts[at] || crash.after !== after) return false;
    this.#end();
    return true;
  }

  #append(sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void | Promise<void> {
    if (this.#isDead) return never();
    this.#counts.append += 1;
    if (this.#endsAt('append', false) && this.#isDead) return never();
    const fault = this.#fault?.nth === this.#counts.append ? this.#fault : undefined;
    const { storeMs } = this.#plan;
    const write = (): void => {
      if (fault?.after === false) throw new Error('the disk is full');
      this.#disk.write(this.life, sessionId, expectedSeq, records);
      if (fault?.after === true) throw new Error('the connection broke');
    };
    if (storeMs === 0) {
      write();
      return this.#endsAt('append', true) && this.#isDead ? never() : undefined;
    }
    return new Promise<void>((resolve, reject) => {
      this.clock.setTimer(() => {
        if (this.#isDead) return;
        try {
          write();
        } catch (error) {
          reject(error);
          return;
        }
        if (!this.#endsAt('append', true) || !this.#isDead) resolve();
      }, storeMs);
    });
  }

  #loop(): LoopDefinition {
    const { iterations, calls, parallel, tokens, atLimit, repeats, output, stream } = this.#plan;
    const model = scriptedModel(
      { forever: (request: ModelRequest) => this.#reply(request) },
      { clock: this.clock, record: false },
    );
    const typed = { output: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } } as const;
    return defineLoop({
      ...{
        name: 'simulated',
        model,
        tools: this.#tools(),
        atLimit,
        stream,
        drainTimeoutMs: DRAIN_MS,
        outputRetries: 1,
      },
      repeat: repeats ? { warn: 2, stop: 3 } : false,
      limits: { iterations, calls, parallel, tokens, callTimeoutMs: CALL_TIMEOUT_MS, resultBytes: 256 },
      ...(output ? typed : {}),
    }) as LoopDefinition;
  }

  /** What the model says: it knows from what it is shown which turn it is in, and how many responses it gave in it. */
  #reply(request: ModelRequest): ScriptedReply | Promise<never> {
    this.#counts.request += 1;
    if (this.#isDead || this.#endsAt('request', this.#crash?.after === true)) {
      if (this.#isDead) return never();
    }
    assertPaired(request.prompt);
    const { turn, step } = placeIn(request);
    const plan = this.#plan.turns[turn]?.steps[step];
    const areToolsOff = request.toolChoice?.type === 'none' || request.toolChoice?.type === 'tool';
    const usage = { inputTokens: 10 };
    if (plan === undefined || (areToolsOff && plan.calls.length < 4)) return { ...this.#answer(turn, true), usage };
    const key = `${turn}.${step}`;
    if (plan.trouble === 'retried' && !this.#hasFailed.has(key)) {
      this.#hasFailed.add(key);
      return { text: 'I beg', error: BUSY, errorAfter: 3 };
    }
    if (plan.trouble === 'broken') return { text: 'I was', error: GONE, errorAfter: 3 };
    if (plan.trouble === 'paused') return { text: 'wait', finishReason: 'other', rawFinishReason: 'pause_turn', usage };
    if (plan.trouble === 'unfit answer' && this.#plan.output) return { ...this.#answer(turn, false), usage };
    return {
      ...this.#calls(plan, turn, step),
      usage,
      finishReason: plan.trouble === 'cut off' ? 'length' : 'tool-calls',
    };
  }

  #answer(turn: number, fits: boolean): ScriptedReply {
    if (!this.#plan.output) return { text: `answer ${turn}` };
    const text = fits ? `{"n":${turn}}` : '{"n":"x"}';
    return turn % 2 === 0 ? { text } : { calls: [{ tool: STRUCTURED_OUTPUT_TOOL_NAME, inputText: text }] };
  }

  #calls({ calls }: StepPlan, turn: number, step: number): ScriptedReply {
    // A model that repeats itself makes the calls of its first step again and again.
    const first = this.#plan.turns[turn]?.steps[0];
    const isRepeat = this.#plan.repeats && first !== undefined;
    return {
      calls: (isRepeat ? first.calls : calls).map((call, index) => {
        const good = JSON.stringify({ turn, step: isRepeat ? 0 : step, index } satisfies Input);
        const texts = { good, broken: good.slice(0, -2), unfit: '{"turn":"x"}' };
        const id = call.id === 'own' ? `call-${turn}-${step}-${index}` : call.id === 'same' ? 'call-0-0-0' : '';
        return { tool: call.tool, id, inputText: texts[call.text] };
      }),
    };
  }

  planOf({ turn, step, index }: Input): CallPlan | undefined {
    return this.#plan.turns[turn]?.steps[step]?.calls[index];
  }

  #tools() {
    const number = { type: 'integer' } as const;
    const input = {
      type: 'object',
      properties: { turn: number, step: number, index: number, edited: { type: 'boolean' } },
      required: ['turn', 'step', 'index'],
    } as const;
    const { idempotent } = this.#plan;
    const common = {
      ...{ description: 'Works.', input, idempotent },
      execute: (given: Input, call: ToolCall) => this.#run(given, call),
    };
    return [
      defineTool({ name: 'plain', ...common }),
      defineTool({ name: 'alone', sequential: true, ...common }),
      defineTool({
        ...{ name: 'gated', ...common },
        access: (given: Input) => [{ action: 'act', target: `${given.turn}.${given.step}.${given.index}` }],
      }),
      defineTool({
        ...{ name: 'keyed', ...common },
        resource: (given: Input) => {
          const { key, write } = this.planOf(given)!;
          return { key: `key ${key}`, mode: write ? ('write' as const) : ('read' as const) };
        },
      }),
    ];
  }

  /** Never a bare promise of nothing, to keep the tool's type simple. */
  #run(given: Input, call: ToolCall): Promise<string> {
    if (this.#isDead) return never();
    this.#counts.effect += 1;
    if (this.#endsAt('effect', false) && this.#isDead) return never();
    const { turn, step, index } = given;
    this.#disk.effect({ callId: call.callId, life: this.life, turn, step, index });
    if (this.#endsAt('effect', true) && this.#isDead) return never();
    return this.#behave(this.planOf(given)!, given, call);
  }

  async #behave(plan: CallPlan, given: Input, call: ToolCall): Promise<string> {
    const wait = (ms: number): Promise<void> => new Promise(resolve => this.clock.setTimer(resolve, ms));
    switch (plan.does) {
      case 'hangs':
        return never();
      case 'heeds':
        return new Promise<never>((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason));
        });
      case 'deaf':
        return wait(plan.ms * 20).then(() => 'late');
      default:
        await wait(plan.ms);
    }
    if (this.#isDead) return never();
    if (plan.does === 'throws') throw new Error(`failed after ${plan.ms}`);
    if (plan.does === 'ends') return toolResult('that is all', { endTurn: true }) as never;
    if (plan.does === 'nothing') return '';
    return plan.does === 'large' ? 'ä'.repeat(400) : `${JSON.stringify(given)} after ${plan.ms}`;
  }

  /** People who answer gates, those that were open before this process too. */
  #answerGates(session: Session): void {
    const answerLater = (gateId: string, target: string): void => {
      const [turn = 0, step = 0, index = 0] = target.split('.').map(Number);
      const plan = this.planOf({ turn, step, index });
      if (plan === undefined || plan.person === 'never') return;
      const answer = {
        approve: { decision: 'approve' },
        deny: { decision: 'deny', reason: 'not this' },
        always: { decision: 'approveAlways' },
        edit: { decision: 'edit', input: { turn, step, index, edited: true } },
      } as const;
      this.clock.setTimer(() => {
        // Refused where something else decided meanwhile, or the process is gone.
        if (!this.#isDead) session.answer(gateId, answer[plan.person as keyof typeof answer]).catch(() => {});
      }, plan.personMs);
    };
    for (const { gateId, requests } of session.gates) answerLater(gateId, requests[0]!.target);
    void (async () => {
      for await (const event of session.subscribe()) {
        if (event.type === 'gate.opened') answerLater(event.gateId, event.requests[0]!.target);
      }
    })();
  }
}

/** Which turn a request is in, and how many responses it has had. */
function placeIn({ prompt }: ModelRequest): { readonly turn: number; readonly step: number } {
  let step = 0;
  for (let place = prompt.length - 1; place >= 0; place--) {
    const message = prompt[place]!;
    if (message.role === 'assistant') step += 1;
    if (message.role !== 'user') continue;
    const [part] = message.content;
    const marked = part?.type === 'text' ? /^turn:(\d+)/.exec(part.text) : null;
    if (marked !== null) return { turn: Number(marked[1]), step };
  }
  return { turn: 0, step };
}
