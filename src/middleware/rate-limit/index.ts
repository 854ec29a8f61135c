/** `looprig/middleware/rate-limit`: never more than so many calls in so much time. */
import type { Clock } from '../../clock.ts';
import type { ToolMiddleware } from '../../define/middleware.ts';
import { toolError } from '../../define/tool.ts';
import { Options } from '../options.ts';
import { LEFT, StartWindow } from './start-window.ts';

/** How many calls may start in how much time, and whose. */
export interface RateLimitOptions {
  /** The most calls that start in any stretch of `perMs`. At least 1. */
  readonly calls: number;
  /** The length of that stretch, in milliseconds. */
  readonly perMs: number;
  /** The names of the tools that are counted, all together; others pass. Default every tool. Make one limit a tool to count them apart. */
  readonly tools?: readonly string[];
  /**
   * The longest wait, in milliseconds: a call that would have to wait longer is answered at once with an error that says so. Default
   * `Infinity`. Waiting is part of the call's time, so that the loop's `callTimeoutMs` bounds it as well.
   */
  readonly maxWaitMs?: number;
  /** What time is measured by. Default the platform's clock. */
  readonly clock?: Clock;
}

const KNOWN = ['calls', 'perMs', 'tools', 'maxWaitMs', 'clock'] as const;

/**
 * Lets at most `calls` calls start in any stretch of `perMs`, over all sessions of all loops that share the middleware: such limits are those of a
 * service, which does not know your sessions. The others wait in the order in which they came. A call that is aborted while it waits
 * never runs and is not counted. Throws `DefinitionError` `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { rateLimit } from 'looprig/middleware/rate-limit';
 * import { manualClock, scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * const clock = manualClock();
 * const search = scriptedTool('search', { clock });
 * const reader = defineLoop({
 *   name: 'reader',
 *   model: scriptedModel([{ calls: Array.from({ length: 5 }, () => ({ tool: 'search' })) }, { text: 'Read.' }]),
 *   tools: [search.definition],
 *   middlewares: [rateLimit({ calls: 2, perMs: 1_000, tools: ['search'], clock })],
 * });
 * await using session = await defineRig({ loops: [reader], clock }).open();
 * await clock.runUntil(session.run('Read all there is.'));
 * console.log(search.runs.map(run => run.startedAt).join(' ')); // 0 0 1000 1000 2000
 * ```
 */
export function rateLimit(options: RateLimitOptions): ToolMiddleware {
  const given = new Options('rateLimit', options, KNOWN);
  const calls = given.count('calls', 1);
  const perMs = given.milliseconds('perMs', 1);
  const tools = given.tools('tools');
  const maxWaitMs = given.milliseconds('maxWaitMs', 0, Number.POSITIVE_INFINITY, { infinity: true });
  const window = new StartWindow(calls, perMs, given.clock('clock'));
  const limit = `at most ${calls === 1 ? '1 call' : `${calls} calls`} in ${perMs} ms`;

  return async (call, next) => {
    if (tools?.has(call.toolName) === false) return next();
    if (call.signal.aborted) return toolError(`not run: the call was stopped before its turn came (${limit})`);
    const wait = window.waitMs();
    if (wait > maxWaitMs) return toolError(`not run: ${limit}. Try again in ${Math.ceil(wait)} ms`);
    const answer = await window.start(call.signal, () => next());
    return answer === LEFT
      ? toolError(`not run: the call was stopped while it waited for its turn (${limit})`)
      : answer;
  };
}
