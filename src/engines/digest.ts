/**
 * What a host knows of a session without running it: a fold of its journal that keeps no messages, so that many are kept, and that goes on where it
 * was when more is written.
 */
import { JournalDamagedError, JournalError, SessionError } from '../errors.ts';
import { type JournalRecord, type JournalStore, requireKnown, type StoredSession } from '../journal/journal.ts';
import { childIdOf } from '../session/delegation.ts';
import type { PendingGate } from '../session/gate.ts';
import { titleOf } from '../session/history.ts';
import type { SessionSummary } from '../session/rig.ts';
import { show } from '../show.ts';

type GateOpened = Extract<JournalRecord, { type: 'gate.opened' }>;

/** What a digest takes in memory, as measured on Node 24: without a turn, for each id that it knows, and for what its gates are about. */
const BASE_BYTES = 1_200;
const BYTES_AN_ID = 100;
const GATE_BYTES_A_CHARACTER = 3;

export class SessionDigest {
  readonly sessionId: string;
  lastSeq = 0;
  loop = '';
  loopId = '';
  mode = '';
  title: string | undefined;
  turns = 0;
  calls = 0;
  parentId: string | undefined;
  lastOutcome: 'done' | 'failed' | 'interrupted' | undefined;
  /** The turn that has begun and not ended. */
  turnId: string | undefined;
  /** Every input and every turn, and the record that has it. */
  readonly inputs: Map<string, number> = new Map();
  /** Inputs that wait, and the titles that they would make. */
  readonly waiting: Map<string, string> = new Map();
  readonly decidedGates: Set<string> = new Set();
  readonly #gates = new Map<string, GateOpened>();
  #gateBytes = 0;
  /** Calls of the open turn that have started and have no result. */
  readonly running: Set<string> = new Set();

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    const ids = this.inputs.size + this.waiting.size + this.decidedGates.size + this.running.size;
    return BASE_BYTES + ids * BYTES_AN_ID + this.#gateBytes;
  }

  /** The gates that wait for an answer. */
  get gates(): readonly PendingGate[] {
    return [...this.#gates.values()].map(({ gateId, turnId, callId, toolName, requests, summary, at }) => {
      const said = summary === undefined ? {} : { summary };
      return Object.freeze({ gateId, turnId, callId, toolName, requests, ...said, openedAt: at });
    });
  }

  hasGate(gateId: string): boolean {
    return this.#gates.has(gateId);
  }

  /** Whether something is still to be done about an input or a turn that the journal has. */
  isOpen(id: string): boolean {
    return this.turnId === id || this.waiting.has(id);
  }

  summary({ createdAt, updatedAt }: StoredSession): SessionSummary {
    const { sessionId, loop, title = '', turns, calls, parentId, lastOutcome } = this;
    const running = this.turnId === undefined ? undefined : this.#gates.size > 0 ? 'waiting' : 'running';
    const state = running ?? lastOutcome ?? 'new';
    const whose = parentId === undefined ? {} : { parentId };
    return { sessionId, loop, title, state, turns, calls, createdAt, updatedAt, ...whose };
  }

  apply(record: JournalRecord): void {
    this.lastSeq = record.seq;
    switch (record.type) {
      case 'session.opened':
        this.loop = record.loop;
        this.loopId = record.loopId;
        this.mode = record.mode;
        this.parentId = record.parent?.sessionId;
        break;
      case 'history.imported':
        if (record.messages.some(({ role }) => role === 'user')) this.#name(titleOf(record.messages));
        break;
      case 'mode.changed':
        this.mode = record.mode;
        break;
      case 'input.received':
        this.#know(record.inputId, record.seq);
        this.waiting.set(record.inputId, titleOf([record.message]));
        break;
      case 'input.cancelled':
        this.waiting.delete(record.inputId);
        break;
      case 'input.steered':
        this.#use(record.inputId);
        break;
      case 'turn.started':
        this.#know(record.turnId, record.seq);
        if (record.inputId !== undefined) this.#use(record.inputId);
        if (record.message !== undefined) this.#name(titleOf([record.message]));
        this.turnId = record.turnId;
        this.turns += 1;
        break;
      case 'tool.called':
        this.calls += 1;
        break;
      case 'tool.started':
        this.running.add(record.callId);
        break;
      case 'tool.completed':
        this.running.delete(record.callId);
        break;
      case 'gate.opened':
        this.#gates.set(record.gateId, record);
        this.#gateBytes += JSON.stringify(record).length * GATE_BYTES_A_CHARACTER;
        break;
      case 'gate.resolved':
        this.#gates.delete(record.gateId);
        this.decidedGates.add(record.gateId);
        break;
      case 'step.done':
        this.#endStep();
        break;
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.#endStep();
        this.turnId = undefined;
        this.lastOutcome =
          record.type === 'turn.done' ? 'done' : record.type === 'turn.failed' ? 'failed' : 'interrupted';
        break;
      default:
        break;
    }
  }

  #know(id: string, seq: number): void {
    if (!this.inputs.has(id)) this.inputs.set(id, seq);
  }

  /** The first thing that a user said is the title. */
  #name(title: string): void {
    this.title ??= title;
  }

  #use(inputId: string): void {
    const title = this.waiting.get(inputId);
    this.waiting.delete(inputId);
    if (title !== undefined) this.#name(title);
  }

  #endStep(): void {
    this.running.clear();
    this.#gates.clear();
    this.#gateBytes = 0;
  }
}

