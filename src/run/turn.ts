/**
 * One turn, from the user's input to its terminal. The only place that decides whether a turn goes on.
 *
 * Owns invariants 4 and 7:
 * 4. Beyond a limit nothing runs: whether a batch may run is asked of the budget before it is prepared.
 * 7. A turn has exactly one terminal, and settles in bounded time after an interrupt, whatever tools do.
 *
 * One model call is `step.ts`, the calls of a step are `batch.ts`, what is used of the limits is `budget.ts`. History grows
 * by the journal's fold alone: what is not committed by `step.done` was never said.
 */

import {
  describeLimit,
  JournalError,
  type LimitReached,
  LooprigError,
  ModelError,
  OutputError,
  ToolLimitError,
  TurnTimeoutError,
} from '../errors.ts';
import { deepFreeze } from '../freeze.ts';
import {
  type ErrorSummary,
  type JournalEntry,
  type LeftBehind,
  recordedLimitReached,
  type TurnTotals,
} from '../journal/journal.ts';
import type { FinishReason, JSONValue } from '../model/model.ts';
import { type BatchOutcome, refuseBatch, runBatch } from './batch.ts';
import { Budget, type NearLimit, nearEntries, nearLine } from './budget.ts';
import type { TurnContext } from './context.ts';
import { settleInTime } from './in-time.ts';
import { STOPPED } from './interruption.ts';
import { leave } from './leave.ts';
import type { TurnError, TurnResult } from './outcome.ts';
import {
  judgeAnswer,
  NOT_ALONE,
  type OutputContract,
  type SortedResponse,
  sortResponse,
  type UnfitOutput,
  uncheckedOutput,
  unfitLine,
} from './output.ts';
import { RepeatWatch } from './repeat.ts';
import type { ModelResponse, RequestedCall } from './response.ts';
import { type RecordedBatch, type ResumePoint, type StepUnderWay, unparsedOf } from './resume.ts';
import { requestModel, type StepReply } from './step.ts';

type StepDone = Extract<JournalEntry, { type: 'step.done' }>;

const NONE: readonly never[] = Object.freeze([]);

/** How often in a row a provider may pause its response. */
const MOST_PAUSES = 20;

/** What a call of a response that was cut off is answered with. */
const CUT_OFF =
  'not run: your response was cut off by the output limit, so no call of it was run. Send it again, in smaller parts';

/** What a model is told whose own incomplete answer is the last message. */
const GO_ON = 'Your answer was interrupted here. Go on.';

/** Runs a turn, or goes on with one from where its journal says that it stands; `opening` is its first record now. Never rejects. */
export async function runTurn(turn: TurnContext, opening: JournalEntry, from?: ResumePoint): Promise<TurnResult> {
  const run = new TurnRun(turn, from);
  try {
    if (from === undefined) turn.stage([opening]);
    else await turn.append([opening]); // of two processes that take a turn up, one is refused here, before it does anything
    return await run.steps(from?.underWay);
  } catch (error) {
    return await run.lost(error);
  } finally {
    turn.deadlines.end();
  }
}

class TurnRun {
  readonly #turn: TurnContext;
  readonly #budget: Budget;
  readonly #repeat: RepeatWatch;
  #step: number;
  #pauses: number;
  #text: string;
  /** Answers that did not fit the output schema, and the line that tells the model so where no call can be answered. */
  #unfit: number;
  #line: string | undefined;
  /** A limit that the model has been told of: it may only answer now. */
  #closing: LimitReached | undefined;

  constructor(turn: TurnContext, from: ResumePoint | undefined) {
    this.#turn = turn;
    this.#budget = new Budget(turn.limits, from, turn.share);
    this.#repeat = new RepeatWatch(turn.behaviour.repeat, from?.ran);
    this.#step = from?.step ?? 0;
    this.#pauses = from?.pauses ?? 0;
    this.#text = from?.text ?? '';
    this.#unfit = from?.unfit ?? 0;
    this.#line = from?.note;
    this.#closing = from?.closing;
  }

  async steps(underWay: StepUnderWay | undefined): Promise<TurnResult> {
    for (let recorded = underWay; ; recorded = undefined) {
      const ended = await this.#oneStep(recorded);
      if (ended !== undefined) return ended;
    }
  }

