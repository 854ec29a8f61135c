/** The one host there is: whatever is asked goes by the journal, the mailbox and the engine, so that it is the same where the session lives here. */
import type { ToolLimits } from '../define/limits.ts';
import type { LoopDefinition } from '../define/loop.ts';
import { modesInWords } from '../define/mode.ts';
import { GateError, JournalError, SessionBusyError, SessionError } from '../errors.ts';
import type { SessionEvent } from '../events/events.ts';
import { newId } from '../ids.ts';
import type { Mailbox, MailContent } from '../journal/mailbox.ts';
import type { JSONValue } from '../model/model.ts';
import { type GateAnswer, readAnswer } from '../session/gate-answer.ts';
import { type UserInput, userMessage } from '../session/input.ts';
import type { Rig } from '../session/rig.ts';
import { readSessionOptions } from '../session/session-options.ts';
import { listSummaries, type SessionSummary } from '../session/summary.ts';
import { readTurnLimits } from '../session/turn-limits.ts';
import { show } from '../show.ts';
import { postInput, removeMails, turnIdOf } from './accept.ts';
import { Digests, type SessionDigest } from './digest.ts';
import type { Engine, RunOutcome, RunSignals, Serving, TurnRef } from './engine.ts';
import { Feeds } from './feed.ts';
import type {
  Accepted,
  BeginOptions,
  Host,
  HostEventsOptions,
  HostListOptions,
  HostSubmitOptions,
  LoopSummary,
  SessionDetails,
} from './host.ts';
import { watchOf } from './watch.ts';
import { Worker } from './worker.ts';

/** The options of a host, resolved. */
export interface HostParts {
  readonly rig: Rig<readonly LoopDefinition[]>;
  readonly engine: Engine;
  readonly mailbox: Mailbox;
  readonly keepMs: number;
  readonly keepSessions: number;
  readonly recover: boolean;
  readonly onError: (error: unknown, ref: TurnRef | undefined) => void;
}

const INPUT_OPTIONS = ['limits', 'idempotencyKey'] as const;

/** The most sessions that a list has. */
const MOST_LISTED = 1_000;

