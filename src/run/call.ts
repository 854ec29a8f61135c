/**
 * One tool call that may run: executed through the middlewares, finished. Whatever a tool or a middleware does, a call ends in exactly one
 * result, and touches no other call.
 */
import type { BoundTool } from '../bind/bound-loop.ts';
import type { MiddlewareCall } from '../define/middleware.ts';
import {
  type AccessRequest,
  READ_TOOL_RESULT_TOOL_NAME,
  type Resource,
  type ToolBudget,
  type ToolResult,
  type ToolReturn,
} from '../define/tool.ts';
import { deepFreeze } from '../freeze.ts';
import { guardedController } from '../guarded-signal.ts';
import type { CallOutcome } from '../journal/journal.ts';
import type { JSONValue } from '../model/model.ts';
import type { Budget, CallBudget } from './budget.ts';
import { keepWhole } from './capture.ts';
import type { TurnContext } from './context.ts';
import { asToolResult, errorResult, limitResult, type ModelResult, messageOf, wholeResult } from './result.ts';

/** A call that may run: its tool, its checked input, and what the tool says about it. */
export interface PreparedCall {
  readonly tool: BoundTool;
  readonly input: unknown;
  readonly sequential: boolean;
  readonly resources: readonly Resource[];
  readonly access: readonly AccessRequest[];
  readonly summary: string | undefined;
  readonly timeoutMs: number;
  /** A line for the model that goes with the result. */
  readonly note?: string;
}

/** A call's result and how it came about. */
export interface CallResult extends ModelResult {
  readonly outcome: CallOutcome;
}

/** An error result with how it came about. */
export function answered(outcome: Exclude<CallOutcome, 'done'>, text: string): CallResult {
  return { ...errorResult(text), outcome };
}

/** What a call comes to that was stopped: one whose tool had begun, or one that a middleware still held. */
export interface StoppedResults {
  readonly begun: CallResult;
  readonly held: CallResult;
}

/** Whose call it is, by its place there. */
export interface CallOwner {
  /** The call has its result. Called once. */
  settled(index: number, result: CallResult): void;
  /** Stops the time of the call, while a delegate of it waits for a person. The function that it gives lets it go on. */
  pause(index: number): () => void;
}

/** A call under way. It is settled once: by the tool, or by who answers for it. Tools see only its `CallContext`. */
export class RunningCall {
  readonly #turn: TurnContext;
  readonly #prepared: PreparedCall;
  readonly #context: CallContext;
  readonly #budget: Budget;
  readonly #index: number;
  readonly #batch: CallOwner;
  #callBudget: CallBudget | undefined;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: Error; readonly result: CallResult } | undefined;
  /** Whether the tool was reached: before that, only middlewares had the call. */
  #hasBegun = false;
  /** What the tool gave, while the whole of it is being kept: it is the result if the call is to stop meanwhile. */
  #inHand: CallResult | undefined;
  #isSettled = false;

  constructor(
    turn: TurnContext,
    stepId: string,
    callId: string,
    prepared: PreparedCall,
    budget: Budget,
    index: number,
    batch: CallOwner,
  ) {
    this.#turn = turn;
    this.#prepared = prepared;
    this.#budget = budget;
    this.#index = index;
    this.#batch = batch;
    this.#context = new CallContext(this, turn, stepId, callId, prepared);
  }

  /** What is left of the turn's limits. Counted when it is first asked for: most tools never do. */
  get budget(): ToolBudget {
    this.#callBudget ??= this.#budget.forCall(() => this.#batch.pause(this.#index));
    return this.#callBudget.budget;
  }

  /** What delegates used of the budget, if they did. */
  get used(): CallBudget['used'] {
    return this.#callBudget?.used;
  }

