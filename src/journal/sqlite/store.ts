/**
 * The store as a program has it. Appends that arrive in one tick, from any session, and those that arrive while a transaction is
 * under way, share the next one.
 */
import { JournalConflictError, JournalDamagedError, JournalError } from '../../errors.ts';
import { requireGapFree } from '../gap-free.ts';
import {
  deletedMeanwhile,
  invalidPlace,
  type JournalRecord,
  type JournalStore,
  type StoredSession,
  type StoreListOptions,
} from '../journal.ts';
import type { Mail, Mailbox, StoreNews } from '../mailbox.ts';
import { nameOf, sessionOf } from '../session-name.ts';
import { mailOfText, recordsOfText, textOfMail, textOfRecords, timeOf } from '../stored-text.ts';
import { directLink, type FileLink, ThreadLink } from './link.ts';
import { Lookout } from './lookout.ts';
import type {
  Failure,
  FileOptions,
  Outcome,
  RequestName,
  Requests,
  SessionRow,
  Write,
  WriteOutcome,
} from './protocol.ts';

interface Queued {
  readonly write: Write;
  readonly sessionId: string;
  resolve(id: string | undefined): void;
  reject(cause: unknown): void;
}

/** How long to wait before a locked file is tried again, in milliseconds. */
const RETRY_MS = 5;

/** More sessions than a file can hold. */
const ALL = Number.MAX_SAFE_INTEGER;

/** How many rows are asked for at once. */
const ROWS_AT_ONCE = 512;

export class SqliteStore implements JournalStore {
  readonly #options: FileOptions;
  readonly #link: FileLink;
  readonly #gather: () => Promise<void> | undefined;
  readonly #lookout: Lookout;
  readonly mailbox: Mailbox;
  #queue: Queued[] = [];
  /** The transactions under way and to come, until the queue is empty. */
  #writing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: FileOptions, hasThread: boolean) {
    this.#options = options;
    this.#link = hasThread ? new ThreadLink(options) : directLink(options);
    const isQuick = options.synchronous === 'normal' && !hasThread;
    this.#gather = isQuick ? resolved : endOfTick;
    this.#lookout = new Lookout(sessions => this.#ask('standings', sessions));
    this.mailbox = Object.freeze({
      post: (sessionId: string, mail: Mail) => this.#post(sessionId, mail),
      read: (sessionId: string) => this.#readMails(sessionId),
      remove: async (sessionId: string, mailIds: readonly string[]) => {
        await this.#write({ type: 'unpost', session: nameOf(sessionId), mailIds: mailIds.map(nameOf) }, sessionId);
      },
      sessions: async () => (await this.#ask('mailboxes', undefined)).map(sessionOf),
    });
  }

  watch(sessionId: string, listener: (news: StoreNews) => void): () => void {
    const stop = this.#lookout.watchers.add(nameOf(sessionId), listener);
    this.#lookout.begin();
    return stop;
  }

  async append(sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): Promise<void> {
    requireGapFree(records, expectedSeq);
    const write: Write = {
      type: 'append',
      session: nameOf(sessionId),
      expectedSeq,
      count: records.length,
      firstAt: timeOf(records[0]),
      lastAt: timeOf(records.at(-1)),
      text: textOfRecords(records, expectedSeq),
    };
    await this.#write(write, sessionId);
    if (records.length > 0) this.#lookout.watchers.tell(nameOf(sessionId), 'records');
  }

  async *read(sessionId: string, fromSeq: number): AsyncGenerator<JournalRecord> {
    const session = nameOf(sessionId);
    const located = await this.#ask('locate', { session, fromSeq });
    if (located === undefined) return;
    let { rows, firstSeq: nextSeq, before } = located;
    while (rows.length > 0) {
      const parcel = await this.#ask('rows', { session, rows: rows.slice(0, ROWS_AT_ONCE), nextSeq, before });
      for (const text of parcel.texts) {
        for (const record of recordsOfText(text, sessionId, nextSeq)) {
          nextSeq = record.seq + 1;
          if (record.seq >= fromSeq) yield record;
        }
      }
      if (parcel.damage !== undefined) throw await this.#broken(sessionId, parcel.nextSeq, parcel.damage);
      rows = rows.slice(parcel.texts.length);
      before = parcel.before;
    }
    if (located.missing !== undefined) throw await this.#broken(sessionId, located.missing, 'it is missing');
    if (before !== located.end) throw await this.#broken(sessionId, nextSeq - 1, 'it is not the one that was last');
  }

