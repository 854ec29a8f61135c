/** `looprig/middleware/retry`: runs a failed call again. */
import type { Clock } from '../../clock.ts';
import type { MiddlewareCall, ToolMiddleware } from '../../define/middleware.ts';
import { isToolResult, type MaybePromise, type ToolResult } from '../../define/tool.ts';
import { isPlainJson } from '../json.ts';
import { Options } from '../options.ts';

/** How an attempt failed: what was thrown, or an error result. */
export type FailedAttempt =
  | { readonly kind: 'thrown'; readonly error: unknown }
  | { readonly kind: 'result'; readonly result: ToolResult };

/** What is tried again, how often, and after how long. */
export interface RetryOptions {
  /**
   * The names of the tools whose calls may run again, or `'all'`. There is no default: a call that failed may have taken effect all
   * the same, and only you know which of your tools can bear to run twice.
   */
  readonly tools: readonly string[] | 'all';
  /** How many more attempts there are after the first. Default 2, at least 1. */
  readonly times?: number;
  /** The wait before the second attempt, in milliseconds; doubled for each one after it. Each is shortened at random by up to half. Default 500. */
  readonly delayMs?: number;
  /** The longest of these waits, in milliseconds. Default 30,000. */
  readonly maxDelayMs?: number;
  /**
   * Whether to try again after attempt number `attempt`, counted from 1. Only `true` does. Asked while attempts are left and the call
   * is not aborted; what it throws is the call's error. Default: after what was thrown, not after an error result.
   */
  readonly when?: (failed: FailedAttempt, attempt: number, call: MiddlewareCall) => MaybePromise<boolean>;
  /** What waits are measured by. Default the platform's clock. */
  readonly clock?: Clock;
  /** Numbers from 0 to 1, for the random part of a wait. Default `Math.random`. */
  readonly random?: () => number;
}

type When = NonNullable<RetryOptions['when']>;

const KNOWN = ['tools', 'times', 'delayMs', 'maxDelayMs', 'when', 'clock', 'random'] as const;

/**
 * Runs a call again that threw, for the tools that you name. Never once the call's signal is aborted, and an abort ends a wait at
 * once. Readers are told by a `tool.progress` event `{ retrying, delayMs }`; the call counts once. In the end the last failure stands.
 * Throws `DefinitionError` `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { retry } from 'looprig/middleware/retry';
 * import { scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * let attempts = 0;
 * const weather = scriptedTool('weather', () => {
 *   attempts += 1;
 *   if (attempts < 3) throw new Error('the service is busy');
 *   return '21 °C';
 * });
 * const guide = defineLoop({
 *   name: 'guide',
 *   model: scriptedModel([{ calls: [{ tool: 'weather' }] }, { text: 'It is 21 °C.' }]),
 *   tools: [weather.definition],
 *   middlewares: [retry({ tools: ['weather'], times: 3, delayMs: 10 })],
 * });
 * await using session = await defineRig({ loops: [guide] }).open();
 * const { text, calls } = await session.run('How warm is it?');
 * console.log(text, `${calls} call, ${attempts} attempts`); // It is 21 °C. 1 call, 3 attempts
 * ```
 */
export function retry(options: RetryOptions): ToolMiddleware {
  const given = new Options('retry', options, KNOWN);
  const tools =
    given.raw('tools') === 'all' ? undefined : given.requiredTools('tools', 'a call may not bear to run twice');
  const times = given.count('times', 1, 2);
  const delayMs = given.milliseconds('delayMs', 0, 500);
  const maxDelayMs = given.milliseconds('maxDelayMs', 0, 30_000);
  const when = given.callback<When>('when', failed => failed.kind === 'thrown');
  const clock = given.clock('clock');
  const random = given.callback('random', Math.random);

  return async (call, next) => {
    if (tools?.has(call.toolName) === false) return next();
    // A tool may do with its input what it likes, so that each attempt gets its own.
    const again = isPlainJson(call.input) ? structuredClone(call.input) : undefined;
    for (let attempt = 1; ; attempt++) {
      const input = attempt === 1 || again === undefined ? call.input : structuredClone(again);
      const done = await attempted(() => next(input));
      if (done.kind === 'result' && !isFailed(done.result)) return done.result;
      const isLast = attempt > times || call.signal.aborted || (await when(done, attempt, call)) !== true;
      if (isLast || call.signal.aborted) return settle(done);
      const wait = Math.round(Math.min(delayMs * 2 ** (attempt - 1), maxDelayMs) * (1 - random() / 2));
      call.progress({ retrying: attempt, delayMs: wait });
      if (!(await waited(wait, clock, call.signal))) return settle(done);
    }
  };
}

async function attempted(run: () => Promise<ToolResult>): Promise<FailedAttempt> {
  try {
    return { kind: 'result', result: await run() };
  } catch (error) {
    return { kind: 'thrown', error };
  }
}

/** What is no result at all is for the loop to tell about. */
function isFailed(result: ToolResult): boolean {
  return isToolResult(result) && result.isError;
}

function settle(failed: FailedAttempt): ToolResult {
  if (failed.kind === 'thrown') throw failed.error;
  return failed.result;
}

/** Waits; false if the signal was aborted before the time was over. */
function waited(ms: number, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const aborted = (): void => resolve(false);
  const timer = clock.setTimer(() => resolve(!signal.aborted), ms);
  signal.addEventListener('abort', aborted, { once: true });
  return promise.finally(() => {
    clock.clearTimer(timer);
    signal.removeEventListener('abort', aborted);
  });
}
