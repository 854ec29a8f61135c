import { describe, expect, it } from 'vitest';
import { base64, copyContent, UncopiableContent } from './copy.ts';

describe('copyContent', () => {
  it('shares nothing with the original', () => {
    const original = { type: 'text', text: 'a', providerOptions: { p: { list: [1, { deep: true }] } } };
    const copied = copyContent(original);
    expect(copied).toEqual(original);
    original.providerOptions.p.list.push(2);
    expect(copied.providerOptions.p.list).toEqual([1, { deep: true }]);
  });

  it('turns bytes into base64 and keeps URLs', () => {
    const copied = copyContent({ data: new Uint8Array([104, 105]), url: new URL('https://example.com/a') }) as Record<
      string,
      unknown
    >;
    expect(copied.data).toBe('aGk=');
    expect(String(copied.url)).toBe('https://example.com/a');
    expect(copied.url).toBeInstanceOf(URL);
  });

  it('keeps an own member named __proto__ as data', () => {
    const copied = copyContent(JSON.parse('{"__proto__": {"polluted": true}}'));
    expect(Object.keys(copied)).toEqual(['__proto__']);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it.each([() => 1, Symbol('x'), 1n])('refuses what is no data (%s)', value => {
    expect(() => copyContent({ value })).toThrow(UncopiableContent);
  });

  it('refuses a cycle', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => copyContent(cycle)).toThrow('nested too deeply');
  });
});

it('base64 holds more bytes than one call takes arguments', () => {
  const bytes = new Uint8Array(200_000).map((_, index) => index % 256);
  expect(Buffer.from(base64(bytes), 'base64').equals(Buffer.from(bytes))).toBe(true);
});

it('what JSON has no number or place for is null, and half a surrogate pair is replaced', () => {
  const sparse = Object.assign(new Array<unknown>(2), { 1: undefined });
  const value = { n: Number.NaN, i: Number.POSITIVE_INFINITY, sparse, 'k\ud83d': ['v\ud83d', '😀'] };
  const copied: unknown = copyContent(value);
  expect(copied).toEqual({ n: null, i: null, sparse: [null, null], 'k\ufffd': ['v\ufffd', '😀'] });
  expect(JSON.parse(JSON.stringify(copied))).toEqual(copied);
});

it('values that share their parts without end are refused', () => {
  let shared: object = {};
  for (let level = 0; level < 60; level++) shared = { one: shared, other: shared };
  expect(() => copyContent(shared)).toThrow('it holds more than 1000000 values');
  const endless = new Proxy([], { get: (list, key) => (key === 'length' ? 2 ** 32 : Reflect.get(list, key)) });
  expect(() => copyContent(endless)).toThrow('it holds more than 1000000 values');
});
