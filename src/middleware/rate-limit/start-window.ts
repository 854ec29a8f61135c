/** A sliding window over the starts of calls. */
import type { Clock, TimerHandle } from '../../clock.ts';

/** What one that was stopped while it waited gets: it never ran. */
export const LEFT: unique symbol = Symbol('left');

/**
 * At most `calls` starts in any stretch of `perMs`, half open: a start at 0 has left the window at `perMs`. Those that wait start in
 * the order in which they came.
 */
export class StartWindow {
  readonly #calls: number;
  readonly #perMs: number;
  readonly #clock: Clock;
  /** When the last `calls` calls started, the oldest first. */
  #starts: number[] = [];
  /** What starts those that wait, each in its turn. */
  readonly #queue: (() => void)[] = [];
  #timer: TimerHandle | undefined;

  constructor(calls: number, perMs: number, clock: Clock) {
    this.#calls = calls;
    this.#perMs = perMs;
    this.#clock = clock;
  }

  /** How long one that came now would wait, if none of those before it leaves. */
  waitMs(): number {
    const ahead = this.#queue.length;
    const missing = this.#recent().length + ahead + 1 - this.#calls;
    if (missing <= 0) return 0;
    // Each start makes room for one `perMs` later, so that the starts to come repeat those of the window.
    const place = (missing - 1) % this.#calls;
    const rounds = Math.floor((missing - 1) / this.#calls);
    const oldest = this.#starts[place] ?? this.#clock.now();
    return Math.max(0, oldest + this.#perMs * (rounds + 1) - this.#clock.now());
  }

  /** Runs as soon as there is room; gives `LEFT`, and has not run, if `signal` is aborted before. */
  start<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T | typeof LEFT> {
    const { promise, resolve } = Promise.withResolvers<T | typeof LEFT>();
    const waiting = (): void => {
      signal.removeEventListener('abort', leave);
      resolve(run());
    };
    const leave = (): void => {
      this.#queue.splice(this.#queue.indexOf(waiting), 1);
      resolve(LEFT);
      this.#letIn();
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#queue.push(waiting);
    this.#letIn();
    return promise;
  }

  /** Starts all that there is room for, and sets the timer for the next. */
  #letIn(): void {
    while (this.#queue.length > 0 && this.#recent().length < this.#calls) {
      this.#starts.push(this.#clock.now());
      this.#queue.shift()?.();
    }
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    const [oldest] = this.#starts;
    if (this.#queue.length === 0 || oldest === undefined) return;
    this.#timer = this.#clock.setTimer(() => this.#letIn(), oldest + this.#perMs - this.#clock.now());
  }

  /** The starts that are still in the window. */
  #recent(): readonly number[] {
    const now = this.#clock.now();
    // A start in the future: the clock was set back since, and the start counts as one of now.
    if ((this.#starts.at(-1) ?? now) > now) this.#starts = this.#starts.map(start => Math.min(start, now));
    const left = this.#starts.findIndex(start => now - start < this.#perMs);
    this.#starts.splice(0, left === -1 ? this.#starts.length : left);
    return this.#starts;
  }
}
