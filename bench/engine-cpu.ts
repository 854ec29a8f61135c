/**
 * What a step costs each process in time of the processor, which a busy machine does not change: `npm run bench:cpu -- restate` (or `pgBoss`, `local`). The worker's
 * part has what the tools of the tests write down. Linux only.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { forEach, freshKey } from '../src/testing/engine-kit-checks.ts';
import { KitBench } from '../src/testing/engine-kit-lab.ts';
import { localLab, pgBossLab, restateLab } from '../test/engines/labs.ts';

const LABS = { local: localLab, restate: restateLab, pgBoss: pgBossLab };
const SESSIONS = 20;
const STEPS = 100;

/** The fields of a process, from its parent's number on, as the system tells them. */
function statOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // it has ended
  }
}

/** All processes that this one started, and those that they did. */
function family(): readonly number[] {
  const all = readdirSync('/proc').flatMap(name => (/^\d+$/.test(name) ? [Number(name)] : []));
  const parents = new Map(all.map(pid => [pid, Number(statOf(pid)[1])]));
  const isOurs = (pid: number | undefined): boolean =>
    pid === process.pid || (pid !== undefined && pid > 1 && isOurs(parents.get(pid)));
  return all.filter(isOurs);
}

function roleOf(pid: number, worker: number): string {
  if (pid === process.pid) return 'client';
  if (pid === worker) return 'worker';
  return readFileSync(`/proc/${pid}/comm`, 'utf8').includes('restate') ? 'Restate' : 'PostgreSQL';
}

/** Milliseconds of each role so far; the system counts hundredths of a second. */
function spent(worker: number): Map<string, number> {
  const roles = new Map<string, number>();
  for (const pid of family()) {
    const [user = 0, system = 0] = statOf(pid).slice(11, 13).map(Number);
    const role = roleOf(pid, worker);
    roles.set(role, (roles.get(role) ?? 0) + (user + system) * 10);
  }
  return roles;
}

for (const [name, createLab] of Object.entries(LABS)) {
  if (process.argv.length > 2 && !process.argv.includes(name)) continue;
  const bench = new KitBench(await createLab());
  await bench.haveWorkers(1);
  const worker = bench.workers[0]?.pid ?? 0;
  const play = async (times: number): Promise<void> => {
    const keys = Array.from({ length: SESSIONS }, () => freshKey('cpu'));
    const plan = (key: string) => ({ batches: [[{ tool: 'note' as const, key }]], times });
    for (const turn of await forEach(keys, SESSIONS, key => bench.start(plan(key)))) await bench.ended(turn);
  };
  await play(20); // what a process does for the first time
  const before = spent(worker);
  await play(STEPS);
  console.log(`${name}, milliseconds of the processor a step:`);
  for (const [role, ms] of spent(worker)) {
    console.log(`  ${role}: ${((ms - (before.get(role) ?? 0)) / (SESSIONS * STEPS)).toFixed(2)}`);
  }
  await bench.close();
}
process.exit();
