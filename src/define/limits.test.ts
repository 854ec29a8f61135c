import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../errors.ts';
import { DEFAULT_TOOL_LIMITS, readLimits, resolveLimits, resolveModeLimits, type ToolLimits } from './limits.ts';

const FIELDS = Object.keys(DEFAULT_TOOL_LIMITS) as (keyof ToolLimits)[];

/** A value that a field takes; `resultBytes` takes 0 or at least 256. */
const taken = (field: keyof ToolLimits) =>
  fc.oneof(
    fc.constantFrom(undefined, 0, Number.POSITIVE_INFINITY),
    fc.integer({ min: field === 'resultBytes' ? 256 : 1, max: Number.MAX_SAFE_INTEGER }),
  );
const limits = fc.record(Object.fromEntries(FIELDS.map(field => [field, taken(field)])), { requiredKeys: [] });

const refusal = (run: () => unknown): DefinitionError => {
  try {
    run();
  } catch (error) {
    if (DefinitionError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('limits', () => {
  test('have the documented defaults', () => {
    expect(resolveLimits(undefined, 'limits')).toEqual({
      iterations: 25,
      calls: 100,
      parallel: 8,
      resultBytes: 102_400,
      captureBytes: 8_388_608,
      callTimeoutMs: 600_000,
      turnTimeoutMs: Number.POSITIVE_INFINITY,
      tokens: Number.POSITIVE_INFINITY,
    });
  });

  test.each(FIELDS.filter(field => field !== 'captureBytes'))('takes 0 and undefined for %s as the default', field => {
    expect(resolveLimits({ [field]: 0 }, 'limits')[field]).toBe(DEFAULT_TOOL_LIMITS[field]);
    expect(resolveLimits({ [field]: -0 }, 'limits')[field]).toBe(DEFAULT_TOOL_LIMITS[field]);
    expect(resolveLimits({ [field]: undefined }, 'limits')[field]).toBe(DEFAULT_TOOL_LIMITS[field]);
  });

  test('takes captureBytes of 0 as 0, over any base, and undefined as the default', () => {
    const base = resolveLimits({ captureBytes: 0 }, 'limits');
    expect(base.captureBytes).toBe(0);
    expect(resolveLimits({ captureBytes: undefined }, 'limits').captureBytes).toBe(8_388_608);
    expect(resolveModeLimits(base, { calls: 1 }, 'modes.m.limits').captureBytes).toBe(0);
    expect(resolveModeLimits(base, { captureBytes: undefined }, 'modes.m.limits').captureBytes).toBe(0);
    expect(resolveModeLimits(base, { captureBytes: 5 }, 'modes.m.limits').captureBytes).toBe(5);
    expect(resolveModeLimits(DEFAULT_TOOL_LIMITS, { captureBytes: 0 }, 'modes.m.limits').captureBytes).toBe(0);
    expect(refusal(() => resolveLimits({ captureBytes: -1 }, 'limits')).message).toBe(
      '"limits.captureBytes" must be a non-negative integer or Infinity (0 keeps none), not -1',
    );
  });

  test.each(FIELDS)('takes a positive integer and Infinity for %s', field => {
    expect(resolveLimits({ [field]: 300 }, 'limits')[field]).toBe(300);
    expect(resolveLimits({ [field]: Number.POSITIVE_INFINITY }, 'limits')[field]).toBe(Number.POSITIVE_INFINITY);
  });

  test.each(
    FIELDS.flatMap(field =>
      [-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '5', true, null, 5n, {}].map(value => ({ field, value })),
    ),
  )('refuses $value for $field, and names the field', ({ field, value }) => {
    const error = refusal(() => resolveLimits({ [field]: value }, 'limits'));

    expect(error.kind).toBe('invalid_tool_limits');
    expect(error.field).toBe(`limits.${field}`);
    expect(error.value).toBe(value);
    expect(error.message).toContain(`"limits.${field}" must be a non-negative integer or Infinity`);
  });

  test.each([1, 255])('refuses resultBytes of %d', resultBytes => {
    const error = refusal(() => resolveLimits({ resultBytes }, 'limits'));

    expect(error).toMatchObject({ kind: 'invalid_tool_limits', field: 'limits.resultBytes', value: resultBytes });
    expect(error.message).toBe(
      `"limits.resultBytes" must be at least 256 (0 means the default), not ${String(resultBytes)}`,
    );
  });

  test('takes resultBytes of 256', () => {
    expect(resolveLimits({ resultBytes: 256 }, 'limits').resultBytes).toBe(256);
  });

  test('refuses an unknown field, such as a typo', () => {
    const error = refusal(() => resolveLimits({ call: 5 }, 'modes.plan.limits'));

    expect(error).toMatchObject({ kind: 'invalid_tool_limits', field: 'modes.plan.limits.call' });
    expect(error.message).toContain('has no option "call": it takes iterations, calls, parallel');
  });

  test.each([null, 5, 'many', [25, 100, 8], () => 1])('refuses %s in place of limits', declared => {
    expect(refusal(() => resolveLimits(declared, 'limits'))).toMatchObject({
      kind: 'invalid_tool_limits',
      field: 'limits',
    });
  });

  test('refuses a field whose getter throws, with what it threw as the cause', () => {
    const cause = new Error('no');
    const hostile = {
      get calls(): never {
        throw cause;
      },
    };

    expect(refusal(() => resolveLimits(hostile, 'limits'))).toMatchObject({
      kind: 'invalid_tool_limits',
      field: 'limits.calls',
      cause,
    });
  });

  test('reads each field once', () => {
    let reads = 0;
    const shifty = {
      get calls() {
        reads += 1;
        return reads === 1 ? 5 : -5;
      },
    };

    expect(resolveLimits(shifty, 'limits').calls).toBe(5);
    expect(reads).toBe(1);
  });

  test('are a frozen copy: changing what was declared changes nothing', () => {
    const declared = { calls: 5 };
    const resolved = resolveLimits(declared, 'limits');
    declared.calls = 500;

    expect(resolved.calls).toBe(5);
    expect(Object.isFrozen(resolved)).toBe(true);
  });
});

describe('limits of a mode', () => {
  test('override the base field by field, only where positive', () => {
    const base = resolveLimits({ calls: 10, parallel: 2, tokens: 1000 }, 'limits');

    expect(resolveModeLimits(base, { calls: 20, parallel: 0, tokens: undefined }, 'modes.plan.limits')).toEqual({
      ...DEFAULT_TOOL_LIMITS,
      calls: 20,
      parallel: 2,
      tokens: 1000,
    });
  });

  test('are the base limits where none are declared', () => {
    const base = resolveLimits({ calls: 10 }, 'limits');

    expect(resolveModeLimits(base, undefined, 'modes.plan.limits')).toEqual(base);
  });

  test('take each field from the mode where it is positive, else from the base, for all limits', () => {
    fc.assert(
      fc.property(limits, limits, (declaredBase, declared) => {
        const base = resolveLimits(declaredBase, 'limits');
        const resolved = resolveModeLimits(base, declared, 'modes.m.limits');
        for (const field of FIELDS) {
          const own = (declared as ToolLimits)[field];
          const isOwn = own !== undefined && (own > 0 || field === 'captureBytes');
          expect(resolved[field]).toBe(isOwn ? own : base[field]);
          expect(resolved[field]).toBeGreaterThan(field === 'captureBytes' ? -1 : 0);
        }
        expect(resolveModeLimits(resolved, declared, 'modes.m.limits')).toEqual(resolved);
      }),
    );
  });

  test('are read once and may be resolved again over another base', () => {
    const declared = { calls: 7 };
    const read = readLimits(declared, 'limits');
    declared.calls = 9;

    expect(resolveModeLimits(resolveLimits({ parallel: 3 }, 'limits'), read, 'limits')).toMatchObject({
      calls: 7,
      parallel: 3,
    });
    expect(readLimits(undefined, 'limits')).toBeUndefined();
  });
});
