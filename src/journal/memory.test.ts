import { describe, expect, test } from 'vitest';
import { JournalConflictError, JournalError } from '../errors.ts';
import { journalStoreKit } from '../testing/journal-store-kit.ts';
import { note, numbers } from '../testing/journal-store-records.ts';
import type { JournalRecord } from './journal.ts';
import { memoryStore } from './memory.ts';

async function readAll(reader: AsyncIterable<JournalRecord>): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of reader) records.push(record);
  return records;
}

describe('the memory store is a journal store:', () => {
  for (const { name, run } of journalStoreKit(memoryStore)) test(name, run);
});

test('an append is done when it returns', async () => {
  const store = memoryStore();
  expect(store.append('a', 0, [note(1)])).toBeUndefined();
  expect(await store.find('a')).toEqual({ sessionId: 'a', lastSeq: 1, createdAt: 10, updatedAt: 10, place: '1' });
});

test('a refused append throws before it returns', async () => {
  const store = memoryStore();
  await store.append('a', 0, [note(1)]);
  expect(() => store.append('a', 0, [note(1)])).toThrow(JournalConflictError);
  expect(() => store.append('a', 1, [note(3)])).toThrow(JournalError);
});

test('an append of no records makes no session', async () => {
  const store = memoryStore();
  await store.append('a', 0, []);
  expect(await store.list()).toEqual([]);
});

test('records are kept as they are, and the list they came in is not', async () => {
  const store = memoryStore();
  const records = [note(1), note(2)];
  await store.append('a', 0, records);
  const [first] = records;
  records.length = 0;
  const read = await readAll(store.read('a', 1));
  expect(read).toHaveLength(2);
  expect(read[0]).toBe(first);
});

test('a reader gets what was there when it asked, however late it begins', async () => {
  const store = memoryStore();
  await store.append(
    'a',
    0,
    numbers(1, 3).map(seq => note(seq)),
  );
  const reader = store.read('a', 2);
  await store.append('a', 3, [note(4)]);
  expect(await readAll(reader)).toEqual([note(2), note(3)]);
});
