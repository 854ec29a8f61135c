/**
 * What a host drives a session by: inputs have ids that hold across processes, nothing begins by itself, and a turn is begun by its id.
 */
import type { JournalRecord } from '../journal/journal.ts';
import type { JournalWriter } from '../journal/writer.ts';
import type { UserMessage } from '../model/model.ts';
import { type GateKeeper, MOVED_ON, type PendingGate } from './gate.ts';
import type { GateAnswer } from './gate-answer.ts';
import type { OpenTurn, SessionState } from './history.ts';
import type { Inbox, Job } from './inbox.ts';
import type { Session } from './session.ts';
import type { Turn } from './turn.ts';
import type { TurnLimits } from './turn-limits.ts';

/** What a driver needs of its session. */
export interface DriverParts {
  readonly state: SessionState;
  readonly inbox: Inbox;
  readonly gates: GateKeeper;
  readonly writer: JournalWriter;
  /** The delegates that run. */
  readonly children: ReadonlySet<Session>;
  active(): Job | undefined;
  isWaiting(): boolean;
  start(job: Job, unfinished?: OpenTurn): Turn;
  handle(job: Job): Turn;
  endUnfinished(): void;
  requireOpen(): void;
}

export class SessionDriver {
  readonly #parts: DriverParts;
  /** Whether somebody drives the session: then no turn begins by itself. */
  isDriven = false;
  /** Is handed each record as soon as it is kept, so that nobody here has to read it back. */
  onRecord: ((record: JournalRecord) => void) | undefined;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** The number of the journal's last record, as this session knows it. */
  get lastSeq(): number {
    return this.#parts.writer.lastSeq;
  }

  /** Why nothing can be recorded any more, if so. */
  get failure(): Error | undefined {
    return this.#parts.writer.failure;
  }

  /** Settles when all that was told to be recorded is; rejects where it could not be. */
  async settled(): Promise<void> {
    await this.#parts.writer.append([]);
  }

  /** Whether all that the running turn still does is wait for people. */
  get isWaiting(): boolean {
    return this.#parts.isWaiting();
  }

  /** The turn that another process left unfinished, or that runs. */
  get openTurnId(): string | undefined {
    return this.#parts.active()?.turnId ?? this.#parts.state.turn?.turnId;
  }

  /** Whether the journal has this input, or this turn. */
  knows(id: string): boolean {
    return this.#parts.state.inputIds.has(id) || this.#parts.inbox.holds(id);
  }

  /** The inputs that wait for a turn of their own. */
  get waiting(): readonly string[] {
    return this.#parts.inbox.waiting;
  }

  /** Whether something is still to be done about this input, or this turn. */
  isOpen(id: string): boolean {
    return this.openTurnId === id || this.#parts.inbox.holds(id);
  }

  /** Records an input that waits until its turn is begun. As with `submit`, a turn that waits for a person ends by it. */
  async hold(message: UserMessage, turnId: string, limits: TurnLimits | undefined): Promise<void> {
    const { inbox, gates, writer, active, isWaiting, endUnfinished, requireOpen } = this.#parts;
    requireOpen();
    if (this.knows(turnId)) return;
    if (active() === undefined && gates.pending.length > 0) endUnfinished();
    inbox.enqueue(message, limits, turnId);
    if (isWaiting()) active()?.interruption.stop({ kind: 'interrupted', reason: MOVED_ON });
    await writer.append([]);
  }

  /** Records what is said to the running turn, with the limits of the turn that it may become. */
  async steer(message: UserMessage, inputId: string, limits: TurnLimits | undefined): Promise<void> {
    const { inbox, writer, requireOpen } = this.#parts;
    requireOpen();
    if (this.knows(inputId)) return;
    inbox.steer(message, limits, inputId).catch(() => {}); // what becomes of it stands in the journal
    await writer.append([]);
  }

  /** Begins the turn of this id, or takes it up: `undefined` where there is nothing to do about it. */
  begin(turnId: string): Turn | undefined {
    const { state, inbox, active, start, handle, endUnfinished, requireOpen } = this.#parts;
    requireOpen();
    const running = active();
    if (running !== undefined) return running.turnId === turnId ? handle(running) : undefined;
    const { turn } = state;
    if (turn?.turnId === turnId) {
      return start(inbox.job(undefined, {}, { turnId, afterSeq: turn.firstSeq - 1 }), turn);
    }
    endUnfinished();
    const job = inbox.find(turnId);
    if (job === undefined) return undefined;
    inbox.take(job);
    return start(job);
  }

  /** Stops the turn of this id, or takes it out of those that wait. */
  interrupt(turnId: string, reason: string | undefined): void {
    const { inbox, active } = this.#parts;
    const waiting = inbox.find(turnId);
    if (waiting !== undefined) inbox.cancel(waiting, reason);
    else if (active()?.turnId === turnId) active()?.interruption.stop({ kind: 'interrupted', reason });
  }

  /**
   * Ends the running turn, which only waits, if its user has said something else since it asked: that came while the turn was outside of memory. What was
   * said before it asked goes on waiting for its end.
   */
  moveOn(): boolean {
    const { state, inbox, active } = this.#parts;
    const gates = this.#openGates;
    if (!this.isWaiting || gates.length === 0) return false;
    const asked = Math.max(...gates.map(({ openedAt }) => openedAt));
    if (!inbox.waiting.some(turnId => (state.waiting.get(turnId)?.at ?? asked) > asked)) return false;
    active()?.interruption.stop({ kind: 'interrupted', reason: MOVED_ON });
    return true;
  }

  get #openGates(): readonly PendingGate[] {
    const { gates, children } = this.#parts;
    return [...gates.pending, ...[...children].flatMap(child => child.gates)];
  }

  /** Looks whether an answer could be taken, and decides nothing. Rejects with `GateError` as `session.answer` would. */
  check(gateId: string, answer: GateAnswer): Promise<void> {
    const { gates, children } = this.#parts;
    const child = [...children].find(one => one.gates.some(gate => gate.gateId === gateId));
    return child === undefined ? gates.check(gateId, answer) : child.driver.check(gateId, answer);
  }
}
