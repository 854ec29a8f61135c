import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toolError, toolResult } from '../define/tool.ts';
import { cleanMessage, cut, messageOf, outputText, resultOf } from './result.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;
const NOTE = /\n\[… (\d+) of (\d+) bytes left out here\. .* …\]\n/;

describe('cut', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 4_000 }),
    fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🙂', '\ud800', '\udc00', '\n'), maxLength: 4_000 }),
  );

  it('keeps within the limit, on whole characters, with a true head, a true tail and the right number', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 256, max: 2_000 }), (text, limit) => {
        const shown = cut(text, limit);
        const whole = text.toWellFormed();
        expect(shown.isWellFormed()).toBe(true);
        expect(bytes(shown)).toBeLessThanOrEqual(limit);
        if (bytes(whole) <= limit) {
          expect(shown).toBe(whole);
          return;
        }
        const note = NOTE.exec(shown)!;
        const head = shown.slice(0, note.index);
        const tail = shown.slice(note.index + note[0].length);
        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(Number(note[2])).toBe(bytes(whole));
        expect(Number(note[1])).toBe(bytes(whole) - bytes(head) - bytes(tail));
        expect(bytes(shown)).toBeGreaterThan(limit - 16); // nothing is wasted but the rest of a character and of a number
      }),
      { numRuns: 2_000 },
    );
  });

  it('measures a text larger than one piece of the encoder, pairs on the edge included', () => {
    for (const offset of [0, 1]) {
      const text = 'a'.repeat(offset) + '🙂'.repeat(60_000);
      const note = NOTE.exec(cut(text, 1_000))!;
      expect(Number(note[2])).toBe(bytes(text));
    }
  });

  it('keeps the beginning where not even a note has room', () => {
    expect(cut('x'.repeat(100), 50)).toBe(`${'x'.repeat(47)}…`);
    expect(bytes(cut('漢'.repeat(100), 50))).toBeLessThanOrEqual(50);
    expect(cut('x'.repeat(100), 0)).toBe('');
  });
});

describe('resultOf', () => {
  const hostile = (trap: keyof ProxyHandler<object>): object =>
    new Proxy(
      {},
      {
        [trap]: () => {
          throw new Error(`no ${trap}`);
        },
      },
    );

  it.each([
    ['text', 'hello', { type: 'text', value: 'hello' }],
    ['a number', 7, { type: 'json', value: 7 }],
    ['an object', { a: [1, { b: null }] }, { type: 'json', value: { a: [1, { b: null }] } }],
    ['a date', new Date(0), { type: 'json', value: '1970-01-01T00:00:00.000Z' }],
    ['one text part', toolResult('hello'), { type: 'text', value: 'hello' }],
    ['one JSON part', toolResult([{ type: 'json', value: { a: 1 } }]), { type: 'json', value: { a: 1 } }],
    [
      'an image',
      toolResult([{ type: 'image', data: new Uint8Array([1, 2]), mediaType: 'image/png' }]),
      {
        type: 'content',
        value: [{ type: 'file', data: { type: 'data', data: 'AQI=' }, mediaType: 'image/png' }],
      },
    ],
  ])('carries %s', (_, returned, output) => {
    expect(resultOf(returned, 1_000)).toEqual({ output, isError: false, endTurn: false });
  });

  it.each([undefined, null, '', toolResult([]), toolResult('')])('tells nothing as an empty result (%#)', returned => {
    expect(resultOf(returned, 1_000)).toMatchObject({
      output: { type: 'error-text', value: 'empty result' },
      isError: true,
    });
  });

  it.each([
    ['a symbol', { at: [Symbol('x')] }, 'a symbol at "at[0]"'],
    ['a BigInt', { at: 1n }, 'a bigint at "at"'],
    ['a function', { at: () => 1 }, 'a function at "at"'],
    ['a Map', { at: new Map() }, 'a Map at "at"'],
    ['bytes', { at: new Uint8Array(1) }, 'binary data at "at"'],
  ])('names %s that cannot be carried', (_, returned, name) => {
    expect(outputText(resultOf(returned, 1_000).output)).toContain(name);
    expect(resultOf(returned, 1_000).isError).toBe(true);
  });

  it.each(['get', 'ownKeys', 'getPrototypeOf', 'has'] as const)('survives a proxy that throws in %s', trap => {
    expect(resultOf(hostile(trap), 1_000).output.type).toMatch(/^(json|error-text)$/);
  });

  it('shares nothing with what the tool keeps, and pollutes nothing', () => {
    const kept = { list: [1], inner: { a: 1 } };
    const { output } = resultOf(kept, 1_000);
    kept.list.push(2);
    kept.inner.a = 2;
    expect(output).toEqual({ type: 'json', value: { list: [1], inner: { a: 1 } } });
    const odd = resultOf(JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'), 1_000);
    expect(outputText(odd.output)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('carries whatever fast-check thinks of, or says why not', () => {
    const values = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
    });
    fc.assert(
      fc.property(values, value => {
        const { output } = resultOf(value as never, 1_000);
        expect(() => JSON.stringify(output)).not.toThrow();
        expect(bytes(outputText(output))).toBeLessThanOrEqual(1_000);
        expect(Object.isFrozen(output)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps an error an error, and an end of the turn an end', () => {
    expect(resultOf(toolError('no'), 1_000)).toMatchObject({
      output: { type: 'error-text', value: 'no' },
      isError: true,
    });
    expect(resultOf(toolResult('bye', { endTurn: true }), 1_000)).toMatchObject({ endTurn: true, isError: false });
    expect(resultOf(new Error('returned'), 1_000)).toMatchObject({ output: { type: 'error-text', value: 'returned' } });
  });
});

describe('messageOf', () => {
  it('is the message alone: no stack, no control characters, at most 1 KiB', () => {
    const error = new Error(`bad\u001b[31m\u0000 ${'x'.repeat(5_000)}`);
    expect(messageOf(error)).toMatch(/^bad\[31m x+/);
    expect(bytes(messageOf(error))).toBeLessThanOrEqual(1_024);
    expect(messageOf(error)).not.toContain('result.test');
  });

  it.each([
    undefined,
    null,
    0,
    1n,
    Symbol('x'),
    {},
    [],
    () => 1,
    new Proxy(
      {},
      {
        get() {
          throw new Error('no');
        },
      },
    ),
  ])('is a sentence for anything that is thrown (%#)', thrown => {
    expect(messageOf(thrown)).not.toBe('');
  });

  it('says so where there is no message', () => {
    expect(cleanMessage(' \u0000 ')).toBe('it failed without a message');
  });
});
