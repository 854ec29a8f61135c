/** What an engine itself costs: turns that do nothing, started, run and waited for. Servers of its own, on this machine. */

import type { Engine } from '../src/engines/engine.ts';
import { pgBoss } from '../src/engines/pg-boss/index.ts';
import { restate } from '../src/engines/restate/index.ts';
import { PostgresServer } from '../test/support/postgres-server.ts';
import { RestateServer } from '../test/support/restate-server.ts';

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
  console.log(`${name}: from a start to its run, alone: ${median(alone).toFixed(1)} ms (median of 50)`);

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

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

{
  await using server = await RestateServer.start();
  const { ingressUrl, adminUrl } = server;
  await measure('Restate', restate({ ingressUrl, adminUrl, worker: { port: 0 } }));
}
{
  await using server = await PostgresServer.start();
  await measure('pg-boss', pgBoss({ url: await server.createDatabase() }));
}
