/** The engines under test, each with the servers that it stands on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHost } from '../../src/engines/create-host.ts';
import { engineFromUrl } from '../../src/engines/engine-url.ts';
import { defineRig } from '../../src/index.ts';
import type { EngineKitLab, EngineKitServer } from '../../src/testing/engine-kit.ts';
import { engineKitLoops } from '../../src/testing/engine-kit-loop.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { RestateServer } from '../support/restate-server.ts';
import { freePort } from '../support/server-guard.ts';
import { askingHost, openStore, type RunningWorker, startWorker, type WorkerPlan } from './worker-plan.ts';

const COMPILED = join(tmpdir(), 'looprig-engine-workers');

/** Workers on SQLite, each with an engine of its own: it runs what it is asked itself. */
export async function localLab(): Promise<EngineKitLab> {
  const folder = newFolder();
  const plan: WorkerPlan = { folder, store: join(folder, 'sessions.db') };
  const store = openStore(plan);
  let current: RunningWorker | undefined;
  let waiting: PromiseWithResolvers<RunningWorker> | undefined;
  const askedWorker = async (): Promise<RunningWorker> => {
    waiting ??= Promise.withResolvers();
    return current ?? waiting.promise;
  };
  return {
    folder,
    store,
    host: askingHost(askedWorker),
    async startWorker() {
      const worker = await startWorker(plan, COMPILED);
      current = worker;
      waiting?.resolve(worker);
      waiting = undefined;
      worker.once('exit', () => {
        if (current === worker) current = undefined; // the next one is asked
      });
      return worker;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Workers on PostgreSQL, told by Restate. */
export async function restateLab(): Promise<EngineKitLab> {
  const folder = newFolder();
  const [postgres, restate, port] = await Promise.all([PostgresServer.start(), RestateServer.start(), freePort()]);
  const { host: ingress } = new URL(restate.ingressUrl);
  const engine = `restate://${ingress}?admin=${restate.adminUrl}&listen=${port}&share`;
  const servers = [named('Restate', restate), named('PostgreSQL', postgres)];
  return lab({ folder, store: await postgres.createDatabase(), engine }, servers);
}

/** Workers on PostgreSQL, told by a queue in it. */
export async function pgBossLab(): Promise<EngineKitLab> {
  const folder = newFolder();
  const postgres = await PostgresServer.start();
  const store = await postgres.createDatabase();
  return lab({ folder, store, engine: store.replace(/^postgres:/, 'pg-boss:') }, [named('PostgreSQL', postgres)]);
}

type StoppableServer = EngineKitServer & { stop(): Promise<void> };

function named(name: string, server: Omit<StoppableServer, 'name'>): StoppableServer {
  return {
    name,
    kill: () => server.kill(),
    restart: () => server.restart(),
    stop: () => server.stop(),
  };
}

async function lab(
  plan: WorkerPlan & { readonly engine: string },
  servers: readonly StoppableServer[],
): Promise<EngineKitLab> {
  const store = openStore(plan);
  const engine = await engineFromUrl(plan.engine);
  const rig = defineRig({ loops: engineKitLoops(plan.folder), store, gate: { ask: true } });
  const host = createHost({ rig, engine });
  return {
    folder: plan.folder,
    store,
    host,
    servers,
    startWorker: () => startWorker(plan, COMPILED),
    async close() {
      await host.close();
      await engine.close();
      await store.close();
      for (const server of servers) await server.stop();
      rmSync(plan.folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'looprig-engine-'));
}
