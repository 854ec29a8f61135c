/** `looprig/middleware/cache`: answers a call that was answered before from memory. */
import type { Clock } from '../../clock.ts';
import { canonicalJson } from '../../define/canonical.ts';
import type { MiddlewareCall, ToolMiddleware } from '../../define/middleware.ts';
import type { ToolResult } from '../../define/tool.ts';
import { isPlainJson } from '../json.ts';
import { Options } from '../options.ts';
import { Flights } from './flights.ts';
import { frozenResult, isEmpty } from './frozen-result.ts';
import { KeptResults } from './kept-results.ts';

/** Whose results are kept, how many of them, and for how long. */
export interface CacheOptions {
  /** The names of the tools whose results may be used again. There is no default: a call that changes something must run each time. */
  readonly tools: readonly string[];
  /** How long a result may be used, in milliseconds from its coming. Default 300,000 (five minutes); `Infinity` for as long as there is room. */
  readonly ttlMs?: number;
  /** The most results that are kept, of all sessions together; beyond it the one unused for longest goes. Default 1,000. */
  readonly max?: number;
  /**
   * The text by which a call's arguments are known, within its session and tool; `undefined` for a call that is not to be kept.
   * Default: the arguments as canonical JSON. Arguments that are more than JSON data (a `Date` that a schema made) have none.
   */
  readonly key?: (call: MiddlewareCall) => string | undefined;
  /** What `ttlMs` is measured by. Default the platform's clock. */
  readonly clock?: Clock;
}

const KNOWN = ['tools', 'ttlMs', 'max', 'key', 'clock'] as const;

/**
 * Answers a call from memory if the same tool was called with the same arguments in the same session, for the tools that you name.
 * Calls that are the same and run at the same time share one run; if that one is aborted, the next of them runs. Errors and empty
 * results are never kept. Throws `DefinitionError` `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { cache } from 'looprig/middleware/cache';
 * import { scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * const search = scriptedTool('search', ({ query }) => `three pages about ${query}`);
 * const reader = defineLoop({
 *   name: 'reader',
 *   model: scriptedModel([
 *     { calls: [{ tool: 'search', input: { query: 'lamps', pages: 3 } }] },
 *     { calls: [{ tool: 'search', input: { pages: 3, query: 'lamps' } }] },
 *     { text: 'There are three pages.' },
 *   ]),
 *   tools: [search.definition],
 *   middlewares: [cache({ tools: ['search'], ttlMs: 60_000 })],
 * });
 * await using session = await defineRig({ loops: [reader] }).open();
 * const { calls } = await session.run('What is there about lamps?');
 * console.log(`${calls} calls, ${search.count} run`); // 2 calls, 1 run
 * ```
 */
export function cache(options: CacheOptions): ToolMiddleware {
  const given = new Options('cache', options, KNOWN);
  const tools = given.requiredTools('tools', 'a call that changes something must run each time');
  const ttlMs = given.milliseconds('ttlMs', 1, 300_000, { infinity: true });
  const kept = new KeptResults(given.count('max', 1, 1_000), ttlMs, given.clock('clock'));
  const argumentsKey = given.callback('key', keyOfArguments);
  const flights = new Flights();

  return async (call, next) => {
    if (!tools.has(call.toolName)) return next();
    const key = keyOf(call, argumentsKey(call));
    if (key === undefined) return next();
    const run = async (): Promise<ToolResult> => {
      const result = await next();
      const copy = frozenResult(result);
      if (copy === undefined) return result;
      if (!copy.isError && !isEmpty(copy) && !call.signal.aborted) kept.put(key, copy);
      return copy;
    };
    return kept.get(key) ?? flights.share(key, call, run);
  };
}

function keyOfArguments({ input }: MiddlewareCall): string | undefined {
  return isPlainJson(input) ? canonicalJson(input) : undefined;
}

/** One text for session, loop, tool and arguments; written as JSON, so that no two of them run into each other. */
function keyOf({ sessionId, loopId, toolName }: MiddlewareCall, ofArguments: unknown): string | undefined {
  if (ofArguments === undefined) return undefined;
  if (typeof ofArguments === 'string') return JSON.stringify([sessionId, loopId, toolName, ofArguments]);
  throw new TypeError(`the "key" function of cache must give a text or undefined for a call of "${toolName}"`);
}