  /** Why rows were not found that were there when the reading began. */
  async #broken(sessionId: string, seq: number, what: string): Promise<JournalError<string>> {
    const isThere = (await this.find(sessionId)) !== undefined;
    return isThere ? new JournalDamagedError(sessionId, seq, what) : deletedMeanwhile(sessionId);
  }

  async list({ limit = ALL, after }: StoreListOptions = {}): Promise<readonly StoredSession[]> {
    const beforeRow = after === undefined ? Number.MAX_SAFE_INTEGER : rowOf(after);
    return (await this.#ask('list', { limit: Math.min(limit, ALL), beforeRow })).map(describe);
  }

  async find(sessionId: string): Promise<StoredSession | undefined> {
    const row = await this.#ask('find', nameOf(sessionId));
    return row && describe(row);
  }

  async putCapture(sessionId: string, bytes: Uint8Array): Promise<string> {
    const write: Write = { type: 'capture', session: nameOf(sessionId), bytes: new Uint8Array(bytes) };
    return String(await this.#write(write, sessionId));
  }

  async getCapture(sessionId: string, id: string): Promise<Uint8Array | undefined> {
    return this.#ask('capture', { session: nameOf(sessionId), id });
  }

  async delete(sessionId: string, expectedSeq: number): Promise<void> {
    const session = nameOf(sessionId);
    await this.#write({ type: 'delete', session, expectedSeq }, sessionId);
    this.#lookout.watchers.tell(session, 'records');
  }

  async #post(sessionId: string, mail: Mail): Promise<boolean> {
    const session = nameOf(sessionId);
    const write: Write = { type: 'post', session, mailId: nameOf(mail.mailId), text: textOfMail(mail) };
    const isNew = (await this.#write(write, sessionId)) !== undefined;
    if (isNew) this.#lookout.watchers.tell(session, 'mails');
    return isNew;
  }

  async #readMails(sessionId: string): Promise<readonly Mail[]> {
    const texts = await this.#ask('mails', nameOf(sessionId));
    return texts.map(text => mailOfText(text, sessionId));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#finish();
    await this.#closing;
  }

  async #finish(): Promise<void> {
    this.#lookout.end();
    await this.#writing;
    await this.#link.end();
  }

  async #ask<Name extends RequestName>(name: Name, ask: Requests[Name]['ask']): Promise<Requests[Name]['reply']> {
    this.#requireOpen();
    const outcome = await this.#patiently(() => this.#link.ask(name, ask), isLocked);
    if ('failure' in outcome) throw errorOf(outcome.failure);
    return outcome.reply;
  }

  /** Tries again while another program has the file locked, as long as it may. */
  async #patiently<T>(attempt: () => Promise<T>, isToRepeat: (outcome: T) => boolean): Promise<T> {
    const start = performance.now();
    for (;;) {
      const outcome = await attempt();
      if (!isToRepeat(outcome) || performance.now() - start >= this.#options.busyTimeoutMs) return outcome;
      await new Promise(next => setTimeout(next, RETRY_MS));
    }
  }

  #requireOpen(): void {
    if (this.#closing === undefined) return;
    throw new JournalError('closed', `the store ${this.#options.file} is closed: make a new one with sqliteStore`);
  }

  #write(write: Write, sessionId: string): Promise<string | undefined> {
    this.#requireOpen();
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, sessionId, resolve, reject });
      this.#writing ??= this.#drain();
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      const group = this.#queue;
      this.#queue = [];
      const outcomes = await this.#patiently(() => this.#writeGroup(group), areLocked);
      for (const [index, queued] of group.entries()) settle(queued, outcomes[index]);
    }
    this.#writing = undefined;
  }

  async #writeGroup(group: readonly Queued[]): Promise<readonly WriteOutcome[]> {
    const outcome = await this.#link.ask(
      'write',
      group.map(({ write }) => write),
    );
    return 'failure' in outcome ? group.map(() => outcome) : outcome.reply;
  }
}

/** To the end of the tick, so that all who were waiting for the last transaction can join the next. */
const endOfTick = (): Promise<void> => new Promise(next => setImmediate(next));

/** For a commit that is quicker than a tick: those whose turn has come already join it. */
const resolved = (): undefined => undefined;

function isLocked(outcome: Outcome<unknown>): boolean {
  return 'failure' in outcome && outcome.failure.isLocked === true;
}

/** A group meets a locked file before it writes anything, so that it does as a whole. */
function areLocked(outcomes: readonly WriteOutcome[]): boolean {
  return outcomes.every(outcome => 'failure' in outcome && outcome.failure.isLocked === true);
}

/** A failure as the error that a program sees. */
function errorOf({ kind, message, reason }: Failure): JournalError {
  return new JournalError(kind, message, reason === undefined ? {} : { cause: new Error(reason) });
}

function settle({ write, sessionId, resolve, reject }: Queued, outcome: WriteOutcome | undefined): void {
  if (outcome === undefined || !('failure' in outcome)) resolve(outcome?.id);
  else if (outcome.failure.kind !== 'conflict' || !('expectedSeq' in write)) reject(errorOf(outcome.failure));
  else reject(new JournalConflictError(sessionId, write.expectedSeq, outcome.failure.actualSeq ?? 0));
}

function rowOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidPlace(after);
}

function describe({ session, lastSeq, createdAt, updatedAt, lastRow }: SessionRow): StoredSession {
  return Object.freeze({ sessionId: sessionOf(session), lastSeq, createdAt, updatedAt, place: String(lastRow) });
}
