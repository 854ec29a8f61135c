/** What the SQLite store does beyond what every store does: groups, several programs on one file, a full disk, a locked file. */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JournalConflictError } from '../../errors.ts';
import { everyByte, freshId, note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalRecord, JournalStore } from '../journal.ts';
import { type SqliteStoreOptions, sqliteStore } from './index.ts';

let folder: string;
let file: string;
let stores: JournalStore[];
let hasThread: boolean;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-store-'));
  file = join(folder, 'sessions.db');
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map(store => store.close?.()));
  rmSync(folder, { recursive: true, force: true });
});

/** A store on the file, closed when the test ends. */
function open(options: Partial<SqliteStoreOptions> = {}): ReturnType<typeof sqliteStore> {
  const store = sqliteStore({ file, thread: hasThread, ...options });
  stores.push(store);
  return store;
}

async function readAll(store: JournalStore, id: string, from = 1): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(id, from)) records.push(record);
  return records;
}

/** How many transactions the file has seen, by the counter that each commit moves for other connections. */
function watchCommits(): { count(): number; close(): void } {
  const database = new DatabaseSync(file);
  const version = database.prepare('PRAGMA data_version');
  let [last, seen] = [Number(version.get()?.data_version), 0];
  return {
    count() {
      const now = Number(version.get()?.data_version);
      seen += now - last;
      last = now;
      return seen;
    },
    close: () => database.close(),
  };
}

