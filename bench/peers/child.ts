/**
 * One library and one workload in a process of its own: `node child.ts <library> <task as JSON>`. The figure goes to the parent as a
 * message; whatever the library prints is not read.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { look } from './behaviours.ts';
import type { Agent, Driver, Job, Outcome } from './driver.ts';
import type { Workload } from './workloads.ts';

export interface Task {
  readonly workload?: Workload;
  readonly behaviour?: string;
  /** Of the file of a durable workload, and of a crash. */
  readonly file: string;
  /** How long to warm up, and then to measure, in milliseconds; at least one run of each. */
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export interface Figure {
  readonly value: number;
  readonly second?: number;
}

interface Subject {
  readonly driver: Driver;
}

const now = (): number => performance.now();

function jobOf(workload: Workload, file: string): Job {
  const { steps, width, stream = false, deltas = 0, resultBytes = 0, synchronous } = workload;
  // A text of its own for each result, as of a file that was read: a string shared by all would cost nothing to keep.
  const bytes = Buffer.alloc(resultBytes, 'x');
  const large = (n: number): string => {
    bytes.write(String(n));
    return bytes.toString('latin1');
  };
  const tool = async (n: number): Promise<string> => (resultBytes > 0 ? large(n) : String(n + 1));
  return { steps, width, stream, deltas, tool, ...(synchronous && { store: { file, synchronous } }) };
}

/** A figure of a run that did not do its work would be worth nothing. */
async function check(outcome: Outcome, { steps, width, deltas = 0, name }: Workload): Promise<void> {
  const ids = await outcome.history?.();
  if (outcome.ended.startsWith('threw') || outcome.ended.startsWith('failed')) throw new Error(outcome.ended);
  if (ids && ids.results.length !== steps * width) {
    throw new Error(`${name}: the history has ${ids.results.length} results, not ${steps * width}`);
  }
  if (deltas > 0 && outcome.deltas !== deltas) throw new Error(`${name}: ${outcome.deltas} deltas arrived`);
  await outcome.close?.();
}

/** Milliseconds of one run. */
async function timed(agent: Agent, workload: Workload): Promise<number> {
  const run = await agent.open();
  const start = now();
  const outcome = await run();
  const time = now() - start;
  await check(outcome, workload);
  return time;
}

/** Warm runs are of a hundred steps at most: what makes them quick is the same. */
async function warmUp({ driver }: Subject, workload: Workload, task: Task): Promise<void> {
  const small = { ...workload, steps: Math.min(workload.steps, 100) };
  const agent = await driver.define(jobOf(small, task.file));
  const start = now();
  do await timed(agent, small);
  while (now() - start < task.warmUpMs);
  await agent.close?.();
}

async function medianTime(subject: Subject, workload: Workload, task: Task): Promise<number> {
  await warmUp(subject, workload, task);
  const agent = await subject.driver.define(jobOf(workload, task.file));
  const times: number[] = [];
  for (let sum = 0; sum < task.measureMs || times.length === 0; sum += times.at(-1) ?? 0) {
    times.push(await timed(agent, workload));
  }
  await agent.close?.();
  return times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
}

const resident = (field: 'VmHWM' | 'VmRSS'): number => {
  const kilobytes = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
};

/** Bytes that the process grew by at its peak while `work` ran. Linux forgets the peak before it when asked to. */
async function peakOf(work: () => Promise<void>): Promise<number> {
  globalThis.gc?.();
  if (process.platform !== 'linux') {
    const before = process.memoryUsage.rss();
    await work();
    return Math.max(0, process.resourceUsage().maxRSS * 1_024 - before);
  }
  writeFileSync('/proc/self/clear_refs', '5');
  const before = resident('VmRSS');
  await work();
  return Math.max(0, resident('VmHWM') - before);
}

async function memory({ driver }: Subject, workload: Workload, task: Task): Promise<Figure> {
  const runs = workload.runs ?? 1;
  const agent = await driver.define(jobOf(workload, task.file));
  // What is compiled and loaded at the first runs is not what a run keeps.
  for (let run = 0; run < 3; run++) await timed(agent, workload);
  let time = 0;
  let outcomes: Outcome[] = [];
  const peak = await peakOf(async () => {
    const start = now();
    outcomes = await Promise.all(Array.from({ length: runs }, async () => (await agent.open())()));
    time = now() - start;
  });
  for (const outcome of outcomes) await check(outcome, workload);
  return runs > 1 ? { value: time / 1_000, second: peak / runs / 1_000 } : { value: time, second: peak / 1e6 };
}

/** The file of a closed store, which has no log beside it, grows by what was kept. */
async function durable(subject: Subject, workload: Workload, task: Task): Promise<Figure> {
  const value = ((await medianTime(subject, workload, task)) * 1_000) / workload.steps;
  const before = statSync(task.file).size;
  const agent = await subject.driver.define(jobOf(workload, task.file));
  const runs = 5;
  for (let run = 0; run < runs; run++) await timed(agent, workload);
  await agent.close?.();
  return { value, second: (statSync(task.file).size - before) / (runs * workload.steps) / 1_000 };
}

/** Steps a second of runs that share a file. */
async function durableTogether(subject: Subject, workload: Workload, task: Task): Promise<Figure> {
  await warmUp(subject, workload, task);
  const agent = await subject.driver.define(jobOf(workload, task.file));
  const runs = await Promise.all(Array.from({ length: workload.runs ?? 1 }, () => agent.open()));
  const start = now();
  const outcomes = await Promise.all(runs.map(run => run()));
  const seconds = (now() - start) / 1_000;
  for (const outcome of outcomes) await check(outcome, workload);
  await agent.close?.();
  return { value: (runs.length * workload.steps) / seconds };
}

async function measure(subject: Subject, workload: Workload, task: Task): Promise<Figure> {
  if (workload.kind === 'start') {
    await subject.driver.define(jobOf(workload, task.file));
    return { value: Number.NaN };
  }
  if (workload.kind === 'memory') return memory(subject, workload, task);
  if (workload.synchronous && workload.runs) return durableTogether(subject, workload, task);
  if (workload.synchronous) return durable(subject, workload, task);
  const time = await medianTime(subject, workload, task);
  if (workload.kind === 'rate') return { value: (workload.deltas ?? 0) / (time / 1_000) };
  return { value: (time * 1_000) / (workload.steps * workload.width) };
}

/** Sent before the process ends: some libraries keep it alive. */
function tell(message: unknown): void {
  process.send?.(message, () => process.exit());
}

/** The first line of what was thrown, without the folders of this machine. */
function sentenceOf(error: unknown): string {
  const [line = ''] = String(error).split('\n', 1);
  return line.replaceAll(fileURLToPath(new URL('.', import.meta.url)), '');
}

const [library, text] = process.argv.slice(2);
const task = JSON.parse(text ?? '{}') as Task;
try {
  const module = (await import(`./drivers/${library}.ts`)) as Subject;
  const needs = task.workload?.needs ?? task.behaviour ?? '';
  const reason = module.driver.cannot?.[needs] ?? module.driver.cannot?.[needs.split('-', 1)[0] ?? ''];
  if (reason !== undefined) tell({ cannot: reason });
  else if (task.behaviour !== undefined) tell({ seen: await look(module.driver, task.behaviour, task.file) });
  else if (task.workload !== undefined) tell({ figure: await measure(module, task.workload, task) });
} catch (error) {
  tell({ cannot: sentenceOf(error) });
}
