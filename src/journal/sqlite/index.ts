/** `looprig/sqlite`: journals in one file, for one machine. Needs Node 22.13 or later, and nothing else. */
import { resolve } from 'node:path';
import { readTyped } from '../../define/options.ts';
import { DefinitionError } from '../../errors.ts';
import { show } from '../../show.ts';
import type { JournalStore } from '../journal.ts';
import { SqliteStore } from './store.ts';

/** What `sqliteStore` takes. */
export interface SqliteStoreOptions {
  /** The file: a path, absolute or from the current folder. It is made at the first use; its folder must exist. */
  readonly file: string;
  /** How long to wait for a file that another program keeps locked, in milliseconds. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /**
   * Whether a thread of its own owns the file, so that the program never waits for the disk. Default false: a commit is quicker without
   * (no way to another thread and back), and keeps the program for as long as the disk takes. For a server with many sessions, or a slow disk.
   */
  readonly thread?: boolean;
  /**
   * What a commit waits for. `full`, the default: the disk, so that what was acknowledged survives a power cut. `normal`: the operating
   * system, so that what was acknowledged survives the end of the process however it comes, while a power cut or a crash of the system
   * may take back the last commits, in all sessions; what is left is whole.
   */
  readonly synchronous?: 'full' | 'normal';
  /** The most bytes that the file may grow to; an append beyond that fails as on a full disk. Default: what the disk has. */
  readonly maxBytes?: number;
}

const OPTIONS = ['file', 'busyTimeoutMs', 'thread', 'synchronous', 'maxBytes'] as const;

/**
 * A journal store in one SQLite file. An append is done when it is on disk (with `synchronous: 'normal'`, when the operating
 * system has it); what arrives in one tick is written together. The file is
 * opened at the first use, which rejects with `JournalError` where it cannot be: `foreign_file`, `newer_format`, `damaged`, `store_failed`.
 * Several stores, in one process or in several, may use one file. Throws `DefinitionError` for options that it cannot take.
 */
export function sqliteStore(options: SqliteStoreOptions): Required<JournalStore> {
  const given = readTyped(options, OPTIONS, 'sqliteStore');
  const { file, busyTimeoutMs = 5_000, thread = false, synchronous = 'full', maxBytes } = given;
  if (typeof file !== 'string' || file === '' || file.includes('\0')) {
    throw invalid('file', `"file" must be the path of a file, not ${show(file)}`, file);
  }
  if (file === ':memory:')
    throw invalid('file', '"file" must be the path of a file: for a store in memory use memoryStore()', file);
  if (!Number.isSafeInteger(busyTimeoutMs) || busyTimeoutMs < 0 || busyTimeoutMs > 2 ** 31 - 1) {
    throw invalid(
      'busyTimeoutMs',
      `"busyTimeoutMs" must be milliseconds, a whole number from 0, not ${show(busyTimeoutMs)}`,
      busyTimeoutMs,
    );
  }
  if (maxBytes !== undefined && (!Number.isSafeInteger(maxBytes) || maxBytes < LEAST_BYTES)) {
    throw invalid(
      'maxBytes',
      `"maxBytes" must be a whole number of at least ${LEAST_BYTES}, not ${show(maxBytes)}`,
      maxBytes,
    );
  }
  if (typeof thread !== 'boolean') {
    throw invalid('thread', `"thread" must be true or false, not ${show(thread)}`, thread);
  }
  if (synchronous !== 'full' && synchronous !== 'normal') {
    throw invalid('synchronous', `"synchronous" must be "full" or "normal", not ${show(synchronous)}`, synchronous);
  }
  return new SqliteStore({ file: resolve(file), busyTimeoutMs, maxBytes, synchronous }, thread);
}

/** Room for the tables and a few appends. */
const LEAST_BYTES = 65_536;

function invalid(field: string, message: string, value: unknown): DefinitionError {
  return new DefinitionError('invalid_option', { field, message, value });
}
