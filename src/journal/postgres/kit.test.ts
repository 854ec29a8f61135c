import { afterAll, beforeAll, describe, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { journalStoreKit } from '../../testing/journal-store-kit.ts';
import type { StoreDamage } from '../../testing/journal-store-kit-damage.ts';
import type { JournalStore } from '../journal.ts';
import { postgresStore } from './index.ts';
import { keyOf, shardOf } from './keys.ts';

/** The append that holds the record, and the next one of its session. */
const APPENDS =
  'SELECT last_seq, records FROM looprig.append WHERE session = $1 AND last_seq >= $2 ORDER BY last_seq LIMIT 2';

describe.runIf(HAS_POSTGRES).each([1, 2])(
  `the PostgreSQL store (databases: %s) is a journal store${POSTGRES_LEFT_OUT}:`,
  shards => {
    let server: PostgresServer;
    let urls: readonly string[] = [];
    beforeAll(async () => {
      server = await PostgresServer.start();
      for (let shard = 0; shard < shards; shard++) urls = [...urls, await server.createDatabase()];
    });
    afterAll(() => server.stop());

    const open = (): JournalStore => postgresStore({ shards: urls });
    const reopen = async (store: JournalStore): Promise<JournalStore> => {
      await store.close?.();
      return open();
    };
    const damage = async (store: JournalStore, { sessionId, seq, how }: StoreDamage): Promise<JournalStore> => {
      await store.close?.();
      const session = keyOf(sessionId);
      const url = urls[shardOf(session, shards)] ?? '';
      const [row, next] = await server.query(url, APPENDS, [session.key, seq]);
      const set = async (at: unknown, records: unknown): Promise<void> => {
        const text = 'UPDATE looprig.append SET records = $3 WHERE session = $1 AND last_seq = $2';
        await server.query(url, text, [session.key, at, records]);
      };
      if (how === 'altered') await set(row?.last_seq, String(row?.records).replace('"type":"', '"type":"x'));
      if (how === 'moved') {
        await set(row?.last_seq, next?.records);
        await set(next?.last_seq, row?.records);
      }
      if (how === 'missing') {
        const text = 'DELETE FROM looprig.append WHERE session = $1 AND last_seq = $2';
        await server.query(url, text, [session.key, row?.last_seq]);
      }
      return open();
    };
    for (const { name, run } of journalStoreKit(open, { reopen, damage })) test(name, run);
  },
);
