/**
 * A live session: one writer, one history, one running turn. It hands turns what they need, queues what comes meanwhile, and is
 * the only one that changes the session's state, by the journal alone.
 *
 * Owns invariant 6 (its journal writer is refused when another has appended) and the second half of 7: never two turns at once.
 */
import { type BoundLoop, type BoundMode, currentMode } from '../bind/bound-loop.ts';
import type { Clock } from '../clock.ts';
import { modesInWords } from '../define/mode.ts';
import { SessionBusyError, SessionError, TurnInterruptedError } from '../errors.ts';
import { EventHub } from '../events/event-hub.ts';
import type { EventReader } from '../events/event-reader.ts';
import type { SessionEvent, TurnEvent } from '../events/events.ts';
import { newId } from '../ids.ts';
import { type JournalEntry, type JournalRecord, type JournalStore, recordedLimits } from '../journal/journal.ts';
import { JournalWriter } from '../journal/writer.ts';
import type { Message } from '../model/model.ts';
import type { DoneResult, TurnResult } from '../run/outcome.ts';
import { outputContract } from '../run/output.ts';
import { runTurn, summaryOf } from '../run/turn.ts';
import { show } from '../show.ts';
import { SessionDriver } from './driver.ts';
import { GateKeeper, MOVED_ON, type PendingGate } from './gate.ts';
import type { GateAnswer } from './gate-answer.ts';
import { checkEdit } from './gate-edit.ts';
import type { GateOptions } from './gate-options.ts';
import type { OpenTurn, SessionState } from './history.ts';
import { Inbox, type Job, type Steered } from './inbox.ts';
import { type UserInput, userMessage } from './input.ts';
import { RELEASED, releasedIfSo, within } from './release.ts';
import { endCutShort, PROCESS_ENDED, type RestoredState, resumePoint } from './restore.ts';
import { readSessionOptions } from './session-options.ts';
import { Turn } from './turn.ts';
import { type TurnPorts, turnContext } from './turn-context.ts';
import { effectiveLimits, limitsOf, readTurnLimits, type TurnOptions } from './turn-limits.ts';
import { interruptedBy, readSignal } from './turn-signal.ts';

/** Options of `submit`. */
export interface SubmitOptions extends TurnOptions {
  /** While a turn runs: `queue` waits for it, `reject` throws `SessionBusyError`. Default `queue`. */
  readonly queue?: 'queue' | 'reject';
  /** The id of the turn, which no turn and no input of the session has yet. Default: a new one. */
  readonly turnId?: string;
}

const STEER_OPTIONS = ['limits', 'budget'] as const;
const RESUME_OPTIONS = ['budget', 'signal'] as const;
const TURN_OPTIONS = ['limits', 'budget', 'signal'] as const;
const SUBMIT_OPTIONS = [...TURN_OPTIONS, 'queue', 'turnId'] as const;

/** Options of `release`. */
export interface ReleaseOptions {
  /** How long to wait for calls and for the model's response that are under way, so that they are recorded; nothing new begins. Default 0. */
  readonly graceMs?: number;
}

/** What a process that ended left to do in a session. */
export interface Unfinished {
  /** The turn that was cut short; `undefined` where only inputs wait. */
  readonly turnId: string | undefined;
  /** Its gates that wait for an answer. */
  readonly gates: readonly PendingGate[];
  /** Inputs that wait for a turn of their own. */
  readonly queued: number;
}

/** What a rig gives a session to live on. */
export interface SessionParts {
  readonly bound: BoundLoop;
  readonly restored: RestoredState;
  readonly store: JournalStore;
  readonly clock: Clock;
  readonly gate: GateOptions | undefined;
  readonly observers: readonly ((event: SessionEvent) => void)[];
  /** The delegates that run for this session. */
  readonly children: ReadonlySet<Session>;
  /** Told when the session is closed, or let go of. */
  ended(): void;
}

