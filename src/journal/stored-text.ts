/** Records and mails as the text that a database keeps, and back: what cannot be kept or read is told in a sentence. */
import { JournalDamagedError, JournalError } from '../errors.ts';
import { reasonOf } from '../reason.ts';
import { decodeMail, decodeRecords, encodeMail, encodeRecords } from './codec.ts';
import type { JournalRecord } from './journal.ts';
import type { Mail } from './mailbox.ts';
import { problemWithMail, problemWithRecord } from './shape.ts';

/**
 * The records of one append as text: JSON, in which bytes, URLs, members that are `undefined` and numbers that JSON lacks have a notation. Throws
 * `JournalError` `store_failed` for what no text can hold: a function, a symbol, a `Map`, a cycle.
 */
export function textOfRecords(records: readonly JournalRecord[], expectedSeq: number): string {
  try {
    return encodeRecords(records);
  } catch (cause) {
    throw unkeepable(`a record after number ${expectedSeq}`, cause);
  }
}

/**
 * The records that `textOfRecords` made a text of, frozen throughout; the first has the number `firstSeq`. Throws `JournalDamagedError`, with the place, where it
 * is another text, or a record lacks what is relied on.
 */
export function recordsOfText(text: string, sessionId: string, firstSeq: number): JournalRecord[] {
  let records: JournalRecord[];
  try {
    records = decodeRecords(text);
  } catch (cause) {
    throw new JournalDamagedError(sessionId, firstSeq, 'it cannot be read', { cause });
  }
  records.forEach((record, index) => {
    const seq = firstSeq + index;
    const problem =
      problemWithRecord(record) ?? (record.seq === seq ? undefined : `record ${record.seq} stands in its place`);
    if (problem !== undefined) throw new JournalDamagedError(sessionId, seq, problem);
  });
  return records;
}

/** A mail as text, as records are. Throws `JournalError` `store_failed`. */
export function textOfMail(mail: Mail): string {
  try {
    return encodeMail(mail);
  } catch (cause) {
    throw unkeepable(`the mail ${mail.mailId}`, cause);
  }
}

/** The mail that `textOfMail` made a text of, frozen throughout. Throws `JournalError` `damaged`. */
export function mailOfText(text: string, sessionId: string): Mail {
  let mail: Mail;
  try {
    mail = decodeMail(text);
  } catch (cause) {
    throw damagedMail(sessionId, 'cannot be read', cause);
  }
  const problem = problemWithMail(mail);
  if (problem !== undefined) throw damagedMail(sessionId, `is none (${problem})`);
  return mail;
}

function damagedMail(sessionId: string, what: string, cause?: unknown): JournalError {
  return new JournalError('damaged', `a mail of session ${sessionId} ${what}: restore a backup`, { cause });
}

/** When a record was made, as a database can keep it. */
export function timeOf(record: JournalRecord | undefined): number {
  return Number.isFinite(record?.at) ? (record?.at ?? 0) : 0;
}

function unkeepable(what: string, cause: unknown): JournalError {
  const reason = reasonOf(cause, 'it cannot be read');
  return new JournalError('store_failed', `${what} cannot be kept: ${reason}`, { cause });
}
