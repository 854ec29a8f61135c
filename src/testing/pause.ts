import type { Clock } from '../clock.ts';

/** Waits `ms` milliseconds of the clock, `Infinity` for ever; rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.setTimer(done, ms);
    signal?.addEventListener('abort', aborted, { once: true });
    function done(): void {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted(): void {
      if (timer !== undefined) clock.clearTimer(timer);
      reject(signal?.reason);
    }
  });
}
