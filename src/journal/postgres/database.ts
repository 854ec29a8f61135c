/**
 * One database: its connections, opened at the first use and made anew where they are lost. A connection that breaks ends what it was
 * asked, and nothing else: never the process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase, Pool, PoolConfig } from 'pg';
import { JournalError } from '../../errors.ts';
import { areOtherTables, closed, type FailurePlace, failureOf, isLost } from './failure.ts';
import { Line, type Statement } from './line.ts';
import type { ResolvedOptions, Target } from './options.ts';
import { loadPg } from './package.ts';
import {
  MIGRATIONS,
  type Migrated,
  type Migration,
  migrateTables,
  newerFormat,
  versionOf,
  type Wanted,
} from './schema.ts';

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** How long to wait for an answer beyond the server's own limit, in milliseconds: then the way to it is broken. */
const GRACE_MS = 2_000;

/** The pauses between attempts to reach a database that is lost, in milliseconds: each twice the one before. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

/** A connection that does not wait for the disk would acknowledge what can be lost. */
const SETTINGS = `SELECT set_config('statement_timeout', $1, false),
  CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END`;

/** What a statement did. */
export interface Done {
  readonly rows: readonly Row[];
  /** How many rows it gave or wrote. */
  readonly count: number;
}

export class Database {
  readonly place: FailurePlace;
  readonly schema: string;
  readonly #target: Target;
  readonly #options: ResolvedOptions;
  readonly #wanted: Wanted;
  /** For appends alone, so that they never wait for readers. */
  readonly #appends: Line;
  #opening: Promise<Pool> | undefined;
  /** For everything else. */
  #pool: Pool | undefined;
  #isClosed = false;

  constructor(options: ResolvedOptions, shard: number, migrations: readonly Migration[] = MIGRATIONS) {
    const target = options.targets[shard];
    if (target === undefined) throw new RangeError(`there is no shard ${shard}`);
    const { schema, statementTimeoutMs } = options;
    this.place = { label: target.label, user: target.user, schema, statementTimeoutMs };
    this.schema = schema;
    this.#target = target;
    this.#options = options;
    this.#wanted = { shard, shards: options.targets.length, migrations };
    this.#appends = new Line(this.config, client => this.#configure(client));
  }

  /** The version of the tables that this program knows. */
  get version(): number {
    return this.#wanted.migrations.length;
  }

  /** Rows of a statement that may be repeated: it is, where the connection is lost, as long as `reconnectMs` lets it. */
  async ask(statement: Statement): Promise<readonly Row[]> {
    const patience = this.patience();
    for (;;) {
      try {
        return await this.attempt(statement);
      } catch (cause) {
        await patience.pause(cause);
      }
    }
  }

