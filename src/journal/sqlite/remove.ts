/** Removes sessions: called in a transaction, so that all of a session goes, or nothing. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** A session as far as its removal needs to know it. */
interface Removable {
  readonly id: number | bigint;
  readonly lastBatch: number | bigint;
}

export class Remover {
  readonly #removeChain: StatementSync;
  readonly #removeRows: StatementSync;
  readonly #removeSession: StatementSync;
  readonly #removeCaptures: StatementSync;
  readonly #removeMails: StatementSync;

  constructor(database: DatabaseSync) {
    // By its links, since rows have no index by their session.
    this.#removeChain = database.prepare(`
      DELETE FROM batch WHERE id IN (
        WITH RECURSIVE chain (row, previous) AS (
          SELECT id, previous FROM batch WHERE id = ? AND session = ?
          UNION ALL
          SELECT batch.id, batch.previous FROM chain JOIN batch ON batch.id = chain.previous
          WHERE batch.id < chain.row AND session = ?
        )
        SELECT row FROM chain
      )
      RETURNING first_seq AS firstSeq`);
    this.#removeRows = database.prepare('DELETE FROM batch WHERE session = ?');
    this.#removeSession = database.prepare('DELETE FROM session WHERE id = ?');
    this.#removeCaptures = database.prepare('DELETE FROM capture WHERE session = ?');
    this.#removeMails = database.prepare('DELETE FROM mail WHERE session = ?');
  }

  /** Removes the session of this name, if there is one, and all that was kept for it. */
  remove(name: string, session: Removable | undefined): void {
    if (session !== undefined) this.#removeJournal(session);
    this.#removeCaptures.run(name);
    this.#removeMails.run(name);
  }

  #removeJournal({ id, lastBatch }: Removable): void {
    const removed = this.#removeChain.all(lastBatch, id, id);
    // A journal that has lost its thread may have rows that no link leads to.
    if (!removed.some(({ firstSeq }) => firstSeq === 1)) this.#removeRows.run(id);
    this.#removeSession.run(id);
  }
}