/**
 * How much memory the digests of a host take at most, in bytes: those of 1,250 sessions of 20 turns, or of 3,000 of one. The one that was asked for
 * last is kept whatever it takes.
 */
const MOST_BYTES = 4_000_000;

/** The digests of a store's sessions: what was read of a journal is not read again, as long as there is room. */
export class Digests {
  readonly #store: JournalStore;
  readonly #mostBytes: number;
  /** The one that was asked for last is the last. */
  readonly #known = new Map<string, { readonly digest: SessionDigest; readonly bytes: number }>();
  #bytes = 0;
  readonly #reading = new Map<string, Promise<SessionDigest>>();

  constructor(store: JournalStore, mostBytes: number = MOST_BYTES) {
    this.#store = store;
    this.#mostBytes = mostBytes;
  }

  /** What is kept, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The session as its journal has it now. Rejects with `SessionError` `unknown_session`, and with `JournalError`. */
  async get(sessionId: string): Promise<SessionDigest> {
    const stored = typeof sessionId === 'string' ? await this.#store.find(sessionId) : undefined;
    if (stored === undefined)
      throw new SessionError('unknown_session', `there is no session ${show(sessionId)} in this store`);
    return this.of(stored);
  }

  async of({ sessionId, lastSeq }: StoredSession): Promise<SessionDigest> {
    await this.#reading.get(sessionId)?.catch(() => undefined); // it may have read enough
    const known = this.#known.get(sessionId)?.digest;
    if (known !== undefined && known.lastSeq >= lastSeq) return this.#keep(known);
    const reading = this.#reading.get(sessionId) ?? this.#read(known ?? new SessionDigest(sessionId));
    return reading;
  }

  /** The gates that wait in the session and in its delegates' sessions. */
  async gates(digest: SessionDigest): Promise<readonly PendingGate[]> {
    const gates: PendingGate[] = [];
    for await (const session of this.#family(digest)) gates.push(...session.gates);
    return gates;
  }

  /** Whose gate it is: the session's, or one of its delegates'. */
  async holderOf(digest: SessionDigest, gateId: string): Promise<SessionDigest | undefined> {
    for await (const session of this.#family(digest)) if (session.hasGate(gateId)) return session;
    return undefined;
  }

  /** The session, and those of its delegates that run. */
  async *#family(digest: SessionDigest): AsyncGenerator<SessionDigest> {
    yield digest;
    for (const callId of [...digest.running]) {
      const stored = await this.#store.find(childIdOf(digest.sessionId, callId));
      if (stored !== undefined) yield* this.#family(await this.of(stored));
    }
  }

  /** A session in a list. One whose journal cannot be read is listed as damaged. */
  async summary(stored: StoredSession): Promise<SessionSummary> {
    try {
      return (await this.of(stored)).summary(stored);
    } catch (error) {
      if (!JournalError.is(error)) throw error;
      const { sessionId, createdAt, updatedAt } = stored;
      return { sessionId, loop: '', title: '', state: 'damaged', turns: 0, calls: 0, createdAt, updatedAt };
    }
  }

  #read(digest: SessionDigest): Promise<SessionDigest> {
    const reading = this.#fold(digest).finally(() => this.#reading.delete(digest.sessionId));
    this.#reading.set(digest.sessionId, reading);
    return reading;
  }

  async #fold(digest: SessionDigest): Promise<SessionDigest> {
    const { sessionId } = digest;
    try {
      for await (const record of this.#store.read(sessionId, digest.lastSeq + 1)) {
        if (record.seq !== digest.lastSeq + 1)
          throw new JournalDamagedError(sessionId, digest.lastSeq + 1, `it is missing, ${record.seq} follows`);
        requireKnown(record, sessionId);
        digest.apply(record);
      }
    } catch (error) {
      this.#forget(sessionId); // what broke off in the middle is read from the start
      throw error;
    }
    return this.#keep(digest);
  }

  #keep(digest: SessionDigest): SessionDigest {
    const { sessionId, bytes } = digest;
    this.#forget(sessionId);
    this.#known.set(sessionId, { digest, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.#mostBytes || oldest === sessionId) break;
      this.#forget(oldest);
    }
    return digest;
  }

  #forget(sessionId: string): void {
    this.#bytes -= this.#known.get(sessionId)?.bytes ?? 0;
    this.#known.delete(sessionId);
  }
}
