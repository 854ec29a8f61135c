/** A store's file, open: answers questions one after another, each at once. */
import type { DatabaseSync } from 'node:sqlite';
import { openFile } from './open.ts';
import type { FileOptions, RequestName, Requests } from './protocol.ts';
import { Reader } from './read.ts';
import { MIGRATIONS, type Migration } from './schema.ts';
import { GroupWriter } from './write.ts';

export class StoreFile {
  readonly #database: DatabaseSync;
  readonly #reader: Reader;
  readonly #writer: GroupWriter;

  constructor(options: FileOptions, migrations: readonly Migration[] = MIGRATIONS) {
    this.#database = openFile(options, migrations);
    this.#reader = new Reader(this.#database);
    this.#writer = new GroupWriter(this.#database, options, migrations.length);
  }

  answer(name: RequestName, ask: unknown): unknown {
    switch (name) {
      case 'write':
        return this.#writer.write(ask as Requests['write']['ask']);
      case 'find':
        return this.#reader.find(ask as Requests['find']['ask']);
      case 'list':
        return this.#reader.list(ask as Requests['list']['ask']);
      case 'locate':
        return this.#reader.locate(ask as Requests['locate']['ask']);
      case 'rows':
        return this.#reader.rows(ask as Requests['rows']['ask']);
      case 'capture':
        return this.#reader.capture(ask as Requests['capture']['ask']);
      case 'mails':
        return this.#reader.mails(ask as Requests['mails']['ask']);
      case 'mailboxes':
        return this.#reader.mailboxes();
      case 'standings':
        return this.#reader.standings(ask as Requests['standings']['ask']);
      case 'close':
        return this.close();
    }
  }

  /** Brings all that was written into the file itself, and lets go of it. */
  close(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another program uses the file. What was appended is safe where it is.
    }
    this.#database.close();
  }
}
