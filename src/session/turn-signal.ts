/** A signal of the program's own that ends a turn. It belongs to this process: nothing of it is recorded, and it is let go of when the turn has ended. */
import { SessionError } from '../errors.ts';
import { reasonOf } from '../reason.ts';
import { show } from '../show.ts';
import type { Turn } from './turn.ts';

/** Takes the signal that a turn was given. Throws `SessionError` `invalid_option` for what is none. */
export function readSignal(given: unknown): AbortSignal | undefined {
  if (given === undefined || isSignal(given)) return given;
  throw new SessionError('invalid_option', `"signal" must be an AbortSignal, not ${show(given)}`);
}

/** Interrupts the turn when the signal aborts, at once if it has. Gives the turn. */
export function interruptedBy<Output>(signal: AbortSignal | undefined, turn: Turn<Output>): Turn<Output> {
  if (signal === undefined) return turn;
  const interrupt = (): void => turn.interrupt(reasonOfAbort(signal));
  if (signal.aborted) {
    interrupt();
    return turn;
  }
  signal.addEventListener('abort', interrupt, { once: true });
  void turn.result.then(() => signal.removeEventListener('abort', interrupt));
  return turn;
}

/** By what it can do: frameworks that run programs in a realm of its own hand on signals of another class. */
function isSignal(given: unknown): given is AbortSignal {
  if (typeof given !== 'object' || given === null) return false;
  try {
    const { aborted, addEventListener, removeEventListener } = given as Partial<AbortSignal>;
    return [typeof aborted, typeof addEventListener, typeof removeEventListener].join() === 'boolean,function,function';
  } catch {
    return false;
  }
}

/** What the turn's result says; it is recorded as the reason of any interrupt is. */
function reasonOfAbort({ reason }: AbortSignal): string | undefined {
  return reason === undefined ? undefined : reasonOf(reason, show(reason));
}
