import { describe, expect, it } from 'vitest';
import { SessionError } from '../errors.ts';
import { userMessage } from './input.ts';

describe('an input', () => {
  it('of text is a message of one part', () => {
    expect(userMessage('hello')).toEqual({ role: 'user', content: [{ type: 'text', text: 'hello' }] });
  });

  it('of parts keeps them as they are, as copies, frozen all through', () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const input = [
      { type: 'text' as const, text: 'look', providerOptions: { p: { cache: true } } },
      { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: bytes } },
      {
        type: 'file' as const,
        mediaType: 'image/*',
        data: { type: 'url' as const, url: new URL('https://example.org/a') },
      },
      { type: 'file' as const, mediaType: 'text/plain', data: { type: 'text' as const, text: 'inside' } },
      { type: 'file' as const, mediaType: 'a/b', data: { type: 'reference' as const, reference: { p: 'id' } } },
    ];
    const message = userMessage(input);
    bytes[0] = 9;
    input[0]!.providerOptions!.p.cache = false;
    input.length = 0;
    expect(message.content).toEqual([
      { type: 'text', text: 'look', providerOptions: { p: { cache: true } } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
      { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL('https://example.org/a') } },
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inside' } },
      { type: 'file', mediaType: 'a/b', data: { type: 'reference', reference: { p: 'id' } } },
    ]);
    expect(Object.isFrozen(message.content) && Object.isFrozen(message.content[0]!.providerOptions!.p)).toBe(true);
  });

  it('leaves out parts of no text, which providers refuse, and half of a surrogate pair', () => {
    const parts = [
      { type: 'text' as const, text: '' },
      { type: 'text' as const, text: 'a\ud800' },
    ];
    expect(userMessage(parts).content).toEqual([{ type: 'text', text: 'a\ufffd' }]);
    expect(userMessage('b\udc00').content).toEqual([{ type: 'text', text: 'b\ufffd' }]);
  });
});

const file = (data: unknown): object => ({ type: 'file', mediaType: 'image/png', data });
const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe('what is no input is refused with a sentence', () => {
  it.each<readonly [unknown, string]>([
    ['', 'the input is blank: say something'],
    [' \n', 'the input is blank: say something'],
    [
      [
        { type: 'text', text: '' },
        { type: 'text', text: ' ' },
      ],
      'the input is blank: say something',
    ],
    [[], 'the input must be text or a list of parts, not an array'],
    [7, 'the input must be text or a list of parts, not 7'],
    [undefined, 'the input must be text or a list of parts, not undefined'],
    [[undefined], 'part 0 of the input must be { type: "text", text } or'],
    [Object.assign(new Array(2), { 0: { type: 'text', text: 'a' } }), 'part 1 of the input must be'],
    [[{ type: 'text', text: 'a' }, { type: 'text' }], 'part 1 of the input must be'],
    [[{ type: 'file', data: { type: 'data', data: '' } }], 'part 0 of the input must be'],
    [[file('AQID')], 'data of part 0 of the input must be { type: "data", data }, '],
    [[file(new Uint8Array(3))], 'data of part 0 of the input must be { type: "data", data }, '],
    [[file(null)], 'data of part 0 of the input must be'],
    [[file({ type: 'data' })], 'data of part 0 of the input must be'],
    [[file({ type: 'url', url: 'https://example.org' })], 'data of part 0 of the input must be'],
    [[{ type: 'text', text: 'a', more: () => 1 }], 'part 0 of the input cannot be taken: it holds a function'],
  ])('%#', (input, message) => {
    expect(() => userMessage(input as never)).toThrow(SessionError);
    expect(() => userMessage(input as never)).toThrow(expect.objectContaining({ kind: 'invalid_input' }));
    expect(() => userMessage(input as never)).toThrow(message);
  });

  it('also where it cannot even be looked at', () => {
    expect(() => userMessage(revoked.proxy as never)).toThrow(
      'the input must be text or a list of parts, not an object',
    );
    expect(() => userMessage([revoked.proxy] as never)).toThrow('part 0 of the input cannot be taken');
  });
});
