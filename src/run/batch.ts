/**
 * The calls of one step, from what the model asked to one result each: resolved, allowed, announced, run, answered.
 *
 * Owns invariants 2 and 3:
 * 2. No call runs before its response, its permission and its own start are recorded.
 * 3. Never more than `parallel` calls run; a waiting call holds no slot; calls on one resource keep call order.
 *
 * The first two stages are `prepare.ts` and `permit.ts`. What may run beside what is `lanes.ts`, what one call is `call.ts`; whether there is a
 * batch at all was decided by the turn.
 */
import type { JournalEntry, LeftBehind } from '../journal/journal.ts';
import type { Budget } from './budget.ts';
import {
  answered,
  type CallOwner,
  type CallResult,
  type PreparedCall,
  RunningCall,
  type StoppedResults,
} from './call.ts';
import type { TurnContext } from './context.ts';
import type { Deadline } from './deadlines.ts';
import { abortReason, type InterruptionCause, stoppedBecause } from './interruption.ts';
import { Lanes } from './lanes.ts';
import { leave } from './leave.ts';
import { asks, permitAll } from './permit.ts';
import { type Preparation, prepareAll } from './prepare.ts';
import { digestOf, type RepeatWatch } from './repeat.ts';
import { hasNoArguments, type RequestedCall } from './response.ts';
import { outputText, overdueTexts, type StoppedTexts, stoppedTexts, withLine } from './result.ts';
import { type RecordedBatch, type RecordedResult, shownOf } from './resume.ts';
import { WaitingCalls } from './standstill.ts';

/** What a batch came to. Every call has its result by now, recorded or on its way to the journal. */
export interface BatchOutcome {
  /** The text of the first result, in call order, that asks for the turn to end with this batch. */
  readonly endTurn: string | undefined;
  /** Calls whose tools did not settle in time and were left running. */
  readonly leftBehind: readonly LeftBehind[];
}

/** Runs the calls of a step; of one that another process began (`recorded`), those that have no result yet and may run. */
export function runBatch(
  turn: TurnContext,
  stepId: string,
  calls: readonly RequestedCall[],
  repeat: RepeatWatch,
  budget: Budget,
  recorded?: RecordedBatch,
): Promise<BatchOutcome> {
  const run = (prepared: readonly Preparation[], permitted: readonly Preparation[]): Promise<BatchOutcome> => {
    const lanes = new Lanes(permitted.map(({ call }) => call));
    if (recorded?.isAnnounced !== true) announce(turn, stepId, calls, prepared, lanes);
    return new BatchRun(turn, stepId, calls, permitted, lanes, repeat, budget, recorded).run();
  };
  const preparing = prepareAll(turn, calls, recorded);
  // Most batches wait for nobody before they run, and pay for no waiting.
  if (!(preparing instanceof Promise) && recorded === undefined && !preparing.some(asks))
    return run(preparing, preparing);
  const permitting = async (): Promise<BatchOutcome> => {
    const prepared = await preparing;
    return run(prepared, await permitAll(turn, stepId, calls, prepared, recorded));
  };
  return permitting();
}

/** Answers every call of a step without running any: the batch goes beyond a limit, or the response was cut off. */
export function refuseBatch(
  turn: TurnContext,
  stepId: string,
  calls: readonly RequestedCall[],
  text: string,
): BatchOutcome {
  announce(turn, stepId, calls, [], undefined);
  const refused = answered('refused', text);
  turn.stage(calls.map(call => completed(turn, stepId, call, refused, 0)));
  return { endTurn: undefined, leftBehind: [] };
}

function announce(
  turn: TurnContext,
  stepId: string,
  calls: readonly RequestedCall[],
  prepared: readonly Preparation[],
  lanes: Lanes | undefined,
): void {
  const { turnId } = turn;
  const waits = lanes?.waits();
  turn.stage(
    calls.map(({ callId, toolName }, index): JournalEntry => {
      const summary = prepared[index]?.call?.summary;
      const before = waits?.[index];
      const called = { type: 'tool.called' as const, turnId, stepId, callId, toolName };
      if (summary === undefined && before === undefined) return called;
      return {
        ...called,
        ...(summary === undefined ? {} : { summary }),
        ...(before === undefined ? {} : { waitsFor: before.map(place => calls[place]!.callId) }),
      };
    }),
  );
}

function completed(
  { turnId }: TurnContext,
  stepId: string,
  { callId, toolName }: RequestedCall,
  { outcome, output, endTurn, capture }: CallResult,
  durationMs: number,
): Extract<JournalEntry, { type: 'tool.completed' }> {
  const entry = { type: 'tool.completed' as const, turnId, stepId, callId, toolName, outcome, output, durationMs };
  if (!endTurn && capture === undefined) return entry;
  return { ...entry, ...(endTurn ? { endTurn } : {}), ...(capture === undefined ? {} : { capture }) };
}

