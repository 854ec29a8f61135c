/** What a person has entered before: kept across starts in a file for this user alone, without lines that hold a known key. */
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import type { SecretFilter } from '../secrets.ts';

/** The most entries that are kept, and the longest of them. */
const MOST_ENTRIES = 500;
const MOST_CHARACTERS = 10_000;

export class InputHistory {
  readonly #file: string | undefined;
  readonly #secrets: SecretFilter;
  /** The oldest first. */
  readonly #entries: string[];
  /** What is recalled; the number of entries where it is what the person writes now, which `#draft` keeps. */
  #at: number;
  #draft = '';
  #written: Promise<void> = Promise.resolve();

  private constructor(file: string | undefined, secrets: SecretFilter, entries: readonly string[]) {
    this.#file = file;
    this.#secrets = secrets;
    this.#entries = [...entries];
    this.#at = entries.length;
  }

  /** The history of `file`, or one that ends with the process. A file that cannot be read, or lines of it, are as if they were not there. */
  static async open(file: string | undefined, secrets: SecretFilter): Promise<InputHistory> {
    const lines = file === undefined ? [] : await readLines(file);
    const entries = lines.flatMap(line => entryOf(line) ?? []).slice(-MOST_ENTRIES);
    if (file !== undefined && lines.length > MOST_ENTRIES) await rewrite(file, entries).catch(() => {});
    return new InputHistory(file, secrets, entries);
  }

  /** Adds what was entered, unless it is what was entered last, or must not be kept. */
  add(text: string): void {
    const isKept = text.length <= MOST_CHARACTERS && this.#secrets.clean(text) === text;
    if (isKept && text.trim() !== '' && text !== this.#entries.at(-1)) {
      this.#entries.push(text);
      this.#append(text);
    }
    this.leave();
  }

  /** Nothing is recalled any more. */
  leave(): void {
    this.#draft = '';
    this.#at = this.#entries.length;
  }

  /** The entry before the one that is recalled; `undefined` where there is none. `current` is what stands in the line. */
  back(current: string): string | undefined {
    if (this.#at === 0) return undefined;
    if (this.#at === this.#entries.length) this.#draft = current;
    this.#at -= 1;
    return this.#entries[this.#at];
  }

  /** The entry after it, and after the last one what was being written. */
  forward(): string | undefined {
    if (this.#at === this.#entries.length) return undefined;
    this.#at += 1;
    return this.#entries[this.#at] ?? this.#draft;
  }

  /** Settles when all of it is written. */
  settled(): Promise<void> {
    return this.#written;
  }

  /** A history that cannot be kept is no reason to end a conversation. */
  #append(text: string): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#written = this.#written
      .then(() => appendFile(file, `${JSON.stringify(text)}\n`, { mode: 0o600 }))
      .catch(() => {});
  }
}

async function readLines(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter(line => line !== '');
}

function entryOf(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}

async function rewrite(file: string, entries: readonly string[]): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 });
  await rename(draft, file);
}
