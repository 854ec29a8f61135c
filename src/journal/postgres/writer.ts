/**
 * Writes appends to one database. Those that arrive in one tick, from any session, and those that arrive while a statement is under way, go
 * in the next one, which is a transaction of its own.
 *
 * 1. An append is acknowledged when its transaction is committed, and not before.
 * 2. One statement at a time, with at most one append of a session: what a session appends stays in its order.
 * 3. Where the connection is lost, the outcome is unknown: it is looked for on another one before anything is sent again or said to have failed.
 */
import { JournalConflictError, JournalError } from '../../errors.ts';
import { type Append, appendStatement, MOST_APPENDS } from './append-statement.ts';
import { BEGINNING, checksumOf } from './checksum.ts';
import type { Database } from './database.ts';
import { isCollision, isLost, isOfOneWrite } from './failure.ts';

interface Queued {
  readonly append: Append;
  resolve(): void;
  reject(cause: unknown): void;
}

/** The most characters of one statement, but for an append that has more. */
const MOST_CHARACTERS = 1 << 23;

/** How often transactions may meet before it is an error. */
const COLLISIONS = 10;

export class AppendWriter {
  readonly #database: Database;
  readonly #onWritten: (sessions: readonly Append[]) => void;
  #queue: Queued[] = [];
  /** The statements under way and to come, until the queue is empty. */
  #writing: Promise<void> | undefined;

  /** `onWritten` hears of what was committed. */
  constructor(database: Database, onWritten: (appends: readonly Append[]) => void) {
    this.#database = database;
    this.#onWritten = onWritten;
  }

  /** Resolves when the append is committed. Rejects with `JournalConflictError` where it is stale. */
  append(append: Append): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ append, resolve, reject });
      this.#writing ??= this.#drain();
    });
  }

  /** Waits until all that was appended has an outcome. */
  async finish(): Promise<void> {
    await this.#writing;
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      // To the end of the tick, so that all who were waiting for the last statement can join this one.
      await new Promise(next => setImmediate(next));
      await this.#write(this.#takeGroup());
    }
    this.#writing = undefined;
  }

  /** In the order of their keys, as every process has them: so that two that lock the same sessions do not wait for each other. */
  #takeGroup(): Queued[] {
    const group = new Map<string, Queued>();
    const rest: Queued[] = [];
    const blocked = new Set<string>();
    let characters = 0;
    for (const queued of this.#queue) {
      const { key, text } = queued.append;
      const hasRoom = group.size === 0 || (group.size < MOST_APPENDS && characters + text.length <= MOST_CHARACTERS);
      if (hasRoom && !group.has(key) && !blocked.has(key)) {
        group.set(key, queued);
        characters += text.length;
      } else {
        rest.push(queued);
        blocked.add(key);
      }
    }
    this.#queue = rest;
    return [...group.values()].sort((one, other) => (one.append.key < other.append.key ? -1 : 1));
  }

  /** Settles each of the group. */
  async #write(group: readonly Queued[]): Promise<void> {
    const patience = this.#database.patience();
    let waiting = group;
    let [isSent, isUnknown, collisions] = [false, false, 0];
    while (waiting.length > 0) {
      try {
        if (isUnknown) waiting = await this.#withoutWritten(waiting);
        isSent = false;
        const taken = await this.#send(waiting, () => {
          isSent = true;
        });
        return await this.#settle(waiting, taken, isUnknown);
      } catch (cause) {
        if (isCollision(cause) && ++collisions < COLLISIONS) continue;
        if (waiting.length > 1 && isOfOneWrite(cause)) {
          for (const one of waiting) await this.#write([one]);
          return;
        }
        isUnknown ||= isSent && isLost(cause);
        const [outcome] = await Promise.allSettled([patience.pause(cause)]);
        if (outcome.status === 'fulfilled') continue;
        for (const { reject } of waiting) reject(isUnknown ? unknown(outcome.reason) : outcome.reason);
        return;
      }
    }
  }

  /** The keys of those that were taken. */
  async #send(group: readonly Queued[], onSent: () => void): Promise<ReadonlySet<unknown>> {
    if (group.length === 0) return new Set();
    const appends = group.map(({ append }) => append);
    const { rows, count } = await this.#database.write(appendStatement(this.#database, appends), onSent);
    return new Set((count === group.length ? appends : rows).map(({ key }) => key));
  }

  async #settle(group: readonly Queued[], taken: ReadonlySet<unknown>, isUnknown: boolean): Promise<void> {
    this.#acknowledge(group.filter(({ append }) => taken.has(append.key)));
    if (taken.size < group.length)
      await this.#refuse(
        group.filter(({ append }) => !taken.has(append.key)),
        isUnknown,
      );
  }

  #acknowledge(written: readonly Queued[]): void {
    for (const { resolve } of written) resolve();
    if (written.length > 0) this.#onWritten(written.map(({ append }) => append));
  }

  /** Those of the group that are not there yet; those that are, written before the connection was lost, are acknowledged. */
  async #withoutWritten(group: readonly Queued[]): Promise<readonly Queued[]> {
    const missing: Queued[] = [];
    const written: Queued[] = [];
    for (const queued of group) ((await this.#isWritten(queued.append)) ? written : missing).push(queued);
    this.#acknowledge(written);
    return missing;
  }

  /** Whether these very records stand in their place. */
  async #isWritten({ key, expectedSeq, count, digest }: Append): Promise<boolean> {
    const rows = await this.#database.ask({
      text: `SELECT last_seq, checksum FROM ${this.#database.schema}.append WHERE session = $1 AND last_seq IN ($2, $3)`,
      values: [key, expectedSeq, expectedSeq + count],
    });
    const checksumAt = (seq: number): unknown => rows.find(({ last_seq }) => Number(last_seq) === seq)?.checksum;
    const [before, own] = [checksumAt(expectedSeq) ?? BEGINNING, checksumAt(expectedSeq + count)];
    return own instanceof Uint8Array && before instanceof Uint8Array && checksumOf(before, digest).equals(own);
  }

  /** Says why they were not taken. After a lost connection, one may have been written by the statement that was lost with it. */
  async #refuse(refused: readonly Queued[], isUnknown: boolean): Promise<void> {
    for (const queued of refused) {
      const { key, sessionId, expectedSeq } = queued.append;
      if (isUnknown && (await this.#isWritten(queued.append))) this.#acknowledge([queued]);
      else queued.reject(new JournalConflictError(sessionId, expectedSeq, await lastSeqOf(this.#database, key)));
    }
  }
}

/** The sequence number at which a session's journal ends. */
export async function lastSeqOf(database: Database, key: string): Promise<number> {
  const text = `SELECT last_seq FROM ${database.schema}.session WHERE key = $1`;
  const [head] = await database.ask({ name: 'looprig_last_seq', text, values: [key] });
  return Number(head?.last_seq ?? 0);
}

function unknown(cause: JournalError): JournalError {
  const what = 'the connection was lost during an append, which may or may not be kept: open the session again';
  return new JournalError('store_failed', `${what}; ${cause.message}`, { cause });
}
