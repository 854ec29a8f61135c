/**
 * The tables of a store, and how older ones become newer ones.
 *
 * One row of `append` is one append, with the checksum that follows from the one before it; the session's row knows the last. A session's
 * key is the hash of its id, so that ids may be of any length.
 */
import type { ClientBase } from 'pg';
import { JournalError } from '../../errors.ts';
import type { FailurePlace } from './failure.ts';

/**
 * One step from a version of the tables to the next, as SQL. The first makes them. Each further one renames the column `format_N`, which every
 * append names: a program that has the tables open and does not know the new ones writes nothing more.
 */
export type Migration = (schema: string) => string;

export const MIGRATIONS: readonly Migration[] = [
  schema => `
    CREATE TABLE ${schema}.format (
      is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
      version integer NOT NULL,
      shard integer NOT NULL,
      shards integer NOT NULL
    );
    CREATE TABLE ${schema}.session (
      key uuid PRIMARY KEY,
      name text NOT NULL,
      last_seq bigint NOT NULL,
      checksum bytea NOT NULL,
      created_at double precision NOT NULL,
      updated_at double precision NOT NULL,
      written_at timestamptz NOT NULL,
      format_1 boolean
    ) WITH (fillfactor = 70);
    CREATE TABLE ${schema}.append (
      session uuid NOT NULL,
      last_seq bigint NOT NULL,
      first_seq bigint NOT NULL,
      checksum bytea NOT NULL,
      records text NOT NULL,
      PRIMARY KEY (session, last_seq)
    );
    CREATE TABLE ${schema}.capture (
      session uuid NOT NULL,
      hash bytea NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (session, hash)
    );
    CREATE TABLE ${schema}.mail (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      session uuid NOT NULL,
      name text NOT NULL,
      mail uuid NOT NULL,
      posting uuid NOT NULL,
      posted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      content text NOT NULL,
      UNIQUE (session, mail)
    );
    ALTER TABLE ${schema}.capture ALTER COLUMN bytes SET STORAGE EXTERNAL;
    DO $$ BEGIN
      ALTER TABLE ${schema}.append ALTER COLUMN records SET COMPRESSION lz4;
    EXCEPTION WHEN feature_not_supported THEN
      NULL; -- a server built without it compresses more slowly
    END $$;`,
];

/** The names that must be free where a store's tables are made. */
const TABLES: readonly string[] = ['session', 'append', 'capture', 'mail'];

/** What a database is to have: which of how many it is, and the migrations up to the newest version. */
export interface Wanted {
  readonly shard: number;
  readonly shards: number;
  readonly migrations: readonly Migration[];
}

/** What a database was brought to. Equal numbers: there was nothing to do. */
export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** What every program that migrates a store takes first, so that one does it at a time. "loop" in ASCII. */
const LOCK = 0x6c6f6f70;

/** The version of the tables that are there; 0 where there are none. Throws `JournalError` where they are not this store's. */
export async function versionOf(
  client: ClientBase,
  place: FailurePlace,
  { shard, shards, migrations }: Wanted,
): Promise<number> {
  const { label, schema } = place;
  // Not by `to_regclass`, which may not see what another program has committed while this one waited for the lock.
  const { rows } = await client.query(
    `SELECT current_setting('server_encoding') AS encoding, ARRAY(
      SELECT relname::text FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1
    ) AS tables`,
    [schema],
  );
  const { encoding, tables } = rows[0];
  if (encoding !== 'UTF8') {
    throw new JournalError(
      'store_failed',
      `the database ${label} keeps text as ${encoding}: create one with the encoding UTF8`,
    );
  }
  if (!tables.includes('format')) {
    if (!TABLES.some(table => tables.includes(table))) return 0;
    const message = `the schema "${schema}" of the database ${label} holds tables of another program: name another schema`;
    throw new JournalError('foreign_file', message);
  }
  const [format] = (await client.query(`SELECT version, shard, shards FROM ${schema}.format`)).rows;
  if (format === undefined) throw new JournalError('damaged', `the database ${label} does not say its format any more`);
  if (format.shard !== shard || format.shards !== shards) {
    const [was, is] = [`${format.shard + 1} of ${format.shards}`, `${shard + 1} of ${shards}`];
    const message = `the database ${label} was made as shard ${was}, and is used as ${is}: name all shards, in their order`;
    throw new JournalError('store_failed', message);
  }
  if (format.version > migrations.length) throw newerFormat(place, format.version, migrations.length);
  return format.version;
}

/** What is said of tables that are ahead of this code. */
export function newerFormat({ label, schema }: FailurePlace, version: number, newest: number): JournalError {
  const has = `the schema "${schema}" of the database ${label} has format ${version}`;
  return new JournalError(
    'newer_format',
    `${has}, and this version of looprig knows up to ${newest}: use a newer looprig`,
  );
}

/** Brings the tables to the newest version, in one transaction. Of programs that do it at once, one does it, and the others find it done. */
export async function migrateTables(client: ClientBase, place: FailurePlace, wanted: Wanted): Promise<Migrated> {
  const { schema } = place;
  await client.query('BEGIN');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [LOCK, schema]);
    const from = await versionOf(client, place, wanted);
    if (from < wanted.migrations.length) await bringUp(client, from, schema, wanted);
    await client.query('COMMIT');
    return { from, to: wanted.migrations.length };
  } catch (cause) {
    // Where the connection is gone, the server has taken it back by itself.
    await client.query('ROLLBACK').catch(() => undefined);
    throw cause;
  }
}

async function bringUp(
  client: ClientBase,
  from: number,
  schema: string,
  { shard, shards, migrations }: Wanted,
): Promise<void> {
  // Who may not make a schema can still own one.
  const { rowCount } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
  for (const migration of migrations.slice(from)) await client.query(migration(schema));
  await client.query(
    `INSERT INTO ${schema}.format (version, shard, shards) VALUES ($1, $2, $3)
     ON CONFLICT (is_only) DO UPDATE SET version = excluded.version`,
    [migrations.length, shard, shards],
  );
}
