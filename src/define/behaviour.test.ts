import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../errors.ts';
import { BEHAVIOUR_OPTIONS, DEFAULT_BEHAVIOUR, resolveBehaviour } from './behaviour.ts';

const refusal = (options: object): DefinitionError => {
  try {
    resolveBehaviour(options);
  } catch (error) {
    if (DefinitionError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('behaviour', () => {
  test('has the documented defaults', () => {
    expect(resolveBehaviour({})).toEqual({
      stream: true,
      atLimit: 'fail',
      announceLimits: false,
      repeat: { warn: 3, stop: 6 },
      modelRetries: 2,
      drainTimeoutMs: 2_000,
      outputRetries: 2,
      outputMode: 'auto',
    });
    expect(DEFAULT_BEHAVIOUR).toEqual(resolveBehaviour({}));
  });

  test('takes what is given for every option', () => {
    const given = {
      stream: false,
      atLimit: 'answer',
      announceLimits: true,
      repeat: { warn: 2, stop: 4 },
      modelRetries: 0,
      drainTimeoutMs: 0,
      outputRetries: 5,
      outputMode: 'native',
    };

    expect(resolveBehaviour(given)).toEqual(given);
    expect(Object.keys(given)).toEqual(BEHAVIOUR_OPTIONS);
  });

  test('takes undefined as the default', () => {
    expect(resolveBehaviour(Object.fromEntries(BEHAVIOUR_OPTIONS.map(name => [name, undefined])))).toEqual(
      DEFAULT_BEHAVIOUR,
    );
  });

  test('is a frozen copy', () => {
    const repeat = { warn: 2, stop: 4 };
    const resolved = resolveBehaviour({ repeat });
    repeat.stop = 40;

    expect(resolved.repeat).toEqual({ warn: 2, stop: 4 });
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(Object.isFrozen(resolved.repeat)).toBe(true);
  });

  test.each([
    { field: 'stream', value: 'yes', expected: 'true or false' },
    { field: 'stream', value: null, expected: 'true or false' },
    { field: 'announceLimits', value: 1, expected: 'true or false' },
    { field: 'atLimit', value: 'stop', expected: '"fail" or "answer"' },
    { field: 'modelRetries', value: -1, expected: 'a finite, non-negative integer' },
    { field: 'modelRetries', value: Number.POSITIVE_INFINITY, expected: 'a finite, non-negative integer' },
    { field: 'drainTimeoutMs', value: 0.5, expected: 'a finite, non-negative integer' },
    { field: 'drainTimeoutMs', value: Number.POSITIVE_INFINITY, expected: 'a finite, non-negative integer' },
    { field: 'outputRetries', value: '2', expected: 'a finite, non-negative integer' },
    { field: 'outputRetries', value: Number.NaN, expected: 'a finite, non-negative integer' },
    { field: 'outputMode', value: 'json', expected: '"auto", "native" or "tool"' },
    { field: 'repeat', value: true, expected: 'false or { warn, stop }' },
    { field: 'repeat', value: null, expected: 'false or { warn, stop }' },
  ])('refuses $value for $field', ({ field, value, expected }) => {
    const error = refusal({ [field]: value });

    expect(error).toMatchObject({ kind: 'invalid_option', field, value });
    expect(error.message).toContain(`"${field}" must be ${expected}, not `);
  });
});

describe('repeat', () => {
  test.each([
    { repeat: false, resolved: false },
    { repeat: {}, resolved: { warn: 3, stop: 6 } },
  ])('$repeat means $resolved', ({ repeat, resolved }) => {
    expect(resolveBehaviour({ repeat }).repeat).toEqual(resolved);
  });

  test('warns at the stop at the latest where only a low stop is given', () => {
    expect(resolveBehaviour({ repeat: { stop: 2 } }).repeat).toEqual({ warn: 2, stop: 2 });
  });

  test('takes Infinity for never', () => {
    const never = { warn: Number.POSITIVE_INFINITY, stop: Number.POSITIVE_INFINITY };

    expect(resolveBehaviour({ repeat: { warn: never.warn } }).repeat).toEqual({ warn: never.warn, stop: 6 });
    expect(resolveBehaviour({ repeat: never }).repeat).toEqual(never);
  });

  test.each([{ warn: 1 }, { warn: 2.5 }, { warn: '3' }, { warn: Number.NaN }, { warn: null }])(
    'refuses $warn as warn',
    repeat => {
      expect(refusal({ repeat })).toMatchObject({ kind: 'invalid_option', field: 'repeat.warn', value: repeat.warn });
    },
  );

  test.each([{ stop: 1 }, { stop: -2 }, { stop: 0 }])('refuses $stop as stop', repeat => {
    expect(refusal({ repeat })).toMatchObject({ kind: 'invalid_option', field: 'repeat.stop', value: repeat.stop });
  });

  test('refuses a warning that would come after the stop', () => {
    expect(refusal({ repeat: { warn: 10 } }).message).toBe(
      '"repeat.warn" must be at most "repeat.stop", which is 6, or Infinity for no warning, not 10',
    );
  });

  test.each([
    { repeat: { after: 3 }, field: 'repeat.after' },
    { repeat: [3, 6], field: 'repeat' },
  ])('refuses $repeat at $field', ({ repeat, field }) => {
    expect(refusal({ repeat })).toMatchObject({ kind: 'invalid_option', field });
  });
});