/**
 * A live session, opened by a rig: one history, one writer, at most one running turn. `await using` closes it. What it is asked after
 * `close` is refused with `SessionError` `closed`.
 */
export class Session<ModeName extends string = string, Output = unknown> implements AsyncDisposable {
  readonly #bound: BoundLoop;
  readonly #state: SessionState;
  readonly #writer: JournalWriter;
  readonly #hub: EventHub;
  readonly #gates: GateKeeper;
  readonly #inbox: Inbox;
  /** All of these together, and what else a turn needs. */
  readonly #ports: TurnPorts;
  readonly #children: ReadonlySet<Session>;
  #active: Job | undefined;
  /** Of a turn that another process left unfinished: the calls that ran in it. */
  readonly #ran: RestoredState['ran'];
  #mode: BoundMode;
  #drift: { readonly recorded: string; readonly current: string } | undefined;
  #closing: Promise<void> | undefined;
  #hasEndedUnfinished = false;
  /** Nothing new begins any more: the session is being released. */
  #isLeaving = false;
  #whenWaiting: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #ended: () => void;
  /** For hosts. @internal */
  readonly driver: SessionDriver;

  /** @internal */
  constructor(parts: SessionParts) {
    const { bound, restored, store, clock, gate: options, observers } = parts;
    const { state, lastSeq, ran } = restored;
    const { sessionId, loopId } = bound;
    this.#bound = bound;
    this.#clock = clock;
    this.#ended = () => parts.ended();
    this.#children = parts.children;
    this.#state = state;
    this.#ran = ran;
    this.#mode = bound.mode(state.mode) ?? bound.initialMode;
    const source = { sessionId, loopId, read: (fromSeq: number) => store.read(sessionId, fromSeq) };
    const hub = new EventHub(source, lastSeq, () => clock.now(), observers);
    const writer = new JournalWriter(store, sessionId, lastSeq, clock, record => {
      state.apply(record);
      hub.record(record);
      this.driver.onRecord?.(record);
    });
    const append = (entries: readonly JournalEntry[]) => writer.append(entries);
    const gates = new GateKeeper({
      ...{ options, loopRules: bound.gate.rules, clock, state, append },
      checkEdit: (toolName, input) => checkEdit(currentMode(this.#modeOfTurn()), toolName, input),
      waits: () => this.#whenWaiting?.(),
    });
    const inbox = new Inbox({ hub, append, handle: job => this.#handle(job) });
    const output = bound.output && outputContract(bound.output, bound.behaviour.outputMode);
    const mayBegin = (): boolean => !this.#isLeaving;
    this.#ports = { bound, state, store, writer, hub, gates, inbox, clock, output, mayBegin };
    this.#writer = writer;
    this.#hub = hub;
    this.#gates = gates;
    this.#inbox = inbox;
    this.driver = new SessionDriver({
      ...{ state, inbox, gates, writer, children: parts.children },
      active: () => this.#active,
      isWaiting: () => this.#isWaiting(),
      start: (job, unfinished) => this.#start(job, unfinished),
      handle: job => this.#handle(job),
      endUnfinished: () => this.#endUnfinished(),
      requireOpen: () => this.#requireOpen(),
    });
    this.#takeUp();
  }

  /** What another process received and did not use waits here as it did there. */
  #takeUp(): void {
    const { turn, waiting } = this.#state;
    const leanedOn: JournalRecord[] = [...waiting.values()];
    if (turn?.step?.response !== undefined) leanedOn.push(turn.step.response);
    for (const record of leanedOn.sort((one, other) => one.seq - other.seq)) this.#hub.remember(record);
    this.#inbox.restore(waiting.values(), turn !== undefined);
  }

  /** The id that `rig.open({ sessionId })` takes, as long as the store has it. */
  get id(): string {
    return this.#bound.sessionId;
  }

  /** The id of the loop in this session, the same after a restart. */
  get loopId(): string {
    return this.#bound.loopId;
  }

  /** The name of the loop definition that the session runs. */
  get loop(): string {
    return this.#bound.name;
  }

  /** The mode that the next turn runs in; `""` is the base mode. */
  get mode(): ModeName | '' {
    return this.#mode.name as ModeName | '';
  }

  /** The committed history: a list of its own, of frozen messages. */
  get history(): readonly Message[] {
    return this.#state.messages.slice();
  }

  /** Whether a turn is running. */
  get isRunning(): boolean {
    return this.#active !== undefined;
  }

  /**
   * Answers the user's input with a turn: at once, or after those before it. A turn that waits for a person ends by it, its gates closed
   * as denied; so does one that another process left unfinished and nobody resumed. Throws `SessionError` for unusable input or a
   * closed session.
   */
  submit(input: UserInput, options: SubmitOptions = {}): Turn<Output> {
    this.#requireOpen();
    const given = readSessionOptions(options, SUBMIT_OPTIONS, 'submit');
    const message = userMessage(input);
    const limits = readTurnLimits(given);
    const signal = readSignal(given.signal);
    if (given.queue !== undefined && given.queue !== 'queue' && given.queue !== 'reject') {
      throw new SessionError('invalid_option', '"queue" must be "queue" or "reject"');
    }
    const turnId = this.#newTurnId(given.turnId);
    if (this.#active !== undefined && given.queue === 'reject') throw new SessionBusyError();
    const enqueued = () => interruptedBy(signal, this.#handle(this.#inbox.enqueue(message, limits, turnId)));
    if (signal?.aborted) return enqueued(); // and taken out again: what runs, or waits for a person, goes on
    this.#endUnfinished();
    if (this.#active === undefined && this.#inbox.size === 0)
      return interruptedBy(signal, this.#start(this.#inbox.job(limits, { message }, { turnId })));
    const turn = enqueued();
    if (this.#active === undefined) this.#startNext();
    else if (this.#gates.isWaiting || [...this.#children].some(child => child.gates.length > 0))
      this.#active.interruption.stop({ kind: 'interrupted', reason: MOVED_ON });
    return turn;
  }

  /**
   * What a process that ended left to do: `undefined` where there is nothing. `resume` takes it up; any other input ends the turn, honestly:
   * what was recorded is used, and what may have happened is said.
   */
  get unfinished(): Unfinished | undefined {
    if (this.#active !== undefined) return undefined;
    const { turn } = this.#state;
    if (turn === undefined && this.#inbox.size === 0) return undefined;
    return Object.freeze({ turnId: turn?.turnId, gates: this.#gates.pending, queued: this.#inbox.size });
  }

  /**
   * Takes up the turn that another process left unfinished, or the first input that waited. Results that were recorded are used, and their
   * calls never run again; a call that had started and has no result runs again only if its tool is `idempotent`, and else says that its
   * outcome is unknown; counts, usage and queue are as they were, the turn's time begins anew. With a `budget` (`call.budget` of a tool) what the
   * turn uses counts there too. With a `signal` that has aborted already, the turn ends without being run. If another process goes on with the session,
   * the turn fails with `JournalConflictError`. Throws `SessionError` `nothing_to_resume`, or `busy` while a turn runs.
   */
  resume(options: Pick<TurnOptions, 'budget' | 'signal'> = {}): Turn<Output> {
    this.#requireOpen();
    const given = readSessionOptions(options, RESUME_OPTIONS, 'resume');
    const limits = readTurnLimits(given);
    const signal = readSignal(given.signal);
    if (this.#active !== undefined) throw new SessionBusyError(IS_RESUMED);
    const { turn } = this.#state;
    if (turn !== undefined) {
      const from = { turnId: turn.turnId, afterSeq: turn.firstSeq - 1 };
      return interruptedBy(signal, this.#start(this.#inbox.job(limits, {}, from), turn));
    }
    const next = this.#inbox.first;
    if (next === undefined) {
      throw new SessionError(
        'nothing_to_resume',
        'the session has no unfinished turn and no input that waits: submit one',
      );
    }
    if (!signal?.aborted) this.#startNext();
    return interruptedBy(signal, this.#handle(next));
  }

  /** The turn that runs, or `undefined`. */
  get turn(): Turn<Output> | undefined {
    return this.#active && this.#handle(this.#active);
  }

  /** The gates that wait for an answer, of the running turn or of one that is unfinished; those of its delegates too. */
  get gates(): readonly PendingGate[] {
    return [...this.#gates.pending, ...[...this.#children].flatMap(child => child.gates)];
  }

  /** Submits and waits: gives the result of a turn that is done, and throws the error of one that failed, or `TurnInterruptedError`. */
  async run(input: UserInput, options: SubmitOptions = {}): Promise<DoneResult<Output>> {
    const result = await this.submit(input, options).result;
    if (result.status === 'done') return result;
    if (result.status === 'failed') throw result.error;
    if (result.status === 'released')
      throw new SessionError(
        'released',
        `session ${this.id} was released before the turn ended: another process goes on with it`,
      );
    throw new TurnInterruptedError(result.reason);
  }

  /**
   * Says something to the running turn: it goes in as a user message before its next model call. If there is none any more, or no turn
   * runs, it becomes a turn of its own, with these limits; those of the running turn stay as they are. Settles when it is decided which.
   * Rejects with what `submit` throws.
   */
  async steer(input: UserInput, options: Pick<TurnOptions, 'limits' | 'budget'> = {}): Promise<Steered<Output>> {
    this.#requireOpen();
    const given = readSessionOptions(options, STEER_OPTIONS, 'steer');
    if (this.#active === undefined) return { kind: 'submitted', turn: this.submit(input, given) };
    return this.#inbox.steer(userMessage(input), readTurnLimits(given)) as Promise<Steered<Output>>;
  }

  /**
   * Takes up a turn that failed or was interrupted: goes on from the committed history, with fresh counts. Throws `SessionError`
   * `nothing_to_continue` if the last turn ended with an answer, or `busy` while one runs.
   */
  continue(options: TurnOptions = {}): Turn<Output> {
    this.#requireOpen();
    const given = readSessionOptions(options, TURN_OPTIONS, 'continue');
    const limits = readTurnLimits(given);
    const signal = readSignal(given.signal);
    if (this.#active !== undefined) throw new SessionBusyError(CONTINUES_LATER);
    if (!this.#state.canContinue && this.#state.turn === undefined) {
      throw new SessionError('nothing_to_continue', 'the last turn ended with an answer: submit a new input instead');
    }
    const job = this.#inbox.job(limits, {});
    if (signal?.aborted) return interruptedBy(signal, this.#handle(this.#inbox.wait(job)));
    this.#endUnfinished();
    return interruptedBy(signal, this.#start(job));
  }

  /** Changes the mode, from the next turn on. Throws `SessionError` `unknown_mode`. */
  async setMode(name: ModeName | ''): Promise<void> {
    this.#requireOpen();
    const mode = this.#bound.mode(name);
    if (mode === undefined) {
      const known = modesInWords(this.#bound.modes.map(({ name }) => name));
      throw new SessionError('unknown_mode', `loop "${this.loop}" has no mode "${name}": ${known}`);
    }
    if (mode === this.#mode) return;
    this.#mode = mode;
    await this.#writer.append([{ type: 'mode.changed', mode: name }]);
  }

  /**
   * Answers a gate that a call waits at, in the running turn or in one that is unfinished: then the answer is recorded, and used when the
   * turn is resumed. Throws `GateError` for a gate that is unknown, decided or expired, and for an answer that is none.
   */
  async answer(gateId: string, answer: GateAnswer): Promise<void> {
    this.#requireOpen();
    const child = [...this.#children].find(({ gates }) => gates.some(gate => gate.gateId === gateId));
    await (child === undefined ? this.#gates.answer(gateId, answer) : child.answer(gateId, answer));
  }

  /** For the rig alone: tells observers and readers that the session was restored under another policy. @internal */
  noteDrift(recorded: string, current: string): void {
    this.#drift = { recorded, current };
    this.#hub.emit({ type: 'session.drift', recorded, current });
  }

  /** The policy revisions before and now, where the session was restored under a definition that behaves differently. */
  get drift(): { readonly recorded: string; readonly current: string } | undefined {
    return this.#drift;
  }

  /** A reader of all events of the session from now on. Break off to stop reading. */
  subscribe(): EventReader<SessionEvent> {
    return this.#hub.subscribe(this.#hub.lastSeq);
  }

  /** Ends the session: the running turn is interrupted and drained, queued ones are cancelled, tools are disposed in reverse order. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(this.#ended);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Leaves the session to another process, without an end of its turn: this one records nothing more, tells running tools to stop, disposes them, and
   * waits for neither longer than the loop's `drainTimeoutMs`. The turn's result is `released` here; what was recorded is what the next process goes on from, so
   * that a call which was running then says that its outcome is unknown, unless it ends within `graceMs`. After `close` it does nothing.
   */
  async release(options: ReleaseOptions = {}): Promise<void> {
    const { graceMs = 0 } = readSessionOptions(options, ['graceMs'], 'release');
    this.#closing ??= this.#release(graceMs).finally(this.#ended);
    return this.#closing;
  }

  async #release(graceMs: number): Promise<void> {
    this.#isLeaving = true;
    const children = Promise.all([...this.#children].map(child => child.release({ graceMs })));
    if (graceMs > 0 && this.#active !== undefined) await this.#standstill(graceMs, children);
    this.#writer.release();
    await children;
    const active = this.#active;
    active?.interruption.stop({ kind: 'interrupted', reason: RELEASED });
    this.#inbox.release();
    await active?.result.promise;
    await this.#writer.settled();
    this.#hub.end();
    await within(this.#clock, this.#bound.behaviour.drainTimeoutMs, this.#bound[Symbol.asyncDispose]());
  }

  /** Settles when the turn has stopped by itself or only waits, or when the time is over. */
  #standstill(graceMs: number, children: Promise<unknown>): Promise<void> {
    if (this.#isWaiting()) return Promise.resolve();
    const waiting = Promise.withResolvers<void>();
    this.#whenWaiting = waiting.resolve;
    void children.then(() => {
      if (this.#children.size > 0 && this.#running() === this.#children.size) waiting.resolve(); // their calls end with this session
    });
    return within(this.#clock, graceMs, Promise.race([this.#active?.result.promise, waiting.promise]));
  }

  /** Whether the running turn only waits: at its own gates, or at those of the delegates that are all that runs. */
  #isWaiting(): boolean {
    if (this.#active === undefined) return false;
    if (this.#gates.isWaiting) return true;
    if (this.#children.size === 0 || this.#running() !== this.#children.size) return false;
    return [...this.#children].every(child => child.driver.isWaiting);
  }

  /** How many calls run. */
  #running(): number {
    const step = this.#state.turn?.step;
    return step === undefined ? 0 : [...step.started].filter(callId => !step.results.has(callId)).length;
  }

  /** Settles when the running turn begins to wait for a person; for hosts. @internal */
  whenWaiting(listener: () => void): void {
    this.#whenWaiting = listener;
  }

  #newTurnId(given: string | undefined): string {
    if (given === undefined) return newId();
    if (typeof given !== 'string' || given === '' || given.length > 256)
      throw new SessionError('invalid_option', '"turnId" must be a text of 1 to 256 characters');
    if (this.driver.knows(given) || this.#active?.turnId === given)
      throw new SessionError(
        'invalid_option',
        `the session has a turn "${given}" already: every turn needs an id of its own`,
      );
    return given;
  }

  async #close(): Promise<void> {
    this.#inbox.cancelAll(CLOSED);
    this.#active?.interruption.stop({ kind: 'interrupted', reason: CLOSED });
    await this.#active?.result.promise;
    await this.#writer.settled();
    this.#hub.end();
    await this.#bound[Symbol.asyncDispose]();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new SessionError('closed', `session ${this.id} is closed: open it again`);
    if (this.#writer.failure !== undefined) throw this.#writer.failure;
  }

  #start(job: Job, unfinished?: OpenTurn): Turn<Output> {
    this.#active = job;
    void this.#run(job, unfinished);
    return this.#handle(job);
  }

  #startNext(): void {
    const isFree = this.#closing === undefined && !this.driver.isDriven;
    const next = isFree ? this.#inbox.shift() : undefined;
    if (next !== undefined) this.#start(next);
  }

  /** Ends what another process left unfinished; recorded together with the turn that follows. */
  #endUnfinished(): void {
    if (this.#active !== undefined || this.#state.turn === undefined || this.#hasEndedUnfinished) return;
    this.#hasEndedUnfinished = true;
    const gates = this.#gates.claimAll();
    this.#writer.stage(endCutShort(this.#state, gates.length > 0 ? MOVED_ON : PROCESS_ENDED, gates));
    this.#inbox.promoteSteers(); // what was said to that turn comes before what is said now
  }

  #modeOfTurn(): BoundMode {
    return this.#bound.mode(this.#state.turn?.mode ?? '') ?? this.#mode;
  }

  #handle(job: Job): Turn<Output> {
    return new Turn<Output>(job.turnId, {
      result: job.result.promise as Promise<TurnResult<Output>>,
      interrupt: given => {
        const reason = given === undefined || typeof given === 'string' ? given : show(given); // it is recorded
        if (this.#inbox.has(job)) this.#inbox.cancel(job, reason);
        else job.interruption.stop({ kind: 'interrupted', reason });
      },
      subscribe: () => {
        const reader = this.#hub.subscribe<TurnEvent>(job.afterSeq, job.turnId);
        if (job.final !== undefined) reader.end(job.final);
        return reader;
      },
    });
  }

  /** Runs a turn to its end, or what is left of one, then the next one. Never rejects: whatever happens is the turn's result. */
  async #run(job: Job, unfinished: OpenTurn | undefined): Promise<void> {
    const { turnId, opening } = job;
    const mode = currentMode(unfinished === undefined ? this.#mode : this.#modeOfTurn());
    const limits = unfinished === undefined ? effectiveLimits(mode.limits, job.limits) : limitsOf(unfinished);
    const context = turnContext(this.#ports, job, mode, limits);
    const first: JournalEntry =
      unfinished === undefined
        ? { type: 'turn.started', turnId, mode: mode.name, limits: recordedLimits(limits), ...opening }
        : { type: 'turn.resumed', turnId };
    const ended = await runTurn(context, first, unfinished && resumePoint(unfinished, this.#ran));
    const result = this.#isLeaving ? releasedIfSo(ended) : ended;
    const isRecorded = this.#writer.failure === undefined;
    if (result.status === 'released') {
      job.final = this.#hub.finish(turnId, { type: 'turn.released', turnId }) as TurnEvent;
    } else if (!isRecorded && result.status === 'failed') {
      const { status: _status, leftBehind: _leftBehind, error, ...figures } = result;
      const failed = { type: 'turn.failed' as const, turnId, ...figures, error: summaryOf(error) };
      job.final = this.#hub.finish(turnId, failed) as TurnEvent;
    }
    this.#active = undefined;
    const late = this.#inbox.promoteSteers();
    if (this.#closing !== undefined && !this.#isLeaving) for (const job of late) this.#inbox.cancel(job, CLOSED);
    this.#startNext();
    job.result.resolve(Object.freeze(result));
  }
}

const CLOSED = 'the session was closed';
const IS_RESUMED =
  'there is nothing to resume while it does: session.turn is that turn, and inputs that wait follow it';
const CONTINUES_LATER =
  'there is nothing to continue before its end: wait for the result of session.turn, or interrupt it';
