/** A medium that lies: whatever bytes of the file are changed, a journal comes back as it was written, or the damage is said. */
import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JournalDamagedError, JournalError } from '../../errors.ts';
import { everyByte, note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalRecord, JournalStore } from '../journal.ts';
import { sqliteStore } from './index.ts';

const SESSIONS = ['a', 'b', 'c', 'd', 'e', 'f'];
const RECORDS = 40;

let folder: string;
let whole: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-damage-'));
  whole = join(folder, 'whole.db');
  const store = sqliteStore({ file: whole });
  for (let seq = 1; seq <= RECORDS; seq += 2) {
    await Promise.all(SESSIONS.map(id => store.append(id, seq - 1, recordsOf(id).slice(seq - 1, seq + 1))));
  }
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function recordsOf(id: string): JournalRecord[] {
  return [opened(1), ...numbers(2, RECORDS).map(seq => note(seq, `${id} ${seq} ${'some text '.repeat(seq)}`))];
}

/** A copy of the whole file, changed. */
function damagedCopy(name: string, change: (file: string) => void): string {
  const file = join(folder, `${name}.db`);
  copyFileSync(whole, file);
  change(file);
  return file;
}

function sql(file: string, statement: string): void {
  const database = new DatabaseSync(file);
  database.exec(statement);
  database.close();
}

interface Reading {
  readonly seen: readonly JournalRecord[];
  readonly error: unknown;
}

async function readAsFarAsPossible(store: JournalStore, id: string): Promise<Reading> {
  const seen: JournalRecord[] = [];
  try {
    for await (const record of store.read(id, 1)) seen.push(record);
    return { seen, error: undefined };
  } catch (error) {
    return { seen, error };
  }
}

