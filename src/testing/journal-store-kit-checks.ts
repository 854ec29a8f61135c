/** What the tests of a journal store say about one. Each throws, with what was expected and what was there. */
import { JournalConflictError } from '../errors.ts';
import type { JournalRecord, JournalStore, StoredSession } from '../journal/journal.ts';
import { difference } from './difference.ts';

/** A test of a store: a fact about every store, and what rejects if it does not hold. */
export type StoreCheck = readonly [name: string, check: (store: JournalStore) => Promise<void>];

/** A store may fail by throwing or by rejecting; here it is all rejection. */
export async function append(
  store: JournalStore,
  sessionId: string,
  expectedSeq: number,
  records: readonly JournalRecord[],
): Promise<void> {
  await store.append(sessionId, expectedSeq, records);
}

export async function readAll(store: JournalStore, sessionId: string, fromSeq: number): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, fromSeq)) records.push(record);
  return records;
}

export async function journalIs(
  store: JournalStore,
  sessionId: string,
  expected: readonly JournalRecord[],
): Promise<void> {
  same(await readAll(store, sessionId, 1), expected, 'the journal');
  same((await store.find(sessionId))?.lastSeq, expected.length, 'the last number of the session found');
}

export async function captureIs(store: JournalStore, sessionId: string, id: string, bytes: Uint8Array): Promise<void> {
  const found = await store.getCapture(sessionId, id);
  if (found === undefined) throw new Error(`the capture ${id} is not there`);
  const place = bytes.findIndex((byte, index) => byte !== found[index]);
  if (found.length === bytes.length && place < 0) return;
  throw new Error(`the capture has ${found.length} bytes, expected ${bytes.length}; they differ at ${place}`);
}

export async function refuses(attempt: Promise<void>, what: string): Promise<unknown> {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error(`${what} must be refused, but was taken`);
  return outcome.reason;
}

export function isConflict(
  error: unknown,
  expected?: { readonly sessionId: string; readonly expectedSeq: number; readonly actualSeq: number },
): void {
  if (!JournalConflictError.is(error))
    throw new Error(`expected a JournalConflictError, not ${error}`, { cause: error });
  if (expected === undefined) return;
  const { sessionId, expectedSeq, actualSeq } = error;
  same({ sessionId, expectedSeq, actualSeq }, expected, 'what the conflict says');
}

export function requireTimes(session: StoredSession | undefined): void {
  const { createdAt = Number.NaN, updatedAt = Number.NaN } = session ?? {};
  if (Number.isFinite(createdAt) && createdAt <= updatedAt) return;
  throw new Error(`createdAt (${createdAt}) must be a time at or before updatedAt (${updatedAt})`);
}

export function same(actual: unknown, expected: unknown, what: string): void {
  const found = difference(actual, expected);
  if (found !== undefined) throw new Error(`${what} is not as expected: ${found}`);
}
