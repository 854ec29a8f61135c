import { describe, expect, it } from 'vitest';
import {
  fileOf,
  finishReasonOf,
  markOf,
  metadataOf,
  nameOf,
  providerResultOf,
  requirePart,
  textOf,
} from './provider-parts.ts';

const hostile = (): never => {
  throw new Error('hostile');
};
const unreadable = new Proxy({}, { get: hostile, ownKeys: hostile, getPrototypeOf: hostile });
const cycle: Record<string, unknown> = {};
cycle.p = cycle;

/** What a provider sends, whatever the types say. */
const sent = (part: object): never => part as never;

describe('a part', () => {
  it.each<readonly [unknown, string]>([
    [null, 'null'],
    [undefined, 'undefined'],
    [7, '7'],
    ['text', '"text"'],
    [Symbol('s'), 'a symbol'],
  ])('that is none is refused by a sentence that shows it (%#)', (part, shown) => {
    expect(() => requirePart(part)).toThrow(`the provider sent ${shown} where a part of a response belongs`);
  });

  it('may be any object: its type says more', () => {
    expect(() => [{}, [], Object.create(null), unreadable].forEach(requirePart)).not.toThrow();
  });
});

describe('a text', () => {
  it('that is missing is none, and one of another kind is refused and never made up', () => {
    expect([textOf('t', 'f', 'said'), textOf('t', 'f', undefined), textOf('t', 'f', null)]).toEqual(['said', '', '']);
    for (const odd of [7, {}, [], 1n, Symbol('s'), () => '', unreadable, new String('x')])
      expect(() => textOf('text-delta', 'delta', odd)).toThrow(
        /^the provider sent a part of type "text-delta" whose delta is .+, not a text$/,
      );
  });

  it('that a part cannot do without is not empty, and holds no half of a surrogate pair', () => {
    expect(nameOf('custom', 'kind', 'p.a\ud83d')).toBe('p.a\ufffd');
    for (const odd of ['', undefined, null, 7])
      expect(() => nameOf('custom', 'kind', odd)).toThrow(/"custom" whose kind/);
  });
});

describe('metadata', () => {
  it('is a copy, without providers that say nothing', () => {
    const given = { p: { a: [1] }, q: null, r: undefined };
    const metadata = metadataOf('t', given);
    given.p.a.push(2);
    expect(metadata).toEqual({ p: { a: [1] } });
    expect([metadataOf('t', undefined), metadataOf('t', null)]).toEqual([undefined, undefined]);
  });

  it.each<readonly [string, unknown]>([
    ['a text', 'x'],
    ['a number', 7],
    ['a list', []],
    ['bytes', new Uint8Array(2)],
    ['an address', new URL('https://example.test/')],
    ['an object that holds a text for a provider', { p: 'x' }],
    ['an object that holds a list for a provider', { p: [] }],
    ['a function', () => ({})],
    ['a cycle', cycle],
    ['something that cannot be read', unreadable],
  ])('that is %s is refused', (_, metadata) => {
    expect(() => metadataOf('tool-call', metadata)).toThrow(
      /^the provider sent a part of type "tool-call" whose providerMetadata (is|cannot be kept: )/,
    );
  });
});

describe('a file', () => {
  const file = { type: 'file', mediaType: 'image/png' };

  it('is data as base64 text, or an address; and nothing of it but what the contract names', () => {
    expect(fileOf(sent({ ...file, more: 1, data: { type: 'data', data: new Uint8Array([1, 2]), more: 1 } }))).toEqual({
      ...file,
      data: { type: 'data', data: 'AQI=' },
    });
    const url = 'https://example.test/a.png';
    for (const address of [url, new URL(url)]) {
      expect(fileOf(sent({ ...file, data: { type: 'url', url: address, originalUrl: 'gs://a' } }))).toEqual({
        ...file,
        data: { type: 'url', url: new URL(url), originalUrl: 'gs://a' },
      });
    }
  });

  it.each([
    ['no media type', { type: 'file', data: { type: 'data', data: '' } }],
    ['bare data', { ...file, data: 'AQI=' }],
    ['no data', file],
    ['data of no type', { ...file, data: {} }],
    ['an address that is none', { ...file, data: { type: 'url', url: 'nowhere' } }],
    ['data that is a number', { ...file, data: { type: 'data', data: 7 } }],
  ])('with %s is refused', (_, part) => {
    expect(() => fileOf(sent(part))).toThrow(TypeError);
  });
});

it('marks and results of the provider without a name or an id are refused: no history can hold them', () => {
  expect(() => markOf(sent({ type: 'custom' }))).toThrow(/whose kind is undefined/);
  const result = { type: 'tool-result', toolCallId: 'c', toolName: 'a', result: 1 };
  expect(providerResultOf(sent(result))).toMatchObject({ output: { type: 'json', value: 1 } });
  expect(providerResultOf(sent({ ...result, result: undefined }))).toMatchObject({ output: { value: null } });
  expect(() => providerResultOf(sent({ ...result, toolCallId: 7 }))).toThrow(/whose toolCallId is 7, not a text/);
  expect(() => providerResultOf(sent({ ...result, toolName: '' }))).toThrow(/whose toolName is "", not a text/);
});

it.each<readonly [unknown, unknown]>([
  [
    { unified: 'length', raw: 'max_tokens' },
    { unified: 'length', raw: 'max_tokens' },
  ],
  ['length', { unified: 'length', raw: undefined }],
  ['unknown', { unified: 'other', raw: undefined }],
  [
    { unified: 'surprise', raw: 7 },
    { unified: 'other', raw: undefined },
  ],
  [
    { unified: { length: 1 }, raw: 'x' },
    { unified: 'other', raw: 'x' },
  ],
  [undefined, { unified: 'other', raw: undefined }],
  [null, { unified: 'other', raw: undefined }],
  [7, { unified: 'other', raw: undefined }],
])('a finish reason is in words of the contract (%#)', (reason, read) => {
  expect(finishReasonOf(reason)).toEqual(read);
});
