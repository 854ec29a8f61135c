/** A clock that stands still until a test moves it. */
import type { Clock, TimerHandle } from '../clock.ts';

/** A clock whose time is moved by hand. Timers fire in the order of their time, those of one time in the order they were set. */
export interface ManualClock extends Clock {
  /** How many timers wait. */
  readonly pending: number;
  /** Moves on by `ms` milliseconds and fires what falls due, letting what each timer sets off run before the next fires. */
  advance(ms: number): Promise<void>;
  /** Moves on to the next timer and fires all of its time. Gives false, and moves nothing, if none waits. */
  advanceToNext(): Promise<boolean>;
  /**
   * Moves on from timer to timer until `promise` settles, and gives its outcome. Rejects when the time would go beyond `maxMs`
   * (default a day), or when nothing is left to wait for.
   */
  runUntil<T>(promise: PromiseLike<T>, options?: { readonly maxMs?: number }): Promise<T>;
}

/** A clock that a test moves. `start` is its first time in milliseconds since the epoch; default 0. */
export function manualClock(start = 0): ManualClock {
  return new HandMovedClock(start);
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

const A_DAY = 86_400_000;

/** How often `runUntil` looks again, with no timer left, for something that really takes time: about half a second. */
const IDLE_LOOKS = 500;

class HandMovedClock implements ManualClock {
  #now: number;
  /** In the order of firing. */
  readonly #timers: Timer[] = [];

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, ms: number): TimerHandle {
    const timer: Timer = { due: this.#now + Math.max(ms || 0, 0), callback };
    // Most timers are later than those before them, so the place is looked for from the end.
    let place = this.#timers.length;
    while (place > 0 && (this.#timers[place - 1] as Timer).due > timer.due) place -= 1;
    this.#timers.splice(place, 0, timer);
    return timer;
  }

  clearTimer(handle: TimerHandle): void {
    const place = this.#timers.indexOf(handle as Timer);
    if (place >= 0) this.#timers.splice(place, 1);
  }

  get pending(): number {
    return this.#timers.length;
  }

  async advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) {
      throw new TypeError(`a clock advances by a number of milliseconds from 0, not by ${ms}`);
    }
    const end = this.#now + ms;
    await turn();
    while (this.#nextDue() <= end) await this.#fireNext();
    this.#now = Math.max(this.#now, end);
  }

  async advanceToNext(): Promise<boolean> {
    await turn();
    const due = this.#nextDue();
    if (due === Number.POSITIVE_INFINITY) return false;
    while (this.#nextDue() <= due) await this.#fireNext();
    return true;
  }

  async runUntil<T>(promise: PromiseLike<T>, { maxMs = A_DAY }: { readonly maxMs?: number } = {}): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    const end = this.#now + maxMs;
    for (let idle = 0; idle < IDLE_LOOKS; ) {
      await turn();
      if (settled) return promise;
      const due = this.#nextDue();
      if (due === Number.POSITIVE_INFINITY) {
        idle += 1;
        await realMillisecond();
      } else if (due > end) {
        throw new Error(`the promise did not settle within ${maxMs} ms of the clock; ${this.pending} timers wait`);
      } else {
        idle = 0;
        await this.#fireNext();
      }
    }
    throw new Error('the promise did not settle, and no timer waits that could settle it');
  }

  #nextDue(): number {
    return this.#timers[0]?.due ?? Number.POSITIVE_INFINITY;
  }

  async #fireNext(): Promise<void> {
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#now = Math.max(this.#now, timer.due);
    timer.callback();
    await turn();
  }
}

/** Lets promises settle, and what the platform does between two of its own turns. */
function turn(): Promise<void> {
  return new Promise(resolve => {
    if (typeof setImmediate === 'function') setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}

function realMillisecond(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 1));
}
