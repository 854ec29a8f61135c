/** What went wrong with a file, in one sentence each. */

import { reasonOf } from '../../reason.ts';
import type { Failure, FileOptions } from './protocol.ts';

/** Thrown on the file's side; goes to the store as data. */
export class StoreFailure extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Primary result codes of SQLite. */
const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const TOOBIG = 18;
const NOTADB = 26;

/** What a thrown value says of the file. */
export function failureOf(cause: unknown, { file, busyTimeoutMs }: FileOptions): Failure {
  if (cause instanceof StoreFailure) return cause.failure;
  const reason = reasonOf(cause);
  switch (codeOf(cause)) {
    case BUSY:
    case LOCKED:
      return {
        ...failed(`the store ${file} is locked: another program kept it for more than ${busyTimeoutMs} ms`, reason),
        isLocked: true,
      };
    case READONLY:
      return failed(`the store ${file} is read-only: a store must be writable`, reason);
    case FULL:
      return failed(`the store ${file} is full: the disk has no space left, or "maxBytes" is reached`, reason);
    case IOERR:
      return failed(`the disk failed under the store ${file}`, reason);
    case CANTOPEN:
      return failed(`the store ${file} cannot be opened: its folder must exist and be writable`, reason);
    case TOOBIG:
      return failed(`an append is too large for the store ${file}`, reason);
    case NOMEM:
      return failed(`there is not enough memory for the store ${file}`, reason);
    case CORRUPT:
    case NOTADB:
      return { kind: 'damaged', message: `the store ${file} is damaged: restore a backup of it`, reason };
    default:
      return failed(`the store ${file} failed`, reason);
  }
}

/** Whether the bytes of the file, and not its surroundings, are at fault. */
export function isDamage(cause: unknown): boolean {
  return [CORRUPT, NOTADB].includes(codeOf(cause));
}

/** Whether the file is none of SQLite's. */
export function isNoDatabase(cause: unknown): boolean {
  return codeOf(cause) === NOTADB;
}

/** Whether it is this write that does not fit, so that others of its group may. */
export function isOfOneWrite(cause: unknown): boolean {
  return [FULL, TOOBIG, NOMEM].includes(codeOf(cause));
}

function codeOf(cause: unknown): number {
  const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'errcode') : undefined;
  return typeof code === 'number' ? code & 0xff : 0;
}

function failed(message: string, reason: string): Failure {
  return { kind: 'store_failed', message: `${message} (${reason})`, reason };
}