  /** One step, or what is left of one that had begun; gives the turn's end, if this is it. */
  async #oneStep(recorded: StepUnderWay | undefined): Promise<TurnResult | undefined> {
    const turn = this.#turn;
    const stepId = recorded?.stepId ?? `${turn.turnId}.${++this.#step}`;
    let response = recorded?.response;
    let attempts = 1;
    if (response === undefined) {
      if (!turn.mayBegin()) await leave(turn);
      const near = this.#begin(stepId, recorded !== undefined);
      await turn.append(NONE);
      const toolsOff = this.#closing !== undefined;
      const reply = await requestModel(turn, { stepId, note: this.#note(near), toolsOff });
      if (reply.kind !== 'response') return this.#endWithoutResponse(stepId, reply);
      ({ response, attempts } = reply);
      this.#take(stepId, response);
      if (this.#isPaused(response)) {
        this.#commit(stepId);
        return undefined;
      }
    }
    const sorted = sortResponse(turn.output, response);
    if (sorted.kind === 'answer') {
      if (response.isEmpty) return this.#fail(emptyResponse(response, attempts));
      return this.#answer(stepId, response, sorted);
    }
    const reached = this.#closing ?? this.#budget.admit(sorted.calls.length);
    if (reached !== undefined && (this.#closing !== undefined || turn.behaviour.atLimit === 'fail')) {
      return this.#fail(new ToolLimitError(reached));
    }
    const batch = await this.#batch(stepId, response, sorted, reached, recorded?.batch);
    const closing = reached ?? this.#stuck();
    const goesOn = turn.interruption.cause === undefined && batch.endTurn === undefined;
    this.#commit(stepId, goesOn && closing !== undefined ? { closing: recordedLimitReached(closing) } : {});
    if (turn.interruption.cause !== undefined) return this.#endStopped(batch.leftBehind);
    if (batch.endTurn !== undefined) return this.#endByTool(batch.endTurn, response.finishReason);
    this.#closing = closing;
    if (closing !== undefined && turn.behaviour.atLimit === 'fail') return this.#fail(new ToolLimitError(closing));
    return undefined;
  }

  /** Records that a step begins, with what the user said meanwhile. Gives the limits that are near. */
  #begin(stepId: string, hasBegun: boolean): readonly NearLimit[] {
    const turn = this.#turn;
    const { turnId } = turn;
    const near = this.#closing === undefined ? this.#budget.near() : NONE;
    turn.stage(turn.takeSteered());
    if (hasBegun) return near;
    turn.stage([{ type: 'step.started', turnId, stepId, step: this.#step }]);
    if (near.length > 0) turn.stage(nearEntries(near, turnId, stepId));
    return near;
  }

  /** What the next request tells the model beside the history. */
  #note(near: readonly NearLimit[]): string | undefined {
    const line = this.#line ?? (this.#step === 1 && this.#endsWithAssistant() ? GO_ON : undefined);
    this.#line = undefined;
    if (!this.#turn.behaviour.announceLimits || near.length === 0) return line;
    return line === undefined ? nearLine(near) : `${line}\n${nearLine(near)}`;
  }

  /** A turn that takes up one that was interrupted may find its own half answer last: the model is to go on, not to be answered for. */
  #endsWithAssistant(): boolean {
    return this.#turn.history.at(-1)?.role === 'assistant';
  }

  /** Counts a response, and records it with whatever is appended next: before any of its calls runs. */
  #take(stepId: string, response: ModelResponse): void {
    const { message, finishReason, usage, calls } = response;
    const { turnId } = this.#turn;
    this.#budget.addResponse(usage);
    this.#text = response.text;
    const unparsed = unparsedOf(calls);
    this.#turn.stage([{ type: 'step.responded', turnId, stepId, message, finishReason, usage, ...unparsed }]);
  }

  /** Whether the provider only paused: its response goes back as it is, and the turn goes on. */
  #isPaused(response: ModelResponse): boolean {
    if (response.finishReason.raw !== 'pause_turn') this.#pauses = 0;
    else this.#pauses += 1;
    return response.calls.length === 0 && this.#pauses > 0 && this.#pauses <= MOST_PAUSES;
  }

  /** Runs the calls of a response, or answers them without running where a limit or the output limit forbids it. */
  #batch(
    stepId: string,
    { finishReason }: ModelResponse,
    { calls, refused }: Extract<SortedResponse, { kind: 'calls' }>,
    reached: LimitReached | undefined,
    recorded: RecordedBatch | undefined,
  ): BatchOutcome | Promise<BatchOutcome> {
    const turn = this.#turn;
    for (const call of refused) {
      if (recorded?.results.has(call.callId) !== true) this.#answerControl(stepId, call, 'refused', NOT_ALONE);
    }
    if (reached !== undefined) {
      return refuseBatch(turn, stepId, calls, `not run: ${describeLimit(reached)}. Answer with what you have`);
    }
    if (finishReason.unified === 'length') return refuseBatch(turn, stepId, calls, CUT_OFF);
    this.#repeat.nextStep();
    return runBatch(turn, stepId, calls, this.#repeat, this.#budget, recorded);
  }

  /** Makes a step part of the history, with whatever is appended next. */
  #commit(stepId: string, details: Pick<StepDone, 'closing' | 'unfit'> = {}): void {
    this.#turn.stage([{ type: 'step.done', turnId: this.#turn.turnId, stepId, ...details }]);
  }

