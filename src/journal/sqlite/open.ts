/** Opens a store's file. What is not a store, or not one that this version can write, is refused before anything is written. */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { StoreFailure } from './failure.ts';
import type { FileOptions } from './protocol.ts';
import { APPLICATION_ID, applicationOf, type Migration, migrate, versionOf } from './schema.ts';

/** The bytes of a page. What the file may grow to is counted in pages. */
const PAGE_BYTES = 4_096;

/** An open database of the newest version. Throws `StoreFailure`, or what SQLite throws. */
export function openFile(options: FileOptions, migrations: readonly Migration[]): DatabaseSync {
  const { file, busyTimeoutMs, maxBytes } = options;
  checkPlace(file);
  checkHeader(file);
  const { DatabaseSync: Database } = sqlite();
  const database = new Database(file);
  try {
    // Waiting comes first: all that follows may meet another program.
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    checkIdentity(database, file, migrations.length);
    if (maxBytes !== undefined) database.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / PAGE_BYTES)}`);
    // The first tables are made before the file becomes a WAL file, so that its own header says at once whose it is.
    migrate(database, migrations);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    return database;
  } catch (cause) {
    database.close();
    throw cause;
  }
}

/** Node's SQLite, loaded without the warning that some versions print: that it is used is our decision, not the user's. */
function sqlite(): typeof import('node:sqlite') {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

function checkPlace(file: string): void {
  if (!existsSync(file)) {
    const folder = dirname(file);
    if (!existsSync(folder)) throw failed(`the folder of the store ${file} does not exist: make it first`);
    checkAccess(folder, constants.W_OK, `the store ${file} cannot be made: its folder is not writable`);
    return;
  }
  if (statSync(file).isDirectory()) throw failed(`the store ${file} is a folder: name a file in it`);
  if (!statSync(file).isFile()) throw failed(`the store ${file} is not a regular file: name one that is`);
  checkAccess(file, constants.R_OK, `the store ${file} cannot be read: this user has no permission`);
  checkAccess(file, constants.W_OK, `the store ${file} is read-only: a store must be writable`);
}

function checkAccess(path: string, mode: number, message: string): void {
  try {
    accessSync(path, mode);
  } catch (cause) {
    throw failed(message, cause);
  }
}

/**
 * Looks at the file's first bytes. SQLite itself would recover and lock a database of another program before it could be asked whose it is.
 */
function checkHeader(file: string): void {
  // What an unfinished first transaction left is for SQLite to take back.
  if (!existsSync(file) || existsSync(`${file}-journal`)) return;
  const header = firstBytes(file, 100);
  if (header.length === 0) return;
  if (header.length < 100 || !header.toString('latin1').startsWith('SQLite format 3\0')) {
    throw foreign(file, 'it is no SQLite database');
  }
  if (header.readUInt32BE(68) !== APPLICATION_ID) throw foreign(file, 'it is a database of another program');
}

function firstBytes(file: string, count: number): Buffer {
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(count);
    return bytes.subarray(0, readSync(handle, bytes, 0, count, 0));
  } finally {
    closeSync(handle);
  }
}

function checkIdentity(database: DatabaseSync, file: string, newest: number): void {
  const version = versionOf(database);
  const isOurs = applicationOf(database) === APPLICATION_ID;
  const isEmpty = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables === 0;
  if (!isOurs && !isEmpty) throw foreign(file, 'it is a database of another program');
  if (version > newest) throw new StoreFailure({ kind: 'newer_format', message: newerFormat(file, version, newest) });
}

/** What is said of a file that is ahead of this code. */
export function newerFormat(file: string, version: number, newest: number): string {
  return `the store ${file} has format ${version}, and this version of looprig knows up to ${newest}: use a newer looprig`;
}

function foreign(file: string, why: string): StoreFailure {
  return new StoreFailure({
    kind: 'foreign_file',
    message: `${file} is not a looprig store: ${why}; name another file`,
  });
}

function failed(message: string, cause?: unknown): StoreFailure {
  const reason = cause instanceof Error ? { reason: cause.message } : {};
  return new StoreFailure({ kind: 'store_failed', message, ...reason });
}
