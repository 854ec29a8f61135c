/**
 * Measures looprig beside other libraries: `npm run bench:peers -- --rounds 5 --only looprig,bare --workloads W1,W2`. A whole run writes
 * RESULTS.md and the plots; one of a part prints its tables, and writes them where `--out` says.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Task } from './child.ts';
import { writeComparison } from './comparison.ts';
import { ask } from './process.ts';
import { plotsOf, reportOf } from './report.ts';
import { Results } from './results.ts';
import { BEHAVIOURS, LIBRARIES, WORKLOAD_GROUPS, WORKLOADS, type Workload } from './workloads.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    /** No round begins that would, as long as the one before, not end within so many minutes; the first always runs. */
    minutes: { type: 'string', default: '60' },
    only: { type: 'string' },
    workloads: { type: 'string' },
    /** Tiny sizes: whether everything runs, not what it costs. */
    try: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});

/** The names of a list such as `a,b`, each of which must be one of `known`. */
function choose(option: string, text: string | undefined, known: readonly string[]): readonly string[] {
  if (text === undefined) return known;
  const names = text.split(',').map(name => name.trim());
  const stranger = names.find(name => !known.includes(name));
  if (stranger !== undefined) throw new Error(`--${option} knows no "${stranger}"; it knows ${known.join(', ')}`);
  return names;
}

const libraries = choose('only', values.only, LIBRARIES);
const groups = choose('workloads', values.workloads, WORKLOAD_GROUPS);
const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1)
  throw new Error(`--rounds must be a whole number from 1, not "${values.rounds}"`);

const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0, not "${values.minutes}"`);

/** The other libraries are installed here, at the versions of the lock, and nowhere else; none of their scripts runs. */
function install(): void {
  const ageOf = (file: string): number => statSync(join(HERE, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (ageOf('node_modules/.package-lock.json') >= ageOf('package-lock.json')) return;
  console.error('installing the other libraries (about 520 MB) …');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: HERE,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the other libraries could not be installed');
}

const tiny = (workload: Workload): Workload => ({
  ...workload,
  steps: Math.min(workload.steps, 5),
  width: Math.min(workload.width, 3),
  ...(workload.runs && { runs: 5 }),
  ...(workload.deltas && { deltas: 50 }),
});

const folder = mkdtempSync(join(tmpdir(), 'looprig-peers-'));
const taskOf = (rest: Pick<Task, 'workload' | 'behaviour'>): Task => ({
  ...rest,
  file: join(folder, `${crypto.randomUUID()}.db`),
  warmUpMs: values.try ? 1 : 500,
  measureMs: values.try ? 1 : 500,
});
const LIMIT_MS = 180_000;

/** Who begins changes from round to round: nobody has the cooler machine. */
const turned = <T>(list: readonly T[], by: number): T[] => list.map((_, index) => list[(index + by) % list.length]!);

async function measureAll(results: Results): Promise<void> {
  const end = performance.now() + minutes * 60_000;
  let lastMs = 0;
  for (let round = 0; round < rounds && (round === 0 || performance.now() + lastMs <= end); round++) {
    const begun = performance.now();
    for (const whole of WORKLOADS.filter(workload => groups.includes(workload.group))) {
      const workload = values.try ? tiny(whole) : whole;
      const order = turned(libraries, round);
      if (workload.kind === 'start') order.unshift('empty');
      for (const library of order) {
        // What could not be done in one round is not tried again.
        if (results.reasonOf(library, workload.name) !== undefined) continue;
        const answer = await ask(library, taskOf({ workload }), LIMIT_MS);
        results.add(library, workload, answer);
      }
      console.error(`round ${round + 1} of ${rounds}: ${workload.name} done, load ${loadavg()[0]?.toFixed(1)}`);
    }
    lastMs = performance.now() - begun;
    results.rounds = round + 1;
  }
}

async function lookAtAll(results: Results): Promise<void> {
  for (const behaviour of Object.keys(BEHAVIOURS)) {
    for (const library of libraries) {
      const task = taskOf({ behaviour });
      let answer = await ask(library, task, 60_000);
      // A process that killed itself is followed by the one that finds what it left.
      if (behaviour === 'crash' && answer.signal === 'SIGKILL') answer = await ask(library, task, 60_000);
      results.see(library, behaviour, answer.seen ?? `– (${answer.cannot ?? 'no answer'})`);
    }
    console.error(`behaviour ${behaviour} done`);
  }
}

install();
const results = new Results(libraries);
try {
  await measureAll(results);
  if (groups.includes('behaviour')) await lookAtAll(results);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
results.end();

const report = reportOf(results, { isTry: values.try });
const isWhole = values.only === undefined && values.workloads === undefined && !values.try;
const out = values.out ?? (isWhole ? join(HERE, '..') : undefined);
console.log(report);
if (out !== undefined) {
  writeFileSync(join(resolve(out), 'RESULTS.md'), report);
  for (const [name, svg] of Object.entries(plotsOf(results))) writeFileSync(join(resolve(out), name), svg);
  if (isWhole) writeComparison();
  console.error(`written to ${resolve(out)}`);
}
