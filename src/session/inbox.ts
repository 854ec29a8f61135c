/**
 * What users said and no turn has taken up yet: inputs that wait for a turn of their own, and what was said to the running turn. Each
 * stands in the journal before anything depends on it.
 */
import { SessionError } from '../errors.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { TurnEvent } from '../events/events.ts';
import { newId } from '../ids.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { NO_USAGE, type UserMessage } from '../model/model.ts';
import { type BudgetShare, shareOf } from '../run/budget.ts';
import { Interruption } from '../run/interruption.ts';
import type { TurnResult } from '../run/outcome.ts';
import type { WaitingInput } from './history.ts';
import type { Turn } from './turn.ts';
import { readTurnLimits, type TurnLimits, type TurnOptions } from './turn-limits.ts';

/** What `Promise.withResolvers` gives, in types that need no newer `lib` of whoever installs the package. */
interface Pending<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** A turn that waits or runs. */
export interface Job {
  readonly turnId: string;
  readonly limits: TurnLimits | undefined;
  /** Of a delegate's turn: its share of the budget that it was given. */
  readonly share: BudgetShare | undefined;
  /** The record that begins it; for a queued one it names the input that was recorded before. */
  readonly opening: { readonly message?: UserMessage; readonly inputId?: string };
  readonly interruption: Interruption;
  readonly result: Pending<TurnResult>;
  /** The record before the turn's first, for readers that come late. */
  readonly afterSeq: number;
  /** The terminal event of a turn whose end is no record. */
  final: TurnEvent | undefined;
  /** Whether another process received its input: closing this session leaves it waiting. */
  readonly isRestored: boolean;
}

/** What became of an input that was meant to steer. */
export type Steered<Output = unknown> =
  /** The running turn has taken it in. */
  | { readonly kind: 'folded'; readonly turnId: string }
  /** There was no model call left to take it in: it is a turn of its own. */
  | { readonly kind: 'submitted'; readonly turn: Turn<Output> };

interface PendingSteer {
  readonly inputId: string;
  /** Of the turn that it may become. */
  readonly limits: TurnLimits | undefined;
  readonly afterSeq: number;
  readonly decided: Pending<Steered<never>>;
}

/** What an inbox needs of its session. */
interface InboxParts {
  readonly hub: Pick<EventHub, 'lastSeq' | 'finish'>;
  append(entries: readonly JournalEntry[]): Promise<void>;
  handle(job: Job): Turn;
}

export class Inbox {
  readonly #parts: InboxParts;
  readonly #queue: Job[] = [];
  #steers: PendingSteer[] = [];

  constructor(parts: InboxParts) {
    this.#parts = parts;
  }

  /** How many inputs wait for a turn of their own. */
  get size(): number {
    return this.#queue.length;
  }

  /** The next one, which stays. */
  get first(): Job | undefined {
    return this.#queue[0];
  }

  has(job: Job): boolean {
    return this.#queue.includes(job);
  }

  /** The turn of this id that waits, if one does. */
  find(turnId: string): Job | undefined {
    return this.#queue.find(job => job.turnId === turnId);
  }

  /** Takes this turn out, to begin it. */
  take(job: Job): void {
    this.#queue.splice(this.#queue.indexOf(job), 1);
  }

  /** The turns that wait, the next one first. */
  get waiting(): readonly string[] {
    return this.#queue.map(({ turnId }) => turnId);
  }

  /** Whether this input waits: for a turn of its own, or for the running turn to take it in. */
  holds(inputId: string): boolean {
    return this.find(inputId) !== undefined || this.#steers.some(steer => steer.inputId === inputId);
  }

  shift(): Job | undefined {
    return this.#queue.shift();
  }

