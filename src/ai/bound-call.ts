/** One call of a bound loop's tool that AI SDK makes: checked against the rules, in its turn, in its time, through the middlewares. */
import type { ToolExecutionOptions } from 'ai';
import {
  type AccessRequest,
  type BoundLoop,
  type BoundTool,
  type Clock,
  isToolResult,
  type MiddlewareCall,
  type ResolvedToolLimits,
  type Resource,
  type ToolResult,
  type ToolReturn,
  toolResult,
} from '../index.ts';
import type { JSONValue } from '../model/model.ts';
import { messageOf, resultOf } from '../run/result.ts';
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
  readonly #controller = new AbortController();
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
    const stop = (reason: unknown, error: Error): void => {
      this.#controller.abort(reason);
      reject(error);
    };
    const ms = Math.min(this.#tool.live.timeoutMs ?? Number.POSITIVE_INFINITY, limits.callTimeoutMs);
    const late = new CallFailure(
      `timed out after ${ms} ms: it may still be running, and may or may not have taken effect`,
    );
    const overdue = () => stop(new DOMException(`${name} ran longer than ${ms} ms`, 'TimeoutError'), late);
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.setTimer(overdue, ms);
    const interrupted = new CallFailure('interrupted; it may or may not have taken effect');
    const abort = () => stop(this.#outer?.reason, interrupted);
    this.#outer?.addEventListener('abort', abort);
    try {
      return await Promise.race([this.#execute(), stopped]);
    } catch (error) {
      throw error === late || error === interrupted ? error : new CallFailure(messageOf(error), { cause: error });
    } finally {
      if (timer !== undefined) clock.clearTimer(timer);
      this.#outer?.removeEventListener('abort', abort);
    }
  }

  async #execute(): Promise<ToolReturn> {
    const { middleware } = this.#place.bound;
    const call = this.#call();
    if (middleware === undefined) return this.#tool.execute(this.#input, call);
    return middleware(call, async input => asToolResult(await this.#tool.execute(input, call)));
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

/** A plain return in the hands of middlewares, as in a turn. */
function asToolResult(returned: ToolReturn): ToolResult {
  if (isToolResult(returned)) return returned;
  if (returned === undefined || returned === null || returned === '') return toolResult([]);
  if (returned instanceof Error) return toolResult(messageOf(returned), { isError: true });
  if (typeof returned === 'string') return toolResult(returned);
  return toolResult([{ type: 'json', value: returned }]);
}
