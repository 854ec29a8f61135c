/**
 * The one writer of a session's journal. It numbers records, hands them to the store in order, and lets what is known in one
 * tick go in one append.
 *
 * 1. A record is applied to the session's state and shown to readers only after the store took it.
 * 2. Appends never overtake each other, and at most one is under way.
 * 3. After the first failure nothing is appended any more: every later append rejects with that failure.
 */
import type { Clock } from '../clock.ts';
import { JournalError } from '../errors.ts';
import { reasonOf } from '../reason.ts';
import type { JournalEntry, JournalRecord, JournalStore } from './journal.ts';

const NOTHING_UNDER_WAY = Promise.resolve();

/** An entry on its way to become a record. */
type Unnumbered = JournalEntry & { seq?: number; at?: number };

export class JournalWriter {
  readonly #store: JournalStore;
  readonly #sessionId: string;
  readonly #clock: Clock;
  readonly #apply: (record: JournalRecord) => void;
  /** The number of the last record that was given a number, and of the last one that the store took. */
  #numbered: number;
  #written: number;
  #pending: JournalRecord[] = [];
  /** The append that will take what is pending, and the one under way. */
  #next: Promise<void> | undefined;
  #current: Promise<void> = NOTHING_UNDER_WAY;
  #failure: JournalError<string> | undefined;

  constructor(
    store: JournalStore,
    sessionId: string,
    lastSeq: number,
    clock: Clock,
    apply: (record: JournalRecord) => void,
  ) {
    this.#store = store;
    this.#sessionId = sessionId;
    this.#numbered = lastSeq;
    this.#written = lastSeq;
    this.#clock = clock;
    this.#apply = apply;
  }

  /** The sequence number of the last record that the store took. */
  get lastSeq(): number {
    return this.#written;
  }

  /** Why nothing can be appended any more, if so. */
  get failure(): JournalError<string> | undefined {
    return this.#failure;
  }

  /** Takes entries for the next append; they wait for it. The entries must be fresh: they become the records. */
  stage(entries: readonly JournalEntry[]): void {
    if (entries.length === 0 || this.#failure !== undefined) return; // the next append says so
    const at = this.#clock.now();
    for (let index = 0; index < entries.length; index++) {
      this.#numbered += 1;
      const record = entries[index] as Unnumbered;
      record.seq = this.#numbered;
      record.at = at;
      this.#pending.push(Object.freeze(record as JournalRecord));
    }
  }

  /**
   * Appends what was staged and these entries, together with all that others append in this tick. Settles when the store took them;
   * a caller that need not wait may ignore the promise, since a failure comes back at the next append.
   */
  append(entries: readonly JournalEntry[]): Promise<void> {
    if (this.#failure !== undefined) return rejected(this.#failure);
    this.stage(entries);
    // With a predecessor this waits for its end, without one for the end of the tick, and then for what is settled by now: so more can join.
    this.#next ??= this.#current.then(ignore, ignore).then(this.#flush);
    return this.#next;
  }

  /** Appends nothing more, in the way of a failure: what this process would still record, another one does. */
  release(): void {
    if (this.#failure !== undefined) return;
    const message = `session ${this.#sessionId} was released: another process goes on with it`;
    this.#failure = new JournalError('released', message);
    this.#pending = [];
  }

  /** Settles when all that was appended so far is written, or failed. Never rejects. */
  async settled(): Promise<void> {
    await (this.#next ?? this.#current).catch(ignore);
  }

  /** Writes what is pending; async only where the store is. */
  readonly #flush = (): void | Promise<void> => {
    const records = this.#pending;
    this.#pending = [];
    this.#current = this.#next ?? NOTHING_UNDER_WAY;
    this.#next = undefined;
    if (this.#failure !== undefined) throw this.#thrown(this.#failure);
    if (records.length === 0) return;
    let writing: unknown;
    try {
      writing = this.#store.append(this.#sessionId, this.#written, records);
    } catch (cause) {
      throw this.#fail(cause, 'could not be written');
    }
    if (writing === undefined) this.#applyAll(records);
    else return this.#applyWritten(records, writing);
  };

  async #applyWritten(records: readonly JournalRecord[], writing: unknown): Promise<void> {
    try {
      await writing;
    } catch (cause) {
      throw this.#fail(cause, 'could not be written');
    }
    this.#applyAll(records);
  }

  #applyAll(records: readonly JournalRecord[]): void {
    this.#written += records.length;
    try {
      for (const record of records) this.#apply(record);
    } catch (cause) {
      // What is in memory is no longer what the journal says, so that nothing may be built on it.
      throw this.#fail(cause, 'holds a record that could not be applied');
    }
  }

  #fail(cause: unknown, what: string): JournalError<string> {
    this.#failure = isJournalError(cause)
      ? cause
      : new JournalError(
          'store_failed',
          `the journal of session ${this.#sessionId} ${what}: ${reasonOf(cause, 'the store gave no reason')}`,
          {
            cause,
          },
        );
    return this.#thrown(this.#failure);
  }

  /** What the append under way rejects with; nobody need have waited for it. */
  #thrown(failure: JournalError<string>): JournalError<string> {
    this.#current.catch(ignore);
    return failure;
  }
}

function ignore(): void {}

function rejected(failure: Error): Promise<never> {
  const promise = Promise.reject(failure);
  promise.catch(ignore);
  return promise;
}

function isJournalError(cause: unknown): cause is JournalError<string> {
  try {
    return JournalError.is(cause);
  } catch {
    return false; // it cannot even be looked at
  }
}