describe.each([false, true])('with a thread of its own: %s:', thread => {
  beforeEach(() => {
    hasThread = thread;
  });

  describe('one transaction', () => {
    test('holds the appends of one tick, of any session: all of them are on disk, or none', async () => {
      const store = open();
      await store.list();
      const ids = numbers(1, 30).map(() => freshId());
      const watch = watchCommits();
      const before = statSync(`${file}-wal`).size;
      await Promise.all(ids.map(id => store.append(id, 0, [opened(1)])));
      // Each commit alone would write its own pages, of 4 KiB each.
      expect(statSync(`${file}-wal`).size - before).toBeLessThan(30 * 4_096);
      expect(watch.count()).toBe(1);
      watch.close();
    });

    test('is shared by appends that arrive while another is under way', async () => {
      const store = open();
      await store.list();
      const watch = watchCommits();
      const first = store.append('a', 0, [opened(1)]);
      await new Promise(next => setImmediate(next));
      const later = numbers(1, 10).map(index => store.append(`later ${index}`, 0, [opened(1)]));
      await Promise.all([first, ...later]);
      expect(await store.list()).toHaveLength(11);
      expect(watch.count()).toBeLessThanOrEqual(2);
      watch.close();
    });

    test('an append is in the file when it is acknowledged', async () => {
      const store = open();
      await store.append('a', 0, [opened(1), note(2)]);
      const database = new DatabaseSync(file);
      expect(database.prepare('SELECT name, last_seq FROM session').all()).toEqual([{ name: 'a', last_seq: 2 }]);
      database.close();
    });

    test('one row is one append', async () => {
      const store = open();
      await store.append('a', 0, [opened(1), note(2), note(3)]);
      await store.append('a', 3, [note(4)]);
      const database = new DatabaseSync(file);
      const rows = database.prepare('SELECT first_seq, last_seq, records FROM batch ORDER BY id').all();
      expect(rows.map(({ first_seq, last_seq }) => [first_seq, last_seq])).toEqual([
        [1, 3],
        [4, 4],
      ]);
      expect(JSON.parse(String(rows[1]?.records))).toEqual([note(4)]);
      database.close();
    });
  });

  describe('several stores on one file', () => {
    test('see what the others appended', async () => {
      const [one, two] = [open(), open()];
      await one.append('a', 0, [opened(1)]);
      expect(await readAll(two, 'a')).toEqual([opened(1)]);
      await two.append('a', 1, [note(2)]);
      expect(await one.find('a')).toMatchObject({ lastSeq: 2 });
    });

    test('refuse the one that is stale, and lose nothing', async () => {
      const writers = numbers(1, 4).map(() => open());
      await writers[0]?.append('a', 0, [opened(1)]);
      for (let seq = 2; seq <= 12; seq++) {
        const outcomes = await Promise.allSettled(
          writers.map((store, index) => store.append('a', seq - 1, [note(seq, `${index}`)])),
        );
        const lost = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []));
        expect(lost).toHaveLength(3);
        for (const reason of lost) {
          expect(reason).toBeInstanceOf(JournalConflictError);
          expect(reason).toMatchObject({ sessionId: 'a', expectedSeq: seq - 1, actualSeq: seq });
        }
      }
      expect((await readAll(writers[1] ?? open(), 'a')).map(({ seq }) => seq)).toEqual(numbers(1, 12));
    });

    test('read while another one writes', async () => {
      const [writer, reader] = [open(), open()];
      await writer.append('a', 0, [note(1)]);
      const writing = (async () => {
        for (let seq = 2; seq <= 60; seq++) await writer.append('a', seq - 1, [note(seq)]);
      })();
      let seen: JournalRecord[] = [];
      while (seen.length < 60) {
        const now = await readAll(reader, 'a');
        expect(now.length).toBeGreaterThanOrEqual(seen.length);
        expect(now).toEqual(numbers(1, now.length).map(seq => note(seq)));
        seen = now;
      }
      await writing;
    });
  });

  describe('a locked file', () => {
    test('is waited for', async () => {
      const store = open();
      await store.append('a', 0, [opened(1)]);
      const other = new DatabaseSync(file);
      other.exec('BEGIN IMMEDIATE');
      const append = store.append('a', 1, [note(2)]);
      // Readers need no lock.
      const reader = open();
      expect(await readAll(reader, 'a')).toEqual([opened(1)]);
      other.exec('COMMIT');
      await append;
      other.close();
      expect(await readAll(reader, 'a')).toEqual([opened(1), note(2)]);
    });

    test('that stays locked fails the append, and says so; later appends work', async () => {
      const store = open({ busyTimeoutMs: 30 });
      await store.append('a', 0, [opened(1)]);
      const other = new DatabaseSync(file);
      other.exec('BEGIN IMMEDIATE');
      await expect(store.append('a', 1, [note(2)])).rejects.toMatchObject({
        name: 'JournalError',
        kind: 'store_failed',
        message: expect.stringContaining(`${file} is locked: another program kept it for more than 30 ms`),
      });
      other.exec('COMMIT');
      other.close();
      await store.append('a', 1, [note(2)]);
      expect(await readAll(store, 'a')).toEqual([opened(1), note(2)]);
    });

    test('cannot be opened while another program has it for itself, and can later', async () => {
      await open().append('a', 0, [opened(1)]);
      await stores.pop()?.close?.();
      const other = new DatabaseSync(file);
      other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
      const store = open({ busyTimeoutMs: 30 });
      await expect(store.list()).rejects.toMatchObject({
        kind: 'store_failed',
        message: expect.stringContaining('is locked'),
      });
      other.close();
      expect(await store.list()).toHaveLength(1);
    });
  });

  describe('a full disk', () => {
    const full = { name: 'JournalError', kind: 'store_failed', message: expect.stringContaining('is full') };
    const large = (seq: number): JournalRecord => note(seq, 'x'.repeat(200_000));

    test('fails the append, with nothing half written; what still fits is taken', async () => {
      const store = open({ maxBytes: 300_000 });
      await store.append('a', 0, [opened(1), large(2)]);
      await expect(store.append('a', 2, [note(3), large(4), note(5)])).rejects.toMatchObject(full);
      expect(await readAll(store, 'a')).toEqual([opened(1), large(2)]);
      await store.append('a', 2, [note(3)]);
      expect(await readAll(store, 'a', 3)).toEqual([note(3)]);
    });

    test('fails the append that needs the space, not those that arrived with it', async () => {
      const store = open({ maxBytes: 300_000 });
      await store.append('a', 0, [opened(1)]);
      const outcomes = await Promise.allSettled([
        store.append('b', 0, [opened(1)]),
        store.append('a', 1, [large(2), large(3)]),
        store.append('a', 7, [note(8)]),
        store.append('c', 0, [opened(1)]),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
      expect(outcomes[1]).toMatchObject({ reason: full });
      expect(outcomes[2]).toMatchObject({ reason: { name: 'JournalConflictError', actualSeq: 1 } });
      expect((await store.list()).map(({ sessionId }) => sessionId).toSorted()).toEqual(['a', 'b', 'c']);
    });

    test('fails each append in turn, at whichever it comes, and leaves the file whole', async () => {
      const store = open({ maxBytes: 150_000 });
      let [written, failures] = [0, 0];
      for (let attempt = 0; attempt < 60; attempt++) {
        const batch = numbers(written + 1, written + 3).map(seq => note(seq, 'y'.repeat(3_000)));
        const [outcome] = await Promise.allSettled([store.append('a', written, batch)]);
        if (outcome.status === 'fulfilled') written += 3;
        else failures += 1;
      }
      expect(failures).toBeGreaterThan(30);
      expect(written).toBeGreaterThan(10);
      await store.close();
      expect(statSync(file).size).toBeLessThanOrEqual(150_000 + 4_096);
      const roomy = open();
      expect((await readAll(roomy, 'a')).map(({ seq }) => seq)).toEqual(numbers(1, written));
      await roomy.append('a', written, [note(written + 1)]);
    });

    test('fails a capture', async () => {
      const store = open({ maxBytes: 100_000 });
      await expect(store.putCapture('a', everyByte(200_000))).rejects.toMatchObject(full);
      const id = await store.putCapture('a', everyByte(1_000));
      expect(await store.getCapture('a', id)).toEqual(everyByte(1_000));
    });
  });

  describe('captures', () => {
    test('are kept once a session, however often they are put', async () => {
      const store = open();
      const ids = await Promise.all([1, 2, 3].map(() => store.putCapture('a', everyByte(10))));
      await store.putCapture('b', everyByte(10));
      expect(new Set(ids).size).toBe(1);
      const database = new DatabaseSync(file);
      expect(database.prepare('SELECT session, count(*) AS n FROM capture GROUP BY session').all()).toEqual([
        { session: 'a', n: 1 },
        { session: 'b', n: 1 },
      ]);
      database.close();
    });

    test('that are in use may be changed by whoever gave them', async () => {
      const store = open();
      const bytes = everyByte(1 << 20);
      const putting = store.putCapture('a', bytes);
      bytes.fill(0);
      expect(await store.getCapture('a', await putting)).toEqual(everyByte(1 << 20));
    });
  });

  describe('closing', () => {
    test('waits for what was appended, also in the same tick', async () => {
      const store = open();
      const appends = numbers(1, 50).map(index => store.append(`${index}`, 0, [opened(1)]));
      await store.close();
      await Promise.all(appends);
      expect(await open().list()).toHaveLength(50);
    });

    test('twice, or before the first use, is closing once', async () => {
      const unused = open();
      await unused.close();
      const store = open();
      await store.append('a', 0, [opened(1)]);
      await Promise.all([store.close(), store.close()]);
      await store.close();
      await expect(unused.list()).rejects.toMatchObject({ kind: 'closed' });
    });

    test('is said to whoever comes after it', async () => {
      const store = open();
      await store.append('a', 0, [opened(1)]);
      await store.close();
      const closed = {
        name: 'JournalError',
        kind: 'closed',
        message: `the store ${file} is closed: make a new one with sqliteStore`,
      };
      await expect(store.append('a', 1, [note(2)])).rejects.toMatchObject(closed);
      await expect(store.append('a', 1, [])).rejects.toMatchObject(closed);
      await expect(readAll(store, 'a')).rejects.toMatchObject(closed);
      await expect(store.find('a')).rejects.toMatchObject(closed);
      await expect(store.putCapture('a', everyByte(1))).rejects.toMatchObject(closed);
    });

    test('leaves a store on the same file alone', async () => {
      const [one, two] = [open(), open()];
      await one.append('a', 0, [opened(1)]);
      await two.append('a', 1, [note(2)]);
      await one.close();
      await two.append('a', 2, [note(3)]);
      expect(await readAll(two, 'a')).toHaveLength(3);
    });
  });

  test('ids that differ in half a surrogate pair, a NUL or a quote are different sessions', async () => {
    const store = open();
    const ids = ['a\ud800', 'a\ud801', 'a\ufffd', 'a\0b', 'a', '"a"', '"a\\ud800"', JSON.stringify('a\ud800')];
    const different = [...new Set(ids)];
    for (const [index, id] of different.entries()) await store.append(id, 0, [note(1, `${index}`)]);
    for (const [index, id] of different.entries()) expect(await readAll(store, id)).toEqual([note(1, `${index}`)]);
    expect((await store.list()).map(({ sessionId }) => sessionId).toSorted()).toEqual(different.toSorted());
  });

  test('a record that cannot be kept fails its append alone', async () => {
    const store = open();
    const odd = Object.assign({}, note(1), { callback: () => 1 });
    await expect(store.append('a', 0, [odd])).rejects.toMatchObject({
      kind: 'store_failed',
      message: 'a record after number 0 cannot be kept: it holds a function',
    });
    await store.append('a', 0, [note(1)]);
  });

  test('a store that could not be opened is opened at a later use', async () => {
    rmSync(folder, { recursive: true });
    const store = open();
    await expect(store.append('a', 0, [opened(1)])).rejects.toMatchObject({ kind: 'store_failed' });
    mkdirSync(folder);
    await store.append('a', 0, [opened(1)]);
    expect(await store.list()).toHaveLength(1);
  });
});
