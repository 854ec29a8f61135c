/** Keys that the program was given, so that none of them comes out again: in a provider's error, in a tool's result, in an answer. */

/** The environment variables that hold keys, by provider. */
export const KEY_VARIABLES: Readonly<Record<'anthropic' | 'openai' | 'google' | 'compatible', string>> = Object.freeze({
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
  #secrets: readonly string[] = [];

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.learn(Object.values(KEY_VARIABLES).map(name => env[name]?.trim() ?? ''));
  }

  /** More that must not come out. */
  learn(values: readonly string[]): void {
    const known = [...this.#secrets, ...values.filter(value => value.length >= SHORTEST_SECRET)];
    // The longest first: one key may be the beginning of another.
    this.#secrets = known.sort((a, b) => b.length - a.length);
  }

  /** `text` with every known secret replaced. */
  clean(text: string): string {
    return this.#secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, REDACTED), text);
  }

  /** How much of `text` can be cleaned now: what comes after it may be the beginning of a secret that goes on in the next piece. */
  settledLength(text: string): number {
    let length = text.length - Math.max(0, ...this.#secrets.map(secret => openEnd(text, secret)));
    // A whole secret is not cut in two, only because its end looks like the beginning of another.
    for (const secret of this.#secrets) {
      const place = text.lastIndexOf(secret);
      if (place !== -1 && place < length && place + secret.length > length) length = place;
    }
    return length;
  }
}

/** The length of the longest end of `text` that is a beginning of `secret`, but not all of it. */
function openEnd(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length > 0; length--) {
    if (text.endsWith(secret.slice(0, length))) return length;
  }
  return 0;
}
