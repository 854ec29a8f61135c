import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EngineUser } from '../../../test/support/engine-user.ts';
import { HAS_RESTATE, RESTATE_LEFT_OUT, RestateServer } from '../../../test/support/restate-server.ts';
import { freePort } from '../../../test/support/server-guard.ts';
import { EngineError } from '../engine-error.ts';
import { type RestateOptions, restate } from './index.ts';

const DONE = { status: 'done' } as const;
const NOWHERE = 'http://127.0.0.1:1';

describe('restate', () => {
  it.each<[object, string]>([
    [{ ingressUrl: 'localhost:8080' }, '"ingressUrl" of restate must be a URL that begins with http:// or https://'],
    [{ ingressUrl: NOWHERE, adminUrl: 'ftp://host' }, '"adminUrl" of restate must be a URL'],
    [{ ingressUrl: NOWHERE, namespace: 'a b' }, '"namespace" of restate must be letters, digits, "_" and "-"'],
    [{ ingressUrl: NOWHERE, worker: { port: 70_000 } }, '"worker.port" of restate must be a port, not 70000'],
    [{ ingressUrl: NOWHERE, ports: 1 }, 'restate has no option "ports"'],
    [{ ingressUrl: NOWHERE, worker: { ports: 1 } }, 'the worker of restate has no option "ports"'],
  ])('refuses %j', (options, message) => {
    const make = () => restate(options as RestateOptions);
    expect(make).toThrow(expect.objectContaining({ name: 'DefinitionError', kind: 'invalid_option' }));
    expect(make).toThrow(message);
  });

  it('says where a server cannot be reached', async () => {
    const engine = restate({ ingressUrl: NOWHERE, adminUrl: NOWHERE, worker: { port: 0 } });
    const refused = await engine.wake({ sessionId: 'session', turnId: 'turn' }).catch((error: unknown) => error);
    expect(EngineError.is(refused) && refused.kind).toBe('unavailable');
    expect(String(refused)).toContain(`Restate at ${NOWHERE} did not take a wake of session session`);
    await expect(engine.serve(async () => DONE)).rejects.toThrow(`Restate cannot be reached at ${NOWHERE}`);
  });
});

describe.runIf(HAS_RESTATE)(`a Restate server${RESTATE_LEFT_OUT}`, () => {
  let server: RestateServer;
  beforeAll(async () => {
    server = await RestateServer.start();
  }, 30_000);
  afterAll(() => server.stop());

  const connect = (namespace: string, port = 0, sharePort = false) => {
    const { ingressUrl, adminUrl } = server;
    return new EngineUser(restate({ ingressUrl, adminUrl, namespace, worker: { port, sharePort } }));
  };

  it('cuts off no run that is silent for less than a day, and is quick with a turn that waits', async () => {
    await using engine = connect('silent');
    await engine.serve(async () => DONE);
    const serviceOf = async (name: string): Promise<unknown> =>
      (await fetch(`${server.adminUrl}/services/${name}`)).json();
    expect(await serviceOf('silent-run')).toMatchObject({
      inactivity_timeout: '1d',
      abort_timeout: '1d',
      public: false,
    });
    expect(await serviceOf('silent-session')).toMatchObject({ inactivity_timeout: '500ms', abort_timeout: '1d' });
  });

  it('holds no connection for a turn that waits', async () => {
    await using engine = connect('waits');
    await engine.serve(async () => ({ status: 'waiting', gateIds: ['gate'] }));
    await engine.start({ sessionId: 'session', turnId: 'turn' });
    const standing = async (): Promise<unknown> => {
      const [turn] = await server.query(
        "SELECT status FROM sys_invocation WHERE target = 'waits-session/session/turn'",
      );
      return turn?.status;
    };
    await expect.poll(standing, { timeout: 10_000 }).toBe('suspended');
  });

  it('keeps a turn that is started while no worker is there, for the next one at the same address', async () => {
    const port = await freePort();
    const first = connect('later', port);
    await first.serve(async () => DONE);
    await first.close();
    await using starter = connect('later', port);
    await starter.start({ sessionId: 'session', turnId: 'turn' });
    await using second = connect('later', port);
    const ran = Promise.withResolvers<string>();
    await second.serve(async ({ turnId }) => {
      ran.resolve(turnId);
      return DONE;
    });
    expect(await ran.promise).toBe('turn');
  });

  it('spreads what comes over workers that share a port, and goes on with those that are left', async () => {
    const port = await freePort();
    const engines = [connect('shared', port, true), connect('shared', port, true)] as const;
    const ran = [new Set<string>(), new Set<string>()] as const;
    for (const [index, engine] of engines.entries()) {
      await engine.serve(async ({ turnId }) => {
        ran[index]?.add(turnId);
        return DONE;
      });
    }
    const start = async (from: number, count: number): Promise<void> => {
      const turns = Array.from({ length: count }, (_, index) => `turn${from + index}`);
      await Promise.all(turns.map(turnId => engines[0].start({ sessionId: turnId, turnId })));
      await expect
        .poll(() => turns.every(turn => ran[0].has(turn) || ran[1].has(turn)), { timeout: 15_000 })
        .toBe(true);
    };
    await start(0, 60);
    await engines[1].close();
    await start(60, 20);
    await engines[0].close();
    expect(ran[0].size + ran[1].size).toBeGreaterThanOrEqual(80);
  });
});
