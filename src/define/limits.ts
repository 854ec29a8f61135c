/** The limits of a turn: what is declared, and what it means where nothing is said. */
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';
import { readOptions } from './options.ts';

/** Limits as they are declared. Every field is a non-negative integer or `Infinity`; `undefined`, and `0` but for `captureBytes`, mean the default. */
export interface ToolLimits {
  /** Tool iterations (steps in which the model asked for tools) in one turn. Default 25. */
  readonly iterations?: number | undefined;
  /** Tool calls in one turn, the failed and refused ones too. Default 100. */
  readonly calls?: number | undefined;
  /** Calls of one batch that run at the same time. Default 8. */
  readonly parallel?: number | undefined;
  /** UTF-8 bytes of one result that the model is shown; at least 256. Default 102,400. */
  readonly resultBytes?: number | undefined;
  /**
   * UTF-8 bytes of one result that are kept beside the journal where it is over `resultBytes`, for `read_tool_result`; of a larger one
   * the first are kept. `0` keeps none. Default 8,388,608.
   */
  readonly captureBytes?: number | undefined;
  /** One call's own running time in milliseconds; waiting for a person does not count. Default 600,000. */
  readonly callTimeoutMs?: number | undefined;
  /** One turn's running time in milliseconds; waiting for a person does not count. Default Infinity. */
  readonly turnTimeoutMs?: number | undefined;
  /** Tokens used by one turn, in and out. Default Infinity. */
  readonly tokens?: number | undefined;
}

/** Limits in force: every field has a value. */
export type ResolvedToolLimits = { readonly [Field in keyof ToolLimits]-?: number };

/** The limits where nothing is declared. */
export const DEFAULT_TOOL_LIMITS: ResolvedToolLimits = Object.freeze({
  iterations: 25,
  calls: 100,
  parallel: 8,
  resultBytes: 102_400,
  captureBytes: 8_388_608,
  callTimeoutMs: 600_000,
  turnTimeoutMs: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
});

/** The smallest `resultBytes`: less could not hold the line that says what was left out. */
const LEAST_RESULT_BYTES = 256;

const FIELDS = Object.keys(DEFAULT_TOOL_LIMITS) as (keyof ToolLimits)[];

/** A loop's limits in force: those declared, else the defaults. Throws `DefinitionError` `invalid_tool_limits` with the path of the field, which begins with `field`. */
export function resolveLimits(declared: unknown, field: string): ResolvedToolLimits {
  return resolveModeLimits(DEFAULT_TOOL_LIMITS, declared, field);
}

/** A mode's or one turn's limits in force: those declared where they are positive (`captureBytes` also where it is 0), else those of `base`. Throws as `resolveLimits` does. */
export function resolveModeLimits(base: ResolvedToolLimits, declared: unknown, field: string): ResolvedToolLimits {
  const limits = readLimits(declared, field);
  if (limits === undefined) return base;
  return Object.freeze(
    Object.fromEntries(FIELDS.map(name => [name, isDeclared(name, limits[name]) ? limits[name] : base[name]])),
  ) as ResolvedToolLimits;
}

function isDeclared(name: keyof ToolLimits, value: number | undefined): boolean {
  return value !== undefined && (value > 0 || name === 'captureBytes');
}

/** A copy of limits as they are declared, checked; `undefined` where none are. Throws as `resolveLimits` does. */
export function readLimits(declared: unknown, field: string): ToolLimits | undefined {
  if (declared === undefined) return undefined;
  const options = readOptions(declared, FIELDS, `"${field}"`, (name, message, details) => {
    return new DefinitionError('invalid_tool_limits', {
      field: name === '' ? field : `${field}.${name}`,
      message,
      ...details,
    });
  });
  const given = FIELDS.filter(name => options[name] !== undefined);
  return Object.fromEntries(given.map(name => [name, readLimit(options[name], name, `${field}.${name}`)]));
}

/** One limit as declared; `undefined` and 0 stay what they are. */
function readLimit(value: unknown, name: keyof ToolLimits, field: string): number | undefined {
  if (value === undefined) return undefined;
  const isCount = typeof value === 'number' && value >= 0 && (Number.isInteger(value) || value === Infinity);
  if (!isCount) {
    const zero = name === 'captureBytes' ? 'keeps none' : 'means the default';
    throw invalidLimit(field, value, `a non-negative integer or Infinity (0 ${zero})`);
  }
  if (name === 'resultBytes' && value > 0 && value < LEAST_RESULT_BYTES) {
    throw invalidLimit(field, value, `at least ${LEAST_RESULT_BYTES} (0 means the default)`);
  }
  return value || 0; // no -0
}

function invalidLimit(field: string, value: unknown, expected: string): DefinitionError {
  const message = `"${field}" must be ${expected}, not ${show(value)}`;
  return new DefinitionError('invalid_tool_limits', { field, message, value });
}