/** What tells one call from another: the arguments; those that are none are `{}` in the history, and here what the model really wrote. */
export function askedOf(call: Pick<RequestedCall, 'input' | 'inputText'>): unknown {
  return hasNoArguments(call) ? call.inputText : call.input;
}

/** What a stopped call comes to. Of a tool that had begun nothing is known; one that a middleware still held did nothing. */
function stoppedResults(outcome: 'interrupted' | 'timed_out', { begun, held }: StoppedTexts): StoppedResults {
  return { begun: answered(outcome, begun), held: answered(outcome, held) };
}

/** One call's place in the batch. */
interface Slot {
  readonly request: RequestedCall;
  readonly prepared: PreparedCall | undefined;
  running: RunningCall | undefined;
  startedAt: number;
  deadline: Deadline | undefined;
  isAnswered: boolean;
}

class BatchRun implements CallOwner {
  readonly #turn: TurnContext;
  readonly #stepId: string;
  readonly #slots: readonly Slot[];
  readonly #lanes: Lanes;
  readonly #repeat: RepeatWatch;
  readonly #budget: Budget;
  readonly #recorded: RecordedBatch | undefined;
  readonly #done = Promise.withResolvers<BatchOutcome>();
  #off: (() => void) | undefined;
  readonly #leftBehind: LeftBehind[] = [];
  /** Calls that run or whose start is being recorded, and calls without a result. */
  #busy = 0;
  #unanswered: number;
  #waiting: WaitingCalls | undefined;
  #endTurn: { readonly index: number; readonly text: string } | undefined;

