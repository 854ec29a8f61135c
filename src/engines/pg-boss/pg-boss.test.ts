import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineUser } from '../../../test/support/engine-user.ts';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';
import { EngineError } from '../engine-error.ts';
import { type PgBossOptions, pgBoss } from './index.ts';

const DONE = { status: 'done' } as const;
const url = 'postgres://somebody:open-sesame@127.0.0.1:1/nowhere';

describe('pgBoss', () => {
  it.each<[object, string]>([
    [
      { url: 'mysql://somebody:open-sesame@host/database' },
      '"url" of pgBoss must be a URL that begins with postgres://',
    ],
    [{ url, schema: 'a-b' }, '"schema" of pgBoss must be a name of small letters, digits and "_", not "a-b"'],
    [{ url, queue: '' }, '"queue" of pgBoss must be a name of small letters, digits and "_", not ""'],
    [{ url, concurrency: 0 }, '"concurrency" of pgBoss must be a whole number from 1, not 0'],
    [{ url, connections: 1.5 }, '"connections" of pgBoss must be a whole number from 2, not 1.5'],
    [{ url, pool: 1 }, 'pgBoss has no option "pool"'],
  ])('refuses %j', (options, message) => {
    const make = () => pgBoss(options as PgBossOptions);
    expect(make).toThrow(expect.objectContaining({ name: 'DefinitionError', kind: 'invalid_option' }));
    expect(make).toThrow(message);
  });

  it('says where a database cannot be reached, and never its password', async () => {
    await using engine = new EngineUser(pgBoss({ url }));
    const refused = await engine.start({ sessionId: 'session', turnId: 'turn' }).catch((error: unknown) => error);
    expect(EngineError.is(refused) && refused.kind).toBe('unavailable');
    expect(String(refused)).toContain('the engine on PostgreSQL cannot start a turn of session session now: ');
    expect(String(refused)).not.toContain('sesame');
  });
});

describe.runIf(HAS_POSTGRES)(`a queue in PostgreSQL${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(() => server.stop());

  it('goes on when its database was away, and tells what went wrong meanwhile', async () => {
    const errors: Error[] = [];
    await using engine = new EngineUser(
      pgBoss({ url: await server.createDatabase(), onError: error => errors.push(error) }),
    );
    const ran: string[] = [];
    await engine.serve(async ({ turnId }) => {
      ran.push(turnId);
      return DONE;
    });
    await engine.start({ sessionId: 'session', turnId: 'before' });
    await expect.poll(() => ran, { timeout: 15_000 }).toEqual(['before']);
    await server.kill();
    const refused = await engine.start({ sessionId: 'session', turnId: 'lost' }).catch((error: unknown) => error);
    expect(EngineError.is(refused) && refused.kind).toBe('unavailable');
    await server.restart();
    await engine.start({ sessionId: 'session', turnId: 'after' });
    await expect.poll(() => ran, { timeout: 15_000 }).toEqual(['before', 'after']);
    expect(errors.length).toBeGreaterThan(0);
  });

  it('keeps turns that are started before there is a worker, in their order', async () => {
    const options = { url: await server.createDatabase() };
    await using starter = new EngineUser(pgBoss(options));
    for (const turnId of ['one', 'two', 'three']) await starter.start({ sessionId: 'session', turnId });
    await using worker = new EngineUser(pgBoss(options));
    const ran: string[] = [];
    await worker.serve(async ({ turnId }) => {
      ran.push(turnId);
      return DONE;
    });
    await expect.poll(() => ran, { timeout: 15_000 }).toEqual(['one', 'two', 'three']);
  });
});
