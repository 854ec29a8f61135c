/** Reads sessions, and the appends of one: each is checked against the one before it. */
import { JournalDamagedError, JournalError } from '../../errors.ts';
import { deletedMeanwhile, type JournalRecord } from '../journal.ts';
import { recordsOfText } from '../stored-text.ts';
import { BEGINNING, CHECKSUM_BYTES, checksumOf, digestOf, sha256 } from './checksum.ts';
import type { Database, Row } from './database.ts';
import type { SessionKey } from './keys.ts';

/** How many appends are asked for at once, and how many bytes of them; one that is larger comes alone. */
const APPENDS_AT_ONCE = 256;
const BYTES_AT_ONCE = 1 << 21;

/** A session as its row has it. */
export interface SessionRow {
  readonly name: string;
  readonly lastSeq: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly position: Position;
}

/** Where a session stands in the list. */
export interface Position {
  /** When it was last written, by the clock of its database, in microseconds since the epoch. */
  readonly writtenAt: number;
  readonly key: string;
}

/** Where a session's records end, and what stands before those that are asked for. */
interface Place {
  readonly lastSeq: number;
  readonly end: Uint8Array;
  /** The first record of the first append that holds any of them. */
  readonly nextSeq: number;
  readonly before: Uint8Array;
}

export class Reader {
  readonly #database: Database;
  readonly #schema: string;

  constructor(database: Database) {
    this.#database = database;
    this.#schema = database.schema;
  }

  async find({ key }: SessionKey): Promise<SessionRow | undefined> {
    const [row] = await this.#database.ask({ text: this.#sessions('WHERE key = $1'), values: [key] });
    return row && sessionOf(row);
  }

  /** The last written first: at most so many, and only those that stand behind the place. */
  async list(limit: number | undefined, after: Position | undefined): Promise<readonly SessionRow[]> {
    const at = "timestamptz 'epoch' + $2::bigint * interval '1 microsecond'";
    const behind = `WHERE written_at < ${at} OR (written_at = ${at} AND key > $3)`;
    const text = this.#sessions(`${after === undefined ? '' : behind} ORDER BY written_at DESC, key LIMIT $1`);
    const values = after === undefined ? [limit ?? null] : [limit ?? null, after.writtenAt, after.key];
    return (await this.#database.ask({ text, values })).map(sessionOf);
  }

  #sessions(rest: string): string {
    return `SELECT key, name, last_seq, created_at, updated_at, (extract(epoch FROM written_at) * 1000000)::bigint AS written_at
      FROM ${this.#schema}.session ${rest}`;
  }

  /** The records from `fromSeq` to where the journal ends now. */
  async *records(session: SessionKey, fromSeq: number): AsyncGenerator<JournalRecord> {
    const place = await this.#locate(session, fromSeq);
    if (place === undefined) return;
    let { nextSeq, before } = place;
    while (nextSeq <= place.lastSeq) {
      const rows = await this.#appends(session, nextSeq, place.lastSeq);
      if (rows.length === 0) throw await this.#broken(session, nextSeq, 'it is missing');
      for (const row of rows) {
        for (const record of recordsOf(session, row, nextSeq, before)) if (record.seq >= fromSeq) yield record;
        nextSeq = Number(row.last_seq) + 1;
        before = bytesOf(row.checksum);
      }
    }
    if (Buffer.compare(before, place.end) !== 0)
      throw await this.#broken(session, nextSeq - 1, 'it is not the one that was last');
  }

