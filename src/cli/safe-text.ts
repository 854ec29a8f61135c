/** Text from a model or a tool, made fit to be shown: it cannot drive the terminal, hide what it says, or give a key away. */
import type { SecretFilter } from './secrets.ts';

/** All that a terminal may obey (C0 but line feed and tab, DEL, C1), what turns the direction of text round, and broken halves of characters. */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** `text` with every unsafe character replaced by a visible sign for it. Line ends become line feeds. */
export function neutralise(text: string): string {
  return text.replace(/\r+\n/g, '\n').replace(UNSAFE, visible);
}

/** Control characters have pictures of their own; the others are named by their number. */
function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`;
}

/** `text` in one line, safe to show. */
export function oneLine(text: string, secrets: SecretFilter): string {
  return neutralise(secrets.clean(text).replace(/\s+/g, ' ').trim());
}

/** Text that arrives in pieces: what could be half of something (a character, a line end, a key) waits for the next piece. */
export class SafeStream {
  readonly #secrets: SecretFilter;
  #held = '';

  constructor(secrets: SecretFilter) {
    this.#secrets = secrets;
  }

  /** What can be shown now. */
  push(piece: string): string {
    const text = this.#held + piece;
    const half = /(?:[\ud800-\udbff]|\r+)$/.exec(text)?.[0].length ?? 0;
    const settled = Math.min(text.length - half, this.#secrets.settledLength(text));
    this.#held = text.slice(settled);
    return this.#safe(text.slice(0, settled));
  }

  /** What was held back: nothing more comes. */
  end(): string {
    const rest = this.#safe(this.#held);
    this.#held = '';
    return rest;
  }

  #safe(text: string): string {
    return neutralise(this.#secrets.clean(text));
  }
}