  /** Runs a statement once. Throws what `pg` throws. */
  async attempt({ name, text, values }: Statement): Promise<readonly Row[]> {
    this.#requireOpen();
    const query = { ...(name !== undefined && { name }), text, values: [...values] };
    const { rows } = await using(this.#pool ?? (await this.#opened()), client => client.query(query));
    return rows;
  }

  /**
   * Runs a statement once, on the connection for appends. Throws what `pg` throws. `onSent` hears when the statement is on its way: what
   * fails after that may have happened.
   */
  async write(statement: Statement, onSent: () => void): Promise<Done> {
    this.#requireOpen();
    if (this.#pool === undefined) await this.#opened();
    try {
      const { rows, rowCount } = await this.#appends.ask(statement, onSent);
      return { rows, count: rowCount ?? 0 };
    } catch (cause) {
      if (areOtherTables(cause)) await this.#requireFormat();
      throw cause;
    }
  }

  /** How long something may be tried again. */
  patience(): Patience {
    return new Patience(this.#pool === undefined ? 0 : this.#options.reconnectMs, this.place, () => this.#isClosed);
  }

  /** Brings the tables up to date, whether or not the store does so by itself. */
  async migrate(): Promise<Migrated> {
    const pool = await this.#makePool();
    try {
      return await this.#migrate(pool);
    } catch (cause) {
      throw failureOf(cause, this.place);
    } finally {
      await pool.end();
    }
  }

  /** Settings for a connection beside the pools. */
  get config(): PoolConfig {
    const { connectTimeoutMs, statementTimeoutMs } = this.#options;
    return {
      ...this.#target.config,
      application_name: 'looprig',
      keepAlive: true,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: statementTimeoutMs + GRACE_MS,
    };
  }

  /** Lets go of all connections, after what is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const pool = await this.#opening?.catch(() => undefined);
    this.#appends.end();
    await pool?.end();
  }

  /** Connects, and makes or checks the tables, where that has not been done. */
  async open(): Promise<void> {
    await this.#opened();
  }

  #requireOpen(): void {
    if (this.#isClosed) throw closed(this.place.label);
  }

  #opened(): Promise<Pool> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** A store that could not be opened is opened at a later use. */
  async #open(): Promise<Pool> {
    let pool: Pool | undefined;
    try {
      pool = await this.#makePool();
      await this.#prepare(pool);
      this.#pool = pool;
      return pool;
    } catch (cause) {
      this.#opening = undefined;
      await pool?.end();
      throw failureOf(cause, this.place);
    }
  }

  async #makePool(): Promise<Pool> {
    const { Pool } = await loadPg();
    const pool = new Pool({
      ...this.config,
      max: this.#options.connections - 1,
      onConnect: client => this.#configure(client),
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    // An idle connection that breaks is taken out of the pool, and that is all.
    pool.on('error', () => undefined);
    return pool;
  }

  #configure(client: ClientBase): Promise<unknown> {
    return client.query(SETTINGS, [this.#options.statementTimeoutMs]);
  }

  async #prepare(pool: Pool): Promise<void> {
    const version = await using(pool, client => versionOf(client, this.place, this.#wanted));
    if (version === this.version) return;
    if (this.#options.migrate) await this.#migrate(pool);
    else throw olderFormat(this.place, version);
  }

  #migrate(pool: Pool): Promise<Migrated> {
    return using(pool, client => migrateTables(client, this.place, this.#wanted));
  }

  /** Throws where another program has changed the tables since they were opened. */
  async #requireFormat(): Promise<void> {
    const [format] = await this.ask({ text: `SELECT version FROM ${this.schema}.format`, values: [] });
    if (format?.version !== this.version) throw newerFormat(this.place, Number(format?.version), this.version);
  }
}

/** Waits between attempts, and says when it is enough. */
export class Patience {
  readonly #until: number;
  readonly #place: FailurePlace;
  readonly #isClosed: () => boolean;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(ms: number, place: FailurePlace, isClosed: () => boolean) {
    this.#until = performance.now() + ms;
    this.#place = place;
    this.#isClosed = isClosed;
  }

  /** Returns when it may be tried again. Throws the failure, where another attempt is of no use or comes too late. */
  async pause(cause: unknown): Promise<void> {
    const left = this.#until - performance.now();
    if (this.#isClosed()) throw closed(this.#place.label);
    if (!isLost(cause) || left <= 0) throw failureOf(cause, this.#place);
    await sleep(Math.min(this.#pauseMs, left));
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

function olderFormat({ label, schema }: FailurePlace, version: number): JournalError {
  const has = version === 0 ? 'has no tables of a store' : `has tables of format ${version}`;
  const message = `the schema "${schema}" of the database ${label} ${has}: bring it up to date with migrate()`;
  return new JournalError('store_failed', message);
}

/** Does something with a connection of the pool, which loses it if that fails. */
async function using<T>(pool: Pool, work: (client: ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const onError = (): void => undefined; // what it was asked rejects too
  client.on('error', onError);
  try {
    const result = await work(client);
    client.release();
    return result;
  } catch (cause) {
    client.release(true);
    throw cause;
  } finally {
    client.off('error', onError);
  }
}
