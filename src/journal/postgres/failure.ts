/** What went wrong with a database, in one sentence each. */
import { JournalError, type JournalErrorKind } from '../../errors.ts';
import { reasonOf } from '../../reason.ts';

/** Which database failed, and with what it was used. */
export interface FailurePlace {
  readonly label: string;
  readonly user: string;
  readonly schema: string;
  readonly statementTimeoutMs: number;
}

/** What a thrown value says of the database. A `JournalError` is what it is. */
export function failureOf(cause: unknown, place: FailurePlace): JournalError {
  if (JournalError.is(cause)) return cause;
  const { kind, sentence } = isLost(cause) ? unreachable(place) : refusal(codeOf(cause), place);
  const reason = reasonOf(cause);
  // Not the cause itself: what the client attaches to it may know the password.
  return new JournalError(kind, `${sentence} (${reason})`, { cause: new Error(reason) });
}

/** What is said of a store that was closed before. */
export function closed(labels: string): JournalError {
  return new JournalError('closed', `the store on the database ${labels} is closed: make a new one with postgresStore`);
}

interface Said {
  readonly kind: JournalErrorKind;
  readonly sentence: string;
}

function unreachable({ label }: FailurePlace): Said {
  return failed(`the database ${label} cannot be reached`);
}

function refusal(code: string, { label, user, schema, statementTimeoutMs }: FailurePlace): Said {
  switch (code) {
    case '28P01':
    case '28000':
      return failed(
        `the database ${label} refused the user "${user}": its password or its permission to connect is wrong`,
      );
    case '3D000':
      return failed(`the database ${label} does not exist: create it first`);
    case '42501':
      return failed(`the user "${user}" lacks a permission in the schema "${schema}" of the database ${label}`);
    case '42P01':
    case '42703':
    case '3F000':
      return failed(`the tables in the schema "${schema}" of the database ${label} are not those of a store`);
    case '53100':
      return failed(`the disk of the database ${label} is full`);
    case '57014':
      return failed(`the database ${label} took longer than ${statementTimeoutMs} ms (statementTimeoutMs)`);
    case '25006':
      return failed(`the database ${label} is read-only, as a standby is: a store must be writable`);
    case '54000':
      return failed(`it is too large for the database ${label}`);
    case 'XX001':
    case 'XX002':
      return { kind: 'damaged', sentence: `the database ${label} is damaged: restore a backup of it` };
    default:
      return failed(`the database ${label} failed`);
  }
}

function failed(sentence: string): Said {
  return { kind: 'store_failed', sentence };
}

/**
 * Whether the connection or the server is gone, and not the statement at fault: what was under way may or may not have happened, and it may
 * be tried again on another connection.
 */
export function isLost(cause: unknown): boolean {
  if (!(cause instanceof Error) || JournalError.is(cause) || cause instanceof TypeError) return false;
  const code = codeOf(cause);
  if (code === '') return !cause.message.startsWith('SASL');
  return code.startsWith('08') || code.startsWith('57P') || code === '53300';
}

/** Whether the tables are not those that were expected. */
export function areOtherTables(cause: unknown): boolean {
  return ['42P01', '42703', '3F000'].includes(codeOf(cause));
}

/** Whether two transactions met, so that the one that lost may be tried again. */
export function isCollision(cause: unknown): boolean {
  return ['40P01', '40001'].includes(codeOf(cause));
}

/** Whether the same may be taken alone, where it failed with others. */
export function isOfOneWrite(cause: unknown): boolean {
  return !isLost(cause) && codeOf(cause) !== '' && codeOf(cause) !== '57014';
}

/** The five characters in which PostgreSQL says what is wrong, or nothing. */
function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('severity' in cause)) return '';
  const code: unknown = Reflect.get(cause, 'code');
  return typeof code === 'string' ? code : '';
}
