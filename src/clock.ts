/**
 * Every timer of the core goes through a clock, so that a program can decide what time it is: `manualClock()` of
 * `looprig/testing` turns an hour of waiting into one call.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `callback` once, `ms` milliseconds from now, unless `clear` is given the handle before. */
  setTimer(callback: () => void, ms: number): TimerHandle;
  clearTimer(handle: TimerHandle): void;
}

/** What `setTimer` gives and `clearTimer` takes: opaque to everybody else. */
export type TimerHandle = object | number;

/** The longest time one platform timer can wait: 2^31 - 1 ms; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The platform's clock. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  setTimer: (callback: () => void, ms: number) => setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS)),
  clearTimer: (handle: TimerHandle) => clearTimeout(handle as Parameters<typeof clearTimeout>[0]),
});
