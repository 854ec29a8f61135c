/** The statement that appends: it checks where each journal ends, moves the end, and keeps the records, all or nothing of each append. */
import type { SessionKey } from './keys.ts';
import type { Statement } from './line.ts';

/** One append: its records are one row. */
export interface Append extends SessionKey {
  readonly expectedSeq: number;
  readonly count: number;
  /** When the first and the last record were made. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly digest: Uint8Array;
  readonly text: string;
}

/** Where the tables are, and which version of them is known. */
interface Format {
  readonly schema: string;
  readonly version: number;
}

/** The most appends of one statement. */
export const MOST_APPENDS = 64;

const COLUMNS = ['uuid', 'text', 'bigint', 'bigint', 'double precision', 'double precision', 'bytea', 'text'] as const;

/** A row that fits no session: a group is filled up with it, so that few statements do for groups of every size. */
const FILLING = [null, null, -1, null, null, null, null, null];

const texts = new Map<string, string>();

/** Appends a group of different sessions, and counts those that were taken; of several it gives the keys too. An append that is stale is left out. */
export function appendStatement(format: Format, group: readonly Append[]): Statement {
  const [only] = group;
  return group.length === 1 && only !== undefined && only.expectedSeq > 0
    ? onward(format, only)
    : together(format, group);
}

/** One append to a session that is there: by far the most frequent statement, and the leanest. */
function onward({ schema, version }: Format, { key, expectedSeq, count, lastAt, digest, text }: Append): Statement {
  return {
    name: 'looprig_append',
    text: `
      WITH moved AS (
        UPDATE ${schema}.session SET
          last_seq = last_seq + $3,
          checksum = substr(sha256(checksum || $4), 1, 16),
          updated_at = $5,
          written_at = clock_timestamp()
        WHERE key = $1 AND last_seq = $2 AND format_${version} IS NULL
        RETURNING checksum
      )
      INSERT INTO ${schema}.append (session, last_seq, first_seq, checksum, records)
      SELECT $1, $2::bigint + $3::bigint, $2::bigint + 1, checksum, $6 FROM moved`,
    values: [key, expectedSeq, count, digest, lastAt, text],
  };
}

function together({ schema, version }: Format, group: readonly Append[]): Statement {
  const size = 2 ** Math.ceil(Math.log2(group.length));
  const values = group.flatMap(({ key, name, expectedSeq, count, firstAt, lastAt, digest, text }): unknown[] => {
    return [key, name, expectedSeq, count, firstAt, lastAt, digest, text];
  });
  for (let filled = group.length; filled < size; filled++) values.push(...FILLING);
  const id = `${schema} ${version} ${size}`;
  const text = texts.get(id) ?? textFor({ schema, version }, size);
  texts.set(id, text);
  return { name: `looprig_append_${size}`, text, values };
}

function textFor({ schema, version }: Format, size: number): string {
  const row = (index: number): string => {
    return `(${COLUMNS.map((type, column) => `$${index * COLUMNS.length + column + 1}::${type}`).join(', ')})`;
  };
  return `
    WITH given (key, name, expected, count, first_at, last_at, digest, records) AS (
      VALUES ${Array.from({ length: size }, (_, index) => row(index)).join(', ')}
    ), moved AS (
      UPDATE ${schema}.session SET
        last_seq = expected + count,
        checksum = substr(sha256(checksum || digest), 1, 16),
        updated_at = last_at,
        written_at = clock_timestamp()
      FROM given
      WHERE session.key = given.key AND last_seq = expected AND expected > 0 AND format_${version} IS NULL
      RETURNING session.key, checksum
    ), made AS (
      INSERT INTO ${schema}.session (key, name, last_seq, checksum, created_at, updated_at, written_at, format_${version})
      SELECT key, name, count, substr(sha256(digest), 1, 16), first_at, last_at, clock_timestamp(), NULL::boolean
      FROM given WHERE expected = 0
      ON CONFLICT (key) DO NOTHING
      RETURNING key, checksum
    ), taken AS (
      SELECT key, checksum FROM moved UNION ALL SELECT key, checksum FROM made
    ), kept AS (
      INSERT INTO ${schema}.append (session, last_seq, first_seq, checksum, records)
      SELECT key, expected + count, expected + 1, checksum, records FROM taken JOIN given USING (key)
    )
    SELECT key FROM taken`;
}
