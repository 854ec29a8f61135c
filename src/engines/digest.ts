/**
 * What a host knows of a session without running it: a fold of its journal that keeps no messages, so that many are kept, and that goes on where it
 * was when more is written.
 */
import { SessionError } from '../errors.ts';
import type { JournalRecord, JournalStore, StoredSession } from '../journal/journal.ts';
import { childIdOf } from '../session/delegation.ts';
import type { PendingGate } from '../session/gate.ts';
import { foldOn, SummaryFold } from '../session/summary.ts';
import { show } from '../show.ts';

/** What a digest takes in memory, as measured on Node 24: without a turn, for each id that it knows, and for what its gates are about. */
const BASE_BYTES = 1_200;
const BYTES_AN_ID = 100;
const GATE_BYTES_A_CHARACTER = 3;

/** Beside what a list says: what was asked of the session, and what of it is open. */
export class SessionDigest extends SummaryFold {
  loopId = '';
  mode = '';
  /** Every input and every turn, and the record that has it. */
  readonly inputs: Map<string, number> = new Map();
  readonly decidedGates: Set<string> = new Set();
  #gateBytes = 0;
  /** Calls of the open turn that have started and have no result. */
  readonly running: Set<string> = new Set();

  /** About how much memory it takes. */
  get bytes(): number {
    const ids = this.inputs.size + this.waiting.size + this.decidedGates.size + this.running.size;
    return BASE_BYTES + ids * BYTES_AN_ID + this.#gateBytes;
  }

  /** The gates that wait for an answer. */
  get gates(): readonly PendingGate[] {
    return [...this.openGates.values()].map(({ gateId, turnId, callId, toolName, requests, summary, at }) => {
      const said = summary === undefined ? {} : { summary };
      return Object.freeze({ gateId, turnId, callId, toolName, requests, ...said, openedAt: at });
    });
  }

  hasGate(gateId: string): boolean {
    return this.openGates.has(gateId);
  }

  /** Whether something is still to be done about an input or a turn that the journal has. */
  isOpen(id: string): boolean {
    return this.turnId === id || this.waiting.has(id);
  }

  override apply(record: JournalRecord): void {
    super.apply(record);
    switch (record.type) {
      case 'session.opened':
        this.loopId = record.loopId;
        this.mode = record.mode;
        break;
      case 'mode.changed':
        this.mode = record.mode;
        break;
      case 'input.received':
        this.#know(record.inputId, record.seq);
        break;
      case 'turn.started':
        this.#know(record.turnId, record.seq);
        break;
      case 'tool.started':
        this.running.add(record.callId);
        break;
      case 'tool.completed':
        this.running.delete(record.callId);
        break;
      case 'gate.opened':
        this.#gateBytes += JSON.stringify(record).length * GATE_BYTES_A_CHARACTER;
        break;
      case 'gate.resolved':
        this.decidedGates.add(record.gateId);
        break;
      case 'step.done':
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.running.clear();
        this.#gateBytes = 0;
        break;
      default:
        break;
    }
  }

  #know(id: string, seq: number): void {
    if (!this.inputs.has(id)) this.inputs.set(id, seq);
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
    if (stored !== undefined) return this.of(stored);
    this.#forget(sessionId); // another session may have its id some day
    throw new SessionError('unknown_session', `there is no session ${show(sessionId)} in this store`);
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

  #read(digest: SessionDigest): Promise<SessionDigest> {
    const reading = this.#fold(digest).finally(() => this.#reading.delete(digest.sessionId));
    this.#reading.set(digest.sessionId, reading);
    return reading;
  }

  async #fold(digest: SessionDigest): Promise<SessionDigest> {
    try {
      await foldOn(this.#store, digest);
    } catch (error) {
      this.#forget(digest.sessionId); // what broke off in the middle is read from the start
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
