/** The figures of the guard: how they are taken, and when they have grown too much. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Counts, Task, WorkName } from './guard-child.ts';

/** Figures by name, as they stand in `guard.json`. */
export interface Baseline {
  /** How many times what it was a count may be, and a ratio of times: machines differ in those. */
  readonly margins: { readonly count: number; readonly time: number };
  readonly figures: Readonly<Record<string, number>>;
}

const CHILD = fileURLToPath(new URL('guard-child.ts', import.meta.url));

/**
 * Nothing is optimised away and nothing is collected while bytes are counted, so that a run counts the same as the one before; in such a
 * process no time is measured.
 */
const EXACT = [
  ...['--no-opt', '--no-maglev', '--single-threaded'],
  ...['--min-semi-space-size=256', '--max-semi-space-size=256'],
];

const WORK_NAMES: readonly WorkName[] = [
  ...(['a step', 'a step that streams', 'a step that is watched', 'a step kept in SQLite'] as const),
  ...(['a call in a batch', 'a delta that is read', 'a loop and a session'] as const),
];

/** What a process counts; rejects if it ends without. */
export function countIn(task: Task): Promise<Counts> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [JSON.stringify(task)], {
      execArgv: task.count === 'work' ? EXACT : [],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let counts: Counts | undefined;
    let said = '';
    child.stderr?.on('data', text => {
      said += text;
    });
    child.on('message', message => {
      counts = message as Counts;
    });
    child.on('error', reject);
    child.on('close', () => {
      const why = /^\w*Error.*$/m.exec(said)?.[0] ?? 'it ended without a word';
      if (counts === undefined) reject(new Error(`the guard counted nothing of ${JSON.stringify(task)}: ${why}`));
      else resolve(counts);
    });
  });
}

/** All figures of `looprig` as `entry` gives it, by name. */
export async function figuresOf(entry: string): Promise<Readonly<Record<string, number>>> {
  const figures: Record<string, number> = {};
  const add = (name: (what: string) => string, counts: Counts): void => {
    for (const [what, value] of Object.entries(counts)) figures[name(what)] = value;
  };
  add(what => `${what} of an import`, await countIn({ count: 'import', entry }));
  add(what => `${what} of an import and a turn`, await countIn({ count: 'import', entry, turn: true }));
  for (const work of WORK_NAMES) add(what => `${what} of ${work}`, await countIn({ count: 'work', entry, work }));
  return { ...figures, ...(await timesOf(entry)) };
}

/** Those figures that are ratios of times. */
export async function timesOf(entry: string): Promise<Readonly<Record<string, number>>> {
  const counts = await countIn({ count: 'time', entry });
  return Object.fromEntries(Object.entries(counts).map(([what, value]) => [`${TIME}${what}`, value]));
}

const TIME = 'time of a step, in times ';

/** What has grown beyond its margin, as a sentence each. */
export function slipsOf({ margins, figures }: Baseline, measured: Readonly<Record<string, number>>): readonly string[] {
  const names = new Set([...Object.keys(figures), ...Object.keys(measured)]);
  return [...names].flatMap(name => {
    const [before, now] = [figures[name], measured[name]];
    if (before === undefined) return [`"${name}" has no baseline: ${RENEW}`];
    if (now === undefined) return [`"${name}" is not measured any more: ${RENEW}`];
    const margin = name.startsWith(TIME) ? margins.time : margins.count;
    if (now <= before * margin) return [];
    const percent = Math.round((now / before - 1) * 100);
    return [
      `${name}: from ${told(before)} to ${told(now)}, ${percent} % more; ${Math.round((margin - 1) * 100)} % is allowed`,
    ];
  });
}

/** Whether all that slipped are times: noise may have a part in those, and never makes them less. */
export function areOfTime(slips: readonly string[]): boolean {
  return slips.length > 0 && slips.every(slip => slip.startsWith(TIME));
}

export const told = (value: number): string => value.toLocaleString('en-US');

/** What to do about a baseline that is not true any more. */
export const RENEW = 'npm run guard:renew writes what is measured now';
