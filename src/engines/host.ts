/**
 * A session host: what a program may ask of sessions, wherever their turns run. A server, a page and a command line speak to a host; whether
 * the turns run in this process or in workers elsewhere is its engine's matter.
 */
import type { SessionEvent } from '../events/events.ts';
import type { PendingGate } from '../session/gate.ts';
import type { GateAnswer } from '../session/gate-answer.ts';
import type { UserInput } from '../session/input.ts';
import type { ListOptions, SessionSummary } from '../session/summary.ts';
import type { TurnOptions } from '../session/turn-limits.ts';

/** A loop that a host's sessions may run. */
export interface LoopSummary {
  readonly name: string;
  /** The names of its modes, the base mode `""` first. */
  readonly modes: readonly string[];
}

/** Which session to begin. */
export interface BeginOptions {
  /** The loop to run; needed where there are several. */
  readonly loop?: string;
  /** The mode of its first turn. Default: the loop's initial mode. */
  readonly mode?: string;
}

/** Options of `submit` and `steer` at a host. */
export interface HostSubmitOptions extends Pick<TurnOptions, 'limits'> {
  /**
   * Told apart by it, a request that is made again starts no second turn: in one session, one key is one turn, also after a restart. At most 256
   * characters. With another input it is refused (`SessionError` `idempotency_key_reused`). Default: every request is a new one.
   */
  readonly idempotencyKey?: string;
}

/** An input that a host took. */
export interface Accepted {
  /** The turn that answers it, where it is known; one that is steered in belongs to the running turn. */
  readonly turnId: string;
  /** False where the same key was submitted before. */
  readonly isNew: boolean;
}

/** What to read of a session. */
export interface HostEventsOptions {
  /** Begin after the event with this sequence number. Default 0: from the session's beginning. */
  readonly after?: number;
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

/** How a session stands, beside what a list says of it. */
export interface SessionDetails extends SessionSummary {
  /** The mode that its next turn runs in. */
  readonly mode: string;
  /** The sequence number of its last record. */
  readonly lastSeq: number;
  /** The turn that runs or waits, or that a process left unfinished. */
  readonly turnId?: string;
  /** Whether a turn is under way in a process that is known to live; one that is unfinished and not under way can be resumed. */
  readonly isLive: boolean;
  /** The gates that wait for an answer; those of the turn's delegates too, which are answered by the id of this session. */
  readonly gates: readonly PendingGate[];
}

/** Which sessions a host lists. */
export interface HostListOptions extends Pick<ListOptions, 'delegates' | 'after'> {
  /** No more than so many. Default 100, at most 1,000. */
  readonly limit?: number;
}

/**
 * Sessions, by id. Every method rejects with the errors of the session or the gate that it is about: `SessionError` (`unknown_session`,
 * `unknown_loop`, `unknown_mode`, `invalid_option`, `idempotency_key_reused`, …), `GateError`, `JournalError`.
 */
export interface SessionHost extends AsyncDisposable {
  readonly loops: readonly LoopSummary[];
  /** Begins a session, and gives its id. */
  begin(options?: BeginOptions): Promise<string>;
  list(options?: HostListOptions): Promise<readonly SessionSummary[]>;
  /** How a session stands. */
  find(sessionId: string): Promise<SessionDetails>;
  /** Answers the input with a turn: at once, or after those before it. Resolves when the input is kept: it will be answered, also after a crash. */
  submit(sessionId: string, input: UserInput, options?: HostSubmitOptions): Promise<Accepted>;
  /**
   * Says something to the running turn, before its next model call; without one, or too late, it becomes a turn of its own, with these limits. Those of the
   * running turn stay as they are.
   */
  steer(sessionId: string, input: UserInput, options?: HostSubmitOptions): Promise<Accepted>;
  /** Interrupts the turn that runs or waits. False where there is none (any more), or another than `turnId`. */
  interrupt(sessionId: string, options?: { readonly turnId?: string; readonly reason?: string }): Promise<boolean>;
  /** Answers a gate. Rejects with `GateError` for one that is unknown, decided or expired, and for an answer that is none. */
  answer(sessionId: string, gateId: string, answer: GateAnswer): Promise<void>;
  /** Takes up the turn that a process left unfinished; gives its id. */
  resume(sessionId: string): Promise<string>;
  /**
   * Deletes a session for good, with its captures, its mails and the sessions of its delegates. Refused while a turn is under way, or an input waits for its
   * turn (`SessionError` `busy`): interrupt it first. A turn that a process left unfinished, and that nobody has taken up, goes too. Who reads the
   * session's events gets to their end.
   */
  delete(sessionId: string): Promise<void>;
  /** The mode of the turns from the next one on. */
  setMode(sessionId: string, mode: string): Promise<void>;
  /**
   * The session's events: the recorded ones after `after`, then those that come, until `signal` or the host ends. Enduring ones come once each and
   * in order. Ephemeral ones come where the turn runs in this process. A reader that begins while a response is under way gets its text so
   * far as one delta.
   */
  events(sessionId: string, options?: HostEventsOptions): AsyncIterable<SessionEvent>;
  /** A large result that was kept whole, or `undefined`. */
  capture(sessionId: string, id: string): Promise<Uint8Array | undefined>;
  /** Lets go of everything. Turns under way are finished if they do so within `graceMs` (default 0), else left to whoever takes them up. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** A host that can run turns in this process. */
export interface Host extends SessionHost {
  /**
   * Makes this process run turns of its engine. A process that only asks need not call it; a host without an `engine` of its own does it by itself. Rejects
   * where the engine cannot be served.
   */
  serve(): Promise<void>;
}
