/**
 * Turns as jobs of pg-boss: a turn is one job from its start to its end, under the key of its session, so that those of one session are done one after the other.
 * A turn that waits is a job to be tried again much later; while it is, those behind it wait too. Waking brings its time forward.
 */
import type { Db, Job, PgBoss } from 'pg-boss';
import { namedId } from '../../ids.ts';
import { reasonOf } from '../../reason.ts';
import type { ClosableEngine, RunOutcome, RunTurn, Serving, TurnRef } from '../engine.ts';
import { EngineError } from '../engine-error.ts';
import { openPgBoss } from './open.ts';
import type { ResolvedPgBoss } from './options.ts';
import { openSlots } from './slots.ts';

/** Ids of jobs are made in it, of session and turn: a turn that is started again has a job already. */
const NAMESPACE = '0f1f3a0e-7f53-4b7e-9d7c-3f6f1f0c7a55';
const jobOf = ({ sessionId, turnId }: TurnRef): string => namedId(`${sessionId} ${turnId}`, NAMESPACE);

/** The time of a turn that waits for nothing but to be woken. */
const NEVER = new Date('9999-12-31T00:00:00Z');

export class PgBossEngine implements ClosableEngine {
  readonly isDurable = true;
  readonly #options: ResolvedPgBoss;
  /** What stops the runs of this process, by their jobs. */
  readonly #running = new Map<string, AbortController>();
  #boss: Promise<PgBoss> | undefined;

  constructor(options: ResolvedPgBoss) {
    this.#options = options;
  }

  async start(ref: TurnRef): Promise<void> {
    const { sessionId, turnId } = ref;
    await this.#try(`start a turn of session ${sessionId}`, boss =>
      boss.send(this.#options.queue, { sessionId, turnId }, { id: jobOf(ref), singletonKey: sessionId }),
    );
  }

  async wake(ref: TurnRef): Promise<void> {
    await this.#try(`wake a turn of session ${ref.sessionId}`, boss => this.#wake(boss, jobOf(ref)));
  }

  async cancel(ref: TurnRef): Promise<void> {
    const id = jobOf(ref);
    await this.#try(`cancel a turn of session ${ref.sessionId}`, async boss => {
      await this.#wake(boss, id);
      await boss.getDb().executeSql('SELECT pg_notify($1, $2)', [this.#options.cancels, id]);
    });
  }

  async has(ref: TurnRef): Promise<boolean> {
    const [job] = await this.#try(`find a turn of session ${ref.sessionId}`, boss =>
      boss.findJobs(this.#options.queue, { id: jobOf(ref) }),
    );
    return job !== undefined && job.state !== 'completed';
  }

  serve(run: RunTurn): Promise<Serving> {
    return this.#try('be served', boss =>
      openSlots(boss, this.#options, {
        run: job => this.#run(boss, job, run),
        cancel: jobId => this.#running.get(jobId)?.abort(),
      }),
    );
  }

  /** Lets go of the database. Runs that are under way are lost, and begin again elsewhere: first close what serves. */
  async close(): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined);
    await boss?.stop({ graceful: false, close: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(boss: PgBoss, job: Job<TurnRef>, run: RunTurn): Promise<void> {
    const { data, id, signal } = job;
    const stop = new AbortController();
    this.#running.set(id, stop);
    try {
      const outcome = await run(data, { cancelled: stop.signal, lost: signal });
      if (outcome.status !== 'done') await this.#keep(boss, job, timeOf(outcome));
    } finally {
      if (this.#running.get(id) === stop) this.#running.delete(id);
    }
  }

  /** Puts a job off until `time`, unless it was woken while it ran: then it is run again now. */
  async #keep(boss: PgBoss, { id, retryCount }: Job<TurnRef>, time: Date): Promise<void> {
    const { queue, woken } = this.#options;
    await this.#alone(boss, id, async db => {
      await boss.fail(queue, { id, retryCount }, null, { db });
      const [wake] = await boss.findJobs(woken, { id, db });
      if (wake !== undefined) await boss.deleteJob(woken, id, { db });
      await boss.update(queue, undefined, { id, startAfter: wake === undefined ? time : new Date(0), db });
    });
  }

  /** Brings the time of a job forward. Of one that runs it is noted, for the end of the run. */
  async #wake(boss: PgBoss, id: string): Promise<void> {
    const { queue, woken } = this.#options;
    await this.#alone(boss, id, async db => {
      const { updated } = await boss.update(queue, undefined, { id, startAfter: new Date(0), db });
      const [job] = updated > 0 ? [] : await boss.findJobs(queue, { id, db });
      if (job?.state === 'active') await boss.send(woken, null, { id, db });
    });
  }

  /** A transaction on one job: another about it waits until this one is through. */
  async #alone(boss: PgBoss, id: string, act: (db: Db) => Promise<void>): Promise<void> {
    const transaction = await boss.getDb().beginTransaction?.();
    if (transaction === undefined) throw new Error('pg-boss has its own connection, which has transactions');
    try {
      await transaction.db.executeSql('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [id]);
      await act(transaction.db);
      await transaction.commit();
    } catch (error) {
      await transaction.rollback();
      throw error;
    }
  }

  async #try<Result>(what: string, act: (boss: PgBoss) => Promise<Result>): Promise<Result> {
    this.#boss ??= openPgBoss(this.#options).catch(error => {
      this.#boss = undefined; // tried again the next time
      throw error;
    });
    try {
      return await act(await this.#boss);
    } catch (cause) {
      if (EngineError.is(cause)) throw cause;
      const reason = reasonOf(cause);
      throw new EngineError('unavailable', `the engine on PostgreSQL cannot ${what} now: ${reason}`, { cause });
    }
  }
}

function timeOf(outcome: Exclude<RunOutcome, { readonly status: 'done' }>): Date {
  if (outcome.status === 'released') return new Date(0);
  return outcome.until === undefined ? NEVER : new Date(outcome.until);
}