  constructor(
    turn: TurnContext,
    stepId: string,
    calls: readonly RequestedCall[],
    prepared: readonly Preparation[],
    lanes: Lanes,
    repeat: RepeatWatch,
    budget: Budget,
    recorded: RecordedBatch | undefined,
  ) {
    this.#turn = turn;
    this.#recorded = recorded;
    this.#stepId = stepId;
    this.#repeat = repeat;
    this.#budget = budget;
    this.#slots = calls.map((request, index) => ({
      request,
      prepared: prepared[index]!.call,
      running: undefined,
      startedAt: 0,
      deadline: undefined,
      isAnswered: false,
    }));
    this.#unanswered = calls.length;
    this.#lanes = lanes;
    prepared.forEach((preparation, index) => {
      if (preparation.recorded !== undefined) this.#useRecorded(index, preparation.recorded);
      else if (preparation.refused !== undefined) this.#answer(index, preparation.refused);
    });
  }

  run(): Promise<BatchOutcome> {
    if (this.#unanswered === 0) this.#finish();
    else this.#off = this.#turn.interruption.onStop(cause => this.#stop(cause));
    try {
      this.#pump();
    } catch (error) {
      this.#fail(error);
    }
    return this.#done.promise;
  }

  #finish(): void {
    this.#off?.();
    this.#done.resolve({ endTurn: this.#endTurn?.text, leftBehind: this.#leftBehind });
  }

  /** Nothing can be recorded any more: what runs is asked to stop, nobody waits for it, and the turn fails. */
  #fail(error: unknown): void {
    this.#off?.();
    const reason = error instanceof Error ? error : new Error('the journal failed');
    const stopped = stoppedResults('interrupted', stoppedTexts('interrupted'));
    for (const slot of this.#slots) slot.running?.abort(reason, stopped);
    this.#done.reject(error);
  }

  /** Starts what is free while there are slots: all that starts in one tick is recorded in one append, and runs after it. */
  #pump(): void {
    if (this.#turn.interruption.cause !== undefined) return;
    if (!this.#turn.mayBegin()) {
      if (this.#busy === 0 && this.#unanswered > 0) leave(this.#turn).catch(error => this.#fail(error));
      return;
    }
    const starting: number[] = [];
    while (this.#busy < this.#turn.limits.parallel) {
      const index = this.#lanes.take();
      if (index === undefined) break;
      this.#busy += 1;
      starting.push(index);
    }
    if (starting.length === 0) return;
    const { turnId } = this.#turn;
    const stepId = this.#stepId;
    const started = this.#recorded?.started;
    // A call has one start, however often a process ends.
    const fresh = started ? starting.filter(index => !started.has(this.#slots[index]!.request.callId)) : starting;
    const entries = fresh.map((index): JournalEntry => {
      const { callId, toolName } = this.#slots[index]!.request;
      return { type: 'tool.started', turnId, stepId, callId, toolName };
    });
    this.#turn.append(entries).then(
      () => this.#start(starting),
      error => this.#fail(error),
    );
  }

  #start(starting: readonly number[]): void {
    for (const index of starting) {
      const slot = this.#slots[index]!;
      // The turn may have been stopped while the start was being written: then the call is answered already.
      if (!slot.isAnswered) this.#execute(index, slot, slot.prepared as PreparedCall);
    }
    this.#waiting?.check();
  }

  #execute(index: number, slot: Slot, prepared: PreparedCall): void {
    const { deadlines, clock } = this.#turn;
    const { callId } = slot.request;
    const running = new RunningCall(this.#turn, this.#stepId, callId, prepared, this.#budget, index, this);
    slot.running = running;
    slot.startedAt = clock.now();
    const { timeoutMs } = prepared;
    if (timeoutMs !== Number.POSITIVE_INFINITY) {
      slot.deadline = deadlines.set(timeoutMs, () => this.#timeOut(slot, running, timeoutMs), slot.startedAt);
    }
    running.run();
  }

  settled(index: number, result: CallResult): void {
    const { deadline } = this.#slots[index]!;
    if (deadline !== undefined) this.#turn.deadlines.clear(deadline);
    this.#busy -= 1;
    this.#lanes.finish(index);
    this.#waiting?.settle(index);
    this.#answer(index, result);
    this.#pump();
  }

  pause(index: number): () => void {
    this.#waiting ??= new WaitingCalls(this.#turn, () => this.#busy);
    return this.#waiting.begin(index, this.#slots[index]?.deadline);
  }

  #timeOut(slot: Slot, running: RunningCall, timeoutMs: number): void {
    const reason = new DOMException(`${slot.request.toolName} ran longer than ${timeoutMs} ms`, 'TimeoutError');
    running.abort(reason, stoppedResults('timed_out', overdueTexts(timeoutMs)));
    running.answerForTool();
  }

  /** The turn is to stop: running tools are asked to, and waited for a while; waiting ones are answered at once. */
  #stop(cause: InterruptionCause): void {
    const why = stoppedBecause(cause);
    const reason = abortReason(cause);
    const stopped = stoppedResults(cause.kind, stoppedTexts(why));
    const running: Slot[] = [];
    this.#slots.forEach((slot, index) => {
      if (slot.isAnswered) return;
      if (slot.running === undefined) this.#answer(index, answered('not_run', `not run: ${why}`));
      else running.push(slot);
    });
    for (const slot of running) slot.running?.abort(reason, stopped);
    if (running.every(slot => slot.isAnswered)) return;
    this.#turn.deadlines.set(this.#turn.behaviour.drainTimeoutMs, () => {
      for (const slot of running) {
        if (slot.isAnswered) continue;
        this.#leftBehind.push({ callId: slot.request.callId, toolName: slot.request.toolName });
        slot.running?.answerForTool();
      }
    });
  }

  /** Takes a result that stands in the journal. */
  #useRecorded(index: number, result: CallResult & RecordedResult): void {
    const slot = this.#slots[index]!;
    slot.isAnswered = true;
    this.#unanswered -= 1;
    this.#noteEnd(index, result);
    this.#repeat.note(slot.request.toolName, askedOf(slot.request), shownOf(result));
  }

  /** The first result, in call order, that ends the turn is its text. */
  #noteEnd(index: number, { endTurn, output }: CallResult): void {
    if (!endTurn || (this.#endTurn !== undefined && this.#endTurn.index < index)) return;
    this.#endTurn = { index, text: outputText(output) };
  }

  #withLine(result: CallResult, line: string | undefined): CallResult {
    if (line === undefined) return result;
    return { ...withLine(result, line, this.#turn.limits.resultBytes), outcome: result.outcome };
  }

  /** Records a call's one result. */
  #answer(index: number, given: CallResult): void {
    const slot = this.#slots[index]!;
    slot.isAnswered = true;
    this.#unanswered -= 1;
    const { request, prepared } = slot;
    const result = this.#withLine(given, prepared?.note);
    this.#noteEnd(index, result);
    const text = outputText(result.output);
    const line = this.#repeat.note(request.toolName, askedOf(request), text);
    const told = this.#withLine(result, line);
    const ran = slot.running === undefined ? 0 : this.#turn.clock.now() - slot.startedAt;
    const entry = completed(this.#turn, this.#stepId, request, told, ran);
    const used = slot.running?.used;
    if (used !== undefined) Object.assign(entry, { used });
    const entries = [line === undefined ? entry : { ...entry, resultDigest: digestOf(text) }];
    if (this.#unanswered > 0) {
      void this.#turn.append(entries);
      return;
    }
    this.#turn.stage(entries); // the last one goes with the step's commit
    this.#finish();
  }
}
