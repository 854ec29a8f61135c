/** What every engine does with runs of turns, whatever these do. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, RunOutcome, TurnRef } from '../../src/engines/engine.ts';
import { localEngine } from '../../src/engines/local.ts';
import { pgBoss } from '../../src/engines/pg-boss/index.ts';
import { restate } from '../../src/engines/restate/index.ts';
import { EngineUser } from '../support/engine-user.ts';
import { HAS_POSTGRES, PostgresServer } from '../support/postgres-server.ts';
import { HAS_RESTATE, RestateServer } from '../support/restate-server.ts';
import { freePort } from '../support/server-guard.ts';

const DONE: RunOutcome = { status: 'done' };
const WAITING: RunOutcome = { status: 'waiting', gateIds: ['gate'] };

/** Engines whose runs a test follows. */
class Runs {
  /** What runs did, in order. */
  readonly log: string[] = [];
  #waiting: { readonly entry: string; readonly count: number; readonly resolve: () => void }[] = [];

  say(entry: string): void {
    this.log.push(entry);
    this.#waiting = this.#waiting.filter(({ entry, count, resolve }) => {
      if (this.count(entry) < count) return true;
      resolve();
      return false;
    });
  }

  count(entry: string): number {
    return this.log.filter(said => said === entry).length;
  }

  /** Resolves when this was said so often. */
  said(entry: string, count = 1): Promise<void> {
    if (this.count(entry) >= count) return Promise.resolve();
    return new Promise(resolve => this.#waiting.push({ entry, count, resolve }));
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });

interface Kind {
  readonly name: string;
  readonly isThere: boolean;
  start(): Promise<{ readonly engine: () => Engine | Promise<Engine>; readonly stop: () => Promise<void> }>;
}

let namespaces = 0;

const KINDS: readonly Kind[] = [
  {
    name: 'one process',
    isThere: true,
    start: async () => ({ engine: localEngine, stop: async () => undefined }),
  },
  {
    name: 'Restate',
    isThere: HAS_RESTATE,
    async start() {
      const server = await RestateServer.start();
      const { ingressUrl, adminUrl } = server;
      const worker = { port: await freePort(), sharePort: true };
      const engine = () => restate({ ingressUrl, adminUrl, namespace: `test${++namespaces}`, worker });
      return { engine, stop: () => server.stop() };
    },
  },
  {
    name: 'pg-boss',
    isThere: HAS_POSTGRES,
    async start() {
      const server = await PostgresServer.start();
      const url = await server.createDatabase();
      return { engine: () => pgBoss({ url, queue: `test${++namespaces}` }), stop: () => server.stop() };
    },
  },
];

