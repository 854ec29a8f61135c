/**
 * The deadlines of one turn, on one timer. A step of many calls sets and clears many deadlines that are almost never reached;
 * only the earliest one has a platform timer, and clearing one costs nothing.
 */
import type { Clock, TimerHandle } from '../clock.ts';

/** A deadline that was set. */
export interface Deadline {
  /** When it is reached, by the clock; `Infinity` for never. */
  at: number;
  readonly reached: () => void;
  live: boolean;
}

/** The longest that one platform timer is set for; a timer of more than 2^31 ms would fire at once. */
const LONGEST_WAIT_MS = 86_400_000;

export class Deadlines {
  readonly #clock: Clock;
  readonly #open = new Set<Deadline>();
  #timer: TimerHandle | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `reached` once, `ms` from now, unless it is cleared before. `Infinity` never comes, nor does what is set after the end. */
  set(ms: number, reached: () => void): Deadline {
    const deadline: Deadline = { at: this.#clock.now() + ms, reached, live: !this.#isOver };
    if (deadline.live && deadline.at !== Number.POSITIVE_INFINITY) {
      this.#open.add(deadline);
      if (deadline.at < this.#timerAt) this.#arm(deadline.at);
    }
    return deadline;
  }

  clear(deadline: Deadline): void {
    deadline.live = false;
    this.#open.delete(deadline);
  }

  /** Lets go of the timer where nothing waits for it: a turn that may now stand still for days keeps no process alive by it. */
  rest(): void {
    if (this.#open.size === 0) this.#disarm();
  }

  /** Clears all deadlines and the timer, for good. */
  end(): void {
    this.#isOver = true;
    for (const deadline of this.#open) deadline.live = false;
    this.#open.clear();
    this.#disarm();
  }

  #arm(at: number): void {
    this.#disarm();
    const now = this.#clock.now();
    this.#timerAt = Math.min(at, now + LONGEST_WAIT_MS);
    this.#timer = this.#clock.setTimer(() => this.#fire(), Math.max(0, this.#timerAt - now));
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    // A timer knows how much time went by, also where the clock was set back meanwhile.
    const now = Math.max(this.#clock.now(), this.#timerAt);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const due = [...this.#open].filter(deadline => deadline.at <= now).sort((one, other) => one.at - other.at);
    for (const deadline of due) {
      if (!deadline.live) continue; // cleared by one before it
      this.clear(deadline);
      deadline.reached();
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const deadline of this.#open) earliest = Math.min(earliest, deadline.at);
    if (earliest < this.#timerAt) this.#arm(earliest);
  }
}

/** A deadline whose time stands still while the turn waits for a person. */
export class PausableDeadline {
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  readonly #reached: () => void;
  #deadline: Deadline | undefined;

  constructor(deadlines: Deadlines, clock: Clock, ms: number, reached: () => void) {
    this.#deadlines = deadlines;
    this.#clock = clock;
    this.#reached = reached;
    if (ms !== Number.POSITIVE_INFINITY) this.#deadline = deadlines.set(ms, reached);
  }

  /** Stops the time; the function that it gives lets it go on. */
  pause(): () => void {
    const deadline = this.#deadline;
    if (deadline === undefined || !deadline.live) return () => {};
    const left = Math.max(0, deadline.at - this.#clock.now());
    this.#deadlines.clear(deadline);
    let isPaused = true;
    return () => {
      if (isPaused) this.#deadline = this.#deadlines.set(left, this.#reached);
      isPaused = false;
    };
  }
}
