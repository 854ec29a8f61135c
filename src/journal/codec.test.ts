import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { note, severalKinds, withFiles } from '../testing/journal-store-records.ts';
import { decodeRecords, encodeRecords, UnkeepableValue } from './codec.ts';
import type { JournalRecord } from './journal.ts';

/** A record that holds any value: to the codec it is one like any other. */
function holding(value: unknown): JournalRecord {
  return Object.assign({}, note(1), { value });
}

/** The value after a record that holds it went to text and back. */
function through(value: unknown): unknown {
  const [record] = decodeRecords(encodeRecords([holding(value)]));
  return record && Reflect.get(record, 'value');
}

const halves = fc.constantFrom('\ud83d', '\ude42', 'a\ud83d', '\ude42b', '\u0000', '🙂');
const keys = fc.oneof(
  fc.string({ unit: 'binary' }),
  halves,
  fc.constantFrom('$looprig', '__proto__', 'constructor', 'toJSON', 'length', '0'),
);
const leaves = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 4, arbitrary: fc.double() },
  fc.constantFrom(null, undefined, true, false, -0, Number.NaN, Number.POSITIVE_INFINITY, 2n ** 70n, -1n),
  halves,
  fc.uint8Array({ maxLength: 40 }),
  fc.webUrl({ withFragments: true, withQueryParameters: true }).map(url => new URL(url)),
  fc.constantFrom('bytes', 'url', 'undefined', 'number', 'object', 'bigint'),
);
const { value: anything } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaves,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 5 }).map(entries => Object.fromEntries(entries)),
  ),
}));

describe('a record comes back from its text', () => {
  test('equal, whatever data it holds, and the text is well-formed and without NUL', () => {
    fc.assert(
      fc.property(anything, value => {
        const text = encodeRecords([holding(value)]);
        expect(text.isWellFormed() && !text.includes('\0')).toBe(true);
        // Unlike the test runner's own, this looks at no member named `constructor`.
        expect(isDeepStrictEqual(through(value), value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('frozen throughout', () => {
    fc.assert(
      fc.property(anything, value => {
        for (const record of decodeRecords(encodeRecords([holding(value), ...severalKinds(2)]))) requireFrozen(record);
      }),
    );
  });

  test('with its bytes as bytes and its URLs as URLs', () => {
    const url = new URL('https://example.com/a?b=ü#c');
    const [record] = decodeRecords(encodeRecords([withFiles(1, new Uint8Array([0, 255]), url)]));
    expect(record).toStrictEqual(withFiles(1, new Uint8Array([0, 255]), url));
  });

  test('with a Node buffer as the bytes that it is', () => {
    expect(through(Buffer.from('ab'))).toStrictEqual(new Uint8Array([97, 98]));
  });

  test('with a key __proto__ as data, and nothing else changed by it', () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true},"a":{"__proto__":null}}');
    for (const beside of [value, { value, odd: undefined }]) expect(through(beside)).toStrictEqual(beside);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('as JSON and nothing else where JSON says all', () => {
    const records = [note(1), ...severalKinds(2)];
    expect(encodeRecords(records)).toBe(JSON.stringify(records));
  });

  test('with an object of a class as its fields, whatever it would tell JSON', () => {
    class Point {
      x = 1;
      toJSON() {
        return 'elsewhere';
      }
    }
    expect(through(new Point())).toEqual({ x: 1 });
    expect(through({ toJSON: 'data' })).toStrictEqual({ toJSON: 'data' });
  });
});

describe('what no record can hold is refused', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const deep = JSON.parse(`${'['.repeat(1_500)}${']'.repeat(1_500)}`);
  test.each([
    ['a function', () => 1, 'it holds a function'],
    ['a symbol', Symbol('s'), 'it holds a symbol'],
    ['a Map', new Map([[1, 2]]), 'it holds a Map'],
    ['a date', new Date(0), 'it holds a Date'],
    ['other binary data', new Float64Array(1), 'it holds a Float64Array'],
    ['a circle', circle, 'in a circle'],
    ['a circle beside bytes', { bytes: new Uint8Array(1), circle }, 'in a circle'],
    ['a value that is nested too deeply', deep, 'nested deeper than 1000 levels'],
  ])('%s', (_, value, message) => {
    expect(() => encodeRecords([holding(value)])).toThrow(UnkeepableValue);
    expect(() => encodeRecords([holding(value)])).toThrow(message);
  });
});

test.each([
  '',
  '{',
  '{}',
  '"text"',
  '[{"$looprig":["unknown"]}]',
  '[{"a":{"$looprig":1}}]',
  '[{"a":{"$looprig":["url","no url"]}}]',
])('the text %j is refused: no record was ever written so', text => {
  expect(() => decodeRecords(text)).toThrow();
});

function requireFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  expect(Object.isFrozen(value)).toBe(true);
  for (const key of Object.keys(value)) requireFrozen(Reflect.get(value, key));
}
