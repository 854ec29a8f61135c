/**
 * Events are the live view of the journal. An enduring event shows one record, and carries its sequence number; an
 * ephemeral one (a delta, a tool's progress) lives only while somebody reads, and carries the number of the record before it.
 * Numbers have gaps: a record that is no event (a model's raw response) has one too.
 */

import type { GateRule } from '../define/gate.ts';
import type { AccessRequest } from '../define/tool.ts';
import type { LimitName } from '../errors.ts';
import type {
  CallOutcome,
  ErrorSummary,
  LeftBehind,
  RecordedLimitReached,
  RecordedLimits,
  ResultCapture,
} from '../journal/journal.ts';
import type { FinishReason, JSONValue, ToolResultOutput, Usage, UserContent } from '../model/model.ts';

/** Where and when an event happened. */
export interface EventHeader {
  /** The session that it belongs to. */
  readonly sessionId: string;
  /** The id of the loop in this session, the same after a restart. */
  readonly loopId: string;
  /** Position in the session's journal: of the record that the event shows, or of the last one before it. */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

interface InTurn extends EventHeader {
  /** The turn that it belongs to. */
  readonly turnId: string;
}
interface InStep extends InTurn {
  /** The step that it belongs to: one response of the model, with its calls. */
  readonly stepId: string;
}
interface OfCall extends InStep {
  /** The call that it is about: the same id in all events of the call, and in the history. */
  readonly callId: string;
  /** The name that the model called. */
  readonly toolName: string;
}

/** A turn began. `input` is what the user said; empty for a turn that continues. */
export interface TurnStarted extends InTurn {
  readonly type: 'turn.started';
  /** What the user said; empty for a turn that continues. */
  readonly input: readonly UserContent[];
  /** The mode that it runs in; `""` is the base mode. */
  readonly mode: string;
  /** The limits of this turn; one that is absent is none. */
  readonly limits: RecordedLimits;
  /** The `input.received` that it answers, where its input had waited. */
  readonly inputId?: string;
}
/** A process took the turn up that another left unfinished: what was shown of a response or a call under way is void. */
export interface TurnResumed extends InTurn {
  readonly type: 'turn.resumed';
}
/** The model is being asked; `step` counts from 1. */
export interface StepStarted extends InStep {
  readonly type: 'step.started';
  /** Which step of the turn, from 1. */
  readonly step: number;
}
/** More of the model's text. */
export interface TextDelta extends InStep {
  readonly type: 'text.delta';
  /** What is to be put after the text so far. */
  readonly text: string;
  /** The step's whole text so far, for a reader that came while it was said: it takes the place of what was shown of it. */
  readonly isWhole?: true;
}
/** More of the model's reasoning. */
export interface ReasoningDelta extends InStep {
  readonly type: 'reasoning.delta';
  /** What is to be put after the reasoning so far. */
  readonly text: string;
}
/** More of the arguments of a call that the model is writing. `inputId` is the provider's id, which the call may not keep. */
export interface ToolInputDelta extends InStep {
  readonly type: 'tool.input.delta';
  /** The provider's id of the call that is being written. */
  readonly inputId: string;
  /** The tool that it is written for. */
  readonly toolName: string;
  /** More of its arguments, as JSON in pieces. */
  readonly text: string;
}
/** The model asked for a call. All calls of a batch are announced before any of them runs. */
export interface ToolCalled extends OfCall {
  readonly type: 'tool.called';
  /** The arguments as the model wrote them; `{}` where they are no JSON object. */
  readonly input: unknown;
  /** The tool's line about the call, for people. */
  readonly summary?: string;
  /** Calls before it in the batch that must end first: one of the two is `sequential`, or writes what both use. Absent where there are none. */
  readonly waitsFor?: readonly string[];
}
/** A call really started. */
export interface ToolStarted extends OfCall {
  readonly type: 'tool.started';
}
/** A running tool told how far it is. */
export interface ToolProgress extends OfCall {
  readonly type: 'tool.progress';
  /** What the tool gave to `call.progress`. */
  readonly update: JSONValue;
}
/** A call has its result. Comes in the order of finishing; the model gets the results in call order. */
export interface ToolCompleted extends OfCall {
  readonly type: 'tool.completed';
  /** What became of it. */
  readonly outcome: CallOutcome;
  /** Whether the model is told that the call failed. */
  readonly isError: boolean;
  /** The result as the model is shown it. */
  readonly output: ToolResultOutput;
  /** How long it ran, in milliseconds; 0 for a call that did not run. */
  readonly durationMs: number;
  /** Where the result is kept whole, if it was too long to be shown so: the store gives it by `getCapture(sessionId, capture.id)`. */
  readonly capture?: ResultCapture;
}
/** A tool that was answered for (its time was over, or the turn interrupted) settled after all. What it gave is dropped. */
export interface ToolLate extends OfCall {
  readonly type: 'tool.late';
  /** Whether it failed. */
  readonly isError: boolean;
}
/** A call waits for permission. */
export interface GateOpened extends OfCall {
  readonly type: 'gate.opened';
  /** What `session.answer` takes. */
  readonly gateId: string;
  /** The arguments that are asked about. */
  readonly input: unknown;
  /** What the call wants and no rule allows. */
  readonly requests: readonly AccessRequest[];
  /** The tool's line about the call, for people. */
  readonly summary?: string;
}
/** A call's permission was decided. */
export interface GateResolved extends InStep {
  readonly type: 'gate.resolved';
  /** The gate, as it was opened. */
  readonly gateId: string;
  /** The call that waited at it. */
  readonly callId: string;
  /** Whether the call may run. */
  readonly decision: 'approved' | 'denied';
  /** Why it was denied. */
  readonly reason?: string;
  /** The arguments that a person put in the place of the model's. */
  readonly input?: JSONValue;
  /** What a person allowed for the rest of the session. */
  readonly rules?: readonly GateRule[];
}
/** The last two iterations, or the last tenth of the calls, are left. */
export interface LimitNear extends InStep {
  readonly type: 'limit.near';
  /** Which limit. */
  readonly limit: LimitName;
  /** How much of it is used. */
  readonly used: number;
  /** How much there is. */
  readonly max: number;
}
/** The model request failed and is tried again: drop what the attempt had shown. */
export interface StepRetrying extends InStep {
  readonly type: 'step.retrying';
  /** Which attempt comes next; the first one was 1. */
  readonly attempt: number;
  /** How long until then, in milliseconds. */
  readonly delayMs: number;
  /** What went wrong, in a sentence. */
  readonly reason: string;
}
/** A step is part of the history. */
export interface StepDone extends InStep {
  readonly type: 'step.done';
  /** All of the response's text. */
  readonly text: string;
  /** Why the model ended it. */
  readonly finishReason: FinishReason;
  /** What it took. */
  readonly usage: Usage;
}

/** Somebody said something that waits: for a turn of its own, or (`steer`) to be told to the running turn. */
export interface InputReceived extends EventHeader {
  readonly type: 'input.received';
  /** The id of the input, by which later events name it. */
  readonly inputId: string;
  /** Whether it waits for a turn of its own, or to be told to the running turn. */
  readonly as: 'turn' | 'steer';
  /** What was said. */
  readonly input: readonly UserContent[];
}
/** What waited is told to the running turn with its next model call. */
export interface InputSteered extends InTurn {
  readonly type: 'input.steered';
  /** The `input.received` that it was. */
  readonly inputId: string;
  /** What was said. */
  readonly input: readonly UserContent[];
}
/** What waited was taken back. */
export interface InputCancelled extends EventHeader {
  readonly type: 'input.cancelled';
  /** The `input.received` that it was. */
  readonly inputId: string;
}

interface TurnEnd extends InTurn {
  /** The last response's text. */
  readonly text: string;
  /** Tokens of all its steps, and of its delegates. */
  readonly usage: Usage;
  /** Responses of the model. */
  readonly steps: number;
  /** Responses that asked for tools. */
  readonly iterations: number;
  /** Calls that the model asked for. */
  readonly calls: number;
}
/** The turn ended with an answer. */
export interface TurnDone extends TurnEnd {
  readonly type: 'turn.done';
  /** Why the model ended its answer: `length` or `content-filter` is no plain success. */
  readonly finishReason: FinishReason;
  /** The typed answer, where the loop has an output schema and no tool ended the turn. */
  readonly output?: JSONValue;
  /** The limit that stopped the turn, if its answer is a closing one. */
  readonly limited?: RecordedLimitReached;
}
/** The turn ended without an answer. */
export interface TurnFailed extends TurnEnd {
  readonly type: 'turn.failed';
  /** What went wrong: the name, kind and message of an error. */
  readonly error: ErrorSummary;
  /** Calls that were still running when the turn ended (a timeout of the turn). */
  readonly leftBehind?: readonly LeftBehind[];
}
/** The turn was interrupted. */
export interface TurnInterrupted extends TurnEnd {
  readonly type: 'turn.interrupted';
  /** What was given to `turn.interrupt`. */
  readonly reason?: string;
  /** Calls that did not heed their signal and were left running. */
  readonly leftBehind?: readonly LeftBehind[];
}
/** This process left the turn, as its journal has it, to whoever takes it up: what was shown of a response or a call under way is void. */
export interface TurnReleased extends InTurn {
  readonly type: 'turn.released';
}
/** An observer, or a listener of a call's signal, threw; nothing else changed. */
export interface ObserverFailed extends EventHeader {
  readonly type: 'observer.failed';
  /** What was thrown, in words. */
  readonly message: string;
  /** The turn whose event it was told. */
  readonly turnId?: string;
}
/** This reader was too slow for the deltas: so many ephemeral events were left out here. Enduring ones never are. */
export interface EventsDropped extends EventHeader {
  readonly type: 'events.dropped';
  /** The turn, for a reader of one turn. */
  readonly turnId?: string;
  /** How many were left out. */
  readonly count: number;
}
/** The session's mode changed: it holds from the next turn on. */
export interface ModeChanged extends EventHeader {
  readonly type: 'mode.changed';
  /** The mode from now on; `""` is the base mode. */
  readonly mode: string;
}
/** The session was restored under a definition that behaves differently from the one it was opened with. */
export interface SessionDrift extends EventHeader {
  readonly type: 'session.drift';
  /** The policy revision that the session had. */
  readonly recorded: string;
  /** The one that it has now. */
  readonly current: string;
}

/** What a turn tells its readers. The last one of a turn is `turn.done`, `turn.failed` or `turn.interrupted`. */
export type TurnEvent =
  | TurnStarted
  | TurnResumed
  | InputSteered
  | StepStarted
  | TextDelta
  | ReasoningDelta
  | ToolInputDelta
  | ToolCalled
  | ToolStarted
  | ToolProgress
  | ToolCompleted
  | ToolLate
  | GateOpened
  | GateResolved
  | LimitNear
  | StepRetrying
  | StepDone
  | TurnDone
  | TurnFailed
  | TurnInterrupted
  | TurnReleased
  | EventsDropped;

/** What a session tells its readers: its turns' events, and what happens between them. */
export type SessionEvent = TurnEvent | InputReceived | InputCancelled | ModeChanged | ObserverFailed | SessionDrift;

/** Whether an event outlives its readers. A new event does not compile until this is decided. */
export const EVENT_DURABILITY: Readonly<Record<SessionEvent['type'], 'enduring' | 'ephemeral'>> = Object.freeze({
  'turn.started': 'enduring',
  'turn.resumed': 'enduring',
  'input.received': 'enduring',
  'input.steered': 'enduring',
  'input.cancelled': 'enduring',
  'step.started': 'enduring',
  'text.delta': 'ephemeral',
  'reasoning.delta': 'ephemeral',
  'tool.input.delta': 'ephemeral',
  'tool.called': 'enduring',
  'tool.started': 'enduring',
  'tool.progress': 'ephemeral',
  'tool.completed': 'enduring',
  'tool.late': 'ephemeral',
  'gate.opened': 'enduring',
  'gate.resolved': 'enduring',
  'limit.near': 'enduring',
  'step.retrying': 'enduring',
  'step.done': 'enduring',
  'turn.done': 'enduring',
  'turn.failed': 'enduring',
  'turn.interrupted': 'enduring',
  'turn.released': 'ephemeral',
  'events.dropped': 'ephemeral',
  'observer.failed': 'ephemeral',
  'mode.changed': 'enduring',
  'session.drift': 'ephemeral',
});

/** Whether the event is the last one of its turn. */
export function isTerminal(event: SessionEvent): event is TurnDone | TurnFailed | TurnInterrupted {
  return event.type === 'turn.done' || event.type === 'turn.failed' || event.type === 'turn.interrupted';
}

/** For the end of a `switch` over all cases: a new case does not compile until it is handled. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`);
}
