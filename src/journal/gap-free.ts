import { JournalError } from '../errors.ts';
import type { JournalRecord } from './journal.ts';

/** Asks what every store asks of what it is to append: that the records count on from `expectedSeq`, one by one. Throws `JournalError` `store_failed`. */
export function requireGapFree(records: readonly JournalRecord[], expectedSeq: number): void {
  let expected = expectedSeq;
  for (const { seq } of records) {
    expected += 1;
    if (seq === expected) continue;
    throw new JournalError('store_failed', `a record to append has sequence number ${seq}, ${expected} is next`);
  }
}
