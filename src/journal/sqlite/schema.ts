/**
 * The tables of a store's file, and how an older file becomes a newer one.
 *
 * One row of `batch` is one append, whatever its session: what is written together lies together, so that a commit touches few pages.
 * A row knows the one before it of its session, by number and by checksum; the session's row knows its last.
 */
import type { DatabaseSync } from 'node:sqlite';

/** "loop" in ASCII: says whose file it is. */
export const APPLICATION_ID = 0x6c6f6f70;

/** One step from a version of the format to the next. The first makes the tables of version 1. */
export type Migration = (database: DatabaseSync) => void;

export const MIGRATIONS: readonly Migration[] = [
  database => {
    database.exec(`
      CREATE TABLE session (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        last_seq INTEGER NOT NULL,
        last_batch INTEGER NOT NULL,
        checksum TEXT NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
      ) STRICT;
      CREATE TABLE batch (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        first_seq INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        previous INTEGER NOT NULL,
        checksum TEXT NOT NULL,
        records TEXT NOT NULL
      ) STRICT;
      CREATE TABLE capture (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        hash BLOB NOT NULL,
        bytes BLOB NOT NULL,
        UNIQUE (session, hash)
      ) STRICT;
    `);
  },
  database => {
    // Its numbers are not used again, so that a new mail is never taken for one that was removed.
    database.exec(`
      CREATE TABLE mail (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL,
        name TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (session, name)
      ) STRICT;
    `);
  },
];

/** The version that a file has. */
export function versionOf(database: DatabaseSync): number {
  return numberOf(database, 'user_version');
}

/** Whose file it is. */
export function applicationOf(database: DatabaseSync): number {
  return numberOf(database, 'application_id');
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]);
}

/** Brings a file to the newest version, in one transaction. Two programs may do it at once: the second finds it done. */
export function migrate(database: DatabaseSync, migrations: readonly Migration[]): void {
  if (versionOf(database) >= migrations.length) return;
  database.exec('BEGIN EXCLUSIVE');
  try {
    const from = versionOf(database);
    for (const migration of migrations.slice(from)) migration(database);
    if (from < migrations.length) {
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
    }
    database.exec('COMMIT');
  } catch (cause) {
    rollBack(database);
    throw cause;
  }
}

/** Ends a transaction that failed, if the failure did not end it already. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec('ROLLBACK');
  } catch {
    // A full disk rolls back by itself, and then there is nothing to end.
  }
}
