/** One run for all calls that want the same at the same time. */
import type { MiddlewareCall } from '../../define/middleware.ts';
import type { ToolResult } from '../../define/tool.ts';

/** A run under way. */
interface Flight {
  /** The call that it is the run of. */
  readonly callId: string;
  /** What those that wait get: the result, what the run throws, or `undefined` once the call is aborted, whether the run settles or not. */
  readonly landed: Promise<ToolResult | undefined>;
}

/** What is under way, by key. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  /**
   * The result of the run that is under way for `key`, or of `run`. A call whose own signal is aborted stops waiting; one whose run was
   * aborted takes nobody with it: the next of those that wait runs.
   */
  async share(key: string, call: MiddlewareCall, run: () => Promise<ToolResult>): Promise<ToolResult> {
    for (let flight = this.#flights.get(key); flight !== undefined; flight = this.#flights.get(key)) {
      // A call does not wait for itself: the same cache may stand twice in a list of middlewares.
      if (flight.callId === call.callId) return run();
      const shared = await unlessAborted(flight.landed, call.signal);
      if (shared !== undefined) return shared;
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    }
    const result = run();
    const flight: Flight = { callId: call.callId, landed: landing(result, call.signal) };
    flight.landed.catch(() => {}); // nobody may wait, and the call itself tells what was thrown
    this.#flights.set(key, flight);
    try {
      return await result;
    } finally {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    }
  }
}

async function landing(result: Promise<ToolResult>, signal: AbortSignal): Promise<ToolResult | undefined> {
  try {
    return await unlessAborted(result, signal);
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** The promise, which rejects with the signal's reason as soon as that is aborted. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
