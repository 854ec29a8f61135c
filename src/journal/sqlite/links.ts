/** The rows of a session are linked from the last to the first. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isDamage } from './failure.ts';

interface BatchLink {
  readonly row: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The row before it, or 0. */
  readonly previous: number;
}

/** Where a session's links begin: at its last row. */
interface LastLink {
  readonly id: number;
  readonly lastSeq: number;
  readonly lastRow: number;
}

const COLUMNS = 'id AS row, first_seq AS firstSeq, last_seq AS lastSeq, previous';

export class Links {
  readonly #chain: StatementSync;
  readonly #all: StatementSync;

  constructor(database: DatabaseSync) {
    // A link leads to a row that was written earlier, so that no circle of damaged ones is followed for ever. Node 22.13 binds no numbered
    // parameters: the session stands twice.
    this.#chain = database.prepare(`
      WITH RECURSIVE chain (row, firstSeq, lastSeq, previous) AS (
        SELECT id, first_seq, last_seq, previous FROM batch WHERE id = ? AND session = ?
        UNION ALL
        SELECT batch.id, first_seq, last_seq, batch.previous FROM chain JOIN batch ON batch.id = chain.previous
        WHERE chain.firstSeq > ? AND batch.id < chain.row AND session = ?
      )
      SELECT row, firstSeq, lastSeq, previous FROM chain`);
    // Has no index, and needs none: it is for a journal that has lost its thread.
    this.#all = database.prepare(`SELECT ${COLUMNS} FROM batch WHERE session = ? ORDER BY id`);
  }

  /** The links from the one that holds `fromSeq` to the last, or `undefined` where one is not what the next says of it. */
  back({ id, lastSeq, lastRow }: LastLink, fromSeq: number): BatchLink[] | undefined {
    const links = this.#read(lastRow, id, fromSeq);
    if (links === undefined) return undefined;
    let [row, last] = [lastRow, lastSeq];
    for (const link of links) {
      if (link.row !== row || link.lastSeq !== last || link.firstSeq > last) return undefined;
      if ((link.previous === 0) !== (link.firstSeq === 1)) return undefined;
      row = link.previous;
      last = link.firstSeq - 1;
    }
    return last < fromSeq ? links.reverse() : undefined;
  }

  #read(lastRow: number, session: number, fromSeq: number): BatchLink[] | undefined {
    try {
      return this.#chain.all(lastRow, session, fromSeq, session) as unknown as BatchLink[];
    } catch (cause) {
      if (isDamage(cause)) return undefined;
      throw cause;
    }
  }

  /** The links from the first record on, as far as they follow each other. */
  fromStart(session: number): BatchLink[] {
    const links: BatchLink[] = [];
    let nextSeq = 1;
    try {
      for (const found of this.#all.iterate(session)) {
        const link = found as unknown as BatchLink;
        if (link.firstSeq !== nextSeq || link.lastSeq < link.firstSeq) break;
        links.push(link);
        nextSeq = link.lastSeq + 1;
      }
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
    }
    return links;
  }
}
