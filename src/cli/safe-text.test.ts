import { describe, expect, it } from 'vitest';
import { neutralise, oneLine, SafeStream } from './safe-text.ts';
import { SecretFilter } from './secrets.ts';

const NO_SECRETS = new SecretFilter({});
const KEY = 'sk-test-1234567890';
const secrets = new SecretFilter({ ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: 'short', LOOPRIG_API_KEY: `${KEY}-longer` });

describe('text from outside', () => {
  it.each([
    ['a colour', '\u001b[31mred\u001b[0m', '␛[31mred␛[0m'],
    ['a window title', '\u001b]0;owned\u0007', '␛]0;owned␇'],
    ['a sequence in one byte', '\u009b2J', '<U+009B>2J'],
    ['a return to the start of the row', 'safe\rrm -rf', 'safe␍rm -rf'],
    ['backspaces', 'a\b\bb', 'a␈␈b'],
    ['DEL and NUL', 'a\u007f\u0000b', 'a␡␀b'],
    ['text turned round', 'a\u202egpj.exe', 'a<U+202E>gpj.exe'],
    ['half a character', 'a\ud83d b', 'a\ufffd b'],
    ['a line separator', 'a\u2028b', 'a<U+2028>b'],
  ])('cannot drive a terminal: %s', (_what, text, expected) => {
    expect(neutralise(text)).toBe(expected);
  });

  it('keeps line feeds, tabs and whole characters, and makes one line end of two', () => {
    expect(neutralise('a\tb\r\nc 😀 é')).toBe('a\tb\nc 😀 é');
  });

  it('is one line where one is wanted', () => {
    expect(oneLine('  two\r\n lines\u001b ', NO_SECRETS)).toBe('two lines␛');
  });
});

describe('text in pieces', () => {
  const inPieces = (text: string, size: number, filter: SecretFilter): string => {
    const stream = new SafeStream(filter);
    let shown = '';
    for (let from = 0; from < text.length; from += size) shown += stream.push(text.slice(from, from + size));
    return shown + stream.end();
  };

  it.each([1, 2, 3, 7, 100])('is what whole text is, in pieces of %i', size => {
    const text = `emoji 😀👩‍👩‍👧 line\r\nend \u001b[2J the key ${KEY}, ${KEY}-longer and sk-te`;
    expect(inPieces(text, size, secrets)).toBe(neutralise(secrets.clean(text)));
  });

  it('hides a key whose end is the beginning of another one', () => {
    const two = new SecretFilter({ OPENAI_API_KEY: '12345678ab', LOOPRIG_API_KEY: 'abcdefgh12' });
    expect(inPieces('the key 12345678ab is', 18, two)).toBe('the key [redacted] is');
  });

  it('waits for the rest of what may be a key, and for nothing else', () => {
    const stream = new SafeStream(secrets);
    expect(stream.push('the key is sk-te')).toBe('the key is ');
    expect(stream.push('a')).toBe('sk-tea');
  });
});

describe('keys', () => {
  it('are replaced wherever they stand, the longer one whole', () => {
    expect(secrets.clean(`a ${KEY} b ${KEY}-longer`)).toBe('a [redacted] b [redacted]');
  });

  it('are no words of the language: a short value is left alone', () => {
    expect(secrets.clean('a short text')).toBe('a short text');
  });
});
