/** The engine of one process: a queue for each session, in memory. What it forgets with its process, a host starts again from the store. */
import { type Clock, systemClock, type TimerHandle } from '../clock.ts';
import { readTyped, refuseOption } from '../define/options.ts';
import { show } from '../show.ts';
import type { ClosableEngine, RunOutcome, RunTurn, Serving, TurnRef } from './engine.ts';

/** What `localEngine` takes. */
export interface LocalEngineOptions {
  /** How many turns run at a time, those that wait for people not counted. Default: any number. */
  readonly parallel?: number;
  /** The clock of its timers. Default: the platform's. */
  readonly clock?: Clock;
}

const OPTIONS = ['parallel', 'clock'] as const;

/** How long a turn waits whose run failed, in milliseconds: at first, and at most. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

/** An engine that runs turns in this process. Throws `DefinitionError` for options that it cannot take. */
export function localEngine(options: LocalEngineOptions = {}): ClosableEngine {
  const { parallel = Number.POSITIVE_INFINITY, clock = systemClock } = readTyped(options, OPTIONS, 'localEngine');
  if (parallel !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(parallel) || parallel < 1))
    throw refuseOption('parallel', `"parallel" must be a positive integer, not ${show(parallel)}`);
  return new LocalEngine(parallel, clock);
}

/** A turn that was started and is not done. */
interface Entry {
  readonly ref: TurnRef;
  /** `idle` until its time comes, and again after a run that was released. */
  state: 'idle' | 'running' | 'waiting';
  isWoken: boolean;
  readonly cancelled: AbortController;
  failures: number;
  /** When it is run again by itself, and the timer of that, which only runs while somebody serves. */
  dueAt: number | undefined;
  timer: TimerHandle | undefined;
}

interface Server {
  readonly run: RunTurn;
  readonly runs: Set<Promise<void>>;
}

class LocalEngine implements ClosableEngine {
  readonly isDurable = false;
  readonly #parallel: number;
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Entry[]>();
  readonly #servers: Server[] = [];
  #running = 0;

  constructor(parallel: number, clock: Clock) {
    this.#parallel = parallel;
    this.#clock = clock;
  }

  async start(ref: TurnRef): Promise<void> {
    const queue = this.#sessions.get(ref.sessionId) ?? [];
    if (queue.some(({ ref: { turnId } }) => turnId === ref.turnId)) return;
    this.#sessions.set(ref.sessionId, queue);
    queue.push({
      ...{ ref, state: 'idle', isWoken: false, failures: 0, dueAt: undefined, timer: undefined },
      cancelled: new AbortController(),
    });
    this.#pump(ref.sessionId);
  }

  async wake(ref: TurnRef): Promise<void> {
    const entry = this.#find(ref);
    if (entry === undefined) return;
    entry.isWoken = true;
    this.#pump(ref.sessionId);
  }

  async cancel(ref: TurnRef): Promise<void> {
    this.#find(ref)?.cancelled.abort();
    await this.wake(ref);
  }

  async serve(run: RunTurn): Promise<Serving> {
    const server: Server = { run, runs: new Set() };
    this.#servers.push(server);
    for (const queue of this.#sessions.values()) for (const entry of queue) this.#setTimer(entry);
    this.#pumpAll();
    return {
      close: async () => {
        const place = this.#servers.indexOf(server);
        if (place !== -1) this.#servers.splice(place, 1);
        if (this.#servers.length === 0) this.#stopTimers();
        await Promise.all(server.runs);
      },
    };
  }

  async has(ref: TurnRef): Promise<boolean> {
    return this.#find(ref) !== undefined;
  }

  /** Does nothing: its timers end with what serves. */
  async close(): Promise<void> {}

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #find({ sessionId, turnId }: TurnRef): Entry | undefined {
    return this.#sessions.get(sessionId)?.find(({ ref }) => ref.turnId === turnId);
  }

  #pumpAll(): void {
    for (const sessionId of [...this.#sessions.keys()]) this.#pump(sessionId);
  }

  /** Runs the session's first turn, if it is its time. */
  #pump(sessionId: string): void {
    const entry = this.#sessions.get(sessionId)?.[0];
    if (entry === undefined || entry.state === 'running' || this.#running >= this.#parallel) return;
    if (!entry.isWoken && (entry.state === 'waiting' || entry.dueAt !== undefined)) return;
    const [server] = [...this.#servers].sort((one, other) => one.runs.size - other.runs.size);
    if (server === undefined) return;
    entry.state = 'running';
    entry.isWoken = false;
    this.#stopTimer(entry);
    entry.dueAt = undefined;
    this.#running += 1;
    const run = this.#run(entry, server).finally(() => server.runs.delete(run));
    server.runs.add(run);
  }

  async #run(entry: Entry, { run }: Server): Promise<void> {
    const { ref, cancelled } = entry;
    let outcome: RunOutcome | undefined;
    try {
      outcome = await run(ref, { cancelled: cancelled.signal });
      entry.failures = 0;
    } catch {
      entry.failures += 1; // whoever runs it reports it
    }
    this.#running -= 1;
    entry.state = outcome?.status === 'waiting' ? 'waiting' : 'idle';
    if (outcome?.status === 'done') this.#remove(ref);
    else if (outcome === undefined) entry.dueAt = this.#clock.now() + retryDelay(entry.failures);
    else if (outcome.status === 'waiting') entry.dueAt = outcome.until;
    this.#setTimer(entry);
    if (this.#parallel === Number.POSITIVE_INFINITY) this.#pump(ref.sessionId);
    else this.#pumpAll();
  }

  #remove({ sessionId, turnId }: TurnRef): void {
    const queue = this.#sessions.get(sessionId) ?? [];
    const place = queue.findIndex(({ ref }) => ref.turnId === turnId);
    queue.splice(place, 1);
    if (queue.length === 0) this.#sessions.delete(sessionId);
  }

  #setTimer(entry: Entry): void {
    const { dueAt } = entry;
    if (dueAt === undefined || entry.timer !== undefined || this.#servers.length === 0) return;
    const wake = (): void => {
      entry.timer = undefined;
      if (this.#clock.now() < dueAt)
        this.#setTimer(entry); // a platform's timer may end before its time
      else void this.wake(entry.ref);
    };
    entry.timer = this.#clock.setTimer(wake, Math.max(0, dueAt - this.#clock.now()));
  }

  #stopTimer(entry: Entry): void {
    if (entry.timer !== undefined) this.#clock.clearTimer(entry.timer);
    entry.timer = undefined;
  }

  #stopTimers(): void {
    for (const queue of this.#sessions.values()) for (const entry of queue) this.#stopTimer(entry);
  }
}

function retryDelay(failures: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
}
