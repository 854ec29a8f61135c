/** Reads sessions, and the rows of one: each is checked against the one before it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checksumOf, hex, sha256 } from './checksum.ts';
import { isDamage, StoreFailure } from './failure.ts';
import { type Chain, intactStart, walkBack } from './links.ts';
import type { Located, ReadRows, Requests, SessionRow } from './protocol.ts';

/** The most characters that go to the other side at once, but for a row that has more. */
const MOST_CHARACTERS = 1 << 19;

export class Reader {
  readonly #find: StatementSync;
  readonly #list: StatementSync;
  readonly #head: StatementSync;
  readonly #chain: Chain;
  readonly #checksum: StatementSync;
  readonly #batch: StatementSync;
  readonly #capture: StatementSync;

  constructor(database: DatabaseSync) {
    const columns = 'name AS session, last_seq AS lastSeq, created_at AS createdAt, updated_at AS updatedAt';
    this.#find = database.prepare(`SELECT ${columns} FROM session WHERE name = ?`);
    this.#list = database.prepare(`SELECT ${columns} FROM session ORDER BY last_batch DESC`);
    this.#head = database.prepare(
      'SELECT id, last_seq AS lastSeq, last_batch AS lastRow, checksum FROM session WHERE name = ?',
    );
    const link = 'SELECT id AS row, first_seq AS firstSeq, last_seq AS lastSeq, previous FROM batch';
    this.#chain = {
      one: database.prepare(`${link} WHERE id = ? AND session = ?`),
      // Without an index: it is for a journal that has lost its thread.
      all: database.prepare(`${link} WHERE session = ? ORDER BY id`),
    };
    this.#checksum = database.prepare('SELECT checksum FROM batch WHERE id = ?');
    this.#batch = database.prepare(
      'SELECT first_seq AS firstSeq, last_seq AS lastSeq, checksum, records FROM batch WHERE id = ?',
    );
    this.#capture = database.prepare('SELECT bytes FROM capture WHERE session = ? AND hash = ?');
  }

  find(session: string): SessionRow | undefined {
    return this.#find.get(session) as SessionRow | undefined;
  }

  /** All sessions, the last written first: rows are numbered in the order of writing. */
  list(): readonly SessionRow[] {
    return this.#list.all() as unknown as SessionRow[];
  }

  /** The rows that hold the records from `fromSeq` on; all that can be trusted of them, if the journal is damaged. */
  locate({ session, fromSeq }: Requests['locate']['ask']): Located | undefined {
    const head = this.#head.get(session) as unknown as Head | undefined;
    if (head === undefined) return undefined;
    const end = hex(head.checksum);
    if (fromSeq > head.lastSeq) return { rows: [], firstSeq: fromSeq, before: end, end };
    const links = walkBack(this.#chain, head, Math.max(fromSeq, 1));
    const before = links === undefined ? undefined : this.#before(links[0]?.previous);
    if (links !== undefined && before !== undefined) {
      return { rows: links.map(({ row }) => row), firstSeq: links[0]?.firstSeq ?? fromSeq, before, end };
    }
    // From the first record on, since nothing else says where the good part ends.
    const intact = intactStart(this.#chain, head.id);
    return {
      rows: intact.map(({ row }) => row),
      firstSeq: 1,
      before: '',
      end,
      missing: (intact.at(-1)?.lastSeq ?? 0) + 1,
    };
  }

  #before(row: number | undefined): string | undefined {
    if (row === 0) return '';
    const checksum = row === undefined ? undefined : this.#checksum.get(row)?.checksum;
    return checksum instanceof Uint8Array ? hex(checksum) : undefined;
  }

  /** The next of these rows: as many as make one parcel, up to the first that is not what was written. */
  rows({ session, rows, nextSeq: firstSeq, before: start }: Requests['rows']['ask']): ReadRows {
    const texts: string[] = [];
    let [nextSeq, before, characters] = [firstSeq, start, 0];
    for (const row of rows) {
      const batch = this.#readBatch(row);
      const damage = batch === undefined ? 'it cannot be read' : damageOf(batch, session, nextSeq, before);
      if (batch === undefined || damage !== undefined) return { texts, nextSeq, before, ...(damage && { damage }) };
      texts.push(batch.records);
      nextSeq = batch.lastSeq + 1;
      before = hex(batch.checksum);
      characters += batch.records.length;
      if (characters >= MOST_CHARACTERS) break;
    }
    return { texts, nextSeq, before };
  }

  #readBatch(row: number): Batch | undefined {
    try {
      return this.#batch.get(row) as unknown as Batch | undefined;
    } catch (cause) {
      if (isDamage(cause)) return undefined;
      throw cause;
    }
  }

  /** A capture whose bytes are still those of its id. */
  capture({ session, id }: Requests['capture']['ask']): Uint8Array | undefined {
    if (!/^[0-9a-f]{64}$/.test(id)) return undefined;
    const bytes = this.#capture.get(session, Buffer.from(id, 'hex'))?.bytes;
    if (bytes === undefined) return undefined;
    if (bytes instanceof Uint8Array && sha256(bytes).toString('hex') === id) return bytes;
    throw new StoreFailure({
      kind: 'damaged',
      message: `the capture ${id} is damaged: its bytes are not those that were kept`,
    });
  }
}

interface Head {
  readonly id: number;
  readonly lastSeq: number;
  readonly lastRow: number;
  readonly checksum: Uint8Array;
}

interface Batch {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly checksum: Uint8Array;
  readonly records: string;
}

function damageOf(batch: Batch, session: string, nextSeq: number, before: string): string | undefined {
  const { firstSeq, lastSeq, records, checksum } = batch;
  if (firstSeq !== nextSeq || lastSeq < firstSeq) return `record ${firstSeq} stands in its place`;
  const expected = checksumOf(before, session, firstSeq, lastSeq, records);
  return hex(expected) === hex(checksum) ? undefined : 'its checksum is wrong';
}