  /** Why appends were not found that were there when the reading began. */
  async #broken(session: SessionKey, seq: number, what: string): Promise<JournalError<string>> {
    return (await this.find(session)) === undefined
      ? deletedMeanwhile(session.sessionId)
      : damagedAt(session, seq, what);
  }

  /** `undefined` where there is nothing to read. */
  async #locate(session: SessionKey, fromSeq: number): Promise<Place | undefined> {
    const text = `
      SELECT session.last_seq, session.checksum, before.last_seq AS before_seq, before.checksum AS before_checksum,
        session.key IS NULL AND EXISTS (SELECT FROM ${this.#schema}.append WHERE session = wanted.key) AS is_lost
      FROM (SELECT $1::uuid AS key) AS wanted
      LEFT JOIN ${this.#schema}.session USING (key)
      LEFT JOIN LATERAL (
        SELECT last_seq, checksum FROM ${this.#schema}.append
        WHERE session = wanted.key AND last_seq < $2 ORDER BY last_seq DESC LIMIT 1
      ) AS before ON true`;
    const [row] = await this.#database.ask({ name: 'looprig_locate', text, values: [session.key, fromSeq] });
    if (row?.is_lost === true) throw damagedAt(session, 1, 'the session is not in the list of sessions');
    if (row === undefined || row.last_seq === null) return undefined;
    const lastSeq = Number(row.last_seq);
    if (fromSeq > lastSeq) return undefined;
    const hasBefore = row.before_seq !== null;
    return {
      lastSeq,
      end: bytesOf(row.checksum),
      nextSeq: hasBefore ? Number(row.before_seq) + 1 : 1,
      before: hasBefore ? bytesOf(row.before_checksum) : BEGINNING,
    };
  }

  #appends({ key }: SessionKey, nextSeq: number, lastSeq: number): Promise<readonly Row[]> {
    const text = `
      SELECT first_seq, last_seq, checksum, records FROM (
        SELECT *, sum(octet_length(records)) OVER (ORDER BY last_seq) - octet_length(records) AS bytes_before FROM (
          SELECT * FROM ${this.#schema}.append WHERE session = $1 AND last_seq BETWEEN $2 AND $3
          ORDER BY last_seq LIMIT ${APPENDS_AT_ONCE}
        ) AS next
      ) AS page WHERE bytes_before < ${BYTES_AT_ONCE} ORDER BY last_seq`;
    return this.#database.ask({ name: 'looprig_appends', text, values: [key, nextSeq, lastSeq] });
  }

  /** A capture whose bytes are still those of its id. */
  async capture({ key }: SessionKey, id: string): Promise<Uint8Array | undefined> {
    if (!/^[0-9a-f]{64}$/.test(id)) return undefined;
    // As text of base64, the answer is a third longer than the bytes; as PostgreSQL writes them, twice as long.
    const text = `SELECT encode(bytes, 'base64') AS text FROM ${this.#schema}.capture WHERE session = $1 AND hash = $2`;
    const [row] = await this.#database.ask({ text, values: [key, Buffer.from(id, 'hex')] });
    if (row === undefined) return undefined;
    const bytes = new Uint8Array(Buffer.from(String(row.text), 'base64'));
    if (sha256(bytes).toString('hex') === id) return bytes;
    throw new JournalError('damaged', `the capture ${id} is damaged: its bytes are not those that were kept`);
  }
}

/** The records of one append, if it is the one that was written there. */
function recordsOf(session: SessionKey, row: Row, nextSeq: number, before: Uint8Array): JournalRecord[] {
  const [firstSeq, lastSeq, text] = [Number(row.first_seq), Number(row.last_seq), String(row.records)];
  if (firstSeq !== nextSeq) throw damagedAt(session, nextSeq, `record ${firstSeq} stands in its place`);
  const checksum = checksumOf(before, digestOf(session.name, firstSeq, lastSeq, text));
  if (!checksum.equals(bytesOf(row.checksum))) throw damagedAt(session, nextSeq, 'its checksum is wrong');
  const records = recordsOfText(text, session.sessionId, firstSeq);
  if (records.length !== lastSeq - firstSeq + 1)
    throw damagedAt(session, nextSeq, 'it holds another number of records');
  return records;
}

function damagedAt({ sessionId }: SessionKey, seq: number, what: string): JournalDamagedError {
  return new JournalDamagedError(sessionId, seq, what);
}

/** What is no checksum is one that fits nothing. */
function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.alloc(CHECKSUM_BYTES);
}

function sessionOf(row: Row): SessionRow {
  return {
    name: String(row.name),
    lastSeq: Number(row.last_seq),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    position: { writtenAt: Number(row.written_at), key: String(row.key) },
  };
}
