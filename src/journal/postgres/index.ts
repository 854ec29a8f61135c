/** `looprig/postgres`: journals in PostgreSQL, for many processes on many machines. Needs the package `pg`. */
import type { JournalStore } from '../journal.ts';
import { Database } from './database.ts';
import { type PostgresOptions, resolveOptions } from './options.ts';
import type { Migrated } from './schema.ts';
import { PostgresStore } from './store.ts';

export type { PostgresConnection, PostgresOptions } from './options.ts';
export type { Migrated } from './schema.ts';

/**
 * A journal store in one PostgreSQL database, or in several. An append is done when it is committed; what arrives in one tick is one
 * transaction. The databases are connected to at the first use, which rejects with `JournalError` where that fails: `missing_package`, `store_failed`,
 * `foreign_file`, `newer_format`, `damaged`. Any number of stores, in any number of processes, may use one database. Throws
 * `DefinitionError` for options that it cannot take.
 */
export function postgresStore(options: PostgresOptions): JournalStore & { close(): Promise<void> } {
  return new PostgresStore(resolveOptions(options));
}

/**
 * Makes the tables of a store, or brings older ones up to date: each database in one transaction. Tables that are up to date are left
 * alone. Gives from which version to which each database was brought; 0 is none. Rejects with `JournalError`.
 */
export async function migrate(options: PostgresOptions): Promise<readonly Migrated[]> {
  const resolved = resolveOptions(options);
  const migrated: Migrated[] = [];
  for (const shard of resolved.targets.keys()) migrated.push(await new Database(resolved, shard).migrate());
  return migrated;
}
