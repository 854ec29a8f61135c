/** What telemetry is told once, checked and with its defaults. */
import type { Attributes, Context, MeterProvider, TracerProvider } from '@opentelemetry/api';
import { isLoopDefinition, type LoopDefinition } from '../define/loop.ts';
import { type Refusal, readOptions } from '../define/options.ts';
import { DefinitionError } from '../errors.ts';
import type { TurnFailed, TurnResumed, TurnStarted } from '../events/events.ts';
import { show } from '../show.ts';

/** What `openTelemetry` takes. */
export interface OpenTelemetryOptions {
  /**
   * Whose names and models the spans bear: an event knows a loop by its id alone. For a rig of several loops, a function that gives the one of a
   * session (`session.loop` is its name), called once a turn; one that gives nothing, or throws, leaves the names out. Default: none.
   */
  readonly loop?: LoopDefinition | ((sessionId: string) => LoopDefinition | undefined) | undefined;
  /** What makes the tracer `looprig`. Default: the global one, as it is when the first turn begins. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** What makes the meter `looprig`. Default: the global one, as it is when the first turn begins. */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether what was said is part of the spans: inputs, answers, arguments, results, the targets of gates, reasons and messages of errors. It may
   * hold secrets. Default false.
   */
  readonly content?: boolean | undefined;
  /** The most characters of one piece of content; what is longer ends with `…`. Default 4,096. */
  readonly contentLength?: number | undefined;
  /** Attributes of every span. Default: none. */
  readonly attributes?: Attributes | undefined;
  /** The context that a turn's span belongs to. Default: the one that is active when the turn begins, which for a turn that waited is that of the one before it. It gets the first event of the turn. */
  readonly parent?: ((event: TurnStarted | TurnResumed | TurnFailed) => Context | undefined) | undefined;
  /** The most turns that are held open; beyond it the oldest is ended as `abandoned`, so that turns which never end cost no more than this. Default 1,000. */
  readonly maxOpenTurns?: number | undefined;
}

/** The options in force. */
export interface ResolvedTelemetry {
  readonly loopOf: (sessionId: string) => LoopDefinition | undefined;
  readonly tracerProvider: TracerProvider | undefined;
  readonly meterProvider: MeterProvider | undefined;
  /** The most characters of one piece of content; `undefined` where there is to be none. */
  readonly contentLength: number | undefined;
  readonly attributes: Attributes;
  readonly parent: (event: TurnStarted | TurnResumed | TurnFailed) => Context | undefined;
  readonly maxOpenTurns: number;
}

const KNOWN = [
  ...(['loop', 'tracerProvider', 'meterProvider', 'content', 'contentLength'] as const),
  ...(['attributes', 'parent', 'maxOpenTurns'] as const),
] as const;

const OWNER = 'openTelemetry';
const DEFAULT_CONTENT_LENGTH = 4_096;
const DEFAULT_MAX_OPEN_TURNS = 1_000;

/** Reads the options. Throws `DefinitionError` `invalid_option`. */
export function resolveTelemetry(options: unknown): ResolvedTelemetry {
  const given = readOptions(options, KNOWN, OWNER, refuse);
  const { loop, tracerProvider, meterProvider, content, attributes, parent } = given;
  const expect = (name: (typeof KNOWN)[number], fits: boolean, expected: string): void => {
    if (given[name] !== undefined && !fits) throw unfit(name, expected, given[name]);
  };
  expect(
    'loop',
    isLoopDefinition(loop) || typeof loop === 'function',
    'a loop definition, or a function that gives one',
  );
  expect('tracerProvider', hasMethod(tracerProvider, 'getTracer'), 'a tracer provider');
  expect('meterProvider', hasMethod(meterProvider, 'getMeter'), 'a meter provider');
  expect('content', typeof content === 'boolean', 'true or false');
  expect('attributes', typeof attributes === 'object' && attributes !== null, 'an object');
  expect('parent', typeof parent === 'function', 'a function');
  const contentLength = count('contentLength', given.contentLength, DEFAULT_CONTENT_LENGTH);
  return Object.freeze({
    loopOf: isLoopDefinition(loop) ? () => loop : safely(loop as ResolvedTelemetry['loopOf'] | undefined),
    tracerProvider: tracerProvider as TracerProvider | undefined,
    meterProvider: meterProvider as MeterProvider | undefined,
    contentLength: content === true ? contentLength : undefined,
    attributes: Object.freeze({ ...(attributes as Attributes | undefined) }),
    parent: (parent as ResolvedTelemetry['parent'] | undefined) ?? (() => undefined),
    maxOpenTurns: count('maxOpenTurns', given.maxOpenTurns, DEFAULT_MAX_OPEN_TURNS),
  });
}

/** The caller's function, of which nothing but a loop definition comes. */
function safely(find: ResolvedTelemetry['loopOf'] | undefined): ResolvedTelemetry['loopOf'] {
  if (find === undefined) return () => undefined;
  return sessionId => {
    try {
      const loop: unknown = find(sessionId);
      return isLoopDefinition(loop) ? loop : undefined;
    } catch {
      return undefined; // a turn without names is better than none
    }
  };
}

function count(name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value;
  throw unfit(name, 'a whole number from 1', value);
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
}

const refuse: Refusal = (field, message, details) => {
  return new DefinitionError('invalid_option', { field: field === '' ? OWNER : field, message, ...details });
};

function unfit(name: string, expected: string, value: unknown): Error {
  return refuse(name, `"${name}" of ${OWNER} must be ${expected}, not ${show(value)}`, { value });
}
