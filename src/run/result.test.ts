import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ToolContent, toolError, toolResult } from '../define/tool.ts';
import { cleanMessage, messageOf, outputText, resultOf, withLine } from './result.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;

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

  it('leaves out parts of empty text, which providers refuse', () => {
    const image = { type: 'image' as const, data: 'AQI=', mediaType: 'image/png' };
    const { output } = resultOf(toolResult([{ type: 'text', text: '' }, image]), 1_000);
    expect(output).toMatchObject({ type: 'content', value: [{ type: 'file' }] });
    expect(
      resultOf(
        toolResult([
          { type: 'text', text: '' },
          { type: 'text', text: 'a' },
        ]),
        1_000,
      ),
    ).toMatchObject({
      output: { type: 'text', value: 'a' },
      isError: false,
    });
  });

  it('replaces half of a surrogate pair wherever it stands', () => {
    const parts: ToolContent[] = [
      { type: 'text', text: 'a\ud800' },
      { type: 'json', value: { 'b\udc00': 'c\ud800' } },
      { type: 'file', data: 'AQI=', mediaType: 'text/plain', filename: 'd\udc00.txt' },
    ];
    const { output } = resultOf(toolResult(parts), 1_000);
    expect(output).toMatchObject({
      type: 'content',
      value: [{ text: 'a\ufffd' }, { text: '{"b\ufffd":"c\ufffd"}' }, { filename: 'd\ufffd.txt' }],
    });
    expect(outputText(resultOf({ 'x\ud800': Symbol('s') }, 1_000).output).isWellFormed()).toBe(true);
  });

  it.each<readonly [string, object, string]>([
    ['no data', { type: 'image', mediaType: 'image/png' }, 'of type "image" whose data is neither base64 text nor'],
    ['a buffer as data', { type: 'file', data: new ArrayBuffer(3), mediaType: 'a/b' }, 'of type "file" whose data is'],
    ['no media type', { type: 'image', data: 'AQI=' }, 'of type "image" whose mediaType is undefined'],
    ['a name that is none', { type: 'file', data: '', mediaType: 'a/b', filename: 7 }, 'whose filename is 7'],
    ['text that is none', { type: 'text', text: 7 }, 'of type "text" whose text is 7'],
    ['an unknown type', { type: 'x'.repeat(5_000) }, 'a part of the unknown type "xxx'],
  ])('names what is wrong with a part that has %s', (_, part, problem) => {
    const { output, isError } = resultOf(toolResult([part as ToolContent, { type: 'text', text: 'b' }]), 1_000);
    expect(isError).toBe(true);
    expect(outputText(output)).toContain(problem);
    expect(bytes(outputText(output))).toBeLessThan(400);
  });

  it('keeps every error within the limit', () => {
    for (const returned of [new Error('x'.repeat(2_000)), { ['k'.repeat(80)]: () => 1 }]) {
      const { output } = resultOf(returned, 256);
      expect(bytes(outputText(output))).toBeLessThanOrEqual(256);
    }
  });

  it('takes a mark that is not true as no mark', () => {
    const forged = { content: [{ type: 'text', text: 'a' }], isError: 'no', endTurn: 1 };
    Object.defineProperty(forged, Symbol.for('looprig.tool-result'), { value: true });
    expect(resultOf(forged, 1_000)).toMatchObject({ isError: false, endTurn: false });
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

describe('withLine', () => {
  const line = 'Note: this is the same call with the same result for the 3rd time in a row.';
  const returns = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 3_000, size: 'max' }),
    fc.array(fc.string({ unit: 'grapheme', maxLength: 300, size: 'max' }), { maxLength: 20, size: 'max' }),
    fc
      .array(
        fc.oneof(
          fc.record({
            type: fc.constant('text' as const),
            text: fc.string({ unit: 'binary', maxLength: 1_500, size: 'max' }),
          }),
          fc.record({ type: fc.constant('json' as const), value: fc.jsonValue() }),
          fc.record({
            type: fc.constant('image' as const),
            data: fc.base64String({ maxLength: 800 }),
            mediaType: fc.constant('image/png'),
          }),
        ),
        { minLength: 1, maxLength: 8 },
      )
      .map(parts => toolResult(parts)),
  );

  it('adds the line to any result and keeps it within the limit', () => {
    fc.assert(
      fc.property(returns, fc.integer({ min: 256, max: 2_000 }), (returned, limit) => {
        const result = resultOf(returned, limit);
        const told = withLine(result, line, limit);
        const { output } = told;
        const texts =
          output.type === 'content'
            ? output.value.map(part =>
                part.type === 'text'
                  ? part.text
                  : part.type === 'file'
                    ? String(part.data.type === 'data' && part.data.data) + part.mediaType
                    : '',
              )
            : [outputText(output)];
        expect(texts.at(-1)!.endsWith(line)).toBe(true);
        expect(bytes(texts.join(''))).toBeLessThanOrEqual(limit);
        expect(texts.join('').isWellFormed()).toBe(true);
        expect(told.isError).toBe(result.isError);
        expect(Object.isFrozen(output)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it('a result that was cut still says how much was left out of the whole', () => {
    const told = outputText(withLine(resultOf('é'.repeat(50_000), 1_000), line, 1_000).output);
    const [head, omitted, total, tail] = told.split(/\n\[... (\d+) of (\d+) bytes left out here\. .* ...\]\n/);
    expect([total, tail?.endsWith(`\n\n${line}`)]).toEqual(['100000', true]);
    expect(Number(omitted)).toBe(100_000 - bytes(head!) - bytes(tail!) + bytes(`\n\n${line}`));
  });

  it('parts that were left out before are counted once, in one note', () => {
    const parts = Array.from({ length: 30 }, (_, n) => ({
      type: 'text' as const,
      text: `part ${n} ${'x'.repeat(50)}`,
    }));
    const { output } = withLine(resultOf(toolResult(parts), 1_000), line, 1_000);
    const texts = output.type === 'content' ? output.value.map(part => (part.type === 'text' ? part.text : '')) : [];
    const notes = texts.flatMap(text => /\[... (\d+) of 30 parts left out here/.exec(text)?.[1] ?? []);
    expect(notes).toEqual([String(30 - texts.filter(text => text.startsWith('part ')).length)]);
  });

  it('a part that was cut still says how much was left out of it', () => {
    const parts = [
      { type: 'text' as const, text: 'y'.repeat(20_000) },
      { type: 'text' as const, text: 'z'.repeat(20_000) },
    ];
    const { output } = withLine(resultOf(toolResult(parts), 1_000), line, 1_000);
    expect(outputText(output)).toMatch(/ of 20000 bytes left out here/);
  });
});

describe('messageOf', () => {
  it('is the message alone: no stack, no control characters, at most 1 KiB', () => {
    const error = new Error(`bad\u001b[31m\u0000 ${'x'.repeat(5_000)}`);
    expect(messageOf(error)).toMatch(/^bad\[31m x+/);
    expect(bytes(messageOf(error))).toBeLessThanOrEqual(1_024);
    expect(messageOf(error)).not.toContain('result.test');
    expect(messageOf(error)).not.toContain('The call itself was complete');
  });

  it('is never the source text of what was thrown', () => {
    expect(messageOf(() => 'secret')).toBe('it threw a function');
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
