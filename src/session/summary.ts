/** Sessions in a list: one fold of a journal says how a session stands, whoever lists it. */
import { JournalDamagedError, JournalError } from '../errors.ts';
import { type JournalRecord, type JournalStore, requireKnown, type StoredSession } from '../journal/journal.ts';
import { titleOf } from './title.ts';

/** A session in a list. */
export interface SessionSummary {
  /** What `rig.open({ sessionId })` takes. */
  readonly sessionId: string;
  /** The name of its loop. */
  readonly loop: string;
  /** The first words of its first user message. */
  readonly title: string;
  /**
   * `new` before the first turn, `running` in one (or where one was cut short), `waiting` for a person, `damaged` where the journal cannot be
   * read, else how the last turn ended.
   */
  readonly state: 'new' | 'running' | 'waiting' | 'damaged' | 'done' | 'failed' | 'interrupted';
  /** How many turns it has had, the running one included. */
  readonly turns: number;
  /** How many calls their models asked for. */
  readonly calls: number;
  /** When it was begun, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When something was last recorded, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** Where it stands in the list: given as `after`, the list goes on behind it. */
  readonly place: string;
  /** Of a delegate's session: whose it is. */
  readonly parentId?: string;
}

/** Which sessions to list. */
export interface ListOptions {
  /** Those of delegates too. Default false. */
  readonly delegates?: boolean;
  /** No more than so many. Default: all. */
  readonly limit?: number;
  /** Only those that stand behind this place: the `place` of the last session of the page before. Default: from the front. */
  readonly after?: string;
}

export type GateOpened = Extract<JournalRecord, { type: 'gate.opened' }>;

/** What a list says of a session, folded from its records. It keeps no message. */
export class SummaryFold {
  readonly sessionId: string;
  lastSeq = 0;
  loop = '';
  title: string | undefined;
  turns = 0;
  calls = 0;
  parentId: string | undefined;
  lastOutcome: 'done' | 'failed' | 'interrupted' | undefined;
  /** The turn that has begun and not ended. */
  turnId: string | undefined;
  /** Inputs that wait, and the titles that they would make. */
  readonly waiting: Map<string, string> = new Map();
  /** Gates that wait for an answer. */
  protected readonly openGates: Map<string, GateOpened> = new Map();

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  summary({ createdAt, updatedAt, place }: StoredSession): SessionSummary {
    const { sessionId, loop, title = '', turns, calls, parentId, lastOutcome } = this;
    const running = this.turnId === undefined ? undefined : this.openGates.size > 0 ? 'waiting' : 'running';
    const state = running ?? lastOutcome ?? 'new';
    const whose = parentId === undefined ? {} : { parentId };
    return { sessionId, loop, title, state, turns, calls, createdAt, updatedAt, place, ...whose };
  }

  apply(record: JournalRecord): void {
    this.lastSeq = record.seq;
    switch (record.type) {
      case 'session.opened':
        this.loop = record.loop;
        this.parentId = record.parent?.sessionId;
        break;
      case 'history.imported':
        if (record.messages.some(({ role }) => role === 'user')) this.#name(titleOf(record.messages));
        break;
      case 'input.received':
        this.waiting.set(record.inputId, titleOf([record.message]));
        break;
      case 'input.cancelled':
        this.waiting.delete(record.inputId);
        break;
      case 'input.steered':
        this.#use(record.inputId);
        break;
      case 'turn.started':
        if (record.inputId !== undefined) this.#use(record.inputId);
        if (record.message !== undefined) this.#name(titleOf([record.message]));
        this.turnId = record.turnId;
        this.turns += 1;
        break;
      case 'tool.called':
        this.calls += 1;
        break;
      case 'gate.opened':
        this.openGates.set(record.gateId, record);
        break;
      case 'gate.resolved':
        this.openGates.delete(record.gateId);
        break;
      case 'step.done':
        this.openGates.clear();
        break;
      case 'turn.done':
        this.#end('done');
        break;
      case 'turn.failed':
        this.#end('failed');
        break;
      case 'turn.interrupted':
        this.#end('interrupted');
        break;
      default:
        break;
    }
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

  #end(outcome: 'done' | 'failed' | 'interrupted'): void {
    this.openGates.clear();
    this.turnId = undefined;
    this.lastOutcome = outcome;
  }
}

/** Reads what a fold has not read yet. Throws `JournalDamagedError` with the position where the journal has a gap. */
export async function foldOn(store: JournalStore, fold: SummaryFold): Promise<void> {
  const { sessionId } = fold;
  for await (const record of store.read(sessionId, fold.lastSeq + 1)) {
    const expected = fold.lastSeq + 1;
    if (record.seq !== expected)
      throw new JournalDamagedError(sessionId, expected, `it is missing, ${record.seq} follows`);
    requireKnown(record, sessionId);
    try {
      fold.apply(record);
    } catch (cause) {
      throw new JournalDamagedError(sessionId, expected, `${record.type} cannot be read`, { cause });
    }
  }
}

/**
 * Sums a session up by a fold of its journal. One whose journal cannot be read is listed as damaged: opening it says why. `undefined` for one that was
 * deleted meanwhile.
 */
export async function summarise(
  stored: StoredSession,
  foldOf: (stored: StoredSession) => Promise<SummaryFold>,
): Promise<SessionSummary | undefined> {
  try {
    const fold = await foldOf(stored);
    return fold.lastSeq === 0 ? undefined : fold.summary(stored);
  } catch (error) {
    if (!JournalError.is(error) || error.kind === 'closed') throw error;
    if (error.kind === 'deleted') return undefined;
    const { sessionId, createdAt, updatedAt, place } = stored;
    return { sessionId, loop: '', title: '', state: 'damaged', turns: 0, calls: 0, createdAt, updatedAt, place };
  }
}

/** A fold of the session's whole journal. */
export async function folded(store: JournalStore, sessionId: string): Promise<SummaryFold> {
  const fold = new SummaryFold(sessionId);
  await foldOn(store, fold);
  return fold;
}

/** How many sessions are asked of a store at once. */
const PAGE = 200;

/** A list of a store's sessions: of the store, no more is asked than the list needs. */
export async function listSummaries(
  store: JournalStore,
  { delegates = false, limit = Number.POSITIVE_INFINITY, after }: ListOptions,
  foldOf: (stored: StoredSession) => Promise<SummaryFold>,
): Promise<SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  let place = after;
  while (summaries.length < limit) {
    const size = Math.max(1, Math.min(limit - summaries.length, PAGE));
    const page = await store.list({ limit: size, ...(place === undefined ? {} : { after: place }) });
    // One after the other: a journal may be large.
    for (const stored of page) {
      const summary = await summarise(stored, foldOf);
      if (summary !== undefined && (delegates || summary.parentId === undefined)) summaries.push(summary);
    }
    place = page.at(-1)?.place;
    if (page.length < size) break;
  }
  return summaries;
}
