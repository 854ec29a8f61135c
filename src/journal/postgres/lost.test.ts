/** Connections that are lost: before an append reaches the server, after it was committed, and while the server still works at it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { TcpProxy } from '../../../test/support/tcp-proxy.ts';
import { everyByte, note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalRecord, JournalStore } from '../journal.ts';
import { type PostgresOptions, postgresStore } from './index.ts';

describe.runIf(HAS_POSTGRES)(`a lost connection to PostgreSQL${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  let proxy: TcpProxy;
  let directUrl: string;
  const stores: JournalStore[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    proxy = await TcpProxy.to(server.port);
    directUrl = await server.createDatabase();
  });
  afterEach(async () => {
    proxy.open();
    await Promise.all(stores.splice(0).map(store => store.close?.()));
    await proxy.close();
  });

  function open(options: PostgresOptions = {}): JournalStore {
    const url = directUrl.replace(`:${server.port}/`, `:${proxy.port}/`);
    const store = postgresStore({ url, ...options });
    stores.push(store);
    return store;
  }

  async function journal(store: JournalStore, id: string, fromSeq = 1): Promise<JournalRecord[]> {
    const records: JournalRecord[] = [];
    for await (const record of store.read(id, fromSeq)) records.push(record);
    return records;
  }

  describe.each(['before', 'after'] as const)('%s the server has carried out an append', when => {
    test('is not felt: the append is there once', async () => {
      const store = open();
      await store.append('a', 0, [opened(1)]);
      for (let seq = 2; seq <= 6; seq++) {
        const isCut = proxy.cutNext('looprig_append', when);
        await store.append('a', seq - 1, [note(seq)]);
        await isCut;
      }
      expect(await journal(store, 'a')).toEqual([opened(1), ...numbers(2, 6).map(seq => note(seq))]);
    });

    test('is not felt by a group: each append is there once, and only the stale one is refused', async () => {
      const store = open();
      const ids = numbers(1, 20).map(String);
      await Promise.all(ids.map(id => store.append(id, 0, [opened(1)])));
      const isCut = proxy.cutNext('looprig_append', when);
      const outcomes = await Promise.allSettled(
        ids.map(async id => store.append(id, id === '7' ? 0 : 1, [note(id === '7' ? 1 : 2)])),
      );
      await isCut;
      for (const [index, id] of ids.entries()) {
        const isStale = id === '7';
        if (isStale)
          expect(outcomes[index]).toMatchObject({ status: 'rejected', reason: { kind: 'conflict', actualSeq: 1 } });
        else expect(outcomes[index]).toMatchObject({ status: 'fulfilled' });
        expect(await journal(store, id)).toEqual(isStale ? [opened(1)] : [opened(1), note(2)]);
      }
    });

    test('fails the append where nothing is waited for, and the session goes on where its journal ends', async () => {
      const store = open({ reconnectMs: 0 });
      await store.append('a', 0, [opened(1)]);
      const isCut = proxy.cutNext('looprig_append', when);
      await expect(store.append('a', 1, [note(2)])).rejects.toMatchObject({
        name: 'JournalError',
        kind: 'store_failed',
        message: expect.stringMatching(
          /^the connection was lost during an append, which may or may not be kept: open the session again; the database test_\d+ at 127\.0\.0\.1:\d+ cannot be reached \(Connection terminated unexpectedly\)$/,
        ),
      });
      await isCut;
      const before = (await store.find('a'))?.lastSeq ?? 0;
      expect(before).toBe(when === 'before' ? 1 : 2);
      await store.append('a', before, [note(before + 1)]);
      expect(await journal(store, 'a')).toEqual([opened(1), ...numbers(2, before + 1).map(seq => note(seq))]);
    });

    test('does not make a mail new twice, nor old at once', async () => {
      const store = open();
      const mail = { mailId: 'm', at: 1, content: { type: 'mode', mode: 'x' } } as const;
      await store.list();
      const isCut = proxy.cutNext('looprig_post', when);
      expect(await store.mailbox?.post('a', mail)).toBe(true);
      await isCut;
      expect(await store.mailbox?.post('a', mail)).toBe(false);
      expect(await store.mailbox?.read('a')).toEqual([mail]);
    });
  });

  test('while the server still carries out the append does not write it twice, nor lose it', async () => {
    const store = open();
    await store.append('a', 0, [opened(1)]);
    // Somebody locks the session, so that the statement waits on the server after its connection is gone.
    const locker = await server.connect(directUrl);
    await locker.query('BEGIN');
    await locker.query('SELECT FROM looprig.session FOR UPDATE');
    const appending = store.append('a', 1, [note(2)]);
    await waitingStatements(1);
    proxy.cut();
    await waitingStatements(2);
    await locker.query('COMMIT');
    await appending;
    await locker.end();
    expect(await journal(store, 'a')).toEqual([opened(1), note(2)]);
  });

  async function waitingStatements(count: number): Promise<void> {
    const text =
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%looprig.append%'";
    while ((await server.query(directUrl, text))[0]?.count !== count) await new Promise(next => setTimeout(next, 10));
  }

  test('fails an append only when the database does not come back in time, and nothing else is harmed', async () => {
    const store = open({ reconnectMs: 200 });
    await store.append('a', 0, [opened(1)]);
    proxy.shut();
    const attempts = [
      store.append('a', 1, [note(2)]),
      journal(store, 'a'),
      store.list(),
      store.putCapture('a', everyByte(3)),
      store.mailbox?.read('a'),
    ];
    for (const outcome of await Promise.allSettled(attempts)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'JournalError', kind: 'store_failed' } });
    }
    proxy.open();
    await store.append('a', 1, [note(2)]);
    expect(await journal(store, 'a')).toEqual([opened(1), note(2)]);
  });

  test('that comes back in time is waited for by all that is asked meanwhile', async () => {
    const store = open();
    await store.append('a', 0, [opened(1)]);
    proxy.shut();
    const appends = Promise.all(
      ['a', 'b', 'c'].map(id => store.append(id, id === 'a' ? 1 : 0, [note(id === 'a' ? 2 : 1)])),
    );
    const reading = store.list();
    setTimeout(() => proxy.open(), 100);
    await appends;
    expect((await reading).length).toBeGreaterThan(0);
    expect(await store.list()).toHaveLength(3);
  });

  test('that answers no more is given up, and another one is made', async () => {
    const store = open({ statementTimeoutMs: 300 });
    await store.append('a', 0, [opened(1)]);
    proxy.freeze();
    const appending = store.append('a', 1, [note(2)]);
    setTimeout(() => proxy.thaw(), 3_000);
    await appending;
    expect(await journal(store, 'a')).toEqual([opened(1), note(2)]);
  });

  test('in the middle of a long reading leaves no gap', async () => {
    const store = open();
    const text = 'x'.repeat(100_000);
    const records = numbers(1, 100).map(seq => note(seq, text));
    for (const [index, record] of records.entries()) await store.append('a', index, [record]);
    const seen: JournalRecord[] = [];
    for await (const record of store.read('a', 1)) {
      seen.push(record);
      if (record.seq % 9 === 0) proxy.cut();
    }
    expect(seen).toEqual(records);
  });

  test('that nobody used is replaced when it is needed', async () => {
    const store = open();
    await store.append('a', 0, [opened(1)]);
    await Promise.all([store.list(), store.list(), store.find('a')]);
    for (let round = 2; round < 6; round++) {
      proxy.cut();
      await store.append('a', round - 1, [note(round)]);
      expect(await store.find('a')).toMatchObject({ lastSeq: round });
    }
  });

  test('closing does not wait for a database that is gone for longer than appends do', async () => {
    const store = open({ reconnectMs: 300 });
    await store.append('a', 0, [opened(1)]);
    proxy.shut();
    const appending = store.append('a', 1, [note(2)]);
    const [outcome] = await Promise.allSettled([appending, store.close?.()]);
    expect(outcome).toMatchObject({ status: 'rejected' });
    await expect(store.list()).rejects.toMatchObject({ kind: 'closed' });
  });

  test('a statement that takes too long fails, and writes nothing', async () => {
    const store = open({ statementTimeoutMs: 200 });
    await store.append('a', 0, [opened(1)]);
    const locker = await server.connect(directUrl);
    await locker.query('BEGIN');
    await locker.query('SELECT FROM looprig.session FOR UPDATE');
    await expect(store.append('a', 1, [note(2)])).rejects.toMatchObject({
      kind: 'store_failed',
      message: expect.stringContaining('took longer than 200 ms (statementTimeoutMs)'),
    });
    await locker.query('COMMIT');
    await locker.end();
    await store.append('a', 1, [note(2)]);
    expect(await journal(store, 'a')).toEqual([opened(1), note(2)]);
  });
});
