/**
 * Whether a process that runs for long keeps more and more: 24 hours' worth of turns, one a second (86,400 turns of five calls each), through one process on
 * SQLite, spread over some minutes: `npm run soak:memory -- [--minutes 10] [--turns 86400] [--way rig|memory|server]`, where `memory` has a store in memory
 * and deletes sessions that are over. Prints what is held after garbage was collected, and exits with 1 where the heap grew by more than 5 % after the first
 * quarter: until then what a host keeps has come to its bounds.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { memoryStore } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { type Held, held } from '../test/soak/memory.ts';
import { CALLS_A_TURN, type Way, workload } from '../test/soak/workload.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    turns: { type: 'string', default: '86400' },
    way: { type: 'string', default: 'rig' },
  },
});

const minutes = above0('minutes', values.minutes);
const turns = Math.ceil(above0('turns', values.turns));
const way = wayOf(values.way);
const MEASUREMENTS = 20;
const MOST_GROWTH = 0.05;

const folder = mkdtempSync(join(tmpdir(), 'looprig-soak-'));
const file = join(folder, 'store.db');
const store = way === 'memory' ? memoryStore() : sqliteStore({ file });
const load = await workload(store, way);
const measured: Held[] = [];
const startedAt = performance.now();
console.log(`${turns} turns of ${CALLS_A_TURN} calls in ${minutes} minutes, by ${way}`);
try {
  for (let part = 1; part <= MEASUREMENTS; part++) {
    await load.playUntil(Math.round((turns * part) / MEASUREMENTS));
    measured.push(await held());
    report(measured.at(-1)!);
    const early = startedAt + (minutes * 60_000 * part) / MEASUREMENTS - performance.now();
    if (early > 0) await new Promise(resolve => setTimeout(resolve, early));
  }
  conclude();
} finally {
  await load.end();
  await store.close?.();
  rmSync(folder, { recursive: true });
}

function report({ heap, external, rss }: Held): void {
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const disk = way === 'memory' ? '' : `, file ${megabytes(statSync(file).size)}`;
  console.log(
    `${String(load.turns).padStart(7)} turns ${String(seconds).padStart(5)} s: heap ${megabytes(heap)}, external ${megabytes(external)}, rss ${megabytes(rss)}${disk}`,
  );
}

/** The heap at the end beside that after the first quarter, each as the mean of three measurements. */
function conclude(): void {
  const warm = meanHeap(measured.slice(MEASUREMENTS / 4 - 1, MEASUREMENTS / 4 + 2));
  const last = meanHeap(measured.slice(-3));
  const growth = last / warm - 1;
  console.log(
    `the heap grew by ${(growth * 100).toFixed(1)} % after the first quarter (${megabytes(warm)} to ${megabytes(last)})`,
  );
  if (growth <= MOST_GROWTH) return;
  console.error(`more than ${MOST_GROWTH * 100} %: something is kept`);
  process.exitCode = 1;
}

function meanHeap(some: readonly Held[]): number {
  return some.reduce((sum, { heap }) => sum + heap, 0) / some.length;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(2)} MB`;
}

function above0(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  console.error(`--${name} must be a number above 0, not "${text}"`);
  process.exit(1);
}

function wayOf(text: string): Way {
  if (text === 'rig' || text === 'memory' || text === 'server') return text;
  console.error(`--way must be rig, memory or server, not "${text}"`);
  process.exit(1);
}
