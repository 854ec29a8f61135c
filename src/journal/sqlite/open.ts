/**
 * Opens a store's file. What is not a store, or not one that this version can write, is refused before anything is written.
 *
 * The file itself is opened by SQLite alone: to close a file of one's own on it would end the locks that other stores of this process
 * have there. The log and the journal beside it are not locked, and may be read.
 */
import { accessSync, chmodSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { sqlite } from '../../node/sqlite.ts';
import { reasonOf } from '../../reason.ts';
import { isNoDatabase, StoreFailure } from './failure.ts';
import { checkLog } from './log.ts';
import type { FileOptions } from './protocol.ts';
import { APPLICATION_ID, applicationOf, type Migration, migrate, versionOf } from './schema.ts';

/** The bytes of a page. What the file may grow to is counted in pages. */
const PAGE_BYTES = 4_096;

/**
 * How long the log may grow before it is taken into the file, in pages: 16 MB. The pages that every commit writes again, those of the
 * sessions, are then written there once for some thousand commits; and each time waits for the disk twice, whatever `synchronous` says.
 */
const LOG_PAGES = 4_000;

/** What this thread is kept for at most by another program that writes, in milliseconds. */
const SHORT_WAIT_MS = 10;

/** An open database of the newest version. Throws `StoreFailure`, or what SQLite throws. */
export function openFile(options: FileOptions, migrations: readonly Migration[]): DatabaseSync {
  const { file, maxBytes, synchronous } = options;
  checkPlace(file);
  checkJournal(file);
  if (existsSync(`${file}-wal`)) {
    // Opened for writing, the log of a program that ended would be taken into the file, whosever it is.
    connect(options, true, database => checkIdentity(database, file, migrations.length)).close();
    // Where no commit waited for the disk, a power cut may leave any page of the log unwritten, and what comes after it is lost by contract.
    if (synchronous === 'full') checkLog(file);
  }
  const isNew = !existsSync(file);
  return connect(options, false, database => {
    // What people say to a model is nobody else's business. The files beside it get the same mode.
    if (isNew) chmodSync(file, 0o600);
    checkIdentity(database, file, migrations.length);
    if (maxBytes !== undefined) database.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / PAGE_BYTES)}`);
    // The first tables are made before the file becomes a WAL file, so that its own header says at once whose it is.
    migrate(database, migrations);
    database.exec('PRAGMA journal_mode = WAL');
    database.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`);
    database.exec('PRAGMA journal_size_limit = 67108864');
    // What was deleted is not left in the free pages of the file.
    database.exec('PRAGMA secure_delete = ON');
  });
}

/** A connection, made ready; closed again if that fails. */
function connect(options: FileOptions, readOnly: boolean, prepare: (database: DatabaseSync) => void): DatabaseSync {
  const { DatabaseSync: Database } = sqlite();
  const database = new Database(options.file, { readOnly });
  try {
    // All that follows may meet another program. A short wait is SQLite's own; a long one is the store's, which can do other things meanwhile.
    database.exec(`PRAGMA busy_timeout = ${Math.min(options.busyTimeoutMs, SHORT_WAIT_MS)}`);
    prepare(database);
    return database;
  } catch (cause) {
    database.close();
    throw isNoDatabase(cause) ? foreign(options.file, 'it is no SQLite database') : cause;
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
 * A journal beside the file is from a transaction that did not end. A store has one only while its first tables are made, when the file
 * had no page before, and while it becomes a WAL file, which rewrites its first page: both are taken back and begun again. Any other is
 * another program's, and for that to take back.
 */
function checkJournal(file: string): void {
  const journal = `${file}-journal`;
  if (!existsSync(journal)) return;
  const header = firstBytes(journal, 20);
  const isHot = header.length === 20 && header[0] !== 0; // its first bytes are written last, before the file itself is touched
  if (isHot && header.readUInt32BE(16) > 0 && !isOursIn(journal))
    throw foreign(file, 'it has an unfinished transaction of another program');
}

/** Where a page's number stands before it in a journal, and where in a file's first page the id of its program. */
const PAGE_NUMBER_BYTES = 4;
const APPLICATION_ID_AT = 68;

/**
 * Whether the first page that a journal keeps is the first of a store. The format is that of SQLite's documentation: the size of a sector
 * at byte 20 of the header, which fills one, and then each page behind its number.
 */
function isOursIn(journal: string): boolean {
  const header = firstBytes(journal, 24);
  if (header.length < 24) return false;
  const sector = header.readUInt32BE(20);
  const idAt = sector + PAGE_NUMBER_BYTES + APPLICATION_ID_AT;
  if (sector > 65_536) return false;
  const kept = firstBytes(journal, idAt + 4);
  return kept.length === idAt + 4 && kept.readUInt32BE(sector) === 1 && kept.readUInt32BE(idAt) === APPLICATION_ID;
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
  const reason = cause === undefined ? {} : { reason: reasonOf(cause) };
  return new StoreFailure({ kind: 'store_failed', message, ...reason });
}
