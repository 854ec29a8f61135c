/**
 * The journal: one append-only, gap-free list of records a session. It is the truth; a session's state is a fold over it, and
 * events are its live view.
 *
 * What the order of records promises:
 * - A record is written before the effect that depends on it: the response before any of its calls runs, a call's start
 *   before the call, a result before anybody builds on it.
 * - What is known together is appended together.
 * - Nothing is written twice: a call's arguments stand in its response alone, an answer's text too.
 */
import type { GateRule } from '../define/gate.ts';
import type { ResolvedToolLimits, ToolLimits } from '../define/limits.ts';
import type { AccessRequest } from '../define/tool.ts';
import { JournalError, type LimitName, type LimitReached } from '../errors.ts';
import type {
  AssistantMessage,
  FinishReason,
  JSONValue,
  Message,
  ToolResultOutput,
  Usage,
  UserMessage,
} from '../model/model.ts';
import { show } from '../show.ts';
import type { Mailbox, WatchStore } from './mailbox.ts';

/** How a call came to its result. */
export type CallOutcome =
  /** It ran and gave a result. */
  | 'done'
  /** It ran and failed, or its result cannot be carried. */
  | 'failed'
  /** It did not run: unknown tool, unfit arguments, a limit, a response cut off. */
  | 'refused'
  /** It did not run: it was not permitted. */
  | 'denied'
  /** It ran longer than it may; whether it took effect is unknown, unless the result says that its tool was not run. */
  | 'timed_out'
  /** It was running when the turn was interrupted; whether it took effect is unknown, unless the result says that its tool was not run. */
  | 'interrupted'
  /** It had not started when the turn was interrupted. */
  | 'not_run';

/** Why an assistant message is not whole: it was interrupted, or the connection broke. Kept in the message's `providerOptions.looprig.incomplete`. */
export type Incomplete = 'interrupted' | 'broken' | 'timed_out';

/** Limits as JSON can carry them: a limit that is absent is none. */
export type RecordedLimits = Partial<ResolvedToolLimits>;

/** How far a turn went, as JSON can carry it: a maximum that is absent is none. */
export type RecordedLimitReached = Omit<LimitReached, 'maxIterations' | 'maxCalls' | 'maxTokens'> &
  Partial<Pick<LimitReached, 'maxIterations' | 'maxCalls' | 'maxTokens'>>;

/** Limits without those that are `Infinity`, which JSON would turn into `null`. */
export function recordedLimits(limits: ResolvedToolLimits): RecordedLimits {
  return Object.freeze(
    Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== Number.POSITIVE_INFINITY)),
  );
}

/** How far a turn went, without a maximum that is `Infinity`. */
export function recordedLimitReached(reached: LimitReached): RecordedLimitReached {
  const { limit, iterations, calls, tokens, maxIterations, maxCalls, maxTokens, repeated } = reached;
  const finite = Object.entries({ maxIterations, maxCalls, maxTokens }).filter(
    ([, max]) => max !== Number.POSITIVE_INFINITY,
  );
  const said = repeated === undefined ? {} : { repeated: Object.freeze({ ...repeated }) };
  return Object.freeze({ limit, iterations, calls, tokens, ...Object.fromEntries(finite), ...said });
}

/** The limits that were recorded, with `Infinity` where there is none. `names` are all that there are. */
export function limitsFromRecord(
  recorded: RecordedLimits,
  names: readonly (keyof ResolvedToolLimits)[],
): ResolvedToolLimits {
  const limits = names.map(name => [name, recorded[name] ?? Number.POSITIVE_INFINITY]);
  return Object.freeze(Object.fromEntries(limits)) as ResolvedToolLimits;
}

/** How far a turn went, from its record. */
export function limitReachedFromRecord(recorded: RecordedLimitReached): LimitReached {
  const none = Number.POSITIVE_INFINITY;
  return { maxIterations: none, maxCalls: none, maxTokens: none, ...recorded };
}

/** A result that was too long to be shown whole, and is kept beside the journal as UTF-8 text. */
export interface ResultCapture {
  /** Under which the store keeps it: the SHA-256 of its bytes. */
  readonly id: string;
  /** How many bytes are kept: the first ones of the result. */
  readonly bytes: number;
  /** How many bytes the whole result had. */
  readonly totalBytes: number;
}

/** What a failed turn says about its error: all that a reader or a later process may know of it. */
export interface ErrorSummary {
  /** The class of the error, such as `ModelError`. */
  readonly name: string;
  /** Its kind, such as `request_failed`. */
  readonly kind: string;
  /** What was wrong, in a sentence. */
  readonly message: string;
  /** For a limit: which, and how far the turn went. */
  readonly limit?: RecordedLimitReached;
}

/** A call that was left running when its turn ended. */
export interface LeftBehind {
  /** The call. */
  readonly callId: string;
  /** The tool that went on running. */
  readonly toolName: string;
}

interface InTurn {
  readonly turnId: string;
}

interface InStep extends InTurn {
  readonly stepId: string;
}

