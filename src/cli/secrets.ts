/** Keys that the program was given, so that none of them comes out again: in a provider's error, in a tool's result, in an answer. */

/** The environment variables that hold keys, by provider. */
export const KEY_VARIABLES = Object.freeze({
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  compatible: 'LOOPRIG_API_KEY',
});

/** What stands in the place of a key. */
const REDACTED = '[redacted]';

/** Shorter values are no keys, and words of the language may be among them. */
const SHORTEST_SECRET = 8;

/** Takes known secrets out of text. */
export class SecretFilter {
  readonly #secrets: readonly string[];

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const values = Object.values(KEY_VARIABLES).map(name => env[name]?.trim() ?? '');
    // The longest first: one key may be the beginning of another.
    this.#secrets = values.filter(value => value.length >= SHORTEST_SECRET).sort((a, b) => b.length - a.length);
  }

  /** `text` with every known secret replaced. */
  clean(text: string): string {
    return this.#secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, REDACTED), text);
  }

  /** How many of the last characters of `text` may be the beginning of a secret that goes on in the next piece. */
  openEnd(text: string): number {
    return Math.max(0, ...this.#secrets.map(secret => openEndOf(text, secret)));
  }
}

function openEndOf(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length > 0; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
