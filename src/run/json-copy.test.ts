import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyJson, Uncarriable } from './json-copy.ts';

describe('what JSON carries', () => {
  it('is carried just so, and the copy is frozen all through and shares nothing with the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), value => {
        const copy = copyJson(value);
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
        const visit = (one: unknown, other: unknown): void => {
          if (typeof one !== 'object' || one === null) return;
          expect(Object.isFrozen(one)).toBe(true);
          expect(one).not.toBe(other);
          for (const key of Object.keys(one)) visit(Reflect.get(one, key), Reflect.get(other as object, key));
        };
        visit(copy, value);
      }),
    );
  });

  it.each<readonly [string, unknown, string]>([
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['an invalid date', new Date(Number.NaN), 'null'],
    ['a URL', new URL('https://example.org/a'), '"https://example.org/a"'],
    ['numbers that JSON has not', [Number.NaN, Number.POSITIVE_INFINITY, -0], '[null,null,0]'],
    ['gaps of a list', Object.assign(new Array(3), { 2: 1 }), '[null,null,1]'],
    ['members that are undefined', { a: undefined, b: 1 }, '{"b":1}'],
    ['boxed values', [new String('ab'), new Number(5), new Boolean(false)], '["ab",5,false]'],
    [
      'the own members of an instance',
      new (class Point {
        x = 1;
        get y() {
          return 2;
        }
      })(),
      '{"x":1}',
    ],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['members alone, not what has a symbol for a key', { [Symbol('s')]: 1, a: 1 }, '{"a":1}'],
    ['an object that stands in two places', (one => [one, one])({ a: 1 }), '[{"a":1},{"a":1}]'],
    ['a list whose iterator is not its own', Object.assign([1, 2], { [Symbol.iterator]: forEver }), '[1,2]'],
    [
      'the key that a toJSON is told',
      { a: { toJSON: (key: string) => key }, b: [{ toJSON: (key: string) => key }] },
      '{"a":"a","b":["0"]}',
    ],
  ])('%s', (_, value, text) => {
    expect(JSON.stringify(copyJson(value))).toBe(text);
  });

  it('names of the prototype are data', () => {
    const value = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":2},"toString":3}');
    const copy = copyJson(value);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":2},"toString":3}');
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('half of a surrogate pair is replaced, in texts and in keys', () => {
    expect(copyJson({ 'a\ud800': ['b\udc00', '🙂'] })).toEqual({ 'a\ufffd': ['b\ufffd', '🙂'] });
  });
});

describe('what JSON would lose or refuse is named, with its place', () => {
  it.each<readonly [string, unknown, string]>([
    ['a symbol', { list: [0, { it: Symbol('s') }] }, 'it holds a symbol at "list[1].it"'],
    ['a function', [() => 1], 'it holds a function at "[0]"'],
    ['a bigint', { a: { b: 1n } }, 'it holds a bigint at "a.b"'],
    ['a boxed bigint', { a: Object(1n) }, 'it holds a bigint at "a"'],
    ['a Map', new Map([['a', 1]]), 'it holds a Map: return a plain object or a list'],
    [
      'a subclass of Set',
      { s: new (class Own extends Set {})() },
      'it holds a Set at "s": return a plain object or a list',
    ],
    ['a WeakSet', { w: new WeakSet() }, 'it holds a weak collection at "w": return a plain object'],
    ['a promise', [Promise.resolve(1)], 'it holds a Promise at "[0]": wait for it, and return what it gives'],
    [
      'bytes',
      { b: new Uint8Array(2) },
      'it holds binary data at "b": return it as text, or as an image or file part of a tool result',
    ],
    [
      'a buffer of Node',
      { b: Buffer.from('hi') },
      'it holds binary data at "b": return it as text, or as an image or file part of a tool result',
    ],
    [
      'a buffer',
      new ArrayBuffer(2),
      'it holds binary data: return it as text, or as an image or file part of a tool result',
    ],
    [
      'a view',
      new DataView(new ArrayBuffer(2)),
      'it holds binary data: return it as text, or as an image or file part of a tool result',
    ],
    ['a cycle', cycle(), 'it holds a cycle at "a.b[0]"'],
    ['a deep nest', nest(20_000), 'it is nested more than 500 levels deep'],
    ['a toJSON that never ends', endless(), 'it is nested more than 500 levels deep'],
    ['a list with four thousand million gaps', new Array(2 ** 32 - 1), 'it is too large: return less of it'],
    ['one object that stands in very many places', doubled(60), 'it is too large: return less of it'],
    ['very much text', Array.from({ length: 300 }, () => 'x'.repeat(2 ** 20)), 'it is too large: return less of it'],
  ])('%s', (_, value, message) => {
    expect(() => copyJson(value)).toThrow(new Uncarriable(message));
  });

  it('a long place is shortened', () => {
    const message = expect.stringMatching(/^it holds a symbol at "k{80}…"$/);
    expect(() => copyJson({ ['k'.repeat(500)]: Symbol('s') })).toThrow(expect.objectContaining({ message }));
  });

  it('what a getter throws is thrown', () => {
    const value = {
      get a(): never {
        throw new Error('mine');
      },
    };
    expect(() => copyJson(value)).toThrow('mine');
  });
});

function* forEver(): Generator<number> {
  for (;;) yield 1;
}

function cycle(): object {
  const outer = { a: { b: [] as object[] } };
  outer.a.b.push(outer);
  return outer;
}

function nest(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

function endless(): object {
  return { toJSON: () => endless() };
}

/** A value whose text would double with each level. */
function doubled(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value, value];
  return value;
}