/** The totals of a turn, as its terminal record holds them. */
export interface TurnTotals {
  /** Tokens of all its steps, and of its delegates. */
  readonly usage: Usage;
  /** Model responses taken into account. */
  readonly steps: number;
  /** Tool iterations. */
  readonly iterations: number;
  /** Calls the model asked for. */
  readonly calls: number;
}

/** What a writer appends; the journal adds `seq` and `at`. */
export type JournalEntry =
  | {
      readonly type: 'session.opened';
      readonly loop: string;
      readonly loopId: string;
      readonly policyRevision: string;
      readonly mode: string;
      /** Of the records that follow; absent for 1. A process that knows only lower ones refuses the journal. */
      readonly format?: number;
      /** Of a delegate's session: whose call it works for, and how deep it is. */
      readonly parent?: { readonly sessionId: string; readonly callId: string; readonly depth: number };
    }
  | { readonly type: 'history.imported'; readonly messages: readonly Message[] }
  | { readonly type: 'mode.changed'; readonly mode: string }
  | {
      readonly type: 'input.received';
      readonly inputId: string;
      readonly as: 'turn' | 'steer';
      readonly message: UserMessage;
      /** What its turn is to be limited to, beside its mode's limits. */
      readonly limits?: ToolLimits;
    }
  | { readonly type: 'input.cancelled'; readonly inputId: string }
  | ({
      readonly type: 'turn.started';
      readonly mode: string;
      readonly limits: RecordedLimits;
      /** The user message that the turn answers; absent where it was received before (`inputId`), or the turn continues. */
      readonly message?: UserMessage;
      readonly inputId?: string;
    } & InTurn)
  /** A process took up a turn that another left unfinished. */
  | ({ readonly type: 'turn.resumed' } & InTurn)
  | ({ readonly type: 'step.started'; readonly step: number } & InStep)
  | ({ readonly type: 'input.steered'; readonly inputId: string } & InTurn)
  | ({
      readonly type: 'step.responded';
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly incomplete?: Incomplete;
      /** Call id and text of arguments that are no JSON object: in the message they stand as `{}`. */
      readonly unparsed?: readonly (readonly [callId: string, text: string])[];
    } & InStep)
  | ({
      readonly type: 'step.retrying';
      readonly attempt: number;
      readonly delayMs: number;
      readonly reason: string;
    } & InStep)
  | ({
      readonly type: 'gate.opened';
      readonly gateId: string;
      readonly callId: string;
      readonly toolName: string;
      readonly requests: readonly AccessRequest[];
      readonly summary?: string;
    } & InStep)
  | ({
      readonly type: 'gate.resolved';
      readonly gateId: string;
      readonly callId: string;
      readonly decision: 'approved' | 'denied';
      readonly reason?: string;
      /** The arguments that a person put in the place of the model's. */
      readonly input?: JSONValue;
      /** What a person allowed for the rest of the session. */
      readonly rules?: readonly GateRule[];
    } & InStep)
  | ({
      readonly type: 'tool.called';
      readonly callId: string;
      readonly toolName: string;
      readonly summary?: string;
      /** The calls of the batch that must end before it may start, where there are any. */
      readonly waitsFor?: readonly string[];
    } & InStep)
  | ({ readonly type: 'tool.started'; readonly callId: string; readonly toolName: string } & InStep)
  | ({
      readonly type: 'tool.completed';
      readonly callId: string;
      readonly toolName: string;
      readonly outcome: CallOutcome;
      readonly output: ToolResultOutput;
      /** Milliseconds that it ran; 0 for what did not run. */
      readonly durationMs: number;
      /** What its delegates used of the turn's budget. */
      readonly used?: { readonly calls: number; readonly usage: Usage };
      /** The tool's result ends the turn with this batch. */
      readonly endTurn?: true;
      /** Where a line about repeats was added to the result: SHA-256 (half of it, in hexadecimal) of its text before. */
      readonly resultDigest?: string;
      /** Where the result is kept whole, if it was too long to be shown so. */
      readonly capture?: ResultCapture;
    } & InStep)
  | ({ readonly type: 'limit.near'; readonly limit: LimitName; readonly used: number; readonly max: number } & InStep)
  | ({
      readonly type: 'step.done';
      /** The model was told that a limit is reached, and may only answer now. */
      readonly closing?: RecordedLimitReached;
      /** The answer did not fit its schema; as text, it is told so with the next request. */
      readonly unfit?: { readonly note?: string };
    } & InStep)
  | ({
      readonly type: 'turn.done';
      readonly finishReason: FinishReason;
      readonly output?: JSONValue;
      readonly limited?: RecordedLimitReached;
      /** Where a tool's result ended the turn: its text. Else the text stands in the last response. */
      readonly text?: string;
    } & TurnTotals &
      InTurn)
  | ({
      readonly type: 'turn.failed';
      readonly error: ErrorSummary;
      readonly leftBehind?: readonly LeftBehind[];
    } & TurnTotals &
      InTurn)
  | ({
      readonly type: 'turn.interrupted';
      readonly reason?: string;
      readonly leftBehind?: readonly LeftBehind[];
    } & TurnTotals &
      InTurn);

