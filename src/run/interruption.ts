/**
 * Why and when a turn is to stop early: asked by a user, or because its time is over. One object a turn; all that waits in
 * the turn waits with it.
 */

import { guardedController } from '../guarded-signal.ts';

/** What stopped the turn. */
export type InterruptionCause =
  | { readonly kind: 'interrupted'; readonly reason: string | undefined }
  | { readonly kind: 'timed_out'; readonly timeoutMs: number };

/** What `Interruption.race` gives when the turn was stopped first. */
export const STOPPED: unique symbol = Symbol('stopped');

export class Interruption {
  /** A list, since there are few: it is taken from and added to in each step. */
  #listeners: ((cause: InterruptionCause) => void)[] = [];
  /** A provider that fails at stopping has stopped nothing else. */
  readonly #controller = guardedController(() => {});
  #cause: InterruptionCause | undefined;

  /** Why the turn is to stop, or `undefined` while it may go on. */
  get cause(): InterruptionCause | undefined {
    return this.#cause;
  }

  /** Aborted when the turn is to stop: for the model request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stops the turn. The first cause stands; later ones do nothing. */
  stop(cause: InterruptionCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    const listeners = this.#listeners;
    this.#listeners = [];
    try {
      tellAll(listeners, cause);
    } finally {
      this.#controller.abort(abortReason(cause));
    }
  }

  /** Calls `listener` once when the turn is stopped, at once if it was. Gives a function that takes it back. */
  onStop(listener: (cause: InterruptionCause) => void): () => void {
    if (this.#cause !== undefined) {
      listener(this.#cause);
      return () => {};
    }
    this.#listeners.push(listener);
    return () => this.#off(listener);
  }

  #off(listener: (cause: InterruptionCause) => void): void {
    if (this.#listeners.at(-1) === listener) this.#listeners.pop();
    else this.#listeners = this.#listeners.filter(other => other !== listener);
  }

  /** The promise's value, or `STOPPED` as soon as the turn is stopped; what the promise does after that is ignored. */
  race<T>(promise: PromiseLike<T>): Promise<T | typeof STOPPED> {
    return new Promise((resolve, reject) => {
      const stopped = (): void => resolve(STOPPED);
      if (this.#cause === undefined) this.#listeners.push(stopped);
      else stopped();
      // What a provider gives may be no promise, or one of its own.
      Promise.resolve(promise).then(
        value => {
          this.#off(stopped);
          resolve(value);
        },
        error => {
          this.#off(stopped);
          reject(error);
        },
      );
    });
  }
}

/** Tells every listener, whatever one of them throws; what was thrown comes out when all have been told. */
function tellAll(listeners: readonly ((cause: InterruptionCause) => void)[], cause: InterruptionCause): void {
  const [next, ...others] = listeners;
  if (next === undefined) return;
  try {
    next(cause);
  } finally {
    tellAll(others, cause);
  }
}

/** What signals give as their reason: says who stopped, in the shape that platforms use for aborts. */
export function abortReason(cause: InterruptionCause): Error {
  if (cause.kind === 'timed_out')
    return new DOMException(`the turn ran longer than ${cause.timeoutMs} ms`, 'TimeoutError');
  const said = cause.reason === undefined ? '' : `: ${cause.reason}`;
  return new DOMException(`the turn was interrupted${said}`, 'AbortError');
}

/** Why a call was stopped or never ran, for the model. */
export function stoppedBecause(cause: InterruptionCause | undefined): string {
  return cause?.kind === 'timed_out' ? `stopped: the turn's time of ${cause.timeoutMs} ms was over` : 'interrupted';
}
