/** The store as a program has it: each session in one of its databases. */
import { JournalConflictError } from '../../errors.ts';
import { requireGapFree } from '../gap-free.ts';
import {
  invalidPlace,
  type JournalRecord,
  type JournalStore,
  type StoredSession,
  type StoreListOptions,
} from '../journal.ts';
import type { Mail, Mailbox, StoreNews } from '../mailbox.ts';
import { sessionOf } from '../session-name.ts';
import { textOfRecords, timeOf } from '../stored-text.ts';
import { digestOf, sha256 } from './checksum.ts';
import { Database } from './database.ts';
import { closed } from './failure.ts';
import { keyOf, type SessionKey, shardOf } from './keys.ts';
import { Mails } from './mails.ts';
import type { ResolvedOptions } from './options.ts';
import { type Position, Reader, type SessionRow } from './reader.ts';
import { removeSession } from './remove.ts';
import { Signals } from './signals.ts';
import { AppendWriter, lastSeqOf } from './writer.ts';

/** One database, and who works on it. */
interface Shard {
  readonly database: Database;
  readonly writer: AppendWriter;
  readonly reader: Reader;
  readonly mails: Mails;
  readonly signals: Signals;
}

export class PostgresStore implements JournalStore {
  readonly mailbox: Mailbox;
  readonly #shards: readonly Shard[];
  #closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions) {
    this.#shards = options.targets.map((_, index) => {
      const database = new Database(options, index);
      const signals = new Signals(database);
      const writer = new AppendWriter(database, appends => {
        for (const { key } of appends) signals.tell(key, 'records');
      });
      return { database, writer, signals, reader: new Reader(database), mails: new Mails(database) };
    });
    this.mailbox = Object.freeze({
      post: (sessionId: string, mail: Mail) => this.#post(sessionId, mail),
      read: (sessionId: string) => this.#mailsOf(sessionId),
      remove: (sessionId: string, mailIds: readonly string[]) => this.#removeMails(sessionId, mailIds),
      sessions: () => this.#sessionsWithMails(),
    });
  }

  async append(sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): Promise<void> {
    requireGapFree(records, expectedSeq);
    const session = keyOf(sessionId);
    const { writer, database } = this.#shardOf(session);
    if (records.length === 0) return requireEnd(database, session, expectedSeq);
    const [count, text] = [records.length, textOfRecords(records, expectedSeq)];
    const [firstAt, lastAt] = [timeOf(records[0]), timeOf(records.at(-1))];
    const digest = digestOf(session.name, expectedSeq + 1, expectedSeq + count, text);
    await writer.append({ ...session, expectedSeq, count, firstAt, lastAt, digest, text });
  }

  async *read(sessionId: string, fromSeq: number): AsyncGenerator<JournalRecord> {
    const session = keyOf(sessionId);
    yield* this.#shardOf(session).reader.records(session, fromSeq);
  }

  async list({ limit, after }: StoreListOptions = {}): Promise<readonly StoredSession[]> {
    this.#requireOpen();
    const position = after === undefined ? undefined : positionOf(after);
    const lists = await Promise.all(this.#shards.map(({ reader }) => reader.list(limit, position)));
    const rows = lists.length === 1 ? (lists[0] ?? []) : lists.flat().sort(byPosition).slice(0, limit);
    return rows.map(describe);
  }

  async find(sessionId: string): Promise<StoredSession | undefined> {
    const session = keyOf(sessionId);
    const row = await this.#shardOf(session).reader.find(session);
    return row && describe(row);
  }

  async putCapture(sessionId: string, bytes: Uint8Array): Promise<string> {
    const session = keyOf(sessionId);
    const { database } = this.#shardOf(session);
    const copy = Buffer.from(bytes);
    const hash = sha256(copy);
    const text = `INSERT INTO ${database.schema}.capture (session, hash, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;
    await database.ask({ text, values: [session.key, hash, copy] });
    return hash.toString('hex');
  }

  async getCapture(sessionId: string, id: string): Promise<Uint8Array | undefined> {
    const session = keyOf(sessionId);
    return this.#shardOf(session).reader.capture(session, id);
  }

  async delete(sessionId: string, expectedSeq: number): Promise<void> {
    const session = keyOf(sessionId);
    const { database, signals } = this.#shardOf(session);
    await removeSession(database, session, expectedSeq);
    signals.tell(session.key, 'records');
  }

  watch(sessionId: string, listener: (news: StoreNews) => void): () => void {
    const session = keyOf(sessionId);
    return this.#shardOf(session).signals.watch(session, listener);
  }

  async #post(sessionId: string, mail: Mail): Promise<boolean> {
    const session = keyOf(sessionId);
    const { mails, signals } = this.#shardOf(session);
    const isNew = await mails.post(session, mail);
    if (isNew) signals.tell(session.key, 'mails');
    return isNew;
  }

  async #mailsOf(sessionId: string): Promise<readonly Mail[]> {
    const session = keyOf(sessionId);
    return this.#shardOf(session).mails.read(session);
  }

  async #removeMails(sessionId: string, mailIds: readonly string[]): Promise<void> {
    const session = keyOf(sessionId);
    await this.#shardOf(session).mails.remove(session, mailIds);
  }

  async #sessionsWithMails(): Promise<readonly string[]> {
    this.#requireOpen();
    const lists = await Promise.all(this.#shards.map(({ mails }) => mails.sessions()));
    const sessions = lists.length === 1 ? (lists[0] ?? []) : lists.flat().sort((a, b) => a.since - b.since);
    return sessions.map(({ name }) => sessionOf(name));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#finish();
    await this.#closing;
  }

  async #finish(): Promise<void> {
    await Promise.all(
      this.#shards.map(async ({ writer, signals, database }) => {
        await writer.finish();
        await signals.close();
        await database.close();
      }),
    );
  }

  #shardOf(session: SessionKey): Shard {
    this.#requireOpen();
    const shard = this.#shards[shardOf(session, this.#shards.length)];
    if (shard === undefined) throw new RangeError('a session has a shard');
    return shard;
  }

  #requireOpen(): void {
    if (this.#closing === undefined) return;
    throw closed(this.#shards.map(({ database }) => database.place.label).join(', '));
  }
}

/** An append of nothing changes nothing, and is stale like any other. */
async function requireEnd(database: Database, { sessionId, key }: SessionKey, expectedSeq: number): Promise<void> {
  const actualSeq = await lastSeqOf(database, key);
  if (actualSeq !== expectedSeq) throw new JournalConflictError(sessionId, expectedSeq, actualSeq);
}

/** The last written first; of those that were written at once, in the order of their keys. */
function byPosition({ position: one }: SessionRow, { position: other }: SessionRow): number {
  return other.writtenAt - one.writtenAt || (one.key < other.key ? -1 : 1);
}

function positionOf(after: string): Position {
  const [, writtenAt, key] = /^(\d{1,16})\.([0-9a-f-]{36})$/.exec(after) ?? [];
  if (writtenAt === undefined || key === undefined) throw invalidPlace(after);
  return { writtenAt: Number(writtenAt), key };
}

function describe({ name, lastSeq, createdAt, updatedAt, position: { writtenAt, key } }: SessionRow): StoredSession {
  return Object.freeze({ sessionId: sessionOf(name), lastSeq, createdAt, updatedAt, place: `${writtenAt}.${key}` });
}
