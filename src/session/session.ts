/**
 * A live session: one writer, one history, one running turn. It hands turns what they need, queues what comes meanwhile, and is
 * the only one that changes the session's state, by the journal alone.
 *
 * Owns invariant 6 (its journal writer is refused when another has appended) and the second half of 7: never two turns at once.
 */
import { v7 as uuid } from 'uuid';
import type { BoundLoop, BoundMode } from '../bind/bound-loop.ts';
import type { Clock } from '../clock.ts';
import type { ResolvedToolLimits } from '../define/limits.ts';
import { SessionBusyError, SessionError, TurnInterruptedError } from '../errors.ts';
import { EventHub, type EventReader } from '../events/event-stream.ts';
import type { SessionEvent, TurnEvent } from '../events/events.ts';
import { type JournalEntry, type JournalRecord, type JournalStore, recordedLimits } from '../journal/journal.ts';
import { JournalWriter } from '../journal/writer.ts';
import { type Message, NO_USAGE, type UserMessage } from '../model/model.ts';
import type { EphemeralEvent, TurnContext } from '../run/context.ts';
import { Deadlines, PausableDeadline } from '../run/deadlines.ts';
import { Interruption } from '../run/interruption.ts';
import type { DoneResult, TurnResult } from '../run/outcome.ts';
import { type OutputContract, outputContract } from '../run/output.ts';
import { runTurn, summaryOf } from '../run/turn.ts';
import { show } from '../show.ts';
import { modeThatReads } from './captures.ts';
import { GateKeeper, type GateOptions, MOVED_ON, type PendingGate } from './gate.ts';
import type { GateAnswer } from './gate-answer.ts';
import { checkEdit } from './gate-edit.ts';
import type { OpenTurn, SessionState } from './history.ts';
import { type UserInput, userMessage } from './input.ts';
import { endCutShort, PROCESS_ENDED, type RestoredState, resumePoint } from './restore.ts';
import { Turn } from './turn.ts';
import { effectiveLimits, limitsOf, readTurnLimits, type TurnLimits, type TurnOptions } from './turn-limits.ts';

/** Options of `submit`. */
export interface SubmitOptions extends TurnOptions {
  /** While a turn runs: `queue` waits for it, `reject` throws `SessionBusyError`. Default `queue`. */
  readonly queue?: 'queue' | 'reject';
}

/** What became of an input that was meant to steer. */
export type Steered<Output = unknown> =
  /** The running turn has taken it in. */
  | { readonly kind: 'folded'; readonly turnId: string }
  /** There was no model call left to take it in: it is a turn of its own. */
  | { readonly kind: 'submitted'; readonly turn: Turn<Output> };

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
}

/** A turn that waits or runs. */
interface Job {
  readonly turnId: string;
  readonly limits: TurnLimits | undefined;
  /** The record that begins it; for a queued one it names the input that was recorded before. */
  readonly opening: { readonly message?: UserMessage; readonly inputId?: string };
  readonly interruption: Interruption;
  readonly result: PromiseWithResolvers<TurnResult>;
  /** The record before the turn's first, for readers that come late. */
  afterSeq: number;
  /** The terminal event of a turn whose end is no record. */
  final: TurnEvent | undefined;
  /** Whether another process received its input: closing this session leaves it waiting. */
  readonly isRestored: boolean;
}

interface PendingSteer {
  readonly inputId: string;
  readonly afterSeq: number;
  readonly decided: PromiseWithResolvers<Steered<never>>;
}

export class Session<ModeName extends string = string, Output = unknown> implements AsyncDisposable {
  readonly #bound: BoundLoop;
  readonly #state: SessionState;
  readonly #store: JournalStore;
  readonly #clock: Clock;
  readonly #writer: JournalWriter;
  readonly #hub: EventHub;
  readonly #gates: GateKeeper;
  readonly #queue: Job[] = [];
  #steers: PendingSteer[] = [];
  #active: Job | undefined;
  readonly #output: OutputContract | undefined;
  /** Of a turn that another process left unfinished: the calls that ran in it. */
  readonly #ran: RestoredState['ran'];
  #mode: BoundMode;
  #drift: { readonly recorded: string; readonly current: string } | undefined;
  #closing: Promise<void> | undefined;
  #hasEndedUnfinished = false;

