/** What the release of a session needs beside it. */
import type { Clock } from '../clock.ts';
import { JournalError } from '../errors.ts';
import type { TurnResult } from '../run/outcome.ts';

/** What signals of calls say whose session was released. */
export const RELEASED = 'the session was released';

/** A turn that could record nothing more because its session was released did not fail. */
export function releasedIfSo(result: TurnResult): TurnResult {
  if (result.status !== 'failed' || !JournalError.is(result.error) || result.error.kind !== 'released') return result;
  const { text, usage, steps, iterations, calls } = result;
  return { status: 'released', text, usage, steps, iterations, calls };
}

/** Settles with the promise, or when the time is over. */
export function within(clock: Clock, ms: number, promise: PromiseLike<unknown>): Promise<void> {
  return new Promise(resolve => {
    const timer = clock.setTimer(() => resolve(), ms);
    const settle = (): void => {
      clock.clearTimer(timer);
      resolve();
    };
    promise.then(settle, settle);
  });
}
