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
  ToolLimitError,
  TurnTimeoutError,
} from '../errors.ts';
import type { ErrorSummary, JournalEntry, LeftBehind, TurnTotals } from '../journal/journal.ts';
import type { FinishReason } from '../model/model.ts';
import { type BatchOutcome, refuseBatch, runBatch } from './batch.ts';
import { Budget, nearEntries, nearLine } from './budget.ts';
import type { TurnContext } from './context.ts';
import type { TurnError, TurnResult } from './outcome.ts';
import { RepeatWatch } from './repeat.ts';
import type { ModelResponse } from './response.ts';
import { requestModel, type StepReply } from './step.ts';

/** How often in a row a provider may pause its response. */
const MOST_PAUSES = 20;

/** What a call of a response that was cut off is answered with. */
const CUT_OFF =
  'not run: your response was cut off by the output limit, so no call of it was run. Send it again, in smaller parts';

/** Runs a turn; `opening` is its first record. Never rejects. */
export async function runTurn(turn: TurnContext, opening: JournalEntry): Promise<TurnResult> {
  const run = new TurnRun(turn);
  try {
    turn.stage([opening]);
    return await run.steps();
  } catch (error) {
    return run.lost(error);
  } finally {
    turn.deadlines.end();
  }
}

class TurnRun {
  readonly #turn: TurnContext;
  readonly #budget: Budget;
  readonly #repeat: RepeatWatch;
  #step = 0;
  #pauses = 0;
  #text = '';

  constructor(turn: TurnContext) {
    this.#turn = turn;
    this.#budget = new Budget(turn.limits);
    this.#repeat = new RepeatWatch(turn.behaviour.repeat);
  }

  async steps(): Promise<TurnResult> {
    const turn = this.#turn;
    let closing: LimitReached | undefined; // a limit that the model has been told of: it may only answer now
    for (;;) {
      const stepId = `${turn.turnId}.${++this.#step}`;
      const note = await this.#begin(stepId);
      const reply = await requestModel(turn, { stepId, note, toolsOff: closing !== undefined });
      if (reply.kind !== 'response') return this.#endWithoutResponse(stepId, reply);

      const { response } = reply;
      this.#take(stepId, response);
      if (response.calls.length === 0) {
        if (!this.#isPaused(response)) return this.#answer(stepId, response, closing);
        this.#commit(stepId);
        continue;
      }
      const reached = closing ?? this.#budget.admit(response.calls.length);
      if (reached !== undefined && (closing !== undefined || turn.behaviour.atLimit === 'fail')) {
        return this.#fail(new ToolLimitError(reached));
      }
      const batch = await this.#batch(stepId, response, reached);
      this.#commit(stepId);
      if (turn.interruption.cause !== undefined) return this.#endStopped(batch.leftBehind);
      if (batch.endTurn !== undefined) return this.#endByTool(batch.endTurn, response.finishReason);
      closing = reached ?? this.#stuck();
      if (closing !== undefined && turn.behaviour.atLimit === 'fail') return this.#fail(new ToolLimitError(closing));
    }
  }

  /** Records that a step begins, with what the user said meanwhile. Gives the line that tells the model of a near limit. */
  async #begin(stepId: string): Promise<string | undefined> {
    const { turnId, behaviour } = this.#turn;
    const near = this.#budget.near();
    const started: JournalEntry = { type: 'step.started', turnId, stepId, step: this.#step };
    await this.#turn.append([...this.#turn.takeSteered(), started, ...nearEntries(near, turnId, stepId)]);
    return behaviour.announceLimits && near.length > 0 ? nearLine(near) : undefined;
  }

  /** Counts a response, and records it with whatever is appended next: before any of its calls runs. */
  #take(stepId: string, response: ModelResponse): void {
    const { message, finishReason, usage } = response;
    this.#budget.addResponse(usage);
    this.#text = response.text;
    this.#turn.stage([{ type: 'step.responded', turnId: this.#turn.turnId, stepId, message, finishReason, usage }]);
  }

  #isPaused(response: ModelResponse): boolean {
    if (response.finishReason.raw !== 'pause_turn') this.#pauses = 0;
    else this.#pauses += 1;
    return this.#pauses > 0 && this.#pauses <= MOST_PAUSES;
  }

  /** Runs the calls of a response, or answers them without running where a limit or the output limit forbids it. */
  async #batch(stepId: string, response: ModelResponse, reached: LimitReached | undefined): Promise<BatchOutcome> {
    const { calls, finishReason } = response;
    const budget = this.#budget.left();
    if (reached !== undefined) {
      return refuseBatch(this.#turn, stepId, calls, `not run: ${describeLimit(reached)}. Answer with what you have`);
    }
    if (finishReason.unified === 'length') return refuseBatch(this.#turn, stepId, calls, CUT_OFF);
    this.#repeat.nextStep();
    return runBatch(this.#turn, stepId, calls, this.#repeat, budget);
  }

  /** Makes a step part of the history, with whatever is appended next. */
  #commit(stepId: string): void {
    this.#turn.stage([{ type: 'step.done', turnId: this.#turn.turnId, stepId }]);
  }

  #stuck(): LimitReached | undefined {
    const repeated = this.#repeat.stuck;
    return repeated && this.#budget.reached('repeat', repeated);
  }

  #answer(stepId: string, response: ModelResponse, limited: LimitReached | undefined): Promise<TurnResult> {
    if (response.isEmpty) return this.#fail(emptyResponse(response.finishReason));
    this.#commit(stepId);
    return this.#done(response.finishReason, limited === undefined ? {} : { limited });
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
      const finishReason: FinishReason = { unified: 'other', raw: undefined };
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
    details: { readonly limited?: LimitReached; readonly text?: string },
  ): Promise<TurnResult> {
    await this.#end({ type: 'turn.done', finishReason, ...details, ...this.#totals() });
    return { status: 'done', finishReason, ...details, ...this.#figures() };
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

  /** The end of a turn whose journal failed: it cannot be recorded, but it is told. */
  lost(cause: unknown): TurnResult {
    const error = JournalError.is(cause)
      ? cause
      : new LooprigError('internal', 'the turn failed by a fault of looprig itself: please report it with the cause', {
          cause,
        });
    return { status: 'failed', error, leftBehind: [], ...this.#figures() };
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
  if (!ToolLimitError.is(error)) return summary;
  const { limit, iterations, maxIterations, calls, maxCalls, tokens, maxTokens, repeated } = error;
  const reached = { limit, iterations, maxIterations, calls, maxCalls, tokens, maxTokens };
  return { ...summary, limit: repeated === undefined ? reached : { ...reached, repeated } };
}

function named(leftBehind: readonly LeftBehind[]): { readonly leftBehind?: readonly LeftBehind[] } {
  return leftBehind.length === 0 ? {} : { leftBehind };
}

function emptyResponse(finishReason: FinishReason): ModelError {
  const reason = finishReason.raw ?? finishReason.unified;
  return new ModelError('empty_response', `the model gave neither text nor calls (finish reason: ${reason})`, {
    attempts: 1,
  });
}
