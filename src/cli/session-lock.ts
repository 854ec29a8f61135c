/**
 * One process at a time works on a session. The journal would refuse the second one to write, but only after it had begun; this tells it
 * before. The lock is SQLite's on an empty file: the system gives it back however a process ends.
 */
import { stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { sqlite } from '../node/sqlite.ts';
import { makeRunsFolder, runsFolder } from './run-settings.ts';
import type { StorePlace } from './store-place.ts';

/** How long a lock is waited for, in milliseconds: as long as it takes another process to look whether there is one. */
const PATIENCE_MS = 100;

/** Another process works on the session. The exit status is one of its own. */
export class SessionInUseError extends Error {
  override readonly name = 'SessionInUseError';
}

/** A lock that is held. */
export interface SessionLock {
  /** Gives it back. */
  release(): Promise<void>;
}

/**
 * Locks a session. Throws `SessionInUseError`, with `shown` as its name, where another process has it. Beside a store without a place there
 * is no lock: there the journal alone tells the two apart.
 */
export async function lockSession(
  place: StorePlace | undefined,
  sessionId: string,
  shown: string,
): Promise<SessionLock> {
  if (place === undefined) return { release: () => Promise.resolve() };
  await makeRunsFolder(place);
  const lock = await tryLock(lockFile(place, sessionId));
  if (lock !== undefined) return lock;
  throw new SessionInUseError(`another process works on session ${shown}: wait until it has ended`);
}

/** Whether another process works on the session right now. */
export async function isLocked(place: StorePlace | undefined, sessionId: string): Promise<boolean> {
  if (place === undefined) return false;
  const file = lockFile(place, sessionId);
  if ((await inode(file)) === undefined) return false;
  const { DatabaseSync } = sqlite();
  const database = new DatabaseSync(file);
  try {
    database.exec('PRAGMA busy_timeout = 0; SELECT 1 FROM sqlite_schema'); // reading keeps out nobody who also reads
    return false;
  } catch (cause) {
    if (isBusy(cause)) return true;
    throw cause;
  } finally {
    database.close();
  }
}

async function tryLock(file: string): Promise<SessionLock | undefined> {
  const { DatabaseSync } = sqlite();
  for (;;) {
    const database = new DatabaseSync(file);
    try {
      const before = await inode(file);
      database.exec(`PRAGMA busy_timeout = ${PATIENCE_MS}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`);
      // Whoever held it last may have taken the file away just now: then this lock is of a file that nobody else will find.
      if (before !== undefined && before === (await inode(file))) {
        return { release: () => giveBack(file, database) };
      }
    } catch (cause) {
      database.close();
      if (isBusy(cause)) return undefined;
      throw cause;
    }
    database.close();
  }
}

/** The file goes first: whoever opens it before it is unlocked sees that it is gone. */
async function giveBack(file: string, database: DatabaseSync): Promise<void> {
  await unlink(file).catch(() => {}); // some systems keep what is open; it is empty, and used again
  database.close();
}

function lockFile(place: StorePlace, sessionId: string): string {
  return join(runsFolder(place), `${encodeURIComponent(sessionId)}.lock`);
}

async function inode(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.ino;
}

/** SQLITE_BUSY. */
function isBusy(cause: unknown): boolean {
  return typeof cause === 'object' && cause !== null && Reflect.get(cause, 'errcode') === 5;
}
