/** Reads sessions, and the rows of one: each is checked against the one before it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { BEGINNING, checksumOf, sha256 } from './checksum.ts';
import { isDamage, StoreFailure } from './failure.ts';
import { Links } from './links.ts';
import type { Located, ReadRows, Requests, SessionRow, Standing } from './protocol.ts';

/** The most characters that go to the other side at once, but for a row that has more. */
const MOST_CHARACTERS = 1 << 19;

export class Reader {
  readonly #find: StatementSync;
  readonly #list: StatementSync;
  readonly #head: StatementSync;
  readonly #links: Links;
  readonly #checksum: StatementSync;
  readonly #batches: StatementSync;
  readonly #capture: StatementSync;
  readonly #mails: StatementSync;
  readonly #mailboxes: StatementSync;
  readonly #changes: StatementSync;
  readonly #standings: StatementSync;
  /** What SQLite counts up when another connection has written. */
  #lastChange: unknown;

  constructor(database: DatabaseSync) {
    const columns =
      'name AS session, last_seq AS lastSeq, created_at AS createdAt, updated_at AS updatedAt, last_batch AS lastRow';
    this.#find = database.prepare(`SELECT ${columns} FROM session WHERE name = ?`);
    this.#list = database.prepare(`
      SELECT ${columns} FROM session WHERE last_batch < ? ORDER BY last_batch DESC LIMIT ?`);
    this.#head = database.prepare(
      'SELECT id, last_seq AS lastSeq, last_batch AS lastRow, checksum FROM session WHERE name = ?',
    );
    this.#links = new Links(database);
    this.#checksum = database.prepare('SELECT checksum FROM batch WHERE id = ?');
    // One statement for many rows costs a quarter of one for each. A cross join keeps the order of the list.
    this.#batches = database.prepare(`
      SELECT first_seq AS firstSeq, last_seq AS lastSeq, checksum, records
      FROM json_each(?) AS wanted CROSS JOIN batch ON batch.id = wanted.value`);
    this.#capture = database.prepare('SELECT bytes FROM capture WHERE session = ? AND hash = ?');
    this.#mails = database.prepare('SELECT content FROM mail WHERE session = ? ORDER BY id');
    this.#mailboxes = database.prepare('SELECT session FROM mail GROUP BY session ORDER BY min(id)');
    this.#changes = database.prepare('PRAGMA data_version');
    this.#standings = database.prepare(`
      SELECT wanted.value AS session,
        coalesce((SELECT last_seq FROM session WHERE name = wanted.value), 0) AS lastSeq,
        coalesce((SELECT max(id) FROM mail WHERE mail.session = wanted.value), 0) AS lastMail
      FROM json_each(?) AS wanted`);
  }

  find(session: string): SessionRow | undefined {
    return this.#find.get(session) as SessionRow | undefined;
  }

  /** Rows are numbered in the order of writing. */
  list({ limit, beforeRow }: Requests['list']['ask']): readonly SessionRow[] {
    return this.#list.all(beforeRow, limit) as unknown as SessionRow[];
  }

  /** The rows that hold the records from `fromSeq` on; all that can be trusted of them, if the journal is damaged. */
  locate({ session, fromSeq }: Requests['locate']['ask']): Located | undefined {
    const head = this.#head.get(session) as unknown as Head | undefined;
    if (head === undefined) return undefined;
    const end = head.checksum;
    if (fromSeq > head.lastSeq) return { rows: [], firstSeq: fromSeq, before: end, end };
    const links = this.#links.back(head, Math.max(fromSeq, 1));
    const before = links?.[0] && this.#checksumOf(links[0].previous);
    if (links !== undefined && before !== undefined) {
      return { rows: links.map(({ row }) => row), firstSeq: links[0]?.firstSeq ?? fromSeq, before, end };
    }
    // From the first record on, since nothing else says where the good part ends.
    const intact = this.#links.fromStart(head.id);
    const missing = (intact.at(-1)?.lastSeq ?? 0) + 1;
    return { rows: intact.map(({ row }) => row), firstSeq: 1, before: BEGINNING, end, missing };
  }

  #checksumOf(row: number): string | undefined {
    if (row === 0) return BEGINNING;
    try {
      return this.#checksum.get(row)?.checksum as string | undefined;
    } catch (cause) {
      if (isDamage(cause)) return undefined;
      throw cause;
    }
  }

  /** The next of these rows: as many as make one parcel, up to the first that is not what was written. */
  rows({ session, rows, nextSeq: firstSeq, before: start }: Requests['rows']['ask']): ReadRows {
    const texts: string[] = [];
    let [nextSeq, before, characters] = [firstSeq, start, 0];
    let damage: string | undefined = 'it is missing';
    try {
      for (const found of this.#batches.iterate(JSON.stringify(rows))) {
        const batch = found as unknown as Batch;
        damage = damageOf(batch, session, nextSeq, before);
        if (damage !== undefined) break;
        texts.push(batch.records);
        nextSeq = batch.lastSeq + 1;
        before = batch.checksum;
        characters += batch.records.length;
        if (characters >= MOST_CHARACTERS) break;
        damage = 'it is missing';
      }
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      damage = 'it cannot be read';
    }
    if (texts.length === rows.length) damage = undefined;
    return { texts, nextSeq, before, ...(damage && { damage }) };
  }

  mails(session: string): readonly string[] {
    return this.#mails.all(session).map(row => String(row.content));
  }

  mailboxes(): readonly string[] {
    return this.#mailboxes.all().map(row => String(row.session));
  }

  standings(sessions: readonly string[]): readonly Standing[] | undefined {
    const change = this.#changes.get()?.data_version;
    if (change === this.#lastChange) return undefined;
    this.#lastChange = change;
    return this.#standings.all(JSON.stringify(sessions)) as unknown as Standing[];
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
  readonly checksum: string;
}

interface Batch {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly checksum: string;
  readonly records: string;
}

function damageOf(batch: Batch, session: string, nextSeq: number, before: string): string | undefined {
  const { firstSeq, lastSeq, records, checksum } = batch;
  if (firstSeq !== nextSeq || lastSeq < firstSeq) return `record ${firstSeq} stands in its place`;
  return checksum === checksumOf(before, session, firstSeq, lastSeq, records) ? undefined : 'its checksum is wrong';
}
