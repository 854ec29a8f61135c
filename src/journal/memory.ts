/** A store that keeps journals in this process: for tests, and for programs that do without a restart. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { JournalConflictError } from '../errors.ts';
import { requireGapFree } from './gap-free.ts';
import {
  invalidPlace,
  type JournalRecord,
  type JournalStore,
  type StoredSession,
  type StoreListOptions,
} from './journal.ts';
import type { Mail, Mailbox, StoreNews } from './mailbox.ts';
import { Watchers } from './watchers.ts';

interface Journal {
  readonly records: JournalRecord[];
  /** Which append of the whole store was the last one to this session, so that a list needs no times to sort by. */
  lastAppend: number;
}

/**
 * A journal store in memory. `append` is done when it returns, and throws what another store would reject with; `read` gives what
 * was there when it was called. Nothing is let go of but what is deleted: a session lives as long as the store.
 */
export function memoryStore(): JournalStore {
  return new MemoryStore();
}

class MemoryStore implements JournalStore {
  readonly #journals = new Map<string, Journal>();
  readonly #captures = new Map<string, Map<string, Uint8Array>>();
  readonly #mails = new Map<string, Map<string, Mail>>();
  readonly #watchers = new Watchers();
  readonly mailbox: Mailbox = {
    post: async (sessionId, mail) => this.#post(sessionId, mail),
    read: async sessionId => [...(this.#mails.get(sessionId)?.values() ?? [])],
    remove: async (sessionId, mailIds) => this.#removeMails(sessionId, mailIds),
    sessions: async () => [...this.#mails.keys()],
  };
  #appends = 0;

  watch(sessionId: string, listener: (news: StoreNews) => void): () => void {
    return this.#watchers.add(sessionId, listener);
  }

  append(sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void {
    const journal = this.#journals.get(sessionId);
    const lastSeq = journal?.records.length ?? 0;
    if (lastSeq !== expectedSeq) throw new JournalConflictError(sessionId, expectedSeq, lastSeq);
    requireGapFree(records, expectedSeq);
    if (records.length === 0) return;
    this.#appends += 1;
    if (journal === undefined) this.#journals.set(sessionId, { records: [...records], lastAppend: this.#appends });
    else {
      for (const record of records) journal.records.push(record);
      journal.lastAppend = this.#appends;
    }
    this.#watchers.tell(sessionId, 'records');
  }

  read(sessionId: string, fromSeq: number): AsyncIterable<JournalRecord> {
    const records = this.#journals.get(sessionId)?.records ?? [];
    return iterate(records, Math.max(fromSeq, 1) - 1, records.length);
  }

  async list({ limit, after }: StoreListOptions = {}): Promise<readonly StoredSession[]> {
    const before = after === undefined ? Number.POSITIVE_INFINITY : placeOf(after);
    const journals = [...this.#journals].filter(([, { lastAppend }]) => lastAppend < before);
    journals.sort(([, one], [, other]) => other.lastAppend - one.lastAppend);
    return journals.slice(0, limit).map(([sessionId, journal]) => describe(sessionId, journal));
  }

  async find(sessionId: string): Promise<StoredSession | undefined> {
    const journal = this.#journals.get(sessionId);
    return journal && describe(sessionId, journal);
  }

  async putCapture(sessionId: string, bytes: Uint8Array): Promise<string> {
    const copy = new Uint8Array(bytes);
    const id = bytesToHex(sha256(copy)); // at once: a test that moves its clock by hand has no real time to wait for
    const kept = this.#captures.get(sessionId) ?? new Map<string, Uint8Array>();
    this.#captures.set(sessionId, kept.set(id, copy));
    return id;
  }

  async getCapture(sessionId: string, id: string): Promise<Uint8Array | undefined> {
    return this.#captures.get(sessionId)?.get(id)?.slice();
  }

  async delete(sessionId: string, expectedSeq: number): Promise<void> {
    const actualSeq = this.#journals.get(sessionId)?.records.length;
    if (actualSeq !== undefined && actualSeq !== expectedSeq)
      throw new JournalConflictError(sessionId, expectedSeq, actualSeq);
    this.#journals.delete(sessionId);
    this.#captures.delete(sessionId);
    this.#mails.delete(sessionId);
    this.#watchers.tell(sessionId, 'records');
  }

  #post(sessionId: string, mail: Mail): boolean {
    const mails = this.#mails.get(sessionId) ?? new Map<string, Mail>();
    if (mails.has(mail.mailId)) return false;
    this.#mails.set(sessionId, mails.set(mail.mailId, mail));
    this.#watchers.tell(sessionId, 'mails');
    return true;
  }

  #removeMails(sessionId: string, mailIds: readonly string[]): void {
    const mails = this.#mails.get(sessionId);
    for (const mailId of mailIds) mails?.delete(mailId);
    if (mails?.size === 0) this.#mails.delete(sessionId);
  }
}

async function* iterate(records: readonly JournalRecord[], from: number, to: number): AsyncGenerator<JournalRecord> {
  for (let index = from; index < to; index++) yield records[index] as JournalRecord;
}

function placeOf(after: string): number {
  if (/^\d{1,15}$/.test(after)) return Number(after);
  throw invalidPlace(after);
}

function describe(sessionId: string, { records, lastAppend }: Journal): StoredSession {
  const [first] = records;
  const last = records.at(-1);
  return Object.freeze({
    sessionId,
    lastSeq: records.length,
    createdAt: first?.at ?? 0,
    updatedAt: last?.at ?? 0,
    place: String(lastAppend),
  });
}
