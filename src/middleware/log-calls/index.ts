/** `looprig/middleware/log-calls`: one record at the start and one at the end of every call. */
import type { Clock } from '../../clock.ts';
import type { MiddlewareCall, ToolMiddleware } from '../../define/middleware.ts';
import { isToolResult } from '../../define/tool.ts';
import { copyJson } from '../json.ts';
import { Options } from '../options.ts';
import { lineOf } from './line.ts';

/** What both records of a call say. */
interface CallLogPlace {
  /** The clock's time, in milliseconds since the epoch. */
  readonly at: number;
  readonly toolName: string;
  readonly callId: string;
  readonly sessionId: string;
  readonly loopId: string;
  readonly turnId: string;
  readonly stepId: string;
}

/** A call starts. */
export interface CallStartedLog extends CallLogPlace {
  readonly type: 'started';
  /** The arguments, as a frozen copy, where `arguments` asks for them and they can be copied. */
  readonly arguments?: unknown;
}

/** A call has ended. `stopped`: it was interrupted or ran out of time, and nobody waits for what it still gives. */
export interface CallEndedLog extends CallLogPlace {
  readonly type: 'ended';
  readonly outcome: 'done' | 'failed' | 'stopped';
  readonly durationMs: number;
}

/** One record of a call. Frozen, and plain JSON. */
export type CallLog = CallStartedLog | CallEndedLog;

/** Where records go, and what they say. */
export interface LogCallsOptions {
  /**
   * Takes each record, and the same as one line of text, without control characters. What it throws, or rejects with, changes nothing; nobody
   * waits for it. Default writes the line with `console.error`.
   */
  readonly log?: (record: CallLog, line: string) => unknown;
  /** Whether the arguments are part of the record of the start. They may hold secrets. Results never are part of one. Default false. */
  readonly arguments?: boolean;
  /** What times and durations are of. Default the platform's clock. */
  readonly clock?: Clock;
}

const KNOWN = ['log', 'arguments', 'clock'] as const;

/**
 * Logs every call: exactly one record when it starts, and one when it has ended or is stopped. Throws `DefinitionError`
 * `invalid_middleware`.
 *
 * @example
 * ```ts
 * import { defineLoop, defineRig } from 'looprig';
 * import { logCalls } from 'looprig/middleware/log-calls';
 * import { manualClock, scriptedModel, scriptedTool } from 'looprig/testing';
 *
 * const clock = manualClock();
 * const build = scriptedTool('build', { sleepMs: 1_500, clock });
 * const builder = defineLoop({
 *   name: 'builder',
 *   model: scriptedModel([{ calls: [{ tool: 'build' }] }, { text: 'Built.' }]),
 *   tools: [build.definition],
 *   middlewares: [
 *     logCalls({
 *       clock,
 *       log: record => {
 *         if (record.type === 'ended') console.log(record.toolName, record.outcome, record.durationMs); // build done 1500
 *       },
 *     }),
 *   ],
 * });
 * await using session = await defineRig({ loops: [builder], clock }).open();
 * await clock.runUntil(session.run('Build it.'));
 * ```
 */
export function logCalls(options: LogCallsOptions = {}): ToolMiddleware {
  const given = new Options('logCalls', options, KNOWN);
  const withArguments = given.flag('arguments', false);
  const clock = given.clock('clock');
  const log = given.callback('log', (_record: CallLog, line: string): unknown => console.error(line));

  const tell = (record: CallLog): void => {
    try {
      const logging = log(Object.freeze(record), lineOf(record));
      // The rejection of a log that is async is nobody's to handle but ours.
      Promise.resolve(logging).catch(() => {});
    } catch {
      // A log that fails changes nothing.
    }
  };

  return async (call, next) => {
    const { toolName, callId, sessionId, loopId, turnId, stepId, signal } = call;
    const place = { toolName, callId, sessionId, loopId, turnId, stepId };
    const startedAt = clock.now();
    tell({ type: 'started', at: startedAt, ...place, ...(withArguments ? argumentsOf(call) : {}) });
    let isOpen = true;
    const end = (outcome: CallEndedLog['outcome']): void => {
      if (!isOpen) return;
      isOpen = false;
      signal.removeEventListener('abort', stopped);
      const at = clock.now();
      tell({ type: 'ended', at, ...place, outcome, durationMs: Math.max(0, at - startedAt) });
    };
    // A tool that ignores its signal may never settle, and the loop does not wait for it either.
    const stopped = (): void => end('stopped');
    signal.addEventListener('abort', stopped, { once: true });
    try {
      const result = await next();
      end(isToolResult(result) && !result.isError ? 'done' : 'failed');
      return result;
    } catch (error) {
      end('failed');
      throw error;
    }
  };
}

function argumentsOf({ input }: MiddlewareCall): { readonly arguments?: unknown } {
  try {
    const { value, isWhole } = copyJson(input);
    return isWhole ? { arguments: value } : {};
  } catch {
    return {};
  }
}
