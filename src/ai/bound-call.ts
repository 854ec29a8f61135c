/** One call of a bound loop's tool that AI SDK makes: checked against the rules, in its turn, in its time, through the middlewares. */
import type { ToolExecutionOptions } from 'ai';
import { guardedController } from '../guarded-signal.ts';
import type {
  AccessRequest,
  BoundLoop,
  BoundTool,
  Clock,
  MiddlewareCall,
  ResolvedToolLimits,
  Resource,
  ToolReturn,
} from '../index.ts';
import type { JSONValue } from '../model/model.ts';
import { asToolResult, messageOf, overdueTexts, resultOf, type StoppedTexts, stoppedTexts } from '../run/result.ts';
import type { Exclusion } from './exclusion.ts';
import { errorText, plainValue } from './output-value.ts';

/** What all calls of one tool set have in common. */
export interface CallPlace {
  readonly bound: BoundLoop;
  readonly limits: ResolvedToolLimits;
  readonly exclusion: Exclusion;
  readonly clock: Clock;
  readonly turnId: string;
  isForbidden(access: AccessRequest): boolean;
  readonly onProgress:
    | ((update: JSONValue, call: { readonly toolName: string; readonly toolCallId: string }) => void)
    | undefined;
}

/** AI SDK decides when its loop ends: nothing is counted here. */
const NO_BUDGET = Object.freeze({
  iterationsLeft: Number.POSITIVE_INFINITY,
  callsLeft: Number.POSITIVE_INFINITY,
  tokensLeft: Number.POSITIVE_INFINITY,
});

/** A failed call. AI SDK tells the model what `toString` gives: the text alone, as in a turn. */
class CallFailure extends Error {
  override toString(): string {
    return this.message;
  }
}

export class BoundCall {
  readonly #place: CallPlace;
  readonly #tool: BoundTool;
  readonly #input: unknown;
  readonly #toolCallId: string;
  /** AI SDK has nobody who could be told what a listener throws. */
  readonly #controller = guardedController(() => {});
  /** Whether the tool was reached: before that, only middlewares had the call. */
  #hasBegun = false;
  readonly #outer: AbortSignal | undefined;

  constructor(place: CallPlace, tool: BoundTool, input: unknown, options: ToolExecutionOptions<unknown>) {
    this.#place = place;
    this.#tool = tool;
    this.#input = input;
    this.#toolCallId = options.toolCallId;
    this.#outer = options.abortSignal;
  }

  /** The result as a value. Throws an error result by its text: that is how AI SDK tells a failed call. */
  async run(): Promise<unknown> {
    const { live, info } = this.#tool;
    const wanted = (await live.access?.(this.#input)) ?? [];
    const forbidden = wanted.find(access => this.#place.isForbidden(access));
    if (forbidden !== undefined) {
      throw new CallFailure(`permission denied: a rule forbids ${forbidden.action} on ${forbidden.target}`);
    }
    const leave = await this.#place.exclusion.enter({
      sequential: live.sequential === true,
      resources: listed(await live.resource?.(this.#input)),
    });
    try {
      this.#outer?.throwIfAborted();
      const returned = await this.#inTime(info.name);
      const { output, isError } = resultOf(returned, this.#place.limits.resultBytes);
      if (isError) throw new CallFailure(errorText(output));
      return plainValue(output);
    } finally {
      leave();
    }
  }

  /** What the tool gives; what it gives after its time, or after it was told to stop, is dropped. */
  async #inTime(name: string): Promise<ToolReturn> {
    const { clock, limits } = this.#place;
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    let failure: CallFailure | undefined;
    const stop = (reason: unknown, { begun, held }: StoppedTexts): void => {
      failure = new CallFailure(this.#hasBegun ? begun : held);
      this.#controller.abort(reason);
      reject(failure);
    };
    const ms = Math.min(this.#tool.live.timeoutMs ?? Number.POSITIVE_INFINITY, limits.callTimeoutMs);
    const overdue = () => stop(new DOMException(`${name} ran longer than ${ms} ms`, 'TimeoutError'), overdueTexts(ms));
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.setTimer(overdue, ms);
    const abort = () => stop(this.#outer?.reason, stoppedTexts('interrupted'));
    this.#outer?.addEventListener('abort', abort);
    try {
      return await Promise.race([this.#execute(), stopped]);
    } catch (error) {
      throw error === failure ? error : new CallFailure(messageOf(error), { cause: error });
    } finally {
      if (timer !== undefined) clock.clearTimer(timer);
      this.#outer?.removeEventListener('abort', abort);
    }
  }

  async #execute(): Promise<ToolReturn> {
    const { middleware } = this.#place.bound;
    const call = this.#call();
    if (middleware === undefined) return this.#runTool(this.#input, call);
    return middleware(call, async input => {
      this.#controller.signal.throwIfAborted(); // what its failure says of the tool stays true
      return asToolResult(await this.#runTool(input, call));
    });
  }

  #runTool(input: unknown, call: MiddlewareCall): ReturnType<BoundTool['execute']> {
    this.#hasBegun = true;
    return this.#tool.execute(input, call);
  }

  #call(): MiddlewareCall {
    const { bound, turnId, onProgress } = this.#place;
    const toolName = this.#tool.info.name;
    const toolCallId = this.#toolCallId;
    return Object.freeze({
      callId: toolCallId,
      toolName,
      sessionId: bound.sessionId,
      loopId: bound.loopId,
      turnId,
      stepId: `${turnId}.1`,
      signal: this.#controller.signal,
      budget: NO_BUDGET,
      input: this.#input,
      progress: (update: JSONValue) => onProgress?.(update, { toolName, toolCallId }),
    });
  }
}

function listed(resource: Resource | readonly Resource[] | undefined): readonly Resource[] {
  if (resource === undefined) return [];
  return typeof resource === 'string' || 'key' in resource ? [resource] : resource;
}
