/** What a check of a platform is: it needs no test runner, so that any runtime can play it. */

export interface PlatformCheck {
  /** A fact, fit as the title of a test. */
  readonly name: string;
  /** Rejects if the fact does not hold here. */
  run(): Promise<void>;
}

/** What became of one check. */
export interface Checked {
  readonly name: string;
  /** Why the fact does not hold; absent where it does. */
  readonly failure?: string;
}

export function check(name: string, run: () => Promise<void>): PlatformCheck {
  return { name, run };
}

/** Throws unless both are written as the same JSON, keys in the same order. */
export function same(actual: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== should) throw new Error(`expected ${should}, and there is ${is}`);
}

/** Throws unless the text holds the piece. */
export function holds(text: unknown, piece: string): void {
  if (!String(text).includes(piece))
    throw new Error(`expected a text with ${JSON.stringify(piece)}, and there is ${text}`);
}

/** Plays the checks one after the other. None breaks another, and one that never ends is told. */
export async function play(checks: readonly PlatformCheck[]): Promise<readonly Checked[]> {
  const done: Checked[] = [];
  for (const { name, run } of checks) done.push(await playOne(name, run));
  return done;
}

/** Far longer than a check takes on a busy machine: only what hangs meets it. */
const MOST_MS = 60_000;

async function playOne(name: string, run: () => Promise<void>): Promise<Checked> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it has not come to an end')), MOST_MS);
  });
  try {
    await Promise.race([run(), hangs]);
    return { name };
  } catch (error) {
    return { name, failure: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) };
  } finally {
    clearTimeout(timer);
  }
}
