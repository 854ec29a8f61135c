import { describe, expect, test } from 'vitest';
import { JournalError } from '../errors.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import { memoryStore } from '../journal/memory.ts';
import { faultyStore, type StoreFault } from './faulty-store.ts';
import { note } from './journal-store-records.ts';

async function numbersIn(store: JournalStore, id: string): Promise<number[]> {
  const seen: JournalRecord[] = [];
  for await (const record of store.read(id, 1)) seen.push(record);
  return seen.map(({ seq }) => seq);
}

describe('a faulty store', () => {
  test('is the other store where nothing is planned', async () => {
    const store = faultyStore(memoryStore(), {});
    expect(store.append('a', 0, [note(1)])).toBeUndefined();
    expect(await numbersIn(store, 'a')).toEqual([1]);
    expect(await store.find('a')).toMatchObject({ lastSeq: 1 });
    expect((await store.list()).length).toBe(1);
    const id = await store.putCapture('a', new Uint8Array([1]));
    expect(await store.getCapture('a', id)).toEqual(new Uint8Array([1]));
    expect(store.appends).toBe(1);
  });

  test.each<[StoreFault, number[]]>([
    [{ how: 'reject' }, [1]],
    [{ how: 'reject', when: 'after' }, [1, 2, 3, 4]],
    [{ how: 'half' }, [1, 2, 3]],
    [{ how: 'pass' }, [1, 2, 3, 4]],
  ])('at an append planned as %j keeps the records %j', async (fault, expected) => {
    const store = faultyStore(memoryStore(), { 2: fault });
    await store.append('a', 0, [note(1)]);
    const [outcome] = await Promise.allSettled([store.append('a', 1, [note(2), note(3), note(4)])]);
    expect(outcome.status).toBe(fault.how === 'pass' ? 'fulfilled' : 'rejected');
    expect(await numbersIn(store, 'a')).toEqual(expected);
    if (fault.how === 'pass') return;
    expect(outcome).toMatchObject({
      reason: { name: 'JournalError', kind: 'store_failed', message: expect.stringContaining('append 2') },
    });
  });

  test('throws before it returns, with the error of the plan', () => {
    const error = new Error('disk gone');
    const store = faultyStore(memoryStore(), { 1: { how: 'throw', error }, 2: { how: 'throw', when: 'after' } });
    expect(() => store.append('a', 0, [note(1)])).toThrow(error);
    expect(() => store.append('a', 0, [note(1)])).toThrow(JournalError);
    expect(() => store.append('a', 1, [note(2)])).not.toThrow();
  });

  test('rejects where the append that took effect is not done yet', async () => {
    const kept = memoryStore();
    const slow = faultyStore(kept, () => ({ how: 'pass' }));
    const thrown = faultyStore(slow, { 1: { how: 'throw', when: 'after' } }).append('a', 0, [note(1)]);
    await expect(thrown).rejects.toThrow('append 1');
  });

  test('waits as long as the plan says, and what takes effect does so at once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const store = faultyStore(memoryStore(), { 1: { how: 'pass', until: promise } });
    let settled = false;
    const append = Promise.resolve(store.append('a', 0, [note(1)])).then(() => {
      settled = true;
    });
    expect(await numbersIn(store, 'a')).toEqual([1]);
    expect(settled).toBe(false);
    resolve();
    await append;
    expect(settled).toBe(true);
  });

  test('plans by what is appended', async () => {
    const store = faultyStore(memoryStore(), ({ sessionId, records }) =>
      sessionId === 'b' && records.length > 1 ? { how: 'reject' } : undefined,
    );
    await store.append('a', 0, [note(1), note(2)]);
    await store.append('b', 0, [note(1)]);
    await expect(Promise.resolve(store.append('b', 1, [note(2), note(3)]))).rejects.toThrow('append 3');
  });
});