  /** @internal */
  constructor(parts: SessionParts) {
    this.#bound = parts.bound;
    const { state, lastSeq, ran } = parts.restored;
    this.#state = state;
    this.#ran = ran;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#output = parts.bound.output && outputContract(parts.bound.output, parts.bound.behaviour.outputMode);
    this.#mode = parts.bound.mode(state.mode) ?? parts.bound.initialMode;
    const { sessionId, loopId } = parts.bound;
    const read = (fromSeq: number) => this.#store.read(sessionId, fromSeq);
    const now = () => this.#clock.now();
    this.#hub = new EventHub({ sessionId, loopId, read }, lastSeq, now, parts.observers);
    this.#writer = new JournalWriter(parts.store, sessionId, lastSeq, parts.clock, record => {
      this.#state.apply(record);
      this.#hub.record(record);
    });
    this.#gates = new GateKeeper({
      options: parts.gate,
      loopRules: parts.bound.gate.rules,
      clock: parts.clock,
      state,
      append: entries => this.#writer.append(entries),
      checkEdit: (toolName, input) => checkEdit(this.#modeOfTurn(), toolName, input),
    });
    this.#takeUp();
  }

  /** What another process received and did not use waits here as it did there. */
  #takeUp(): void {
    const { turn, waiting } = this.#state;
    const leanedOn: JournalRecord[] = [...waiting.values()];
    if (turn?.step?.response !== undefined) leanedOn.push(turn.step.response);
    for (const record of leanedOn.sort((one, other) => one.seq - other.seq)) this.#hub.remember(record);
    for (const { inputId, as, seq } of waiting.values()) {
      if (as === 'steer' && turn !== undefined) {
        this.#steers.push({ inputId, afterSeq: seq - 1, decided: Promise.withResolvers<Steered<never>>() });
      } else this.#queue.push({ ...this.#job(undefined, { inputId }), afterSeq: seq - 1, isRestored: true });
    }
  }

  get id(): string {
    return this.#bound.sessionId;
  }

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
    const message = userMessage(input);
    const limits = readTurnLimits(options);
    if (options.queue !== undefined && options.queue !== 'queue' && options.queue !== 'reject') {
      throw new SessionError('invalid_option', '"queue" must be "queue" or "reject"');
    }
    if (this.#active !== undefined && options.queue === 'reject') throw new SessionBusyError();
    this.#endUnfinished();
    if (this.#active === undefined && this.#queue.length === 0) return this.#start(this.#job(limits, { message }));
    const turn = this.#enqueue(message, limits);
    if (this.#active === undefined) this.#startNext();
    else if (this.#gates.isWaiting) this.#active.interruption.stop({ kind: 'interrupted', reason: MOVED_ON });
    return turn;
  }

  /**
   * What a process that ended left to do: `undefined` where there is nothing. `resume` takes it up; any other input ends the turn, honestly:
   * what was recorded is used, and what may have happened is said.
   */
  get unfinished(): Unfinished | undefined {
    if (this.#active !== undefined) return undefined;
    const { turn } = this.#state;
    if (turn === undefined && this.#queue.length === 0) return undefined;
    return Object.freeze({ turnId: turn?.turnId, gates: this.#gates.pending, queued: this.#queue.length });
  }

  /**
   * Takes up the turn that another process left unfinished, or the first input that waited. Results that were recorded are used, and their
   * calls never run again; a call that had started and has no result runs again only if its tool is `idempotent`, and else says that its
   * outcome is unknown; counts, usage and queue are as they were, the turn's time begins anew. If another process goes on with the session,
   * the turn fails with `JournalConflictError`. Throws `SessionError` `nothing_to_resume`, or `busy` while a turn runs.
   */
  resume(): Turn<Output> {
    this.#requireOpen();
    if (this.#active !== undefined) throw new SessionBusyError();
    const { turn } = this.#state;
    if (turn !== undefined) {
      return this.#start({ ...this.#job(undefined, {}, turn.turnId), afterSeq: turn.firstSeq - 1 }, turn);
    }
    const next = this.#queue[0];
    if (next === undefined) {
      throw new SessionError(
        'nothing_to_resume',
        'the session has no unfinished turn and no input that waits: submit one',
      );
    }
    this.#startNext();
    return this.#handle(next);
  }

  /** The turn that runs, or `undefined`. */
  get turn(): Turn<Output> | undefined {
    return this.#active && this.#handle(this.#active);
  }

  /** The gates that wait for an answer, of the running turn or of one that is unfinished. */
  get gates(): readonly PendingGate[] {
    return this.#gates.pending;
  }

  /** Submits and waits: gives the result of a turn that is done, and throws the error of one that failed, or `TurnInterruptedError`. */
  async run(input: UserInput, options: SubmitOptions = {}): Promise<DoneResult<Output>> {
    const result = await this.submit(input, options).result;
    if (result.status === 'done') return result;
    if (result.status === 'failed') throw result.error;
    throw new TurnInterruptedError(result.reason);
  }

  /**
   * Says something to the running turn: it goes in as a user message before its next model call. If there is none any more, or no turn
   * runs, it becomes a turn of its own. Settles when it is decided which.
   */
  async steer(input: UserInput): Promise<Steered<Output>> {
    this.#requireOpen();
    if (this.#active === undefined) return { kind: 'submitted', turn: this.submit(input) };
    const message = userMessage(input);
    const inputId = uuid();
    const decided = Promise.withResolvers<Steered<never>>();
    this.#steers.push({ inputId, afterSeq: this.#hub.lastSeq, decided });
    await this.#writer.append([{ type: 'input.received', inputId, as: 'steer', message }]);
    return decided.promise as Promise<Steered<Output>>;
  }

  /**
   * Takes up a turn that failed or was interrupted: goes on from the committed history, with fresh counts. Throws `SessionError`
   * `nothing_to_continue` if the last turn ended with an answer, or `busy` while one runs.
   */
  continue(options: TurnOptions = {}): Turn<Output> {
    this.#requireOpen();
    if (this.#active !== undefined) throw new SessionBusyError();
    if (!this.#state.canContinue && this.#state.turn === undefined) {
      throw new SessionError('nothing_to_continue', 'the last turn ended with an answer: submit a new input instead');
    }
    const limits = readTurnLimits(options);
    this.#endUnfinished();
    return this.#start(this.#job(limits, {}));
  }

  /** Changes the mode, from the next turn on. Throws `SessionError` `unknown_mode`. */
  async setMode(name: ModeName | ''): Promise<void> {
    this.#requireOpen();
    const mode = this.#bound.mode(name);
    if (mode === undefined) {
      const known = this.#bound.modes.map(({ name }) => `"${name}"`).join(', ');
      throw new SessionError('unknown_mode', `loop "${this.loop}" has no mode "${name}": it has ${known}`);
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
    await this.#gates.answer(gateId, answer);
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
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const job of [...this.#queue]) if (!job.isRestored) this.#cancel(job, 'the session was closed');
    this.#active?.interruption.stop({ kind: 'interrupted', reason: 'the session was closed' });
    await this.#active?.result.promise;
    await this.#writer.settled();
    this.#hub.end();
    await this.#bound[Symbol.asyncDispose]();
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new SessionError('closed', `session ${this.id} is closed: open it again`);
    if (this.#writer.failure !== undefined) throw this.#writer.failure;
  }

  #job(limits: TurnLimits | undefined, opening: Job['opening'], turnId: string = uuid()): Job {
    const result = Promise.withResolvers<TurnResult>();
    const interruption = new Interruption();
    return {
      turnId,
      limits,
      opening,
      interruption,
      result,
      afterSeq: this.#hub.lastSeq,
      final: undefined,
      isRestored: false,
    };
  }

  #enqueue(message: UserMessage, limits: TurnLimits | undefined): Turn<Output> {
    const job = this.#job(limits, { inputId: uuid() });
    this.#queue.push(job);
    const received: JournalEntry = { type: 'input.received', inputId: job.opening.inputId!, as: 'turn', message };
    void this.#writer.append([received]); // a failure comes back with the turn that is running
    return this.#handle(job);
  }

  #start(job: Job, unfinished?: OpenTurn): Turn<Output> {
    this.#active = job;
    void this.#run(job, unfinished);
    return this.#handle(job);
  }

  #startNext(): void {
    const next = this.#closing === undefined ? this.#queue.shift() : undefined;
    if (next !== undefined) this.#start(next);
  }

  /** Ends what another process left unfinished; recorded together with the turn that follows. */
  #endUnfinished(): void {
    if (this.#active !== undefined || this.#state.turn === undefined || this.#hasEndedUnfinished) return;
    this.#hasEndedUnfinished = true;
    const reason = this.#gates.pending.length > 0 ? MOVED_ON : PROCESS_ENDED;
    this.#writer.stage(endCutShort(this.#state, reason));
    this.#promoteSteers(); // what was said to that turn comes before what is said now
  }

  #modeOfTurn(): BoundMode {
    return this.#bound.mode(this.#state.turn?.mode ?? '') ?? this.#mode;
  }

  #handle(job: Job): Turn<Output> {
    return new Turn<Output>(job.turnId, {
      result: job.result.promise as Promise<TurnResult<Output>>,
      interrupt: given => {
        const reason = given === undefined || typeof given === 'string' ? given : show(given); // it is recorded
        if (this.#queue.includes(job)) this.#cancel(job, reason);
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
    const mode = unfinished === undefined ? this.#mode : this.#modeOfTurn();
    const limits = unfinished === undefined ? effectiveLimits(mode.limits, job.limits) : limitsOf(unfinished);
    const context = this.#context(job, mode, limits);
    const first: JournalEntry =
      unfinished === undefined
        ? { type: 'turn.started', turnId, mode: mode.name, limits: recordedLimits(limits), ...opening }
        : { type: 'turn.resumed', turnId };
    const result = await runTurn(context, first, unfinished && resumePoint(unfinished, this.#ran));
    const isRecorded = this.#writer.failure === undefined;
    if (!isRecorded && result.status === 'failed') {
      const { text, usage, steps, iterations, calls, error } = result;
      this.#finish(job, {
        type: 'turn.failed',
        turnId,
        text,
        usage,
        steps,
        iterations,
        calls,
        error: summaryOf(error),
      });
    }
    this.#active = undefined;
    this.#promoteSteers();
    this.#startNext();
    job.result.resolve(Object.freeze(result));
  }

  /** What was said too late for the turn becomes the next turns, before those that were queued. */
  #promoteSteers(): void {
    const late = this.#steers;
    this.#steers = [];
    const jobs = late.map(({ inputId, afterSeq, decided }) => {
      const job = this.#job(undefined, { inputId });
      job.afterSeq = afterSeq;
      decided.resolve({ kind: 'submitted', turn: this.#handle(job) as Turn<never> });
      return job;
    });
    this.#queue.unshift(...jobs);
    if (this.#closing !== undefined) for (const job of jobs) this.#cancel(job, 'the session was closed');
  }

  /** Takes a waiting turn out of the queue. */
  #cancel(job: Job, reason: string | undefined): void {
    const place = this.#queue.indexOf(job);
    if (place === -1) return;
    this.#queue.splice(place, 1);
    const { turnId } = job;
    const figures = { text: '', usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 };
    const said = { reason: reason ?? 'cancelled before it began' };
    if (job.opening.inputId !== undefined) {
      void this.#writer.append([{ type: 'input.cancelled', inputId: job.opening.inputId }]);
    }
    this.#finish(job, { type: 'turn.interrupted', turnId, ...said, ...figures });
    job.result.resolve(Object.freeze({ status: 'interrupted', ...said, leftBehind: [], ...figures }));
  }

  #finish(job: Job, event: Parameters<EventHub['finish']>[1]): void {
    job.final = this.#hub.finish(job.turnId, event) as TurnEvent;
  }

  #context(job: Job, mode: BoundMode, limits: ResolvedToolLimits): TurnContext {
    const { turnId, interruption } = job;
    const { sessionId, loopId, behaviour, middleware } = this.#bound;
    const [state, hub, writer, clock] = [this.#state, this.#hub, this.#writer, this.#clock];
    const deadlines = new Deadlines(clock);
    const timeoutMs = limits.turnTimeoutMs;
    const turnTimer = new PausableDeadline(deadlines, clock, timeoutMs, () =>
      interruption.stop({ kind: 'timed_out', timeoutMs }),
    );
    const get = (id: string) => this.#store.getCapture(sessionId, id);
    const current = modeThatReads(mode, {
      ...{ sessionId, loopId, get },
      ...{ captures: state.captures, resultBytes: limits.resultBytes },
    });
    return {
      ...{ sessionId, loopId, turnId, limits, behaviour, middleware },
      get mode() {
        return current();
      },
      ...{ clock, deadlines, turnTimer, interruption },
      output: this.#output,
      history: state.messages,
      stage: entries => writer.stage(entries),
      append: entries => writer.append(entries),
      keep: bytes => this.#store.putCapture(sessionId, bytes),
      hasCallId: callId => state.callIds.has(callId),
      isKnownElsewhere: toolName => this.#bound.modes.some(other => other.tool(toolName) !== undefined),
      get watched() {
        return hub.watched;
      },
      emit: (event: EphemeralEvent) => hub.emit({ ...event, turnId }),
      emitText: (type, stepId, text) => hub.emitText(turnId, type, stepId, text),
      permission: requests => this.#gates.decide(turnId, interruption, requests),
      hasGate: callId => state.gates.has(callId),
      withdrawGates: callIds => this.#gates.withdraw(callIds),
      takeSteered: () => this.#takeSteered(turnId),
      random: () => Math.random(),
    };
  }

  #takeSteered(turnId: string): readonly JournalEntry[] {
    if (this.#steers.length === 0) return NOTHING;
    const taken = this.#steers;
    this.#steers = [];
    return taken.map(({ inputId, decided }): JournalEntry => {
      decided.resolve({ kind: 'folded', turnId });
      return { type: 'input.steered', turnId, inputId };
    });
  }
}

const NOTHING: readonly JournalEntry[] = Object.freeze([]);