async function withStore<T>(file: string, use: (store: JournalStore) => Promise<T>): Promise<T> {
  const store = sqliteStore({ file });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

describe('a change of what the tables say', () => {
  test.each([
    ['the number of a row', 'UPDATE batch SET first_seq = first_seq + 1 WHERE session = 1 AND first_seq = 11', 11],
    ['the last number of a row', 'UPDATE batch SET last_seq = last_seq + 1 WHERE session = 1 AND first_seq = 11', 11],
    ['the checksum of a row', "UPDATE batch SET checksum = 'AA' WHERE session = 1 AND first_seq = 11", 11],
    ['the link of a row', 'UPDATE batch SET previous = previous - 1 WHERE session = 1 AND first_seq = 11', 41],
    ['a link in a circle', 'UPDATE batch SET previous = id WHERE session = 1 AND first_seq = 11', 41],
    ['the session of a row', 'UPDATE batch SET session = 2 WHERE session = 1 AND first_seq = 11', 11],
    ['the last number of the session', 'UPDATE session SET last_seq = 38 WHERE id = 1', 41],
    ['the last row of the session', 'UPDATE session SET last_batch = last_batch - 6 WHERE id = 1', 41],
    ['the checksum of the session', "UPDATE session SET checksum = 'AA' WHERE id = 1", 40],
    [
      'rows of another session in place of its own',
      `
      DELETE FROM batch WHERE session = 1;
      UPDATE batch SET session = 1 WHERE session = 2;
      UPDATE session SET last_batch = (SELECT max(id) FROM batch WHERE session = 1), checksum = (SELECT checksum FROM batch WHERE session = 1 ORDER BY id DESC) WHERE id = 1`,
      1,
    ],
  ])('is found, with its place: %s', async (name, statement, seq) => {
    const file = damagedCopy(name, copy => sql(copy, statement));
    await withStore(file, async store => {
      const id = String((await sessionOfRow(file)) ?? 'a');
      const { seen, error } = await readAsFarAsPossible(store, id);
      expect(error).toBeInstanceOf(JournalDamagedError);
      expect(error).toMatchObject({ name: 'JournalDamagedError', kind: 'damaged', sessionId: id, seq });
      expect(seen).toEqual(recordsOf(id).slice(0, seen.length));
      expect(seen.length).toBeGreaterThanOrEqual(seq - 1);
      expect((await store.list()).length).toBe(SESSIONS.length);
    });
  });

  /** Sessions are numbered in the order in which their first appends arrived. */
  async function sessionOfRow(file: string): Promise<unknown> {
    const database = new DatabaseSync(file);
    const name = database.prepare('SELECT name FROM session WHERE id = 1').get()?.name;
    database.close();
    return name;
  }

  test('of a capture is found', async () => {
    const file = damagedCopy('capture', () => {});
    const id = await withStore(file, store => store.putCapture('a', everyByte(100)));
    sql(file, "UPDATE capture SET bytes = x'0102'");
    await withStore(file, async store => {
      await expect(store.getCapture('a', id)).rejects.toMatchObject({ name: 'JournalError', kind: 'damaged' });
    });
  });
});

test('whatever page of the file is overwritten, no journal comes back altered, and nothing is left out in silence', async () => {
  const pages = statSync(whole).size / 4_096;
  expect(pages).toBeGreaterThan(20);
  let [damagedSessions, wholeSessions, refusedFiles] = [0, 0, 0];
  for (let page = 0; page < pages; page++) {
    const file = damagedCopy('page', copy => overwrite(copy, page * 4_096 + 100, everyByte(3_000)));
    await withStore(file, async store => {
      const list = await store.list().catch((error: unknown) => error);
      if (JournalError.is(list)) {
        expect(['damaged', 'foreign_file']).toContain(list.kind);
        refusedFiles += 1;
        return;
      }
      for (const id of SESSIONS) {
        const { seen, error } = await readAsFarAsPossible(store, id);
        expect(seen).toEqual(recordsOf(id).slice(0, seen.length));
        if (error === undefined) {
          expect(seen).toHaveLength(RECORDS);
          wholeSessions += 1;
        } else {
          expect(error).toBeInstanceOf(JournalError);
          expect(error).toMatchObject({ kind: 'damaged' });
          damagedSessions += 1;
        }
      }
    });
  }
  // The first page and those of the session table concern all; any other, those whose rows it held.
  expect(damagedSessions).toBeGreaterThan(pages / 2);
  expect(wholeSessions).toBeGreaterThan(pages / 2);
  expect(refusedFiles).toBeLessThan(6);
});

test('a file that ends too early is said to be damaged', async () => {
  const bytes = readFileSync(whole);
  for (const part of [0.2, 0.5, 0.9]) {
    const file = join(folder, 'short.db');
    const handle = openSync(file, 'w');
    writeSync(handle, bytes.subarray(0, Math.floor(bytes.length * part)));
    closeSync(handle);
    await withStore(file, async store => {
      const readings = await Promise.all(SESSIONS.map(id => readAsFarAsPossible(store, id)));
      for (const { seen, error } of readings) {
        if (error === undefined) expect(seen).toHaveLength(RECORDS);
        else expect(error).toMatchObject({ kind: 'damaged' });
      }
      expect(readings.filter(({ error }) => error !== undefined).length).toBeGreaterThan(0);
    });
  }
});

describe('a log that was left by a process that ended', () => {
  /** A file and its log, as they are while a store has them open, with nine appends after the one that made the session. */
  async function leftOpen(name: string): Promise<string> {
    const file = join(folder, `${name}.db`);
    const source = join(folder, `${name}-source.db`);
    const store = sqliteStore({ file: source });
    for (let seq = 1; seq <= 10; seq++) await store.append('a', seq - 1, [note(seq)]);
    for (const suffix of ['', '-wal']) copyFileSync(`${source}${suffix}`, `${file}${suffix}`);
    await store.close();
    return file;
  }

  const frames = (file: string): number => (statSync(`${file}-wal`).size - 32) / 4_120;

  test('is read to its end', async () => {
    const file = await leftOpen('left');
    expect(frames(file)).toBeGreaterThan(10);
    const { seen, error } = await withStore(file, store => readAsFarAsPossible(store, 'a'));
    expect({ seen, error }).toEqual({ seen: numbers(1, 10).map(seq => note(seq)), error: undefined });
  });

  test('and is damaged before commits that were acknowledged is refused, and stays as it is', async () => {
    const file = await leftOpen('garbled');
    const at = 32 + Math.floor(frames(file) / 2) * 4_120;
    overwrite(`${file}-wal`, at + 2_000, everyByte(10));
    const before = ['', '-wal'].map(suffix => readFileSync(`${file}${suffix}`, 'base64'));
    const { seen, error } = await withStore(file, store => readAsFarAsPossible(store, 'a'));
    expect(seen).toEqual([]);
    expect(error).toMatchObject({ name: 'JournalError', kind: 'damaged' });
    expect(String(error)).toMatch(new RegExp(`-wal is damaged from byte ${at} on, and \\d commits come after it`));
    expect(['', '-wal'].map(suffix => readFileSync(`${file}${suffix}`, 'base64'))).toEqual(before);
  });

  test.each([false, true])(
    'and lacks a page, as after a power cut, is read up to it where commits did not wait for the disk (thread: %s)',
    async thread => {
      const file = await leftOpen(`unwritten-${thread}`);
      const at = 32 + Math.floor(frames(file) / 2) * 4_120;
      overwrite(`${file}-wal`, at, new Uint8Array(4_120));
      const store = sqliteStore({ file, thread, synchronous: 'normal' });
      const { seen, error } = await readAsFarAsPossible(store, 'a');
      expect({ seen, error }).toEqual({ seen: numbers(1, seen.length).map(seq => note(seq)), error: undefined });
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.length).toBeLessThan(10);
      await store.append('a', seen.length, [note(seen.length + 1)]);
      await store.close();
    },
  );

  test('and has a damaged header is refused', async () => {
    const file = await leftOpen('headless');
    overwrite(`${file}-wal`, 8, everyByte(16));
    const { error } = await withStore(file, store => readAsFarAsPossible(store, 'a'));
    expect(error).toMatchObject({ name: 'JournalError', kind: 'damaged' });
    expect(String(error)).toContain('-wal is damaged from byte 0 on');
  });

  test('and ends within a commit is read up to that commit, which nobody was told of', async () => {
    const file = await leftOpen('torn');
    truncateSync(`${file}-wal`, statSync(`${file}-wal`).size - 100);
    const { seen, error } = await withStore(file, store => readAsFarAsPossible(store, 'a'));
    expect({ seen, error }).toEqual({ seen: numbers(1, 9).map(seq => note(seq)), error: undefined });
  });

  test('of one page after another damaged: either all is there but the last commit, or it is said', async () => {
    const file = await leftOpen('each');
    const log = readFileSync(`${file}-wal`);
    const main = readFileSync(file);
    for (let frame = 0; frame < frames(file); frame++) {
      const copy = join(folder, `each-${frame}.db`);
      writeFileSync(copy, main);
      writeFileSync(`${copy}-wal`, log);
      overwrite(`${copy}-wal`, 32 + frame * 4_120 + 24 + 300, everyByte(50));
      const { seen, error } = await withStore(copy, store => readAsFarAsPossible(store, 'a'));
      if (error === undefined) expect(seen).toEqual(numbers(1, 9).map(seq => note(seq)));
      else expect(error).toMatchObject({ kind: 'damaged' });
    }
  });
});

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+');
  writeSync(handle, bytes, 0, bytes.length, at);
  closeSync(handle);
}
