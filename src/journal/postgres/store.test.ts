/** What the test kit of stores does not ask: groups, damage beyond single records, odd ids, many writers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { everyByte, note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalRecord, JournalStore } from '../journal.ts';
import { postgresStore } from './index.ts';
import { keyOf, shardOf } from './keys.ts';

describe.runIf(HAS_POSTGRES)(`the PostgreSQL store${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  let url: string;
  let store: JournalStore;
  const stores: JournalStore[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(async () => {
    await Promise.all(stores.map(each => each.close?.()));
    await server.stop();
  });
  beforeEach(async () => {
    url = await server.createDatabase();
    store = open();
  });

  function open(urls: readonly string[] = [url]): JournalStore {
    const made = postgresStore({ shards: urls, connections: 3 });
    stores.push(made);
    return made;
  }

  async function journal(id: string, from: JournalStore = store): Promise<JournalRecord[]> {
    const records: JournalRecord[] = [];
    for await (const record of from.read(id, 1)) records.push(record);
    return records;
  }

  test('appends of one tick, of any sessions, are one transaction', async () => {
    const ids = numbers(1, 50).map(String);
    await store.list();
    await Promise.all(ids.map(id => store.append(id, 0, [opened(1)])));
    await Promise.all(ids.map(id => store.append(id, 1, [note(2)])));
    const transactions = await server.query(
      url,
      'SELECT xmin::text, count(*)::int FROM looprig.append GROUP BY xmin ORDER BY 2',
    );
    expect(transactions.map(({ count }) => count)).toEqual([50, 50]);
  });

  test('more appends than one statement takes are all taken, in their order', async () => {
    const ids = numbers(1, 150).map(String);
    const appends = ids.flatMap(id => numbers(1, 3).map(seq => store.append(id, seq - 1, [note(seq)])));
    await Promise.all(appends);
    for (const id of ['1', '77', '150']) expect(await journal(id)).toEqual(numbers(1, 3).map(seq => note(seq)));
    expect(await store.list()).toHaveLength(150);
  });

  test('an append that the database refuses fails alone', async () => {
    await store.append('a', 0, [opened(1)]);
    await server.query(url, "ALTER TABLE looprig.append ADD CHECK (records NOT LIKE '%poison%')");
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map(async id =>
        store.append(id, id === 'a' ? 1 : 0, [note(id === 'a' ? 2 : 1, id === 'c' ? 'poison' : id)]),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: { name: 'JournalError', kind: 'store_failed' } });
    expect(await journal('a')).toEqual([opened(1), note(2, 'a')]);
    expect(await store.find('c')).toBeUndefined();
  });

  test('stores that race for the same sessions, many at a time, write journals without a gap', async () => {
    const ids = numbers(1, 30).map(String);
    const others = [store, open(), open()];
    const won = new Map<string, number>();
    const race = async (one: JournalStore, id: string): Promise<void> => {
      for (let round = 0; round < 15; round++) {
        const seq = (await one.find(id))?.lastSeq ?? 0;
        const [outcome] = await Promise.allSettled([one.append(id, seq, [note(seq + 1), note(seq + 2)])]);
        if (outcome.status === 'fulfilled') won.set(id, (won.get(id) ?? 0) + 2);
        else expect(outcome.reason).toMatchObject({ name: 'JournalConflictError' });
      }
    };
    await Promise.all(others.flatMap(one => ids.map(id => race(one, id))));
    for (const id of ids) expect(await journal(id)).toEqual(numbers(1, won.get(id) ?? 0).map(seq => note(seq)));
  });

  test('ids of any length and of any characters are different sessions', async () => {
    const long = 'x'.repeat(100_000);
    const ids = [
      '',
      'a\ud800',
      'a\ud801',
      'a\ufffd',
      'a\0b',
      'a',
      'A',
      '"a"',
      'a ',
      ' a',
      'é',
      'e\u0301',
      long,
      `${long}y`,
    ];
    ids.push("'; DROP SCHEMA looprig CASCADE; --", '$1', '\\', '%', '{}', '__proto__');
    for (const [index, id] of ids.entries()) {
      await store.append(id, 0, [note(1, `${index}`)]);
      await store.append(id, 1, [note(2, `${index}`)]);
    }
    for (const [index, id] of ids.entries())
      expect(await journal(id)).toEqual([note(1, `${index}`), note(2, `${index}`)]);
    expect((await store.list()).map(({ sessionId }) => sessionId).toSorted()).toEqual(ids.toSorted());
  });

  test('sessions lie in the database that their hash says, and are listed together, the last written first', async () => {
    const urls = [url, await server.createDatabase(), await server.createDatabase()];
    const sharded = open(urls);
    const ids = numbers(1, 40).map(String);
    for (const id of ids) await sharded.append(id, 0, [opened(1)]);
    expect((await sharded.list()).map(({ sessionId }) => sessionId)).toEqual(ids.toReversed());
    for (const [shard, each] of urls.entries()) {
      const rows = await server.query(each, 'SELECT name FROM looprig.session');
      const expected = ids.filter(id => shardOf(keyOf(id), 3) === shard);
      expect(rows.map(({ name }) => String(name)).toSorted()).toEqual(expected.toSorted());
      expect(expected.length).toBeGreaterThan(3);
    }
  });

  describe('damage', () => {
    test('of the list of sessions is found by who reads and by who appends', async () => {
      await store.append('a', 0, [opened(1), note(2)]);
      await server.query(url, 'DELETE FROM looprig.session');
      await expect(journal('a')).rejects.toMatchObject({ name: 'JournalDamagedError', seq: 1 });
      await expect(store.append('a', 2, [note(3)])).rejects.toMatchObject({ kind: 'conflict', actualSeq: 0 });
    });

    test('of a number or of a checksum is found, and tells the first record that cannot be trusted', async () => {
      const changes: readonly (readonly [change: string, seq: number])[] = [
        ['UPDATE looprig.append SET first_seq = 4 WHERE last_seq = 4', 3],
        ['UPDATE looprig.append SET last_seq = 5 WHERE last_seq = 4', 3],
        ["UPDATE looprig.append SET checksum = '\\x00' WHERE last_seq = 4", 3],
        ["UPDATE looprig.session SET checksum = '\\x00'", 6],
        ['UPDATE looprig.session SET last_seq = 8', 7],
        ['DELETE FROM looprig.append', 1],
      ];
      for (const [index, [change, seq]] of changes.entries()) {
        const id = `session ${index}`;
        for (const from of [0, 2, 4]) await store.append(id, from, [note(from + 1), note(from + 2)]);
        await server.query(url, change);
        await expect(journal(id)).rejects.toMatchObject({ name: 'JournalDamagedError', sessionId: id, seq });
        await server.query(url, 'TRUNCATE looprig.session, looprig.append');
      }
    });

    test('of an append that was put in the place of another session is found', async () => {
      for (const id of ['a', 'b']) for (const seq of [1, 2]) await store.append(id, seq - 1, [note(seq)]);
      const change = `UPDATE looprig.append AS one SET records = other.records, checksum = other.checksum
        FROM looprig.append AS other WHERE one.session = $1 AND other.session = $2 AND one.last_seq = 1 AND other.last_seq = 1`;
      await server.query(url, change, [keyOf('a').key, keyOf('b').key]);
      await expect(journal('a')).rejects.toMatchObject({ name: 'JournalDamagedError', sessionId: 'a', seq: 1 });
      expect(await journal('b')).toEqual([note(1), note(2)]);
    });

    test('of a capture is said', async () => {
      const id = await store.putCapture('a', everyByte(1_000));
      await server.query(url, "UPDATE looprig.capture SET bytes = bytes || '\\x00'");
      await expect(store.getCapture('a', id)).rejects.toMatchObject({ kind: 'damaged' });
    });
  });
});