  /** Made when it is first asked for: most tools never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = guardedController(error => this.#listenerThrew(error));
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /** Runs the tool through the middlewares. Never throws; its batch is told once that it is settled, at once for a tool that is not async. */
  run(): void {
    try {
      const { middleware } = this.#turn;
      const returned =
        middleware === undefined
          ? this.#execute(this.#prepared.input)
          : middleware(this.#context, input => this.#terminal(input));
      if (!isThenable(returned)) this.#returned(returned);
      else {
        Promise.resolve(returned).then(
          value => this.#returned(value),
          error => this.#threw(error),
        );
      }
    } catch (error) {
      this.#threw(error);
    }
  }

  /** Asks the tool to stop, and lets it begin no more. The call comes to one of the `results` if the tool heeds this by throwing. */
  abort(reason: Error, results: StoppedResults): void {
    if (this.#inHand !== undefined) this.#answer(this.#inHand);
    if (this.#aborted !== undefined || this.#isSettled) return;
    this.#aborted = { reason, result: this.#hasBegun ? results.begun : results.held };
    this.#controller?.abort(reason);
  }

  /** Answers for a tool that was asked to stop and has not settled; what it gives later is dropped, and told as an event. */
  answerForTool(): void {
    if (this.#aborted !== undefined) this.#answer(this.#aborted.result);
  }

  #answer(result: CallResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#batch.settled(this.#index, result);
  }

  /** Tells readers how far the tool is, as a copy: a reader may come later than the tool's next change of it. */
  progress(update: JSONValue): void {
    if (this.#isSettled || !this.#turn.watched) return;
    const { stepId, callId, toolName } = this.#context;
    let carried: unknown;
    try {
      carried = JSON.parse(JSON.stringify(update) ?? 'null');
    } catch {
      return; // progress is for people: a tool that reports it badly still runs
    }
    this.#turn.emit({ type: 'tool.progress', stepId, callId, toolName, update: deepFreeze(carried as JSONValue) });
  }

  #execute(input: unknown): ReturnType<BoundTool['execute']> {
    this.#hasBegun = true;
    return this.#prepared.tool.execute(input, this.#context);
  }

  async #terminal(input: unknown): Promise<ToolResult> {
    if (this.#aborted !== undefined) throw this.#aborted.reason; // what its result says of the tool stays true
    return asToolResult(await this.#execute(input));
  }

  #returned(returned: ToolReturn): void {
    if (this.#isSettled) {
      this.#late(false);
      return;
    }
    const whole = wholeResult(returned);
    const result = limitResult(whole, this.#turn.limits.resultBytes);
    // A tool that heeds its signal by giving an error says what it knows, and was stopped all the same.
    const outcome = result.isError ? (this.#aborted?.result.outcome ?? 'failed') : 'done';
    const keeping = this.#isReader ? undefined : keepWhole(this.#turn, whole, result);
    if (keeping === undefined) {
      this.#answer({ ...result, outcome });
      return;
    }
    this.#inHand = { ...result, outcome };
    void keeping.then(kept => this.#answer({ ...kept, outcome }));
  }

  /** Whoever listened for the end of the call failed at it: that is told, and changes nothing else. */
  #listenerThrew(error: unknown): void {
    if (!this.#turn.watched) return;
    const { toolName } = this.#context;
    const message = `a listener of the signal of a call of "${toolName}" threw: ${messageOf(error)}`;
    this.#turn.tellFailure(message);
  }

  /** What is read of a long result is not kept once more. */
  get #isReader(): boolean {
    return this.#prepared.tool.info.name === READ_TOOL_RESULT_TOOL_NAME;
  }

  #threw(error: unknown): void {
    if (this.#isSettled) this.#late(true);
    else this.#answer(this.#aborted?.result ?? answered('failed', messageOf(error)));
  }

  #late(isError: boolean): void {
    if (!this.#turn.watched) return;
    const { stepId, callId, toolName } = this.#context;
    this.#turn.emit({ type: 'tool.late', stepId, callId, toolName, isError });
  }
}

/** What tools and middlewares see of a call. */
class CallContext implements MiddlewareCall {
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  readonly loopId: string;
  readonly turnId: string;
  readonly stepId: string;
  readonly input: unknown;
  readonly progress: (update: JSONValue) => void;
  readonly #running: RunningCall;

  constructor(running: RunningCall, turn: TurnContext, stepId: string, callId: string, prepared: PreparedCall) {
    this.callId = callId;
    this.toolName = prepared.tool.info.name;
    this.sessionId = turn.sessionId;
    this.loopId = turn.loopId;
    this.turnId = turn.turnId;
    this.stepId = stepId;
    this.input = prepared.input;
    this.progress = update => running.progress(update);
    this.#running = running;
    Object.freeze(this);
  }

  get budget(): ToolBudget {
    return this.#running.budget;
  }

  get signal(): AbortSignal {
    return this.#running.signal;
  }
}

function isThenable(value: unknown): value is PromiseLike<ToolReturn> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function';
}
