import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../../errors.ts';
import { postgresStore } from './index.ts';
import { type PostgresOptions, resolveOptions } from './options.ts';

const URL = 'postgres://ann:s3cret@db.example:6000/sessions';

describe('options of a PostgreSQL store', () => {
  test('are resolved with their defaults, and label a database without its password', () => {
    const { targets, ...rest } = resolveOptions({ url: URL });
    expect(rest).toEqual({
      schema: 'looprig',
      migrate: true,
      connections: 5,
      connectTimeoutMs: 10_000,
      statementTimeoutMs: 30_000,
      reconnectMs: 10_000,
    });
    expect(targets.map(({ label, user }) => [label, user])).toEqual([['sessions at db.example:6000', 'ann']]);
  });

  test('take a database by its parts, and several of them', () => {
    const password = (): string => 's3cret';
    const shards = [URL, { database: 'two', user: 'bob', password }, { host: '/run/pg', database: 'x', user: 'y' }];
    expect(resolveOptions({ shards }).targets.map(({ label }) => label)).toEqual([
      'sessions at db.example:6000',
      'two at localhost:5432',
      'x at /run/pg',
    ]);
  });

  const wrong: readonly (readonly [options: unknown, field: string, message: RegExp])[] = [
    [{}, 'url', /needs one of "url", "connection" and "shards"/],
    [undefined, 'options', /must be given as an object, not undefined/],
    [{ url: URL, shards: [URL] }, 'url', /no two of them/],
    [{ url: 5 }, 'url', /must be a URL such as/],
    [{ url: 'postgres://ann:s3cret@' }, 'url', /cannot be read as a URL/],
    [{ url: 'mysql://ann:s3cret@host/db' }, 'url', /must begin with postgres:/],
    [{ url: 'postgres://ann:s3cret@host' }, 'url', /names no database/],
    [{ url: 'postgres://host/db' }, 'url', /names no user/],
    [{ url: 'postgres://ann:s3cret%zz@host/db' }, 'url', /a "%" in it/],
    [{ shards: [] }, 'shards', /a list of at least one/],
    [{ shards: [URL, 7] }, 'shards[1]', /must be a URL/],
    [{ shards: [URL, URL] }, 'shards[1]', /stands in the list before/],
    [{ connection: { user: 'a' } }, 'connection.database', /must be a text, not undefined/],
    [{ connection: { user: 'a', database: 'b', port: 0 } }, 'connection.port', /from 1 to 65535/],
    [{ connection: { user: 'a', database: 'b', password: 12345 } }, 'connection.password', /a text or a function/],
    [{ connection: { user: 'a', database: 'b', ssl: 'yes' } }, 'connection.ssl', /true, false or an object/],
    [
      { connection: { user: 'a', database: 'b', pool: 5 } },
      'connection.pool',
      /"connection" has no option "pool": it takes host, port/,
    ],
    [{ url: URL, schema: 'Robert"; DROP' }, 'schema', /a name of small letters/],
    [{ url: URL, schema: 'pg_mine' }, 'schema', /a name of small letters/],
    [{ url: URL, migrate: 'yes' }, 'migrate', /true or false/],
    [{ url: URL, connections: 1 }, 'connections', /from 2 to 1000/],
    [{ url: URL, connectTimeoutMs: 0 }, 'connectTimeoutMs', /whole number/],
    [{ url: URL, statementTimeoutMs: Number.POSITIVE_INFINITY }, 'statementTimeoutMs', /whole number/],
    [{ url: URL, reconnectMs: -1 }, 'reconnectMs', /from 0/],
    [{ url: URL, retries: 3 }, 'retries', /has no option "retries": it takes url, connection, shards/],
  ];
  test.each(wrong)('%j is refused by the name of its field, and without the password', (options, field, message) => {
    let error: unknown;
    try {
      postgresStore(options as PostgresOptions);
    } catch (cause) {
      error = cause;
    }
    if (!DefinitionError.is(error)) throw new Error(`expected a DefinitionError, not ${error}`);
    expect(error).toMatchObject({ kind: 'invalid_option', field, message: expect.stringMatching(message) });
    expect(`${error.message} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('s3cret');
  });
});