  #stuck(): LimitReached | undefined {
    const repeated = this.#repeat.stuck;
    return repeated && this.#budget.reached('repeat', repeated);
  }

  /** The turn's end by an answer; `undefined` where the answer does not fit its schema and is asked for again. */
  async #answer(
    stepId: string,
    response: ModelResponse,
    answer: Extract<SortedResponse, { kind: 'answer' }>,
  ): Promise<TurnResult | undefined> {
    const { output } = this.#turn;
    const { call } = answer;
    const { finishReason } = response;
    const checked =
      output && (await settleInTime(this.#turn, judgeAnswer(output, answer, finishReason), uncheckedOutput));
    if (checked === STOPPED) return this.#stoppedWhileChecking(stepId, call);
    if (checked !== undefined && checked.issues !== undefined) return this.#unfitAnswer(stepId, call, output!, checked);
    if (call !== undefined) {
      this.#answerControl(stepId, call, 'done', 'taken as the final answer');
      this.#text = call.inputText;
    }
    this.#commit(stepId);
    const limited = this.#closing === undefined ? {} : { limited: this.#closing };
    return this.#done(finishReason, checked === undefined ? limited : { ...limited, output: checked.value });
  }

  /** Sends an answer back that does not fit its schema, or ends the turn where that was done often enough. */
  async #unfitAnswer(
    stepId: string,
    call: RequestedCall | undefined,
    output: OutputContract,
    { issues, isHopeless }: UnfitOutput,
  ): Promise<TurnResult | undefined> {
    const line = unfitLine(issues, output.requestIn(this.#turn.mode).way);
    if (call === undefined) this.#line = line;
    else this.#answerControl(stepId, call, 'refused', line);
    this.#commit(stepId, { unfit: call === undefined ? { note: line } : {} });
    this.#unfit += 1;
    const isOver = isHopeless === true || this.#unfit > this.#turn.behaviour.outputRetries;
    return isOver ? this.#fail(new OutputError(issues, this.#unfit)) : undefined;
  }

  /** The answer was given but not checked: it stays in the history. */
  #stoppedWhileChecking(stepId: string, call: RequestedCall | undefined): Promise<TurnResult> {
    if (call !== undefined) this.#answerControl(stepId, call, 'refused', 'not checked: interrupted');
    this.#commit(stepId);
    return this.#endStopped([]);
  }

  /** The control tool's call needs its one result too; it is no event of a tool. */
  #answerControl(
    stepId: string,
    { callId, toolName }: RequestedCall,
    outcome: 'done' | 'refused',
    value: string,
  ): void {
    const output = { type: outcome === 'done' ? ('text' as const) : ('error-text' as const), value };
    const { turnId } = this.#turn;
    this.#turn.stage([{ type: 'tool.completed', turnId, stepId, callId, toolName, outcome, output, durationMs: 0 }]);
  }

  #endByTool(text: string, finishReason: FinishReason): Promise<TurnResult> {
    this.#text = text;
    return this.#done(finishReason, { text });
  }

  /** A step whose model call gave no response: what was shown of it is kept, marked. */
  #endWithoutResponse(stepId: string, reply: Exclude<StepReply, { kind: 'response' }>): Promise<TurnResult> {
    const { turnId, interruption } = this.#turn;
    const { partial } = reply;
    const incomplete = interruption.cause?.kind ?? 'broken';
    const message = partial.safePrefix(incomplete);
    this.#text = partial.text();
    if (message !== undefined) {
      const finishReason: FinishReason = Object.freeze({ unified: 'other', raw: undefined });
      const usage = partial.usage();
      this.#budget.addResponse(usage);
      this.#turn.stage([{ type: 'step.responded', turnId, stepId, message, finishReason, usage, incomplete }]);
      this.#commit(stepId);
    }
    return reply.kind === 'failed' ? this.#fail(reply.error) : this.#endStopped([]);
  }

  #endStopped(leftBehind: readonly LeftBehind[]): Promise<TurnResult> {
    const cause = this.#turn.interruption.cause;
    if (cause?.kind === 'timed_out') return this.#fail(new TurnTimeoutError(cause.timeoutMs), leftBehind);
    return this.#interrupted(cause?.reason, leftBehind);
  }

  async #done(
    finishReason: FinishReason,
    details: { readonly limited?: LimitReached; readonly text?: string; readonly output?: unknown },
  ): Promise<TurnResult> {
    const { limited, text, output } = details;
    const recorded = {
      ...(limited === undefined ? {} : { limited: recordedLimitReached(limited) }),
      ...(text === undefined ? {} : { text }),
      ...(output === undefined ? {} : { output: asJson(output) }),
    };
    await this.#end({ type: 'turn.done', finishReason, ...recorded, ...this.#totals() });
    return { status: 'done', finishReason, ...this.#figures(), ...details };
  }

  async #fail(error: TurnError, leftBehind: readonly LeftBehind[] = []): Promise<TurnResult> {
    await this.#end({ type: 'turn.failed', error: summaryOf(error), ...named(leftBehind), ...this.#totals() });
    return { status: 'failed', error, leftBehind, ...this.#figures() };
  }

  async #interrupted(reason: string | undefined, leftBehind: readonly LeftBehind[]): Promise<TurnResult> {
    const said = reason === undefined ? {} : { reason };
    await this.#end({ type: 'turn.interrupted', ...said, ...named(leftBehind), ...this.#totals() });
    return { status: 'interrupted', ...said, leftBehind, ...this.#figures() };
  }

  /** The end of a turn that threw: a journal that failed cannot record it, a fault of our own is recorded. */
  async lost(cause: unknown): Promise<TurnResult> {
    if (JournalError.is(cause)) return { status: 'failed', error: cause, leftBehind: [], ...this.#figures() };
    this.#turn.interruption.stop({ kind: 'interrupted', reason: 'the turn failed' }); // nothing of it goes on
    const message = 'the turn failed by a fault of looprig itself: please report it with its cause';
    try {
      return await this.#fail(new LooprigError('internal', message, { cause }));
    } catch (failure) {
      return this.lost(JournalError.is(failure) ? failure : new JournalError('store_failed', message, { cause }));
    }
  }

  #end(entry: JournalEntry): Promise<void> {
    return this.#turn.append([entry]);
  }

  #totals(): TurnTotals & { readonly turnId: string } {
    const { usage, steps, iterations, calls } = this.#budget;
    return { turnId: this.#turn.turnId, usage, steps, iterations, calls };
  }

  #figures(): TurnTotals & { readonly text: string } {
    const { usage, steps, iterations, calls } = this.#budget;
    return { text: this.#text, usage, steps, iterations, calls };
  }
}

