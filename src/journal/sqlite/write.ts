/**
 * Writes a group in one transaction: all of it is on disk when this returns.
 *
 * A stale append of the group is found before it writes anything, and leaves the others alone. If the transaction fails because of
 * what one write needs (space, size), each is tried in a transaction of its own.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BEGINNING, checksumOf, sha256 } from './checksum.ts';
import { failureOf, isOfOneWrite, StoreFailure } from './failure.ts';
import { newerFormat } from './open.ts';
import type { AppendWrite, FileOptions, Write, WriteOutcome } from './protocol.ts';
import { rollBack } from './schema.ts';

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

  constructor(database: DatabaseSync, options: FileOptions, version: number) {
    this.#database = database;
    this.#options = options;
    this.#version = version;
    this.#begin = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#readVersion = database.prepare('PRAGMA user_version');
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
    this.#addCapture = database.prepare(
      'INSERT INTO capture (session, hash, bytes) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING',
    );
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
      this.#checkVersion();
      const outcomes = group.map(one =>
        one.type === 'append' ? this.#append(one) : this.#keep(one.session, one.bytes),
      );
      this.#commit.run();
      return outcomes;
    } catch (cause) {
      rollBack(this.#database);
      throw cause;
    }
  }

  /** A newer program may have migrated the file while this one had it open. */
  #checkVersion(): void {
    const version = Number(this.#readVersion.get()?.user_version);
    if (version === this.#version) return;
    const message = newerFormat(this.#options.file, version, this.#version);
    throw new StoreFailure({ kind: 'newer_format', message });
  }

  #append(append: AppendWrite): WriteOutcome {
    const { session, expectedSeq, count, text, firstAt, lastAt } = append;
    let head = this.#findHead.get(session);
    const actualSeq = Number(head?.last_seq ?? 0);
    if (actualSeq !== expectedSeq) return { failure: { kind: 'conflict', message: 'stale', actualSeq } };
    if (count === 0) return {};
    if (head === undefined) {
      const { lastInsertRowid } = this.#addSession.run(session, BEGINNING, firstAt, lastAt);
      head = { id: lastInsertRowid, last_batch: 0, checksum: BEGINNING };
    }
    const { id = null, last_batch: previous = null, checksum: before } = head;
    const [firstSeq, lastSeq] = [expectedSeq + 1, expectedSeq + count];
    const checksum = checksumOf(String(before), session, firstSeq, lastSeq, text);
    const { lastInsertRowid } = this.#addBatch.run(id, firstSeq, lastSeq, previous, checksum, text);
    this.#moveHead.run(lastSeq, lastInsertRowid, checksum, lastAt, id);
    return {};
  }

  #keep(session: string, bytes: Uint8Array): WriteOutcome {
    const hash = sha256(bytes);
    this.#addCapture.run(session, hash, bytes);
    return { id: hash.toString('hex') };
  }
}
