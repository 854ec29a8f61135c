/** How a loop's turns behave, beyond what they may do and how much of it. */
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';
import { readOptions } from './options.ts';

/** The options of a loop that say how its turns behave. */
export interface BehaviourOptions {
  /** Ask the model with `doStream` (deltas while it answers) or with `doGenerate`. Default true: stream. */
  readonly stream?: boolean | undefined;
  /**
   * At a limit: `fail` ends the turn failed, with `ToolLimitError`, and leaves the step out of the history; `answer` tells the
   * model which limit was reached and asks it once more, with tools off, for a closing answer. Default `fail`.
   */
  readonly atLimit?: 'fail' | 'answer' | undefined;
  /** Tell the model, in one line that is not kept, when a limit is near. Default false. */
  readonly announceLimits?: boolean | undefined;
  /**
   * The same call with the same result, step after step: from the `warn`th in a row its result carries a line that says so, at
   * the `stop`th the turn ends as at a limit. Both at least 2, `warn` at most `stop`; Infinity for never. Default
   * `{ warn: 3, stop: 6 }`; `false` for neither.
   */
  readonly repeat?: false | { readonly warn?: number | undefined; readonly stop?: number | undefined } | undefined;
  /** How often a failed model request is tried again; 0 for never. Default 2. */
  readonly modelRetries?: number | undefined;
  /** The longest an interrupted turn waits for its tools, in milliseconds; 0 to wait for none. Default 2,000. */
  readonly drainTimeoutMs?: number | undefined;
  /** How often an answer that does not fit the output schema is sent back; 0 for never. Default 2. */
  readonly outputRetries?: number | undefined;
  /**
   * How an answer with an output schema is asked for: `native` by the provider's own response format, which is sent beside the
   * tools; `tool` by the control tool `_looprig_final_output`; `auto` natively where the model is known to take that beside tools
   * and the schema is one that providers hold to, else by the control tool. Default `auto`. Nothing without an `output`.
   */
  readonly outputMode?: 'auto' | 'native' | 'tool' | undefined;
}

/** Behaviour in force. */
export interface LoopBehaviour {
  /** Whether the model is asked with `doStream`. */
  readonly stream: boolean;
  /** What happens at a limit: the turn fails, or closes with an answer. */
  readonly atLimit: 'fail' | 'answer';
  /** Whether the model is told when a limit is near. */
  readonly announceLimits: boolean;
  /** From which repetition on a result says so, and at which the turn ends; `false` for neither. */
  readonly repeat: false | { readonly warn: number; readonly stop: number };
  /** How often a failed model request is tried again. */
  readonly modelRetries: number;
  /** The longest an interrupted turn waits for its tools, in milliseconds. */
  readonly drainTimeoutMs: number;
  /** How often an answer that does not fit the output schema is sent back. */
  readonly outputRetries: number;
  /** How an answer with an output schema is asked for. */
  readonly outputMode: 'auto' | 'native' | 'tool';
}

const DEFAULT_REPEAT = Object.freeze({ warn: 3, stop: 6 });

/** How turns behave where nothing is said. */
export const DEFAULT_BEHAVIOUR: LoopBehaviour = Object.freeze({
  stream: true,
  atLimit: 'fail',
  announceLimits: false,
  repeat: DEFAULT_REPEAT,
  modelRetries: 2,
  drainTimeoutMs: 2_000,
  outputRetries: 2,
  outputMode: 'auto',
});

/** The names of the options that say how turns behave. */
export const BEHAVIOUR_OPTIONS = Object.keys(DEFAULT_BEHAVIOUR) as (keyof BehaviourOptions)[];

/** Behaviour in force: what is given, else the defaults. Throws `DefinitionError` `invalid_option` with the field. */
export function resolveBehaviour(options: { readonly [Option in keyof BehaviourOptions]?: unknown }): LoopBehaviour {
  return Object.freeze({
    stream: flag(options.stream, 'stream'),
    atLimit: atLimit(options.atLimit),
    announceLimits: flag(options.announceLimits, 'announceLimits'),
    repeat: repeat(options.repeat),
    modelRetries: count(options.modelRetries, 'modelRetries'),
    drainTimeoutMs: count(options.drainTimeoutMs, 'drainTimeoutMs'),
    outputRetries: count(options.outputRetries, 'outputRetries'),
    outputMode: outputMode(options.outputMode),
  });
}

function flag(value: unknown, field: 'stream' | 'announceLimits'): boolean {
  if (value === undefined) return DEFAULT_BEHAVIOUR[field];
  if (typeof value !== 'boolean') throw invalid(field, value, 'true or false');
  return value;
}

function atLimit(value: unknown): LoopBehaviour['atLimit'] {
  if (value === undefined) return DEFAULT_BEHAVIOUR.atLimit;
  if (value !== 'fail' && value !== 'answer') throw invalid('atLimit', value, '"fail" or "answer"');
  return value;
}

function outputMode(value: unknown): LoopBehaviour['outputMode'] {
  if (value === undefined) return DEFAULT_BEHAVIOUR.outputMode;
  if (value !== 'auto' && value !== 'native' && value !== 'tool') {
    throw invalid('outputMode', value, '"auto", "native" or "tool"');
  }
  return value;
}

/** Infinity is refused: a retry without end or a turn that waits for ever is what these numbers are there to prevent. */
function count(value: unknown, field: 'modelRetries' | 'drainTimeoutMs' | 'outputRetries'): number {
  if (value === undefined) return DEFAULT_BEHAVIOUR[field];
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw invalid(field, value, 'a finite, non-negative integer');
  }
  return value;
}

function repeat(value: unknown): LoopBehaviour['repeat'] {
  if (value === undefined) return DEFAULT_BEHAVIOUR.repeat;
  if (value === false) return false;
  if (typeof value !== 'object' || value === null) throw invalid('repeat', value, 'false or { warn, stop }');
  const { warn, stop } = readOptions(value, ['warn', 'stop'], '"repeat"', (name, message, details) => {
    return new DefinitionError('invalid_option', {
      field: name === '' ? 'repeat' : `repeat.${name}`,
      message,
      ...details,
    });
  });
  const stopAt = stop === undefined ? DEFAULT_REPEAT.stop : times(stop, 'stop');
  const warnAt = warn === undefined ? Math.min(DEFAULT_REPEAT.warn, stopAt) : times(warn, 'warn');
  if (warnAt > stopAt && warnAt !== Infinity) {
    throw invalid('repeat.warn', warnAt, `at most "repeat.stop", which is ${stopAt}, or Infinity for no warning`);
  }
  return Object.freeze({ warn: warnAt, stop: stopAt });
}

function times(value: unknown, field: 'warn' | 'stop'): number {
  if (typeof value !== 'number' || value < 2 || !(Number.isInteger(value) || value === Infinity)) {
    throw invalid(`repeat.${field}`, value, 'an integer of at least 2, or Infinity for never');
  }
  return value;
}

function invalid(field: string, value: unknown, expected: string): DefinitionError {
  return new DefinitionError('invalid_option', {
    field,
    message: `"${field}" must be ${expected}, not ${show(value)}`,
    value,
  });
}
