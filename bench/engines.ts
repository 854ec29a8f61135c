/**
 * What an engine itself costs: turns that do nothing, started, run and waited for, on servers of their own on this machine; and what a session costs the
 * process that it lives in. Run by `npm run bench:engines`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHost } from '../src/engines/create-host.ts';

import type { Engine } from '../src/engines/engine.ts';
import { localEngine } from '../src/engines/local.ts';
import { pgBoss } from '../src/engines/pg-boss/index.ts';
import { restate } from '../src/engines/restate/index.ts';
import { defineRig } from '../src/index.ts';
import { sqliteStore } from '../src/journal/sqlite/index.ts';
import { readLedger } from '../src/testing/engine-kit-ledger.ts';
import { engineKitLoops, type KitPlan } from '../src/testing/engine-kit-loop.ts';
import { PostgresServer } from '../test/support/postgres-server.ts';
import { RestateServer } from '../test/support/restate-server.ts';
import { medianOf } from './statistics.ts';

const SESSIONS = 200;
const TURNS = 5;
const WAITING = 1_000;

async function measure(name: string, engine: Engine): Promise<void> {
  const ran = new Map<string, (value: number) => void>();
  const runs = (turnId: string): Promise<number> => new Promise(resolve => ran.set(turnId, resolve));
  const serving = await engine.serve(async ({ turnId }) => {
    ran.get(turnId)?.(performance.now());
    return turnId.startsWith('wait') ? { status: 'waiting', gateIds: ['gate'] } : { status: 'done' };
  });
  const turnOf = async (sessionId: string, turnId: string): Promise<number> => {
    const began = performance.now();
    const run = runs(turnId);
    await engine.start({ sessionId, turnId });
    return (await run) - began;
  };
  await turnOf('first', 'first');

  const alone: number[] = [];
  for (let turn = 0; turn < 50; turn++) alone.push(await turnOf('alone', `alone-${turn}`));
  console.log(`${name}: from a start to its run, alone: ${medianOf(alone).toFixed(1)} ms (median of 50)`);

  const began = performance.now();
  const sessions = Array.from({ length: SESSIONS }, (_, index) => `session-${index}`);
  await Promise.all(
    sessions.map(async sessionId => {
      for (let turn = 0; turn < TURNS; turn++) await turnOf(sessionId, `${sessionId}-${turn}`);
    }),
  );
  const perSecond = (SESSIONS * TURNS) / ((performance.now() - began) / 1_000);
  console.log(`${name}: ${Math.round(perSecond)} empty turns a second, ${SESSIONS} sessions at once`);

  const waiting = Array.from({ length: WAITING }, (_, index) => `wait-${index}`);
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  await Promise.all(waiting.map(turnId => turnOf(turnId, turnId)));
  await new Promise(resolve => setTimeout(resolve, 3_000));
  ran.clear();
  globalThis.gc?.();
  const each = (process.memoryUsage().heapUsed - before) / WAITING;
  console.log(`${name}: ${Math.round(each)} bytes in a worker for each turn that waits`);
  await serving.close();
  await engine.close?.();
}

/** What sessions hold in the memory of the process that runs their turns, tools of a loop with six included. */
async function measureMemory(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'looprig-bench-'));
  const store = sqliteStore({ file: join(folder, 'sessions.db') });
  const rig = defineRig({ loops: engineKitLoops(folder), store, gate: { ask: true } });
  const play = async (
    what: string,
    keepMs: number,
    plan: KitPlan,
    isThere: (sessionId: string) => Promise<boolean>,
  ) => {
    const engine = localEngine();
    const host = createHost({ rig, engine, keepMs, recover: false });
    await host.serve();
    await settled();
    const before = process.memoryUsage().heapUsed;
    const sessions = await Promise.all(Array.from({ length: WAITING }, () => host.begin()));
    for (const sessionId of sessions) await host.submit(sessionId, JSON.stringify(plan));
    for (const sessionId of sessions)
      while (!(await isThere(sessionId))) await new Promise(done => setTimeout(done, 20));
    await settled();
    if (what !== '')
      console.log(
        `${what}: ${Math.round((process.memoryUsage().heapUsed - before) / WAITING).toLocaleString('en')} bytes`,
      );
    await host.close(); // what still runs or waits is left
  };
  const asks: KitPlan = { batches: [[{ tool: 'ask', key: 'asked' }]] };
  const hasAsked = async (sessionId: string): Promise<boolean> => ((await store.find(sessionId))?.lastSeq ?? 0) >= 6;
  await play('', 0, { batches: [] }, async () => true); // what is loaded and compiled once
  const began = new Set<string>();
  const runs = async (sessionId: string): Promise<boolean> => {
    if (!began.has(sessionId)) for (const line of readLedger(folder)) began.add(line.sessionId);
    return began.has(sessionId);
  };
  await play('a session that runs a call', 0, { batches: [[{ tool: 'hold', key: 'held' }]] }, runs);
  await play('a session that waits in memory', 60_000, asks, hasAsked);
  await play('a session that waits, and has left the memory', 0, asks, hasAsked);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

/** When all that is over has let go of what it held. */
async function settled(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await new Promise(resolve => setTimeout(resolve, 1_000));
    globalThis.gc?.();
  }
}

await measureMemory();
{
  await using server = await RestateServer.start();
  const { ingressUrl, adminUrl } = server;
  await measure('Restate', restate({ ingressUrl, adminUrl, worker: { port: 0 } }));
}
{
  await using server = await PostgresServer.start();
  await measure('pg-boss', pgBoss({ url: await server.createDatabase() }));
}
