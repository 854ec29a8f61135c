/** A tool that does what a test tells it to, and remembers how it was run. */
import { type Clock, systemClock } from '../clock.ts';
import { readOptions } from '../define/options.ts';
import type { JsonSchema } from '../define/schema.ts';
import {
  defineTool,
  isToolResult,
  type ToolCall,
  type ToolCapabilities,
  type ToolDefinition,
  type ToolReturn,
} from '../define/tool.ts';
import { pause } from './pause.ts';
import { refuseForTest } from './refusal.ts';

/** What a scripted tool is called with: any object. */
export type ScriptedInput = Record<string, unknown>;

/** Gives a scripted tool's answer. */
export type ScriptedExecute = (input: ScriptedInput, call: ToolCall) => ToolReturn | Promise<ToolReturn>;

/** What a scripted tool does when it runs: it sleeps, then hangs, throws or returns. */
export interface ScriptedToolOptions extends ToolCapabilities<ScriptedInput> {
  /** What it gives back, or a function that says so. Default `"ok"`. */
  readonly returns?: ToolReturn | ScriptedExecute;
  /** What it throws, as it is. */
  readonly throws?: unknown;
  /** Milliseconds that it takes. It stops at once, with the signal's reason, when it is aborted. Default 0. */
  readonly sleepMs?: number | ((input: ScriptedInput) => number);
  /** Never settles, whatever its signal says. Default false. */
  readonly hangs?: boolean;
  /** Sleeps on when it is aborted. Default false. */
  readonly deaf?: boolean;
  /** What it sleeps on. Default the platform's clock. */
  readonly clock?: Clock;
  /** Default says its name. */
  readonly description?: string;
  /** Default: any object. */
  readonly input?: JsonSchema;
}

/** One run of a scripted tool. Times are of its clock. */
export interface ScriptedRun {
  /** The arguments. */
  readonly input: ScriptedInput;
  /** The call that it ran for. */
  readonly callId: string;
  /** When it began, by the clock of the tool. */
  readonly startedAt: number;
  /** Absent while it runs. */
  readonly endedAt?: number;
  /** Whether its signal was aborted while it ran. */
  readonly aborted: boolean;
}

/** A scripted tool. It counts over all loops and sessions that use its definition. */
export interface ScriptedTool {
  /** For the `tools` of a loop. */
  readonly definition: ToolDefinition;
  /** Every run, in the order of starting. */
  readonly runs: readonly ScriptedRun[];
  /** How often it was run. */
  readonly count: number;
  /** The most runs that were under way at one time. */
  readonly peak: number;
  /** Whether two calls were under way at one time. Throws if one of them was never run. */
  overlapped(callId: string, otherCallId: string): boolean;
}

const OPTIONS = [
  'returns',
  'throws',
  'sleepMs',
  'hangs',
  'deaf',
  'clock',
  'description',
  'input',
  'sequential',
  'resource',
  'idempotent',
  'access',
  'timeoutMs',
  'summary',
] as const satisfies (keyof ScriptedToolOptions)[];

/**
 * A tool for tests. `behaviour` is what it returns, a function that says so, or options; a plain object is always options, so an
 * object to return is written `{ returns: { … } }`. Throws `TypeError` for an unknown option.
 */
export function scriptedTool(
  name: string,
  behaviour: ScriptedToolOptions | ScriptedExecute | ToolReturn = 'ok',
): ScriptedTool {
  const options = optionsOf(name, behaviour);
  const log = new RunLog(options.clock ?? systemClock);
  const { returns, throws, sleepMs, hangs, deaf, clock, description, input, ...capabilities } = options;
  const definition = defineTool({
    ...capabilities,
    name,
    description: description ?? `The scripted tool ${name}.`,
    input: (input ?? { type: 'object', additionalProperties: true }) as { readonly type: 'object' },
    execute: (given, call) => log.run(given, call, () => behave(options, given, call)),
  });
  return Object.freeze({
    definition,
    runs: log.runs,
    get count() {
      return log.runs.length;
    },
    get peak() {
      return log.peak;
    },
    overlapped: (callId: string, other: string) => log.overlapped(callId, other),
  });
}

function optionsOf(name: string, behaviour: unknown): ScriptedToolOptions {
  if (typeof behaviour === 'function') return { returns: behaviour as ScriptedExecute };
  const isValue = typeof behaviour !== 'object' || behaviour === null || Array.isArray(behaviour);
  if (isValue || isToolResult(behaviour)) return { returns: behaviour as ToolReturn };
  readOptions(behaviour, OPTIONS, `scripted tool "${name}"`, (field, message, details) =>
    refuseForTest(field, `${message}; to return an object, write { returns: { … } }`, details),
  );
  return behaviour; // that an option is there at all says something, also of one that is undefined
}

async function behave(options: ScriptedToolOptions, input: ScriptedInput, call: ToolCall): Promise<ToolReturn> {
  const { returns = 'ok', sleepMs = 0, clock = systemClock } = options;
  const ms = typeof sleepMs === 'function' ? sleepMs(input) : sleepMs;
  if (ms > 0) await pause(ms, clock, options.deaf ? undefined : call.signal);
  if (options.hangs) return new Promise<never>(() => {});
  if ('throws' in options) throw options.throws;
  return typeof returns === 'function' ? (returns as ScriptedExecute)(input, call) : returns;
}

type Changing<T> = { -readonly [Key in keyof T]: T[Key] };

/** A run with its places in the order of all starts and ends, since a manual clock may give many of them one time. */
interface Span {
  readonly callId: string;
  readonly start: number;
  end: number;
}

class RunLog {
  readonly runs: ScriptedRun[] = [];
  peak = 0;
  readonly #clock: Clock;
  readonly #spans: Span[] = [];
  #running = 0;
  #moments = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(input: ScriptedInput, call: ToolCall, execute: () => Promise<ToolReturn>): Promise<ToolReturn> {
    const run: Changing<ScriptedRun> = {
      input,
      callId: call.callId,
      startedAt: this.#clock.now(),
      aborted: call.signal.aborted,
    };
    const span: Span = { callId: call.callId, start: this.#moments++, end: Number.POSITIVE_INFINITY };
    const aborted = (): void => {
      run.aborted = true;
    };
    this.runs.push(run);
    this.#spans.push(span);
    this.#running += 1;
    this.peak = Math.max(this.peak, this.#running);
    call.signal.addEventListener('abort', aborted, { once: true });
    try {
      return await execute();
    } finally {
      call.signal.removeEventListener('abort', aborted);
      this.#running -= 1;
      span.end = this.#moments++;
      run.endedAt = this.#clock.now();
    }
  }

  overlapped(callId: string, other: string): boolean {
    const others = this.#spansOf(other);
    return this.#spansOf(callId).some(one => others.some(two => one.start < two.end && two.start < one.end));
  }

  #spansOf(callId: string): readonly Span[] {
    const spans = this.#spans.filter(span => span.callId === callId);
    if (spans.length === 0) throw new Error(`the call "${callId}" was never run by this tool`);
    return spans;
  }
}