describe.each(KINDS.filter(({ isThere }) => isThere))('the engine of $name', ({ start }) => {
  let kind: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    kind = await start();
  }, 60_000);
  afterAll(() => kind.stop());

  const ref = (turnId: string, sessionId = 'session'): TurnRef => ({ sessionId, turnId });

  it('runs a turn once, however often it is started, and turns of a session one at a time, in their order', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ turnId }) => {
      runs.say(`begin ${turnId}`);
      await sleep(50);
      runs.say(`end ${turnId}`);
      return DONE;
    });
    for (const turnId of ['one', 'one', 'two', 'one', 'three', 'two']) await engine.start(ref(turnId));
    await runs.said('end three');
    expect(runs.log).toEqual(['one', 'two', 'three'].flatMap(turnId => [`begin ${turnId}`, `end ${turnId}`]));
  });

  it('runs turns of different sessions at once', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ sessionId }) => {
      runs.say(`begin ${sessionId}`);
      await Promise.all(['a', 'b', 'c'].map(other => runs.said(`begin ${other}`)));
      runs.say('met');
      return DONE;
    });
    await Promise.all(['a', 'b', 'c'].map(sessionId => engine.start(ref('turn', sessionId))));
    await runs.said('met', 3);
  });

  it('runs a turn that waits again when it is woken, also where that comes while it runs', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async () => {
      runs.say('begin');
      const round = runs.count('begin');
      if (round === 2) await engine.wake(ref('turn'));
      return round < 3 ? WAITING : DONE;
    });
    await engine.start(ref('turn'));
    await runs.said('begin');
    await sleep(200);
    expect(runs.count('begin')).toBe(1);
    await engine.wake(ref('turn'));
    await runs.said('begin', 3);
  });

  it('runs a turn that waits again when its time has come', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    const until = Date.now() + 1_500;
    await user.serve(async () => {
      runs.say(Date.now() < until ? 'early' : 'late');
      return runs.count('late') === 0 ? { ...WAITING, until } : DONE;
    });
    await engine.start(ref('turn'));
    await runs.said('late');
    expect(runs.log).toEqual(['early', 'late']);
  });

  it('runs a turn again whose run rejected', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async () => {
      runs.say('begin');
      if (runs.count('begin') < 3) throw new Error('the store cannot be reached');
      runs.say('end');
      return DONE;
    });
    await engine.start(ref('turn'));
    await runs.said('end');
    expect(runs.count('begin')).toBe(3);
  });

  it('tells the run of a turn that is cancelled, and begins the next turn when it has returned', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ turnId }, { cancelled }) => {
      runs.say(`begin ${turnId}`);
      if (turnId === 'next') return DONE;
      await aborted(cancelled);
      runs.say('aborted');
      await sleep(200);
      runs.say('returns');
      return DONE;
    });
    await engine.start(ref('turn'));
    await engine.start(ref('next'));
    await runs.said('begin turn');
    await engine.cancel(ref('turn'));
    await runs.said('begin next');
    expect(runs.log.filter(entry => entry !== 'begin turn')).toEqual(['aborted', 'returns', 'begin next']);
  });

  it('runs a turn that is cancelled while it waits once more, and then the next', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ turnId }) => {
      runs.say(`begin ${turnId}`);
      return runs.count('begin turn') === 1 ? WAITING : DONE;
    });
    await engine.start(ref('turn'));
    await runs.said('begin turn');
    await sleep(200);
    await engine.cancel(ref('turn'));
    await runs.said('begin turn', 2);
    await engine.start(ref('next'));
    await runs.said('begin next');
  });

  it('holds back what comes behind a turn that waits', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ turnId }) => {
      runs.say(turnId);
      return turnId === 'next' || runs.count('turn') > 1 ? DONE : WAITING;
    });
    await engine.start(ref('turn'));
    await engine.start(ref('next'));
    await engine.start(ref('turn', 'elsewhere'));
    await runs.said('turn', 2);
    await sleep(1_500);
    expect(runs.log).toEqual(['turn', 'turn']);
    await engine.wake(ref('turn'));
    await runs.said('next');
  });

  it('runs a turn that is released again, in another process that serves', async () => {
    const engine = await kind.engine();
    await using user = new EngineUser(engine);
    const runs = new Runs();
    const leave = Promise.withResolvers<void>();
    const first = await engine.serve(async () => {
      runs.say('first');
      await leave.promise;
      return { status: 'released' };
    });
    await engine.start(ref('turn'));
    await runs.said('first');
    const closed = first.close();
    await user.serve(async () => {
      runs.say('second');
      return DONE;
    });
    leave.resolve();
    await closed;
    await runs.said('second');
    expect(runs.count('first')).toBe(1);
  });

  it('starts, wakes and cancels where no turn is, and changes nothing', async () => {
    await using user = new EngineUser(await kind.engine());
    const { engine } = user;
    const runs = new Runs();
    await user.serve(async ({ turnId }) => {
      runs.say(turnId);
      return DONE;
    });
    await engine.cancel(ref('unknown'));
    await engine.wake(ref('unknown'));
    await engine.start(ref('turn'));
    await runs.said('turn');
  });
});
