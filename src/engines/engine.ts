/**
 * The engine port: an engine decides where and when a turn runs, and nothing else. All that a turn has done stands in its session's journal, so that an engine
 * may run it again at any time, in any process: what it keeps of a turn are two ids, and whether it is done.
 *
 * What an engine promises, and all that a host relies on:
 * 1. A turn that was started is run until its run gives `done`: after a crash of the worker, and of the engine if it `isDurable`, again, elsewhere.
 * 2. Turns of one session run one at a time, in the order of their start. One that waits is still the session's turn: those behind it wait too.
 * 3. Turns of different sessions run beside each other.
 * 4. A wake is not lost: one that comes while a turn runs makes a run that ends with `waiting` run again.
 */

/** Which turn. Both ids are text of at most 256 characters. */
export interface TurnRef {
  readonly sessionId: string;
  readonly turnId: string;
}

/** How a run ended. One that rejects failed (the store is gone, the definition cannot be bound): it is run again after a while. */
export type RunOutcome =
  /** There is nothing left to do about the turn: it ended, however, or there is none of this id. */
  | { readonly status: 'done' }
  /**
   * All that the turn still does is wait for people: it has left this process's memory. It is run again when it is woken or cancelled, or at the time `until`
   * (milliseconds since the epoch), whichever comes first.
   */
  | { readonly status: 'waiting'; readonly gateIds: readonly string[]; readonly until?: number }
  /** This process leaves the turn to another, since it ends: it is run again at once, by any worker that still serves. */
  | { readonly status: 'released' };

/** What tells a run that it is no longer wanted. */
export interface RunSignals {
  /** Aborted by `cancel`: the turn is interrupted, and the run still ends by itself. Why stands in the session's mailbox. */
  readonly cancelled: AbortSignal;
  /** Aborted where the engine has given the turn to another run, or is about to: this run leaves it without an end. Default: never. */
  readonly lost?: AbortSignal;
}

/** Runs a turn, or goes on with it, as far as it goes in this process. Called again after a crash, elsewhere, and with the same ids. */
export type RunTurn = (ref: TurnRef, signals: RunSignals) => Promise<RunOutcome>;

/** A process that runs turns. */
export interface Serving {
  /** Takes no turn any more; settles when the runs that are under way have returned, which whoever gave `run` sees to. */
  close(): Promise<void>;
}

/** Decides where and when turns run. */
export interface Engine {
  /** Whether started turns outlive all processes that use the engine. Of one that is not durable, the host starts unfinished turns again. */
  readonly isDurable: boolean;
  /** Sees to it that the turn runs. Resolves when that is as safe as the engine is; a turn that was started before is not started twice. */
  start(ref: TurnRef): Promise<void>;
  /** Something that the turn may wait for is there. Does nothing for one that does not wait, and for one that is unknown. */
  wake(ref: TurnRef): Promise<void>;
  /**
   * Aborts the signal of the turn's run. One that waits is run again, with a signal that is aborted; so is one whose time has not come, when it comes. The
   * mailbox has the interrupt already, and a run that lives reads it: an engine that cannot reach its runs may do no more than `wake`.
   */
  cancel(ref: TurnRef): Promise<void>;
  /** Makes this process run turns. An engine may be served by many processes, and by one that has never started a turn. */
  serve(run: RunTurn): Promise<Serving>;
  /** Whether the engine has the turn and is not done with it. Without it, the session's mailbox is asked. */
  has?(ref: TurnRef): Promise<boolean>;
  /** Lets go of what the engine holds of its own, a connection for example. What serves is closed before. Default: it holds nothing. */
  close?(): Promise<void>;
}

/** An engine that is let go of by whoever made it: what the factories of this package give, so that one is exchanged for another without further ado. */
export interface ClosableEngine extends Engine, AsyncDisposable {
  /** Lets go of what the engine holds of its own, a connection for example; one that holds nothing does nothing. What serves is closed before. */
  close(): Promise<void>;
}
