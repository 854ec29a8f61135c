/**
 * A process that runs turns of the engines' tests. It is told what by its argument, says that it is ready when it serves, and lives as long as its parent, or
 * until it is killed. Where its engine is its own, its parent asks it what it would ask its own host.
 */
import { createHost } from '../../src/engines/create-host.ts';
import { engineFromUrl } from '../../src/engines/engine-url.ts';
import { localEngine } from '../../src/engines/local.ts';
import { defineRig } from '../../src/index.ts';
import { engineKitLoops } from '../../src/testing/engine-kit-loop.ts';
import { type Asked, openStore, type WorkerPlan } from './worker-plan.ts';

const plan = JSON.parse(process.argv[2] ?? '') as WorkerPlan;
const rig = defineRig({ loops: engineKitLoops(plan.folder), store: openStore(plan), gate: { ask: true } });
const engine = plan.engine === undefined ? localEngine() : await engineFromUrl(plan.engine);
const onError = (error: unknown): void => {
  if (plan.isLoud === true) console.error(error);
};
const host = createHost({ rig, engine, keepMs: plan.keepMs ?? 0, onError });
await host.serve();

process.on('disconnect', () => process.exit());
process.on('SIGTERM', async () => {
  await host.close({ graceMs: 10_000 });
  process.exit();
});
process.on('message', ({ id, method, args }: Asked) => {
  const act = host[method] as unknown as (...args: unknown[]) => Promise<unknown>;
  act.apply(host, args).then(
    value => process.send?.({ id, value }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.send?.('ready');
