/** A turn in the hands of whoever submitted it: its events, its result, and the ways to stop it. */
import type { EventReader } from '../events/event-reader.ts';
import type { TurnEvent } from '../events/events.ts';
import type { TurnResult } from '../run/outcome.ts';

/** What a turn's handle does through its session. */
export interface TurnControls<Output> {
  readonly result: Promise<TurnResult<Output>>;
  interrupt(reason: string | undefined): void;
  subscribe(): EventReader<TurnEvent>;
}

/**
 * One turn. Iterate it for its events, or await its `result`; neither is needed for it to run. A reader that breaks off leaves the
 * turn running. Leaving a block of `await using turn` interrupts it.
 */
export class Turn<Output = unknown> implements AsyncIterable<TurnEvent>, AsyncDisposable {
  /** The id of the turn, as events have it. */
  readonly id: string;
  readonly #controls: TurnControls<Output>;

  /** @internal */
  constructor(id: string, controls: TurnControls<Output>) {
    this.id = id;
    this.#controls = controls;
  }

  /** How the turn ended. Never rejects. */
  get result(): Promise<TurnResult<Output>> {
    return this.#controls.result;
  }

  /**
   * Stops the turn: the model request and running tools are told by their signal, nothing waiting starts, and the turn settles within
   * the loop's `drainTimeoutMs`. A turn that still waits in the queue is taken out of it. Does nothing the second time, or after the end.
   */
  interrupt(reason?: string): void {
    this.#controls.interrupt(reason);
  }

  /** A reader of its own, from the turn's first event. Events before this call that were ephemeral are gone; the others are not. */
  subscribe(): EventReader<TurnEvent> {
    return this.#controls.subscribe();
  }

  [Symbol.asyncIterator](): EventReader<TurnEvent> {
    return this.subscribe();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.interrupt();
    await this.result;
  }
}