  /** A turn that begins now: with `from`, one that has its id already, and whose events begin after a record of its own. */
  job(limits: TurnLimits | undefined, opening: Job['opening'], from?: { turnId: string; afterSeq?: number }): Job {
    const { turnId = newId(), afterSeq = this.#parts.hub.lastSeq } = from ?? {};
    return {
      ...{ turnId, limits, share: shareOf(limits?.budget), opening, afterSeq, final: undefined, isRestored: false },
      ...{ interruption: new Interruption(), result: Promise.withResolvers<TurnResult>() },
    };
  }

  /** Has a turn wait for which nothing was said: there is nothing to record. */
  wait(job: Job): Job {
    this.#queue.push(job);
    return job;
  }

  /** Records an input that waits for its turn, which has its id. A failure comes back with the turn that is running. */
  enqueue(message: UserMessage, limits: TurnLimits | undefined, inputId: string = newId()): Job {
    const job = this.job(limits, { inputId }, { turnId: inputId });
    this.#queue.push(job);
    void this.#parts.append([{ type: 'input.received', inputId, as: 'turn', message, ...recorded(limits) }]);
    return job;
  }

  /** Records what is said to the running turn, with the limits of the turn that it may become; settles when it is decided what becomes of it. */
  async steer(
    message: UserMessage,
    limits: TurnLimits | undefined,
    inputId: string = newId(),
  ): Promise<Steered<never>> {
    const decided = Promise.withResolvers<Steered<never>>();
    this.#steers.push({ inputId, limits, afterSeq: this.#parts.hub.lastSeq, decided });
    await this.#parts.append([{ type: 'input.received', inputId, as: 'steer', message, ...recorded(limits) }]);
    return decided.promise;
  }

  /** Takes up what another process received; what steered a turn that is over is a turn of its own. */
  restore(waiting: Iterable<WaitingInput>, hasOpenTurn: boolean): void {
    for (const { inputId, as, seq, limits } of waiting) {
      const afterSeq = seq - 1;
      const own = readTurnLimits(limits === undefined ? {} : { limits });
      if (as === 'steer' && hasOpenTurn) {
        this.#steers.push({ inputId, limits: own, afterSeq, decided: Promise.withResolvers<Steered<never>>() });
      } else {
        this.#queue.push({ ...this.job(own, { inputId }, { turnId: inputId, afterSeq }), isRestored: true });
      }
    }
  }

  /** The records that fold what was said into the history of the running turn. */
  takeSteered(turnId: string): readonly JournalEntry[] {
    if (this.#steers.length === 0) return NOTHING;
    const taken = this.#steers;
    this.#steers = [];
    return taken.map(({ inputId, decided }): JournalEntry => {
      decided.resolve({ kind: 'folded', turnId });
      return { type: 'input.steered', turnId, inputId };
    });
  }

  /** What was said too late for the turn becomes the next turns, before those that were queued. */
  promoteSteers(): readonly Job[] {
    const late = this.#steers;
    this.#steers = [];
    const jobs = late.map(({ inputId, limits, afterSeq, decided }) => {
      const job = this.job(limits, { inputId }, { turnId: inputId, afterSeq });
      decided.resolve({ kind: 'submitted', turn: this.#parts.handle(job) as Turn<never> });
      return job;
    });
    this.#queue.unshift(...jobs);
    return jobs;
  }

  /** Takes a waiting turn out of the queue. */
  cancel(job: Job, reason: string | undefined): void {
    const place = this.#queue.indexOf(job);
    if (place === -1) return;
    this.#queue.splice(place, 1);
    const { turnId, opening } = job;
    const said = { reason: reason ?? 'cancelled before it began' };
    if (opening.inputId !== undefined) void this.#parts.append([{ type: 'input.cancelled', inputId: opening.inputId }]);
    job.final = this.#parts.hub.finish(turnId, {
      type: 'turn.interrupted',
      turnId,
      ...said,
      ...NO_FIGURES,
    }) as TurnEvent;
    job.result.resolve(Object.freeze({ status: 'interrupted', ...said, leftBehind: [], ...NO_FIGURES }));
  }

  /** Cancels what waits; what another process received goes on waiting in the journal. */
  cancelAll(reason: string): void {
    for (const job of [...this.#queue]) if (!job.isRestored) this.cancel(job, reason);
  }

  /** Lets go of what waits, which goes on waiting in the journal. */
  release(): void {
    const jobs = this.#queue.splice(0);
    for (const { result } of jobs) result.resolve(Object.freeze({ status: 'released', ...NO_FIGURES }));
    const steers = this.#steers.splice(0);
    const error = new SessionError(
      'released',
      'the session was released before it was decided what becomes of this input',
    );
    for (const { decided } of steers) {
      decided.promise.catch(() => {}); // nobody may wait for it
      decided.reject(error);
    }
  }
}

/** What the journal keeps of the limits of an input that waits. */
function recorded(limits: TurnLimits | undefined): Pick<TurnOptions, 'limits'> {
  return limits?.own === undefined ? {} : { limits: limits.own };
}

const NOTHING: readonly JournalEntry[] = Object.freeze([]);

const NO_FIGURES = Object.freeze({ text: '', usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 });
