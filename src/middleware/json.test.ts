import { describe, expect, it } from 'vitest';
import { copyJson as copyOfLoop } from '../run/json-copy.ts';
import { copyJson } from './json.ts';

/** What the loop makes of a value for the model; `refused` where it cannot carry it. */
function loops(value: unknown): unknown {
  try {
    return copyOfLoop(value);
  } catch {
    return 'refused';
  }
}

describe('a copy in a middleware', () => {
  it.each<readonly [string, unknown]>([
    ['plain data', { a: [1, 'x', true, null], b: { c: 2 } }],
    ['a boxed text', Object('x')],
    ['a boxed number', Object(1)],
    ['a boxed truth value', Object(false)],
    ['a date', new Date(0)],
    ['what has toJSON', { toJSON: () => ({ a: 1 }) }],
    ['a bigint', 1n],
    ['a boxed bigint', Object(1n)],
    ['a symbol', Symbol('s')],
    ['a boxed symbol', Object(Symbol('s'))],
    ['a function', () => 1],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['a weak collection', new WeakMap()],
    ['a Promise', Promise.resolve(1)],
    ['bytes', new Uint8Array(2)],
    ['a buffer of Node, which has a toJSON', Buffer.from('x')],
    ['an ArrayBuffer', new ArrayBuffer(2)],
  ])('is whole where the loop can carry the value, and then comes to the same: %s', (_, value) => {
    const copy = copyJson({ in: [value] });
    const carried = loops({ in: [value] });
    expect(copy.isWhole).toBe(carried !== 'refused');
    expect(loops(copy.value)).toEqual(carried);
  });
});
