/**
 * The deadlines of one turn, on one timer. A step of many calls sets and clears many deadlines that are almost never reached;
 * only the earliest one has a platform timer, and clearing one costs nothing.
 */
import type { Clock, TimerHandle } from '../clock.ts';

/** A deadline that was set. */
export interface Deadline {
  /** When it is reached, by the clock; `Infinity` for never, or while it is paused. */
  at: number;
  reached: () => void;
  live: boolean;
  /** By how many it is paused, and the milliseconds that were left then. */
  pauses: number;
  left: number;
}

/** The longest that one platform timer is set for; a timer of more than 2^31 ms would fire at once. */
const LONGEST_WAIT_MS = 86_400_000;

/** So many cleared deadlines are kept at least before they are taken out together. */
const MOST_CLEARED = 16;

function nothing(): void {}

export class Deadlines {
  readonly #clock: Clock;
  /** In the order in which they were set; those that were cleared are taken out when there are many of them. */
  #open: Deadline[] = [];
  #cleared = 0;
  #timer: TimerHandle | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `reached` once, `ms` from `now`, unless it is cleared before. `Infinity` never comes, nor does what is set after the end. */
  set(ms: number, reached: () => void, now: number = this.#clock.now()): Deadline {
    const deadline: Deadline = { at: now + ms, reached, live: !this.#isOver, pauses: 0, left: 0 };
    this.#add(deadline);
    return deadline;
  }

  #add(deadline: Deadline): void {
    if (!deadline.live || deadline.at === Number.POSITIVE_INFINITY) return;
    this.#open.push(deadline);
    if (deadline.at < this.#timerAt) this.#arm(deadline.at);
  }

  clear(deadline: Deadline): void {
    if (!deadline.live) return;
    deadline.live = false;
    deadline.reached = nothing; // what it would have done is let go of at once
    if (deadline.at === Number.POSITIVE_INFINITY) return;
    this.#cleared += 1;
    if (this.#cleared <= MOST_CLEARED || this.#cleared * 2 <= this.#open.length) return;
    this.#open = this.#open.filter(({ live }) => live);
    this.#cleared = 0;
  }

  /** Stops the time of a deadline. What it gives lets it go on, once all who stopped it have called theirs. */
  pause(deadline: Deadline): () => void {
    if (!deadline.live) return nothing;
    if (deadline.pauses === 0) {
      deadline.left = Math.max(0, deadline.at - this.#clock.now());
      deadline.at = Number.POSITIVE_INFINITY;
      this.#open = this.#open.filter(other => other !== deadline);
    }
    deadline.pauses += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      deadline.pauses -= 1;
      if (deadline.pauses > 0) return;
      deadline.at = this.#clock.now() + deadline.left;
      if (!this.#isOver) this.#add(deadline);
    };
  }

  /** Lets go of the timer where nothing waits for it: a turn that may now stand still for days keeps no process alive by it. */
  rest(): void {
    if (this.#open.length === this.#cleared) this.#disarm();
  }

  /** Clears all deadlines and the timer, for good. */
  end(): void {
    this.#isOver = true;
    for (const deadline of this.#open) deadline.live = false;
    this.#open = [];
    this.#cleared = 0;
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
    const due = this.#open.filter(({ live, at }) => live && at <= now).sort((one, other) => one.at - other.at);
    for (const deadline of due) {
      if (!deadline.live) continue; // cleared by one before it
      const { reached } = deadline;
      this.clear(deadline);
      reached();
    }
    let earliest = Number.POSITIVE_INFINITY;
    for (const { live, at } of this.#open) if (live) earliest = Math.min(earliest, at);
    if (earliest < this.#timerAt) this.#arm(earliest);
  }
}
