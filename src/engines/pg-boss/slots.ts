/** The places in which a worker takes turns from the queue, each looking for one by itself, and the ear for those that are cancelled. */
import type { Job, PgBoss } from 'pg-boss';
import type { Serving, TurnRef } from '../engine.ts';
import type { ResolvedPgBoss } from './options.ts';

/** Seconds between two looks for jobs, which a notification makes sooner, and between a worker's signs of life. */
const POLL_SECONDS = 1;
const SIGN_SECONDS = 2;

const INTERVALS = {
  pollingIntervalSeconds: POLL_SECONDS,
  notifyPollingIntervalSeconds: POLL_SECONDS,
  heartbeatRefreshSeconds: SIGN_SECONDS,
} as const;

/** What of pg-boss takes turns. */
export type Queue = Pick<PgBoss, 'work' | 'offWork' | 'notifyWorker' | 'getDb'>;

/** What is done with what comes. */
export interface SlotActs {
  run(job: Job<TurnRef>): Promise<void>;
  cancel(jobId: string): void;
}

/** Opens all of them, or rejects and has closed those that were open. */
export async function openSlots(boss: Queue, options: ResolvedPgBoss, acts: SlotActs): Promise<Serving> {
  const { queue, cancels, concurrency } = options;
  const ids: string[] = [];
  const listening = await boss.getDb().listen?.(cancels, acts.cancel, () => undefined);
  const close = async (): Promise<void> => {
    const closing = [...ids.map(id => boss.offWork(queue, { id, wait: true }))];
    const ended = await Promise.allSettled(closing);
    await listening?.close();
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
  };
  try {
    while (ids.length < concurrency) ids.push(await openSlot(boss, queue, acts));
  } catch (error) {
    await close().catch(() => undefined); // the first error says more
    throw error;
  }
  return { close };
}

async function openSlot(boss: Queue, queue: string, { run }: SlotActs): Promise<string> {
  const id = await boss.work<TurnRef>(queue, INTERVALS, async ([job]) => {
    await run(job as Job<TurnRef>);
    boss.notifyWorker(id); // it looks for another turn now, and not at the next poll
  });
  return id;
}
