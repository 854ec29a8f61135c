/** What a turn runs on, handed in from outside: `run` knows no session, only these ports. */
import type { BoundMode } from '../bind/bound-loop.ts';
import type { Clock } from '../clock.ts';
import type { LoopBehaviour } from '../define/behaviour.ts';
import type { ResolvedToolLimits } from '../define/limits.ts';
import type { ComposedMiddleware } from '../define/middleware.ts';
import type { AccessRequest, MaybePromise } from '../define/tool.ts';
import type { TurnEvent } from '../events/events.ts';
import type { JournalEntry } from '../journal/journal.ts';
import type { JSONValue, Message } from '../model/model.ts';
import type { BudgetShare } from './budget.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import type { Interruption } from './interruption.ts';
import type { OutputContract } from './output.ts';

/** An event that lives only while somebody reads. The session adds the header. */
export type EphemeralEvent = WithoutHeader<
  Extract<TurnEvent, { type: 'text.delta' | 'reasoning.delta' | 'tool.input.delta' | 'tool.progress' | 'tool.late' }>
>;

type WithoutHeader<E> = E extends unknown ? Omit<E, 'sessionId' | 'loopId' | 'turnId' | 'seq' | 'at'> : never;

/** A call that asks for permission. */
export interface PermissionRequest {
  readonly stepId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly requests: readonly AccessRequest[];
  readonly summary: string | undefined;
}

/** What was decided for one call. */
export type Permission =
  /** With `input`, a person put other arguments in the place of the model's. */
  | { readonly allowed: true; readonly input?: JSONValue }
  /** `isInterrupted`: the turn was stopped before anybody decided. */
  | { readonly allowed: false; readonly reason: string; readonly isInterrupted?: boolean };

/** Decides about the calls of a batch, in call order; waits for people where it must. */
type PermissionPort = (requests: readonly PermissionRequest[]) => MaybePromise<readonly Permission[]>;

export interface TurnContext {
  readonly sessionId: string;
  readonly loopId: string;
  readonly turnId: string;
  /** As it is now: from the first result that is kept on, the tool that reads it is one of its tools. */
  readonly mode: BoundMode;
  readonly limits: ResolvedToolLimits;
  /** Of a delegate's turn: its share of the budget of the turn that it works for. */
  readonly share: BudgetShare | undefined;
  readonly behaviour: LoopBehaviour;
  readonly middleware: ComposedMiddleware | undefined;
  /** How the final answer is typed, where the loop has an output schema. */
  readonly output: OutputContract | undefined;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** The turn's own time. */
  readonly turnTimer: Deadline;
  readonly interruption: Interruption;
  /** Records entries together with whatever is appended next. */
  stage(entries: readonly JournalEntry[]): void;
  /** Appends what was staged and these entries to the journal; settles when they are written. */
  append(entries: readonly JournalEntry[]): Promise<void>;
  /** Keeps the text of a large result beside the journal, and gives its SHA-256. May fail, and may never settle. */
  keep(bytes: Uint8Array): Promise<string>;
  /** The committed history. Grows as records are written. */
  readonly history: readonly Message[];
  /** Whether a call id stands in the history already. */
  readonly hasCallId: (callId: string) => boolean;
  /** Whether a tool of this name exists in another mode of the loop. */
  isKnownElsewhere(toolName: string): boolean;
  /** Whether anybody reads events at all: nothing is made for nobody. */
  readonly watched: boolean;
  emit(event: EphemeralEvent): void;
  /** Tells the session's readers of what went wrong beside the turn, and changed nothing of it. */
  tellFailure(message: string): void;
  /** As `emit`, for the events that come thousands of times a step. */
  emitText(type: 'text.delta' | 'reasoning.delta', stepId: string, text: string): void;
  readonly permission: PermissionPort;
  /** Why a rule forbids what a call wants, if one does. */
  forbids(requests: readonly AccessRequest[]): string | undefined;
  /** Whether a person was asked about the call, by this process or another: the answer is the rule then. */
  hasGate(callId: string): boolean;
  /** Closes the gates of calls that cannot be made any more, as denied. */
  withdrawGates(callIds: readonly string[]): Promise<void>;
  /** Records that fold what the user said meanwhile into the history; empty if nothing was said. */
  takeSteered(): readonly JournalEntry[];
  /** Whether a model call or a tool call may begin: not where the turn is to be left to another process. */
  mayBegin(): boolean;
  /** A number from 0 to 1, for the jitter of retries. */
  random(): number;
}
