/** What is opened, and what is refused and how. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  HAS_POSTGRES,
  POSTGRES_LEFT_OUT,
  POSTGRES_PASSWORD,
  PostgresServer,
} from '../../../test/support/postgres-server.ts';
import { runWithout, sourceFile } from '../../../test/support/without-package.ts';
import { JournalError } from '../../errors.ts';
import { note, numbers, opened } from '../../testing/journal-store-records.ts';
import type { JournalStore } from '../journal.ts';
import { Database } from './database.ts';
import { migrate, type PostgresOptions, postgresStore } from './index.ts';
import { resolveOptions } from './options.ts';
import { MIGRATIONS, type Migration } from './schema.ts';

describe.runIf(HAS_POSTGRES)(`opening a PostgreSQL store${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  async function using<T>(options: PostgresOptions, use: (store: JournalStore) => Promise<T>): Promise<T> {
    const store = postgresStore(options);
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }

  async function failure(options: PostgresOptions): Promise<JournalError> {
    const [outcome] = await Promise.allSettled([using(options, store => store.list())]);
    if (outcome.status === 'fulfilled' || !JournalError.is(outcome.reason)) {
      throw new Error('expected a JournalError', { cause: outcome });
    }
    expect(inspect(outcome.reason, { depth: 10 })).not.toContain(POSTGRES_PASSWORD);
    return outcome.reason;
  }

  describe('says in one sentence', () => {
    const at = (): string => `127.0.0.1:${server.port}`;

    test('that nobody answers there', async () => {
      const error = await failure({ url: 'postgres://looprig:open-sesame@127.0.0.1:1/x' });
      const message = 'the database x at 127.0.0.1:1 cannot be reached (connect ECONNREFUSED 127.0.0.1:1)';
      expect(error).toMatchObject({ kind: 'store_failed', message });
    });

    test('that whoever answers there says nothing', async () => {
      const mute = createServer().listen(0, '127.0.0.1');
      await new Promise(next => mute.once('listening', next));
      const { port } = mute.address() as { port: number };
      const error = await failure({ url: `postgres://a:open-sesame@127.0.0.1:${port}/x`, connectTimeoutMs: 100 });
      mute.close();
      expect(error.message).toMatch(/^the database x at 127.0.0.1:\d+ cannot be reached \(.*timeout.*\)$/);
    });

    test('that the password is wrong', async () => {
      const error = await failure({ url: server.url().replace(POSTGRES_PASSWORD, 'wrong') });
      const message = `the database postgres at ${at()} refused the user "looprig": its password or its permission to connect is wrong (password authentication failed for user "looprig")`;
      expect(error).toMatchObject({ kind: 'store_failed', message });
    });

    test('that the database does not exist', async () => {
      const error = await failure({ url: server.url('nowhere') });
      const message = `the database nowhere at ${at()} does not exist: create it first (database "nowhere" does not exist)`;
      expect(error).toMatchObject({ kind: 'store_failed', message });
    });

    test('that its text is not UTF-8', async () => {
      await server.query(server.url(), "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
      const message = `the database ascii at ${at()} keeps text as SQL_ASCII: create one with the encoding UTF8`;
      expect(await failure({ url: server.url('ascii') })).toMatchObject({ kind: 'store_failed', message });
    });

    test('that a permission is missing, and works where tables are made by somebody else and used by it', async () => {
      const url = await server.createDatabase();
      await server.query(url, `CREATE ROLE worker LOGIN PASSWORD '${POSTGRES_PASSWORD}'`);
      const worker = url.replace('//looprig:', '//worker:');
      const name = new URL(url).pathname.slice(1);
      expect((await failure({ url: worker })).message).toBe(
        `the user "worker" lacks a permission in the schema "looprig" of the database ${name} at ${at()} (permission denied for database ${name})`,
      );
      expect((await failure({ url: worker, migrate: false })).message).toBe(
        `the schema "looprig" of the database ${name} at ${at()} has no tables of a store: bring it up to date with migrate()`,
      );
      expect(await migrate({ url })).toEqual([{ from: 0, to: MIGRATIONS.length }]);
      expect((await failure({ url: worker })).message).toContain('permission denied for schema looprig');
      for (const grant of grantsOfPage()) await server.query(url, grant);
      await using({ url: worker, migrate: false }, async store => {
        await store.append('a', 0, [opened(1)]);
        await store.append('a', 1, [note(2)]);
        const id = await store.putCapture('a', new Uint8Array([1]));
        expect(await store.getCapture('a', id)).toEqual(new Uint8Array([1]));
        const mail = { mailId: 'm', at: 1, content: { type: 'mode', mode: '' } } as const;
        expect(await store.mailbox?.post('a', mail)).toBe(true);
        expect(await store.mailbox?.read('a')).toEqual([mail]);
        await store.mailbox?.remove('a', ['m']);
        expect(await store.list()).toHaveLength(1);
        const [refused] = await Promise.allSettled([store.delete('a', 2)]);
        expect(refused).toMatchObject({ reason: { kind: 'store_failed' } });
        expect((await store.find('a'))?.lastSeq).toBe(2);
        await server.query(url, 'GRANT DELETE ON looprig.session, looprig.append, looprig.capture TO worker');
        await store.delete('a', 2);
        expect([await store.list(), await store.getCapture('a', id)]).toEqual([[], undefined]);
      });
    });

    test('that the schema has tables of another program, and leaves them alone', async () => {
      const url = await server.createDatabase();
      await server.query(url, 'CREATE TABLE public.session (id text)');
      const error = await failure({ url, schema: 'public' });
      expect(error).toMatchObject({ kind: 'foreign_file' });
      expect(error.message).toContain('holds tables of another program: name another schema');
      expect(
        await server.query(url, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"),
      ).toEqual([{ table_name: 'session' }]);
      await using({ url }, store => store.list());
    });

    test('that a shard is not the one that it was made as', async () => {
      const urls = [await server.createDatabase(), await server.createDatabase()];
      const [first = '', second = ''] = urls;
      await using({ shards: urls }, store => store.list());
      for (const [options, message] of [
        [{ url: first }, /was made as shard 1 of 2, and is used as 1 of 1: name all shards, in their order$/],
        [{ shards: [second, first] }, /was made as shard [12] of 2, and is used as [12] of 2/],
        [{ shards: [first, second, server.url()] }, /was made as shard [12] of 2, and is used as [12] of 3/],
      ] as const) {
        expect((await failure(options)).message).toMatch(message);
      }
      await server.query(server.url(), 'DROP SCHEMA looprig CASCADE');
    });
  });

  test('a store that could not be opened is opened at a later use', async () => {
    const name = 'not_yet';
    await using({ url: server.url(name) }, async store => {
      await expect(store.append('a', 0, [opened(1)])).rejects.toMatchObject({ kind: 'store_failed' });
      await server.query(server.url(), `CREATE DATABASE ${name}`);
      await store.append('a', 0, [opened(1)]);
      expect(await store.list()).toHaveLength(1);
    });
  });

  test('many stores that open an empty database at once make its tables once, and all work', async () => {
    const url = await server.createDatabase();
    await Promise.all(
      numbers(1, 8).map(number =>
        using({ url, connections: 2 }, store => store.append(`${number}`, 0, [opened(1)]) ?? Promise.resolve()),
      ),
    );
    expect(await using({ url }, store => store.list())).toHaveLength(8);
  });

  test('two schemas of one database are two stores', async () => {
    const url = await server.createDatabase();
    await using({ url, schema: 'one' }, async store => store.append('a', 0, [opened(1)]));
    await using({ url, schema: 'two' }, async store => expect(await store.list()).toEqual([]));
  });

  test('an append waits for the disk, also where the database would not', async () => {
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    await server.query(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
    const database = new Database(resolveOptions({ url, statementTimeoutMs: 1_234 }), 0);
    const text =
      "SELECT current_setting('synchronous_commit') AS sync, current_setting('statement_timeout') AS timeout";
    for (const rows of [
      await database.ask({ text, values: [] }),
      (await database.write({ text, values: [] }, () => {})).rows,
    ]) {
      expect(rows).toEqual([{ sync: 'on', timeout: '1234ms' }]);
    }
    await database.close();
  });

  describe('older and newer tables', () => {
    const next: readonly Migration[] = [
      ...MIGRATIONS,
      schema => `
        ALTER TABLE ${schema}.session ADD COLUMN colour text NOT NULL DEFAULT 'grey';
        ALTER TABLE ${schema}.session RENAME COLUMN format_${MIGRATIONS.length} TO format_${MIGRATIONS.length + 1}`,
    ];
    const columns = (url: string) =>
      server.query(
        url,
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'session' AND column_name = 'colour'",
      );

    test('older ones are brought up to date once, whoever comes first; what they hold stays', async () => {
      const url = await server.createDatabase();
      await using({ url }, async store => store.append('a', 0, [opened(1), note(2)]));
      const databases = numbers(1, 5).map(() => new Database(resolveOptions({ url }), 0, next));
      await Promise.all(databases.map(database => database.open()));
      await Promise.all(databases.map(database => database.close()));
      expect(await columns(url)).toHaveLength(1);
      expect(await server.query(url, 'SELECT last_seq FROM looprig.session')).toEqual([{ last_seq: '2' }]);
    });

    test('newer ones are refused, and not touched', async () => {
      const url = await server.createDatabase();
      const newer = new Database(resolveOptions({ url }), 0, next);
      await newer.open();
      await newer.close();
      const error = await failure({ url });
      expect(error.kind).toBe('newer_format');
      expect(error.message).toMatch(
        /has format \d+, and this version of looprig knows up to \d+: use a newer looprig$/,
      );
      await expect(migrate({ url })).rejects.toMatchObject({ kind: 'newer_format' });
    });

    test('a store that is open writes nothing more when a newer program has migrated its tables', async () => {
      const url = await server.createDatabase();
      await using({ url }, async store => {
        await store.append('a', 0, [opened(1)]);
        const newer = new Database(resolveOptions({ url }), 0, next);
        await newer.open();
        await newer.close();
        const appends = ['a', 'b'].map(async id => store.append(id, id === 'a' ? 1 : 0, [note(id === 'a' ? 2 : 1)]));
        for (const outcome of await Promise.allSettled(appends)) {
          expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'newer_format' } });
        }
      });
      expect(await server.query(url, 'SELECT last_seq FROM looprig.session')).toEqual([{ last_seq: '1' }]);
    });

    test('a migration that fails changes nothing', async () => {
      const url = await server.createDatabase();
      await using({ url }, store => store.list());
      const broken = new Database(resolveOptions({ url }), 0, [
        ...next,
        () => 'ALTER TABLE nowhere.nothing ADD x text',
      ]);
      await expect(broken.open()).rejects.toMatchObject({ kind: 'store_failed' });
      await broken.close();
      expect(await columns(url)).toEqual([]);
      await using({ url }, async store => store.append('a', 0, [opened(1)]));
    });

    test('are left to migrate() by a store that must not do it itself', async () => {
      const url = await server.createDatabase();
      await migrate({ url });
      await using({ url, migrate: false }, store => store.list());
      const newer = new Database(resolveOptions({ url, migrate: false }), 0, next);
      await expect(newer.open()).rejects.toMatchObject({
        message: expect.stringMatching(/has tables of format \d+: bring it up to date with migrate\(\)$/),
      });
      expect(await newer.migrate()).toEqual({ from: MIGRATIONS.length, to: next.length });
      await newer.open();
      await newer.close();
    });
  });
});

/** What the page about PostgreSQL says that a worker's role needs. */
function grantsOfPage(): readonly string[] {
  const page = readFileSync(new URL('../../../docs/postgres.md', import.meta.url), 'utf8');
  const [, sql = ''] = /```sql\n([^`]*)```/.exec(page) ?? [];
  return sql.split(';\n').filter(Boolean);
}

test('without its package, a store says which one to install when it is first used', async () => {
  const told = await runWithout(
    'pg',
    `const { postgresStore } = await import(${sourceFile('journal/postgres/index.ts')});
    const store = postgresStore({ url: 'postgres://a:b@localhost/c' });
    await store.list().catch(error => console.log(error.name, error.kind, error.message));`,
  );
  const message = 'a store in PostgreSQL needs the package pg, which is not installed: npm install pg@8';
  expect(told).toBe(`JournalError missing_package ${message}`);
});
