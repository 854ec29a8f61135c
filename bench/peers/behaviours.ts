/** What a library does rather than what it costs: seen from outside, by tools that count. Each answers with one sentence. */
import { appendFileSync, existsSync, readFileSync, renameSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Driver, Job, Outcome } from './driver.ts';

/** How long a tool ignores that it was told to stop. */
const DEAF_MS = 8_000;

/** A library that hands back no history when it throws is asked for what it kept. */
const keptIn = (file: string) => ({ file, synchronous: 'NORMAL' as const });

const JOB = { width: 1, stream: false, deltas: 0 } as const;

async function runOnce(driver: Driver, job: Job): Promise<Outcome> {
  const agent = await driver.define(job);
  return (await agent.open())();
}

async function lacks({ history }: Outcome): Promise<string> {
  const ids = await history?.();
  if (ids === undefined) return 'it hands back no history';
  const missing = ids.calls.filter(id => !ids.results.includes(id)).length;
  return `${ids.calls.length} ${ids.calls.length === 1 ? 'call' : 'calls'} in the history, ${missing === 0 ? 'all answered' : `${missing} unanswered`}`;
}

async function parallel(driver: Driver): Promise<string> {
  let running = 0;
  let most = 0;
  const tool = async (n: number): Promise<string> => {
    running += 1;
    most = Math.max(most, running);
    await delay(20);
    running -= 1;
    return String(n);
  };
  await runOnce(driver, { ...JOB, steps: 1, width: 40, tool, ownParallel: true });
  return `${most} at once`;
}

async function limit(driver: Driver, file: string): Promise<string> {
  let ran = 0;
  const tool = async (n: number): Promise<string> => {
    ran += 1;
    return String(n);
  };
  const outcome = await runOnce(driver, { ...JOB, steps: 20, tool, limit: 3, store: keptIn(file) });
  return `${outcome.ended}; ${ran} calls ran; ${await lacks(outcome)}`;
}

async function abort(driver: Driver, file: string): Promise<string> {
  const controller = new AbortController();
  const tool = async (n: number): Promise<string> => {
    setTimeout(() => controller.abort(), 100);
    await delay(DEAF_MS);
    return String(n);
  };
  const start = performance.now();
  const outcome = await runOnce(driver, { ...JOB, steps: 3, tool, signal: controller.signal, store: keptIn(file) });
  const seconds = (performance.now() - start) / 1_000;
  return `after ${seconds.toFixed(1)} s: ${outcome.ended}; ${await lacks(outcome)}`;
}

/** The first process kills itself in its second step; the one after it finds the mark, and goes on. The file `.ran` has a line a call. */
async function crash(driver: Driver, file: string): Promise<string> {
  const marks = `${file}.ran`;
  const isSecond = existsSync(`${file}.crashed`);
  const tool = async (n: number): Promise<string> => {
    appendFileSync(marks, `${n}\n`);
    if (n === 1 && !isSecond) {
      renameSync(marks, `${file}.crashed`);
      // The step before has had time to be written.
      await delay(50);
      process.kill(process.pid, 'SIGKILL');
      await delay(10_000);
    }
    return String(n);
  };
  const store = { file, synchronous: 'FULL' as const, session: 'crash' };
  const outcome = await runOnce(driver, { ...JOB, steps: 5, tool, store });
  const again = existsSync(marks) ? readFileSync(marks, 'utf8').trim().split('\n') : [];
  const twice = again.includes('1')
    ? 'the call that was running ran again'
    : 'the call that was running did not run again';
  return `${outcome.ended}; ${twice}; ${await lacks(outcome)}`;
}

export function look(driver: Driver, behaviour: string, file: string): Promise<string> {
  if (behaviour === 'parallel') return parallel(driver);
  if (behaviour === 'limit') return limit(driver, file);
  if (behaviour === 'abort') return abort(driver, file);
  return crash(driver, file);
}
