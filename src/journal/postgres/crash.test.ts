/** Servers and processes that are killed at any moment: what was acknowledged is there, in order, and whole. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAppender, sum } from '../../../test/support/appender.ts';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { note, numbers } from '../../testing/journal-store-records.ts';
import type { JournalStore } from '../journal.ts';
import { postgresStore } from './index.ts';

const SESSIONS = 6;
const SERVER_KILLS = 6;
const PROCESS_KILLS = 12;

const startWriter = (place: string) =>
  startAppender({
    ...{ place, sessions: SESSIONS, module: new URL('./index.ts', import.meta.url).href },
    open: '(url, { postgresStore }) => postgresStore({ url })',
  });

/** Each journal is without a gap, and holds what was acknowledged; gives how many records there are. */
async function requireWhole(store: JournalStore, acknowledged: ReadonlyMap<string, number>): Promise<number> {
  let total = 0;
  for (const [id, last] of acknowledged) {
    const seqs: number[] = [];
    for await (const { seq } of store.read(id, 1)) seqs.push(seq);
    expect(seqs).toEqual(numbers(1, seqs.length));
    expect(seqs.length).toBeGreaterThanOrEqual(last);
    // The server may still carry out the last statement of a process that is gone.
    expect((await store.find(id))?.lastSeq).toBeGreaterThanOrEqual(seqs.length);
    total += seqs.length;
  }
  return total;
}

describe.runIf(HAS_POSTGRES)(`after a kill, PostgreSQL${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  test(`has all that was acknowledged, however often its server is killed (${SERVER_KILLS} times); who appended waits, and goes on`, {
    timeout: 120_000,
  }, async () => {
    const url = await server.createDatabase();
    const store = postgresStore({ url, reconnectMs: 60_000 });
    const acknowledged = new Map<string, number>();
    let isOver = false;
    const write = async (id: string): Promise<void> => {
      for (let seq = 0; !isOver; ) {
        const records = numbers(seq + 1, seq + 1 + (seq % 3)).map(each => note(each, 'x'.repeat((each * 37) % 3_000)));
        await store.append(id, seq, records);
        seq += records.length;
        acknowledged.set(id, seq);
      }
    };
    const writing = Promise.all(numbers(1, SESSIONS).map(number => write(`session-${number}`)));
    for (let kill = 0; kill < SERVER_KILLS; kill++) {
      const enough = sum(acknowledged) + 1 + Math.floor(Math.random() * 60);
      while (sum(acknowledged) < enough) await new Promise(next => setTimeout(next, 1));
      await server.kill();
      await server.restart();
      // Read by another, which sees what is on the disk and nothing else.
      const before = new Map(acknowledged);
      const reader = postgresStore({ url });
      await requireWhole(reader, before);
      await reader.close();
    }
    isOver = true;
    await writing;
    expect(await requireWhole(store, acknowledged)).toBe(sum(acknowledged));
    await store.close();
  });

  test(`has all that was acknowledged to a process that is killed ${PROCESS_KILLS} times`, {
    timeout: 120_000,
  }, async () => {
    const url = await server.createDatabase();
    const store = postgresStore({ url });
    await store.list();
    let total = 0;
    for (let kill = 0; kill < PROCESS_KILLS; kill++) {
      const { child, acknowledged } = startWriter(url);
      const hasEnded = once(child, 'close');
      const enough = total + 1 + Math.floor(Math.random() * 60);
      while (sum(acknowledged) < enough) await new Promise(next => setTimeout(next, 1));
      await new Promise(next => setTimeout(next, Math.random() * 5));
      child.kill('SIGKILL');
      await hasEnded;
      await requireWhole(store, acknowledged);
      total = (await store.list()).reduce((all, { lastSeq }) => all + lastSeq, 0);
    }
    expect(total).toBeGreaterThan(PROCESS_KILLS);
    await store.close();
  });

  test('is taken over by a second process while the first one still lives, and the first one is refused', async () => {
    const url = await server.createDatabase();
    const store = postgresStore({ url });
    await store.list();
    const { child, acknowledged } = startWriter(url);
    const hasEnded = once(child, 'exit');
    while (acknowledged.size < SESSIONS) await new Promise(next => setTimeout(next, 1));
    // The other one is appending all the time: whoever comes first wins, and the loser is told.
    for (;;) {
      const seq = (await store.find('session-0'))?.lastSeq ?? 0;
      const [outcome] = await Promise.allSettled([store.append('session-0', seq, [note(seq + 1, 'mine')])]);
      if (outcome.status === 'fulfilled') break;
      expect(outcome.reason).toMatchObject({ name: 'JournalConflictError', sessionId: 'session-0', expectedSeq: seq });
    }
    const [code] = await hasEnded;
    expect(code).toBe(1);
    await requireWhole(store, acknowledged);
    await store.close();
  });
});