/** A record as it stands in a journal. `seq` counts from 1 without gaps; `at` is milliseconds since the epoch. */
export type JournalRecord = JournalEntry & { readonly seq: number; readonly at: number };

/** The format of the records that this version writes. It reads all that are not higher. */
const RECORD_FORMAT = 1;

const RECORD_TYPES: Readonly<Record<JournalEntry['type'], true>> = Object.freeze({
  'session.opened': true,
  'history.imported': true,
  'mode.changed': true,
  'input.received': true,
  'input.cancelled': true,
  'turn.started': true,
  'turn.resumed': true,
  'step.started': true,
  'input.steered': true,
  'step.responded': true,
  'step.retrying': true,
  'gate.opened': true,
  'gate.resolved': true,
  'tool.called': true,
  'tool.started': true,
  'tool.completed': true,
  'limit.near': true,
  'step.done': true,
  'turn.done': true,
  'turn.failed': true,
  'turn.interrupted': true,
});

/** Throws `JournalError` `newer_format` for a record that this version does not know: what it means cannot be left out. */
export function requireKnown(record: JournalRecord, sessionId: string): void {
  const { type } = record;
  const format = type === 'session.opened' ? (record.format ?? 1) : 1;
  if (Object.hasOwn(RECORD_TYPES, type) && format <= RECORD_FORMAT) return;
  const what =
    format > RECORD_FORMAT ? `format ${format}, and this version knows up to ${RECORD_FORMAT}` : `a record "${type}"`;
  throw new JournalError(
    'newer_format',
    `session ${sessionId} was written by a newer version of looprig: it has ${what}; use that version`,
  );
}

/** What a store knows of a session without reading it. */
export interface StoredSession {
  /** The id of the session. */
  readonly sessionId: string;
  /** The sequence number of its last record. */
  readonly lastSeq: number;
  /** When its first record was written, in milliseconds since the epoch. */
  readonly createdAt: number;
  /** When its last record was written, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** Where it stands in the store's list, in the store's own words: `list` goes on behind it. Another append moves the session to the front. */
  readonly place: string;
}

/** Which sessions of a store to list. */
export interface StoreListOptions {
  /** No more than so many. Default: all. */
  readonly limit?: number;
  /** Only those that stand behind this place: the `place` of the last session of the page before. Default: from the front. */
  readonly after?: string;
}

/** Throws `JournalError` `invalid_place`: what was given as `after` is no place of this store's list. */
export function invalidPlace(after: string): JournalError {
  return new JournalError(
    'invalid_place',
    `"after" must be the "place" of a session that was listed, not ${show(after)}`,
  );
}

/** What a reader is told whose session was deleted while it read. */
export function deletedMeanwhile(sessionId: string): JournalError {
  return new JournalError(
    'deleted',
    `session ${sessionId} was deleted while it was read: there is no such session any more`,
  );
}

/**
 * Where journals are kept. A store need not understand records; it keeps them in order, and refuses a stale writer.
 * Records given to it are frozen and are never changed.
 */
export interface JournalStore {
  /**
   * Appends `records` to the session's journal, all or none. The first has the sequence number `expectedSeq + 1`; if the journal
   * does not end at `expectedSeq`, rejects with `JournalConflictError`. Returns when the records are as safe as the store makes them.
   */
  append(sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void | Promise<void>;
  /** The records from sequence number `fromSeq` on, in order. Nothing for an unknown session. */
  read(sessionId: string, fromSeq: number): AsyncIterable<JournalRecord>;
  /**
   * Sessions, the last written first: all, or a page of them. One that is written between two pages moves to the front, where the pages that
   * follow do not show it. Rejects with `JournalError` `invalid_place` for an `after` that is none.
   */
  list(options?: StoreListOptions): Promise<readonly StoredSession[]>;
  /** The session, or `undefined`. */
  find(sessionId: string): Promise<StoredSession | undefined>;
  /** Keeps a large result beside the session's journal, and gives its id (the SHA-256 of its bytes). */
  putCapture(sessionId: string, bytes: Uint8Array): Promise<string>;
  /** The large result kept under `id` for this session, or `undefined`. */
  getCapture(sessionId: string, id: string): Promise<Uint8Array | undefined>;
  /**
   * Removes the session: its records, its captures and its mails, all or none of them, as safely as `append` keeps. If its journal ends elsewhere
   * than at `expectedSeq`, rejects with `JournalConflictError`, and nothing is removed. Of a session that is not there it removes what is left (captures
   * and mails can come before and after), whatever `expectedSeq` is: so it can be said again. Whoever still writes to the session is refused as stale.
   */
  delete(sessionId: string, expectedSeq: number): Promise<void>;
  /** The mailboxes of its sessions. A store for programs that run every session themselves may do without; a host needs one. */
  readonly mailbox?: Mailbox;
  /** Tells what is new. A host of a store without it looks for itself, twice a second. */
  readonly watch?: WatchStore;
  /** Waits until all that was appended is safe, and lets go of what the store holds. */
  close?(): Promise<void>;
}
