/**
 * Writes a group in one transaction: all of it is as durable as `synchronous` says when this returns.
 *
 * A stale append of the group is found before it writes anything, and leaves the others alone. If the transaction fails because of
 * what one write needs (space, size), each is tried in a transaction of its own.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BEGINNING, checksumOf, sha256 } from './checksum.ts';
import { failureOf, isOfOneWrite, StoreFailure } from './failure.ts';
import { newerFormat } from './open.ts';
import type { AppendWrite, FileOptions, Write, WriteOutcome } from './protocol.ts';
import { Remover } from './remove.ts';
import { rollBack } from './schema.ts';

/** Where a session's journal ends. */
interface Head {
  readonly id: number | bigint;
  readonly lastSeq: number;
  readonly lastBatch: number | bigint;
  readonly checksum: string;
}

/** How many sessions' ends are kept in mind at most: enough for those that are at work. The one that was written longest ago is forgotten. */
const MOST_HEADS = 1_024;

export class GroupWriter {
  readonly #database: DatabaseSync;
  readonly #options: FileOptions;
  readonly #version: number;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #readVersion: StatementSync;
  readonly #findHead: StatementSync;
  readonly #addSession: StatementSync;
  readonly #addBatch: StatementSync;
  readonly #moveHead: StatementSync;
  readonly #addCapture: StatementSync;
  readonly #addMail: StatementSync;
  readonly #removeMail: StatementSync;
  readonly #remover: Remover;
  readonly #readDataVersion: StatementSync;
  /** What this connection wrote last, true until another one writes, which moves the data version. */
  readonly #heads = new Map<string, Head>();
  #dataVersion: unknown;

  constructor(database: DatabaseSync, options: FileOptions, version: number) {
    this.#database = database;
    this.#options = options;
    this.#version = version;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#readVersion = database.prepare('PRAGMA user_version');
    this.#readDataVersion = database.prepare('PRAGMA data_version');
    this.#findHead = database.prepare('SELECT id, last_seq, last_batch, checksum FROM session WHERE name = ?');
    this.#addSession = database.prepare(
      'INSERT INTO session (name, last_seq, last_batch, checksum, created_at, updated_at) VALUES (?, 0, 0, ?, ?, ?)',
    );
    this.#addBatch = database.prepare(
      'INSERT INTO batch (session, first_seq, last_seq, previous, checksum, records) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#moveHead = database.prepare(
      'UPDATE session SET last_seq = ?, last_batch = ?, checksum = ?, updated_at = ? WHERE id = ?',
    );
    // Node 22.13 binds an empty array that came from another thread as NULL.
    this.#addCapture = database.prepare(
      "INSERT INTO capture (session, hash, bytes) VALUES (?, ?, coalesce(?, x'')) ON CONFLICT (session, hash) DO NOTHING",
    );
    this.#addMail = database.prepare(
      'INSERT INTO mail (session, name, content) VALUES (?, ?, ?) ON CONFLICT (session, name) DO NOTHING',
    );
    this.#removeMail = database.prepare('DELETE FROM mail WHERE session = ? AND name = ?');
    this.#remover = new Remover(database);
  }

  write(group: readonly Write[]): readonly WriteOutcome[] {
    try {
      return this.#transact(group);
    } catch (cause) {
      if (group.length > 1 && isOfOneWrite(cause)) return group.flatMap(one => this.write([one]));
      const failure = failureOf(cause, this.#options);
      return group.map(() => ({ failure }));
    }
  }

  #transact(group: readonly Write[]): WriteOutcome[] {
    this.#begin.run();
    try {
      this.#checkOthers();
      const outcomes = group.map(one => this.#writeOne(one));
      this.#commit.run();
      return outcomes;
    } catch (cause) {
      rollBack(this.#database);
      this.#heads.clear();
      throw cause;
    }
  }

  /** Where another connection wrote since the last look, nothing is known any more; a newer program may even have migrated the file. */
  #checkOthers(): void {
    const dataVersion = this.#readDataVersion.get()?.data_version;
    if (dataVersion === this.#dataVersion) return;
    this.#heads.clear();
    this.#checkFormat();
    this.#dataVersion = dataVersion;
  }

  #checkFormat(): void {
    const version = Number(this.#readVersion.get()?.user_version);
    if (version === this.#version) return;
    const message = newerFormat(this.#options.file, version, this.#version);
    throw new StoreFailure({ kind: 'newer_format', message });
  }

  #writeOne(write: Write): WriteOutcome {
    switch (write.type) {
      case 'append':
        return this.#append(write);
      case 'capture':
        return this.#keep(write.session, write.bytes);
      case 'post':
        return this.#post(write.session, write.mailId, write.text);
      case 'unpost':
        for (const mailId of write.mailIds) this.#removeMail.run(write.session, mailId);
        return {};
      case 'delete':
        return this.#delete(write.session, write.expectedSeq);
    }
  }

  #append(append: AppendWrite): WriteOutcome {
    const { session, expectedSeq, count, text, lastAt } = append;
    const known = this.#heads.get(session) ?? this.#readHead(session);
    const actualSeq = known?.lastSeq ?? 0;
    if (actualSeq !== expectedSeq) return { failure: { kind: 'conflict', message: 'stale', actualSeq } };
    if (count === 0) return {};
    const head = known ?? this.#addHead(append);
    const [firstSeq, lastSeq] = [expectedSeq + 1, expectedSeq + count];
    const checksum = checksumOf(head.checksum, session, firstSeq, lastSeq, text);
    const { lastInsertRowid } = this.#addBatch.run(head.id, firstSeq, lastSeq, head.lastBatch, checksum, text);
    this.#moveHead.run(lastSeq, lastInsertRowid, checksum, lastAt, head.id);
    this.#keepHead(session, { id: head.id, lastSeq, lastBatch: lastInsertRowid, checksum });
    return {};
  }

  #keepHead(session: string, head: Head): void {
    this.#heads.delete(session);
    this.#heads.set(session, head);
    const [oldest] = this.#heads.keys();
    if (this.#heads.size > MOST_HEADS && oldest !== undefined) this.#heads.delete(oldest);
  }

  #readHead(session: string): Head | undefined {
    const row = this.#findHead.get(session);
    if (row === undefined) return undefined;
    const { id, last_seq, last_batch, checksum } = row;
    return { id: Number(id), lastSeq: Number(last_seq), lastBatch: Number(last_batch), checksum: String(checksum) };
  }

  #addHead({ session, firstAt, lastAt }: AppendWrite): Head {
    const { lastInsertRowid: id } = this.#addSession.run(session, BEGINNING, firstAt, lastAt);
    return { id, lastSeq: 0, lastBatch: 0, checksum: BEGINNING };
  }

  #keep(session: string, bytes: Uint8Array): WriteOutcome {
    const hash = sha256(bytes);
    this.#addCapture.run(session, hash, bytes);
    return { id: hash.toString('hex') };
  }

  #delete(session: string, expectedSeq: number): WriteOutcome {
    const head = this.#heads.get(session) ?? this.#readHead(session);
    if (head !== undefined && head.lastSeq !== expectedSeq)
      return { failure: { kind: 'conflict', message: 'stale', actualSeq: head.lastSeq } };
    this.#remover.remove(session, head);
    this.#heads.delete(session);
    return {};
  }

  #post(session: string, mailId: string, text: string): WriteOutcome {
    const { changes } = this.#addMail.run(session, mailId, text);
    return changes === 0 ? {} : { id: mailId };
  }
}
