/** Processes that are killed at any moment: what was acknowledged is in the file, whether commits wait for the disk or not. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startAppender, sum } from '../../../test/support/appender.ts';
import { numbers } from '../../testing/journal-store-records.ts';
import { sqliteStore } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-crash-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SESSIONS = 4;
const KILLS = 20;

const startWriter = (place: string, restMs = 0) =>
  startAppender({
    ...{ place, restMs, sessions: SESSIONS, module: new URL('./index.ts', import.meta.url).href },
    open: `(file, { sqliteStore }) => {
      const synchronous = process.pid % 4 < 2 ? 'full' : 'normal';
      return sqliteStore({ file, thread: process.pid % 2 === 0, synchronous });
    }`,
  });

test(`a process that is killed ${KILLS} times while it appends loses nothing that was acknowledged`, {
  timeout: 120_000,
}, async () => {
  const file = join(folder, 'killed.db');
  let total = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, acknowledged } = startWriter(file);
    const closed = once(child, 'close');
    // At a random moment: after some acknowledgements, and a little later than those.
    const enough = total + 1 + Math.floor(Math.random() * 40);
    while (sum(acknowledged) < enough) await new Promise(next => setTimeout(next, 1));
    await new Promise(next => setTimeout(next, Math.random() * 5));
    child.kill('SIGKILL');
    await closed;

    const store = sqliteStore({ file });
    for (const [id, last] of acknowledged) {
      const seqs: number[] = [];
      for await (const { seq } of store.read(id, 1)) seqs.push(seq);
      expect(seqs).toEqual(numbers(1, seqs.length));
      expect(seqs.length).toBeGreaterThanOrEqual(last);
      expect((await store.find(id))?.lastSeq).toBe(seqs.length);
    }
    const listed = await store.list();
    expect(listed.length).toBeGreaterThanOrEqual(acknowledged.size);
    total = listed.reduce((all, { lastSeq }) => all + lastSeq, 0);
    await store.close();
  }
  expect(total).toBeGreaterThan(KILLS);
});

test('a second process takes over while the first one still lives, and the first one is refused', async () => {
  const file = join(folder, 'taken.db');
  // One that never rests may keep the file to itself for as long as it likes.
  const { child, acknowledged } = startWriter(file, 5);
  const closed = once(child, 'exit');
  while (acknowledged.size < SESSIONS) await new Promise(next => setTimeout(next, 1));
  const store = sqliteStore({ file });
  // The other one is appending all the time: whoever comes first wins, and the loser is told.
  for (;;) {
    const seq = (await store.find('session-0'))?.lastSeq ?? 0;
    const record = { type: 'mode.changed', mode: 'mine', seq: seq + 1, at: 1 } as const;
    const [outcome] = await Promise.allSettled([store.append('session-0', seq, [record])]);
    if (outcome.status === 'fulfilled') break;
    expect(outcome.reason).toMatchObject({ name: 'JournalConflictError', sessionId: 'session-0', expectedSeq: seq });
  }
  const [code] = await closed;
  expect(code).toBe(1);
  const modes: string[] = [];
  for await (const record of store.read('session-0', 1)) if (record.type === 'mode.changed') modes.push(record.mode);
  expect(modes.at(-1)).toBe('mine');
  await store.close();
});
