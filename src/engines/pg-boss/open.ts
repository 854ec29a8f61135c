/** The connection to pg-boss, with the queues in it. */
import type { PgBoss } from 'pg-boss';
import { optionalPackage } from '../../optional-package.ts';
import { quietly } from '../../quietly.ts';
import { missingPackage } from '../engine-error.ts';
import type { ResolvedPgBoss } from './options.ts';

const DAY = 86_400;

const QUEUE = {
  /** One job of a session at a time, in the order of their making; one that is to be tried again holds back those behind it. */
  policy: 'key_strict_fifo',
  notify: true,
  /** A worker that gives no sign for so long is gone. Less than 10 seconds are not taken. */
  heartbeatSeconds: 10,
  /** The longest that can be set: a turn that runs longer without a wait is run a second time. */
  expireInSeconds: DAY,
  /** A job that failed for good would hold back its session for ever: each is tried again, where the store cannot be reached, and after each wait. */
  retryLimit: 2 ** 31 - 1,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 5,
  /** A turn may wait long. */
  retentionSeconds: 3_650 * DAY,
  deleteAfterSeconds: DAY,
} as const;

/** Nobody works on it: a job says that the turn of the same id was woken while it ran. */
const WOKEN = { policy: 'standard', retentionSeconds: 2 * DAY } as const;

/** Seconds between two looks for workers that give no sign. */
const SUPERVISE_SECONDS = 3;

/** Connects, and makes what is missing in the database. Rejects with `EngineError` `missing_package`, or with what PostgreSQL says. */
export async function openPgBoss(options: ResolvedPgBoss): Promise<PgBoss> {
  const { url, schema, queue, woken, connections, onError } = options;
  const { PgBoss } = await optionalPackage(
    'the engine on PostgreSQL',
    'pg-boss@12',
    () => import('pg-boss'),
    missingPackage,
  );
  const boss = new PgBoss({
    ...{ connectionString: url, schema, max: connections, useListenNotify: true, schedule: false },
    ...{ superviseIntervalSeconds: SUPERVISE_SECONDS, monitorIntervalSeconds: SUPERVISE_SECONDS },
  });
  boss.on('error', quietly(onError));
  try {
    await boss.start();
    await boss.createQueue(queue, QUEUE);
    await boss.createQueue(woken, WOKEN);
    return boss;
  } catch (error) {
    await boss.stop({ graceful: false, close: true }).catch(() => undefined); // the first error says more
    throw error;
  }
}
