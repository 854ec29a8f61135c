import { describe, expect, test } from 'vitest';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import { memoryStore } from '../journal/memory.ts';
import { journalStoreKit } from './journal-store-kit.ts';

/** The names of the cases that a memory store with one fault fails. */
async function failures(faulty: (store: JournalStore) => Partial<JournalStore>): Promise<string[]> {
  const failed: string[] = [];
  const create = (): JournalStore => {
    const store = memoryStore();
    const whole: JournalStore = {
      append: (...given) => store.append(...given),
      read: (...given) => store.read(...given),
      list: () => store.list(),
      find: id => store.find(id),
      putCapture: (...given) => store.putCapture(...given),
      getCapture: (...given) => store.getCapture(...given),
    };
    return { ...whole, ...faulty(store) };
  };
  for (const { name, run } of journalStoreKit(create)) await run().catch(() => failed.push(name));
  return failed;
}

async function* reversed(records: AsyncIterable<JournalRecord>): AsyncGenerator<JournalRecord> {
  const all: JournalRecord[] = [];
  for await (const record of records) all.unshift(record);
  yield* all;
}

async function* throughJSON(records: AsyncIterable<JournalRecord>): AsyncGenerator<JournalRecord> {
  for await (const record of records) yield Object.assign({}, JSON.parse(JSON.stringify(record).replaceAll('🙂', '?')));
}

describe('the kit finds a store that', () => {
  test('has no fault: nothing', async () => {
    expect(await failures(() => ({}))).toEqual([]);
  });

  test('lets a stale writer in', async () => {
    const failed = await failures(store => ({
      async append(id, expectedSeq, records) {
        try {
          await store.append(id, expectedSeq, records);
        } catch {
          // taken as if it had been written
        }
      },
    }));
    expect(failed).toEqual([
      'a batch with a gap in its numbers is refused whole',
      'a stale writer is refused with JournalConflictError, and nothing changes',
      'a writer that expects records in a session that has none is refused',
      'of two writers that race, exactly one wins',
      'a batch is appended as a whole or not at all',
    ]);
  });

  test('refuses with another error', async () => {
    const failed = await failures(store => ({
      async append(...given) {
        try {
          await store.append(...given);
        } catch {
          throw new Error('constraint failed');
        }
      },
    }));
    expect(failed).toContain('a stale writer is refused with JournalConflictError, and nothing changes');
    expect(failed).toContain('of two writers that race, exactly one wins');
  });

  test('writes the first half of a batch that it then refuses', async () => {
    const failed = await failures(store => ({
      async append(id, expectedSeq, records) {
        let seq = expectedSeq;
        for (const record of records) await store.append(id, seq++, [record]);
      },
    }));
    expect(failed).toEqual(['a batch with a gap in its numbers is refused whole']);
  });

  test('reads in another order', async () => {
    const failed = await failures(store => ({ read: (id, from) => reversed(store.read(id, from)) }));
    expect(failed).toContain('records are read back whole and in order');
  });

  test('reads from the beginning, whatever is asked', async () => {
    const failed = await failures(store => ({ read: id => store.read(id, 1) }));
    expect(failed).toEqual(['reading begins at the sequence number asked for']);
  });

  test('loses characters', async () => {
    const failed = await failures(store => ({ read: (id, from) => throughJSON(store.read(id, from)) }));
    expect(failed).toContain('large records come back whole');
    expect(failed).toContain('characters of all kinds and odd keys come back as they were');
  });

  test('lists by the time of opening', async () => {
    const failed = await failures(store => ({
      list: async () => [...(await store.list())].sort((one, other) => other.createdAt - one.createdAt),
    }));
    expect(failed).toEqual(['sessions are listed with the last written first']);
  });

  test('knows no session that it has not read', async () => {
    const failed = await failures(() => ({ find: async () => undefined }));
    expect(failed).toContain('a session is found by its id, with the number of its last record');
  });

  test('gives captures to everybody', async () => {
    const failed = await failures(store => ({
      putCapture: (_, bytes) => store.putCapture('all', bytes),
      getCapture: (_, id) => store.getCapture('all', id),
    }));
    expect(failed).toEqual(['a capture belongs to its session']);
  });

  test('names captures otherwise', async () => {
    const failed = await failures(store => ({
      putCapture: async (id, bytes) => (await store.putCapture(id, bytes)).toUpperCase(),
    }));
    expect(failed).toContain('a capture is kept under the SHA-256 of its bytes');
  });

  test('keeps the very bytes that it was given', async () => {
    const kept = new Map<string, Uint8Array>();
    const failed = await failures(store => ({
      async putCapture(session, bytes) {
        const id = await store.putCapture(session, bytes);
        kept.set(session + id, bytes);
        return id;
      },
      getCapture: async (session, id) => kept.get(session + id),
    }));
    expect(failed).toEqual(['a capture does not change with the bytes it was made of']);
  });
});

test('each case closes the store that it made, also when it fails', async () => {
  let closed = 0;
  const cases = journalStoreKit(() => ({
    ...memoryStore(),
    append: () => Promise.reject(new Error('disk full')),
    read: () => (async function* () {})(),
    list: async () => [],
    find: async () => undefined,
    putCapture: () => Promise.reject(new Error('disk full')),
    getCapture: async () => undefined,
    close: async () => {
      closed += 1;
    },
  }));
  await Promise.allSettled(cases.map(({ run }) => run()));
  expect(closed).toBe(cases.length);
});
