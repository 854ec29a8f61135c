/** What is new, told from process to process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalStore } from '../journal.ts';
import type { StoreNews } from '../mailbox.ts';
import { postgresStore } from './index.ts';
import { keyOf } from './keys.ts';

const mail = (mailId: string) => ({ mailId, at: 1, content: { type: 'mode', mode: mailId } }) as const;

describe.runIf(HAS_POSTGRES)(`who watches a session in another process${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  let urls: string[] = [];
  let writer: JournalStore;
  let reader: JournalStore;
  beforeAll(async () => {
    server = await PostgresServer.start();
    urls = [await server.createDatabase(), await server.createDatabase()];
    [writer, reader] = [postgresStore({ shards: urls }), postgresStore({ shards: urls })];
  });
  afterAll(async () => {
    await Promise.all([writer, reader].map(store => store?.close?.()));
    await server.stop();
  });

  function listen(store: JournalStore, id: string) {
    const told: StoreNews[] = [];
    const stop = store.watch?.(id, news => told.push(news));
    const until = async (news: StoreNews): Promise<void> => {
      while (!told.includes(news)) await new Promise(next => setTimeout(next, 5));
      told.splice(0);
    };
    return { told, until, stop: () => stop?.() };
  }

  const listeners = (url: string) =>
    server.query(
      url,
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%AS wanted (key)%' AND application_name = 'looprig'",
    );

  test('is told of records and of mails, in every shard', async () => {
    const ids = numbers(1, 6).map(() => crypto.randomUUID());
    const heard = ids.map(id => listen(reader, id));
    for (const [index, id] of ids.entries()) {
      await writer.append(id, 0, [opened(1)]);
      await heard[index]?.until('records');
      await writer.mailbox?.post(id, mail('a'));
      await heard[index]?.until('mails');
      await writer.append(id, 1, [note(2)]);
      await heard[index]?.until('records');
    }
    for (const { stop } of heard) stop();
  });

  test('reads what it is told of at once', async () => {
    const id = crypto.randomUUID();
    await writer.append(id, 0, [opened(1)]);
    const seen: number[] = [];
    const news = listen(reader, id);
    const appending = (async () => {
      for (let seq = 2; seq <= 40; seq++) await writer.append(id, seq - 1, [note(seq)]);
    })();
    while (seen.at(-1) !== 40) {
      for await (const { seq } of reader.read(id, (seen.at(-1) ?? 0) + 1)) seen.push(seq);
      if (seen.at(-1) !== 40) await news.until('records');
    }
    await appending;
    expect(seen).toEqual(numbers(1, 40));
    news.stop();
  });

  test('is told of what was written while its connection was lost', async () => {
    const id = crypto.randomUUID();
    await writer.append(id, 0, [opened(1)]);
    const heard = listen(reader, id);
    await heard.until('records');
    for (let round = 2; round < 5; round++) {
      for (const url of urls) {
        for (const { pid } of await listeners(url)) await server.query(url, 'SELECT pg_terminate_backend($1)', [pid]);
      }
      await writer.append(id, round - 1, [note(round)]);
      await heard.until('records');
    }
    await server.kill();
    await server.restart();
    await writer.mailbox?.post(id, mail('a'));
    await heard.until('mails');
    heard.stop();
  });

  test('is told also of what nobody notified it of', async () => {
    const id = crypto.randomUUID();
    await writer.append(id, 0, [opened(1)]);
    const heard = listen(reader, id);
    await heard.until('records');
    for (const url of urls) {
      const text = 'UPDATE looprig.session SET last_seq = last_seq + 1 WHERE key = $1';
      await server.query(url, text, [keyOf(id).key]);
    }
    await heard.until('records');
    heard.stop();
  });

  test('is told nothing any more when it has stopped, and its connection ends', async () => {
    const id = crypto.randomUUID();
    const heard = listen(reader, id);
    await writer.append(id, 0, [opened(1)]);
    await heard.until('records');
    heard.stop();
    const count = heard.told.length;
    await writer.append(id, 1, [note(2)]);
    for (const url of urls) while ((await listeners(url)).length > 0) await new Promise(next => setTimeout(next, 20));
    expect(heard.told).toHaveLength(count);
  });

  test('is kept alive by nothing: a process that watches and has nothing else to do ends, also without closing its store', async () => {
    const program = `
      const { postgresStore } = await import(${JSON.stringify(new URL('./index.ts', import.meta.url).href)});
      const store = postgresStore({ url: ${JSON.stringify(await server.createDatabase())} });
      store.watch('a', () => {});
      await store.append('a', 0, [{ type: 'mode.changed', mode: '', seq: 1, at: 1 }]);
      await store.list();
      console.log('done');`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', text => (said += text));
    const [code] = await once(child, 'close');
    expect([code, said]).toEqual([0, 'done\n']);
  });
});
