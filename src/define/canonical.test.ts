import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical.ts';

/** The same value with the keys of every object in another order. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, reordered(item)]);
  return Object.fromEntries(entries.reverse());
}

/** What `-0` is in JSON. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const jsonValues = fc.jsonValue().map(plain);
/** So few that two of them are often equal. */
const smallValues = fc.jsonValue({ maxDepth: 1, stringUnit: fc.constantFrom('a', '"') }).map(plain);

describe('canonicalJson', () => {
  test('writes no white space and sorts the keys of every object, at every depth', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: 'x y' })).toBe('{"a":"x y","b":[{"c":2,"d":1}]}');
  });

  test('writes keys that look like numbers in text order too', () => {
    expect(canonicalJson({ 10: 'a', 9: 'b', a: 'c' })).toBe('{"10":"a","9":"b","a":"c"}');
  });

  test('keeps an own key __proto__ as data', () => {
    const value = JSON.parse('{"__proto__":{"x":1},"constructor":2}');

    expect(canonicalJson(value)).toBe('{"__proto__":{"x":1},"constructor":2}');
    expect(canonicalJson(value)).not.toBe(canonicalJson({ constructor: 2 }));
  });

  test('gives JSON that reads back as the value', () => {
    fc.assert(
      fc.property(jsonValues, value => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  test('gives one text for a value whatever the order of its keys', () => {
    fc.assert(
      fc.property(jsonValues, value => {
        expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('gives different texts for values that differ in JSON', () => {
    fc.assert(
      fc.property(smallValues, smallValues, (one, other) => {
        const areEqual = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
        expect(canonicalJson(one) === canonicalJson(other)).toBe(areEqual);
      }),
    );
  });

  test('leaves out of objects, and writes as null in lists, what JSON does not have', () => {
    const value = { u: undefined, f: () => 1, s: Symbol('s'), list: [undefined, () => 1, Symbol('s'), Number.NaN] };

    expect(canonicalJson(value)).toBe('{"list":[null,null,null,null]}');
    expect(canonicalJson(undefined)).toBe('null');
  });

  test('asks a value for its own JSON form', () => {
    expect(canonicalJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(canonicalJson({ hidden: { toJSON: () => undefined } })).toBe('{}');
  });

  test('writes a bigint as its digits', () => {
    expect(canonicalJson({ n: 12345678901234567890n })).toBe('{"n":12345678901234567890}');
  });

  test('writes null where a value holds itself, and the value twice where it is only shared', () => {
    const shared = { x: 1 };
    const cyclic: Record<string, unknown> = { a: shared, b: shared };
    cyclic.self = cyclic;

    expect(canonicalJson(cyclic)).toBe('{"a":{"x":1},"b":{"x":1},"self":null}');
  });

  test('writes null for what throws when it is read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const unlisted = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no');
        },
      },
    );
    const hostile = {
      get broken(): never {
        throw new Error('no');
      },
      json: {
        toJSON() {
          throw new Error('no');
        },
      },
      proxy,
      unlisted,
    };

    expect(canonicalJson(hostile)).toBe('{"broken":null,"json":null,"proxy":null,"unlisted":null}');
    expect(canonicalJson(proxy)).toBe('null');
  });

  test('takes a value nested deeper than the call stack reaches', () => {
    const depth = 200_000;
    const nested = JSON.parse('['.repeat(depth) + ']'.repeat(depth));

    expect(canonicalJson(nested)).toHaveLength(2 * depth);
  });
});

/** Another form in which equal values look equal: lists and sorted entries, told apart. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', value.map(sorted)];
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return ['object', entries.map(([key, item]) => [key, sorted(item)])];
}