export class OpenHost implements Host {
  readonly loops: readonly LoopSummary[];
  readonly #parts: HostParts;
  readonly #digests: Digests;
  readonly #feeds: Feeds;
  readonly #worker: Worker;
  readonly #ended = new AbortController();
  #serving: Promise<Serving> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: HostParts) {
    const { rig, engine, mailbox, keepMs, keepSessions } = parts;
    const { store, clock, gateTimeoutMs } = rig;
    this.#parts = parts;
    this.loops = Object.freeze(
      rig.loops.map(({ name, modes }) => Object.freeze({ name, modes: Object.freeze(modes.map(mode => mode.name)) })),
    );
    const watch = watchOf(store, mailbox, clock);
    this.#digests = new Digests(store);
    this.#feeds = new Feeds({ store, watch, clock, onError: error => parts.onError(error, undefined) });
    const keeping = {
      mailbox,
      watch,
      clock,
      gateTimeoutMs,
      keepMs,
      keepSessions,
      onRefusal: parts.onError,
      isOneOfSeveral: !engine.isDurable,
    };
    this.#worker = new Worker(rig, keeping, this.#feeds, ref => engine.start(ref));
  }

  /** How many sessions live in this process. @internal */
  get livingSessions(): number {
    return this.#worker.size;
  }

  async serve(): Promise<void> {
    this.#requireOpen();
    if (this.#serving !== undefined) return void (await this.#serving);
    const { engine, recover } = this.#parts;
    this.#serving = engine.serve((ref, signals) => this.#run(ref, signals));
    await this.#serving.catch(error => {
      this.#serving = undefined;
      throw error;
    });
    if (recover && !engine.isDurable) await this.#recover();
  }

  async begin(options: BeginOptions = {}): Promise<string> {
    this.#requireOpen();
    return this.#parts.rig.begin(options);
  }

  async list(options: HostListOptions = {}): Promise<readonly SessionSummary[]> {
    this.#requireOpen();
    const { limit = 100, ...rest } = readSessionOptions(options, ['delegates', 'limit', 'after'], 'list');
    if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST_LISTED)
      throw invalid(`"limit" must be a whole number from 1 to ${MOST_LISTED}, not ${show(limit)}`);
    return listSummaries(this.#parts.rig.store, { ...rest, limit }, stored => this.#digests.of(stored));
  }

  async find(sessionId: string): Promise<SessionDetails> {
    const { rig, mailbox } = this.#parts;
    const digest = await this.#digest(sessionId);
    const [stored, mails, gates] = await Promise.all([
      rig.store.find(sessionId),
      mailbox.read(sessionId),
      this.#digests.gates(digest),
    ]);
    const { turnId, lastSeq } = digest;
    const summary = digest.summary(stored!);
    const chosen = mails.findLast(({ content }) => content.type === 'mode')?.content;
    const mode = chosen?.type === 'mode' ? chosen.mode : digest.mode;
    const state = summary.state === 'running' && gates.length > 0 ? 'waiting' : summary.state;
    const isLive = turnId !== undefined && (await this.#isUnderWay({ sessionId, turnId }));
    return Object.freeze({
      ...summary,
      state,
      mode,
      lastSeq,
      isLive,
      gates,
      ...(turnId === undefined ? {} : { turnId }),
    });
  }

  async submit(sessionId: string, input: UserInput, options: HostSubmitOptions = {}): Promise<Accepted> {
    const { limits, idempotencyKey } = readSessionOptions(options, INPUT_OPTIONS, 'submit');
    const digest = await this.#digest(sessionId);
    this.#loopOf(digest);
    const turnId = turnIdOf(sessionId, idempotencyKey);
    const message = userMessage(input);
    return this.#accept(digest, turnId, { type: 'submit', turnId, message, ...ownLimits(limits) });
  }

  async steer(sessionId: string, input: UserInput, options: HostSubmitOptions = {}): Promise<Accepted> {
    const { limits, idempotencyKey } = readSessionOptions(options, INPUT_OPTIONS, 'steer');
    const digest = await this.#digest(sessionId);
    this.#loopOf(digest);
    const inputId = turnIdOf(sessionId, idempotencyKey);
    const message = userMessage(input);
    const accepted = await this.#accept(digest, inputId, { type: 'steer', inputId, message, ...ownLimits(limits) });
    return { ...accepted, turnId: digest.turnId ?? inputId };
  }

  async interrupt(
    sessionId: string,
    options: { readonly turnId?: string; readonly reason?: string } = {},
  ): Promise<boolean> {
    const { turnId: given, reason } = readSessionOptions(options, ['turnId', 'reason'], 'interrupt');
    const { engine } = this.#parts;
    const digest = await this.#digest(sessionId);
    const turnId = await this.#openTurn(digest, given);
    if (turnId === undefined) return false;
    const said = typeof reason === 'string' ? { reason } : {};
    await this.#post(sessionId, `interrupt ${turnId}`, { type: 'interrupt', turnId, ...said });
    await this.#start({ sessionId, turnId });
    await engine.cancel({ sessionId, turnId });
    return true;
  }

  async answer(sessionId: string, gateId: string, answer: GateAnswer): Promise<void> {
    const { rig, engine } = this.#parts;
    const digest = await this.#digest(sessionId);
    const gate = (await this.#digests.gates(digest)).find(open => open.gateId === gateId);
    if (gate === undefined) throw this.#noGate(digest, gateId);
    readAnswer(gateId, answer, gate.requests);
    if (rig.clock.now() >= gate.openedAt + rig.gateTimeoutMs)
      throw closedGate(gateId, `waited longer than ${rig.gateTimeoutMs} ms`);
    if (answer.decision === 'edit') await this.#checkEdit(digest, gateId, answer);
    const isFirst = await this.#post(sessionId, `answer ${gateId}`, {
      type: 'answer',
      gateId,
      answer: answer as unknown as JSONValue,
    });
    if (!isFirst) throw closedGate(gateId, 'is decided already');
    const turnId = digest.turnId ?? gate.turnId;
    await this.#start({ sessionId, turnId });
    await engine.wake({ sessionId, turnId });
  }

  async resume(sessionId: string): Promise<string> {
    const digest = await this.#digest(sessionId);
    this.#loopOf(digest);
    const turnId = digest.turnId ?? [...digest.waiting.keys()][0];
    if (turnId === undefined)
      throw new SessionError(
        'nothing_to_resume',
        'the session has no unfinished turn and no input that waits: submit one',
      );
    if (await this.#isUnderWay({ sessionId, turnId }))
      throw new SessionBusyError('there is nothing to resume while it does, and inputs that wait follow it');
    await this.#start({ sessionId, turnId });
    return turnId;
  }

  async delete(sessionId: string): Promise<void> {
    const { rig } = this.#parts;
    const digest = await this.#digest(sessionId).catch(error => {
      if (JournalError.is(error) && error.kind === 'damaged') return undefined; // nobody can run it
      throw error;
    });
    if (digest !== undefined && (await this.#isBusy(digest))) {
      const what = `session ${sessionId} has a turn that is under way, or an input that waits for one`;
      throw new SessionError('busy', `${what}: interrupt it first`);
    }
    await this.#worker.dismiss(sessionId);
    await rig.delete(sessionId, { unfinished: true });
  }

  async setMode(sessionId: string, mode: string): Promise<void> {
    const loop = this.#loopOf(await this.#digest(sessionId));
    if (!loop.modes.includes(mode)) {
      const known = modesInWords(loop.modes);
      throw new SessionError('unknown_mode', `loop "${loop.name}" has no mode ${show(mode)}: ${known}`);
    }
    await this.#post(sessionId, newId(), { type: 'mode', mode });
  }

  async *events(sessionId: string, options: HostEventsOptions = {}): AsyncGenerator<SessionEvent> {
    const { after = 0, signal } = readSessionOptions(options, ['after', 'signal'], 'events');
    if (!Number.isSafeInteger(after) || after < 0)
      throw invalid(`"after" must be a whole number from 0, not ${show(after)}`);
    const digest = await this.#digest(sessionId);
    const feed = await this.#feeds.open(sessionId, digest.loopId);
    const reader = feed.subscribe(after);
    const stop = (): void => void reader.return();
    const signals = [this.#ended.signal, ...(signal === undefined ? [] : [signal])];
    for (const one of signals) one.addEventListener('abort', stop);
    try {
      if (signals.some(one => one.aborted)) return;
      for await (const event of reader) yield event;
    } finally {
      for (const one of signals) one.removeEventListener('abort', stop);
      stop();
      this.#feeds.close(sessionId, feed);
    }
  }

  async capture(sessionId: string, id: string): Promise<Uint8Array | undefined> {
    this.#requireOpen();
    return this.#parts.rig.store.getCapture(sessionId, id);
  }

  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    const { graceMs = 0 } = readSessionOptions(options, ['graceMs'], 'close');
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(graceMs: number): Promise<void> {
    const serving = await this.#serving?.catch(() => undefined);
    const served = serving?.close();
    await this.#worker.close(graceMs);
    await served;
    this.#ended.abort();
  }

  async #run(ref: TurnRef, signals: RunSignals): Promise<RunOutcome> {
    try {
      return await this.#worker.run(ref, signals);
    } catch (error) {
      this.#parts.onError(error, ref);
      throw error;
    }
  }

  /** Starts what was taken up before this process began: a mail of an input stays until its turn has ended. */
  async #recover(): Promise<void> {
    const { engine, mailbox } = this.#parts;
    for (const sessionId of await mailbox.sessions()) {
      for (const { content } of await mailbox.read(sessionId)) {
        if (content.type === 'submit') await engine.start({ sessionId, turnId: content.turnId });
        if (content.type === 'steer') await engine.start({ sessionId, turnId: content.inputId });
      }
    }
  }

  async #digest(sessionId: string): Promise<SessionDigest> {
    this.#requireOpen();
    return this.#digests.get(sessionId);
  }

  /** The loop of a session. One that this rig does not have would be taken up by nobody: what is asked of it is refused. */
  #loopOf({ sessionId, loop }: SessionDigest): LoopSummary {
    const found = this.loops.find(({ name }) => name === loop);
    if (found !== undefined) return found;
    const names = this.loops.map(({ name }) => `"${name}"`).join(', ');
    throw new SessionError(
      'unknown_loop',
      `session ${sessionId} runs the loop "${loop}", which this rig does not have: it has ${names}`,
    );
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new SessionError('closed', 'the host is closed: make a new one');
  }

  /** Posts an input, has its turn started, and lets the turn that is open know. */
  async #accept(
    digest: SessionDigest,
    turnId: string,
    content: Extract<MailContent, { type: 'submit' | 'steer' }>,
  ): Promise<Accepted> {
    const { rig, mailbox, engine } = this.#parts;
    const { sessionId } = digest;
    const isNew = await postInput({ store: rig.store, mailbox, now: () => rig.clock.now() }, digest, content);
    const now = await this.#requireStillThere(sessionId);
    if (isNew || !now.inputs.has(turnId) || now.isOpen(turnId)) await this.#start({ sessionId, turnId });
    if (now.turnId !== undefined && now.turnId !== turnId) await engine.wake({ sessionId, turnId: now.turnId });
    return Object.freeze({ turnId, isNew });
  }

  /** Has a turn started. One that was left here and waits is looked at again: another process may have ended it, and it would hold this one back. */
  async #start(ref: TurnRef): Promise<void> {
    const { engine } = this.#parts;
    await engine.start(ref);
    const turnId = this.#worker.leftTurn(ref.sessionId);
    if (turnId !== undefined && turnId !== ref.turnId) await engine.wake({ sessionId: ref.sessionId, turnId });
  }

  async #post(sessionId: string, mailId: string, content: MailContent): Promise<boolean> {
    const { mailbox, rig } = this.#parts;
    const mail = Object.freeze({ mailId, at: rig.clock.now(), content: Object.freeze(content) });
    const isNew = await mailbox.post(sessionId, mail);
    await this.#requireStillThere(sessionId);
    return isNew;
  }

  /** The turn that is to be interrupted: one that runs or waits, also for its beginning. */
  async #openTurn(digest: SessionDigest, given: string | undefined): Promise<string | undefined> {
    if (given === undefined && digest.turnId !== undefined) return digest.turnId;
    if (given !== undefined && digest.inputs.has(given)) return digest.isOpen(given) ? given : undefined;
    for (const { content } of await this.#parts.mailbox.read(digest.sessionId)) {
      if (content.type !== 'submit' && content.type !== 'steer') continue;
      const id = content.type === 'submit' ? content.turnId : content.inputId;
      const isOver = digest.inputs.has(id) && !digest.isOpen(id);
      if (!isOver && (given === undefined || given === id)) return id;
    }
    return given === undefined ? [...digest.waiting.keys()][0] : undefined;
  }

  /** Whether something is to be done in the session that somebody will do. */
  async #isBusy(digest: SessionDigest): Promise<boolean> {
    const turnId = await this.#openTurn(digest, undefined);
    if (turnId === undefined) return false;
    return turnId !== digest.turnId || this.#isUnderWay({ sessionId: digest.sessionId, turnId });
  }

  /** A mail that came as its session was deleted goes too: nobody would take it up. */
  async #requireStillThere(sessionId: string): Promise<SessionDigest> {
    return this.#digests.get(sessionId).catch(async error => {
      if (SessionError.is(error) && error.kind === 'unknown_session') await removeMails(this.#parts.mailbox, sessionId);
      throw error;
    });
  }

  async #isUnderWay(ref: TurnRef): Promise<boolean> {
    const { engine, mailbox } = this.#parts;
    if (engine.has !== undefined) return engine.has(ref);
    return (await mailbox.read(ref.sessionId)).some(
      ({ content }) => content.type === 'submit' && content.turnId === ref.turnId,
    );
  }

  #noGate({ decidedGates }: SessionDigest, gateId: string): GateError {
    if (decidedGates.has(gateId)) return closedGate(gateId, 'is decided already');
    return new GateError('unknown_gate', gateId, `there is no open gate ${show(gateId)} in this session`);
  }

  /**
   * Other arguments are looked at by the tool itself: that of the session or of its delegate where it lives here, else one that is built for it.
   */
  async #checkEdit(digest: SessionDigest, gateId: string, answer: GateAnswer): Promise<void> {
    const live = this.#worker.find(digest.sessionId);
    if (live?.gates.some(gate => gate.gateId === gateId)) return live.driver.check(gateId, answer);
    const asks = await this.#digests.holderOf(digest, gateId);
    if (asks === undefined) return; // decided meanwhile: the mailbox has the first answer
    const session = await this.#parts.rig.open({ sessionId: asks.sessionId });
    try {
      await session.driver.check(gateId, answer);
    } finally {
      await session.release();
    }
  }
}

function closedGate(gateId: string, why: string): GateError {
  return new GateError('closed_gate', gateId, `gate ${show(gateId)} ${why}`);
}

function invalid(message: string): SessionError<'invalid_option'> {
  return new SessionError('invalid_option', message);
}

/** The limits of a turn's own, checked, as a mail has them. */
function ownLimits(limits: ToolLimits | undefined): { readonly limits?: ToolLimits } {
  const own = readTurnLimits(limits === undefined ? {} : { limits })?.own;
  return own === undefined ? {} : { limits: own };
}
