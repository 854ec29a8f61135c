/** What a worker of the engines' tests is told, how it is started, and how it is asked. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SessionHost } from '../../src/engines/host.ts';
import type { JournalStore } from '../../src/index.ts';
import { postgresStore } from '../../src/journal/postgres/index.ts';
import { sqliteStore } from '../../src/journal/sqlite/index.ts';

const PROGRAM = fileURLToPath(new URL('./worker.ts', import.meta.url));

export interface WorkerPlan {
  /** The file of SQLite, or the URL of PostgreSQL. */
  readonly store: string;
  /** How long the store waits for a database that is lost, in milliseconds. Default: as the store does. */
  readonly reconnectMs?: number;
  /** As `engineFromUrl` takes it. Default: the worker's own, in its memory. */
  readonly engine?: string;
  /** Where tools write down what they do. */
  readonly folder: string;
  /** How long a session stays in memory that has nothing to do, in milliseconds. Default 0. */
  readonly keepMs?: number;
  /** Whether failed runs are told on the standard error. */
  readonly isLoud?: boolean;
}

/** What the parent of a worker may ask its host. */
export interface Asked {
  readonly id: number;
  readonly method: 'begin' | 'submit' | 'interrupt' | 'answer' | 'capture';
  readonly args: unknown[];
}

export function openStore({ store, reconnectMs }: Pick<WorkerPlan, 'store' | 'reconnectMs'>): Required<JournalStore> {
  if (!store.startsWith('postgres:')) return sqliteStore({ file: store }) as Required<JournalStore>;
  const options = reconnectMs === undefined ? {} : { reconnectMs };
  return postgresStore({ url: store, ...options }) as Required<JournalStore>;
}

/** A worker that serves. */
export type RunningWorker = ChildProcess & { readonly pid: number };

/** Starts a worker, and resolves when it runs turns. `compileCache` is a folder: with it processes start several times faster. */
export async function startWorker(plan: WorkerPlan, compileCache: string): Promise<RunningWorker> {
  const child = fork(PROGRAM, [JSON.stringify(plan)], {
    env: { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: compileCache },
    execArgv: ['--expose-gc'],
    serialization: 'advanced',
  });
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve());
    child.once('error', reject);
    child.once('exit', code => reject(new Error(`a worker ended with ${code} before it served`)));
  });
  child.setMaxListeners(0); // one for each question that is under way
  return child as RunningWorker;
}

/** A host that asks the worker which `worker` gives; where there is none, it waits for one. */
export function askingHost(worker: () => Promise<RunningWorker>): SessionHost {
  let asked = 0;
  const ask = async (method: Asked['method'], ...args: unknown[]): Promise<unknown> => {
    const child = await worker();
    const id = ++asked;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        child.off('message', hear).off('exit', lose);
        act();
      };
      const hear = (answer: { readonly id: number; readonly value?: unknown; readonly error?: string }): void => {
        if (answer.id !== id) return;
        settle(() => (answer.error === undefined ? resolve(answer.value) : reject(new Error(answer.error))));
      };
      const lose = (): void => settle(() => reject(new Error(`the worker ended before it answered to ${method}`)));
      child.on('message', hear).on('exit', lose);
      child.send({ id, method, args } satisfies Asked);
    });
  };
  const methods = ['begin', 'submit', 'interrupt', 'answer', 'capture'] as const;
  const entries = methods.map(method => [method, (...args: unknown[]) => ask(method, ...args)]);
  return { ...Object.fromEntries(entries), close: async () => undefined } as unknown as SessionHost;
}