/** What a journal and its readers may know of an error: no stack, no cause. */
export function summaryOf(error: TurnError): ErrorSummary {
  const summary = { name: error.name, kind: error.kind, message: error.message };
  return Object.freeze(ToolLimitError.is(error) ? { ...summary, limit: recordedLimitReached(error) } : summary);
}

function named(leftBehind: readonly LeftBehind[]): { readonly leftBehind?: readonly LeftBehind[] } {
  return leftBehind.length === 0 ? {} : { leftBehind: deepFreeze([...leftBehind]) };
}

/** The typed answer as a record can hold it: a schema may have made something of it that JSON cannot. */
function asJson(output: unknown): JSONValue {
  const text = JSON.stringify(output, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  return text === undefined ? null : deepFreeze(JSON.parse(text) as JSONValue);
}

function emptyResponse({ message, finishReason }: ModelResponse, attempts: number): ModelError {
  const reason = finishReason.raw ?? finishReason.unified;
  const waiting = message.content.find(part => part.type === 'tool-call' && part.providerExecuted === true);
  const what =
    waiting?.type === 'tool-call'
      ? `the provider gave no answer: its own call of "${waiting.toolName}" has no result, and may wait for an approval, which is not given here`
      : 'the model gave neither text nor calls';
  return new ModelError('empty_response', `${what} (finish reason: ${reason})`, { attempts });
}
