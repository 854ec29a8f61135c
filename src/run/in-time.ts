/** Waiting for what a user's code may never give. */
import type { TurnContext } from './context.ts';
import type { STOPPED } from './interruption.ts';

/**
 * The promise's value; `late()` if it takes longer than one call may; `STOPPED` as soon as the turn is stopped. What the promise does after
 * that is ignored.
 */
export async function settleInTime<T>(
  turn: TurnContext,
  promise: Promise<T>,
  late: (timeoutMs: number) => T,
): Promise<T | typeof STOPPED> {
  const { callTimeoutMs } = turn.limits;
  const overdue = Promise.withResolvers<T>();
  const deadline = turn.deadlines.set(callTimeoutMs, () => overdue.resolve(late(callTimeoutMs)));
  try {
    return await turn.interruption.race(Promise.race([promise, overdue.promise]));
  } finally {
    turn.deadlines.clear(deadline);
  }
}
