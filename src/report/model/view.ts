/** What a session's events come to: its turns, their steps, and the calls in them. All of it is data, frozen or never changed. */
import type { GateRule } from '../../define/gate.ts';
import type { AccessRequest } from '../../define/tool.ts';
import type { LimitName } from '../../errors.ts';
import type {
  CallOutcome,
  ErrorSummary,
  LeftBehind,
  RecordedLimitReached,
  RecordedLimits,
  ResultCapture,
} from '../../journal/journal.ts';
import type { FinishReason, JSONValue, ToolResultOutput, Usage, UserContent } from '../../model/model.ts';

/** A session as its events tell it. Times are milliseconds since the epoch. */
export interface SessionView {
  /** Empty until the first event. */
  readonly sessionId: string;
  /** The name of its loop, where it is known: events do not tell it. */
  readonly loop?: string;
  /** The mode of the turns from the next one on, as far as events told it. */
  readonly mode: string;
  /** The sequence number of the last enduring event. */
  readonly seq: number;
  /** When the last event happened. */
  readonly at: number;
  readonly turns: readonly TurnView[];
  /** What was said and waits, in the order in which it was said. */
  readonly waiting: readonly WaitingInput[];
}

/** What somebody said that is not part of a turn yet. */
export interface WaitingInput {
  readonly inputId: string;
  /** For a turn of its own, or for the running one. */
  readonly as: 'turn' | 'steer';
  readonly input: readonly UserContent[];
  readonly at: number;
}

/** How a turn stands; `waiting` is for a person. */
export type TurnState = 'running' | 'waiting' | 'done' | 'failed' | 'interrupted';

/** One turn. */
export interface TurnView {
  readonly turnId: string;
  readonly state: TurnState;
  /** What the user said; empty for a turn that continues. */
  readonly input: readonly UserContent[];
  readonly mode: string;
  readonly limits: RecordedLimits;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** When processes took the turn up that another had left unfinished. */
  readonly resumedAt: readonly number[];
  /** What was said to it while it ran. */
  readonly steered: readonly SteeredInput[];
  readonly steps: readonly StepView[];
  /** Steps in which the model asked for calls. */
  readonly iterations: number;
  /** Calls that it asked for. */
  readonly calls: number;
  /** Calls that run. */
  readonly running: number;
  /** The most calls that ran at one time. */
  readonly peak: number;
  /** Gates that wait for a person. */
  readonly openGates: number;
  readonly usage: Usage;
  /** Limits that were nearly reached. */
  readonly near: readonly NearLimit[];
  readonly end?: TurnEndView;
}

/** A limit of which little was left. */
export interface NearLimit {
  readonly limit: LimitName;
  readonly used: number;
  readonly max: number;
}

/** What was told to a turn that ran: before the step with this place in `steps`. */
export interface SteeredInput {
  readonly inputId: string;
  readonly input: readonly UserContent[];
  readonly at: number;
  readonly before: number;
}

/** How a turn ended. */
export interface TurnEndView {
  readonly text: string;
  readonly finishReason?: FinishReason;
  readonly output?: JSONValue;
  readonly limited?: RecordedLimitReached;
  readonly error?: ErrorSummary;
  readonly reason?: string;
  readonly leftBehind: readonly LeftBehind[];
}

/** One response of the model, and the calls in it. */
export interface StepView {
  readonly stepId: string;
  /** Counted from 1. */
  readonly step: number;
  readonly startedAt: number;
  /** When its calls, or the questions about them, were first told of: the response was there by then. */
  readonly respondedAt?: number;
  readonly endedAt?: number;
  /** The text so far, or the whole of it once the step has ended. */
  readonly text: string;
  /** Of a step that was watched live; it is not told again. */
  readonly reasoning: string;
  /** Some of the text that was told live did not come; the end of the step brings all of it. */
  readonly isPartial: boolean;
  /** Calls that the model is writing. */
  readonly writing: readonly WrittenCall[];
  readonly retries: readonly RetryView[];
  readonly calls: readonly CallView[];
  readonly usage?: Usage;
  readonly finishReason?: FinishReason;
}

/** A call that is being written: how much of it there is. */
export interface WrittenCall {
  readonly inputId: string;
  readonly toolName: string;
  readonly characters: number;
}

/** A failed request that was tried again. */
export interface RetryView {
  readonly attempt: number;
  readonly delayMs: number;
  readonly reason: string;
  readonly at: number;
}

/** One call, from what was asked to its result. */
export interface CallView {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly summary?: string;
  /** Calls of its step that had to end first. */
  readonly waitsFor: readonly string[];
  readonly gate?: GateView;
  /** When it was announced: everything had been allowed by then. */
  readonly calledAt?: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly outcome?: CallOutcome;
  readonly isError?: boolean;
  readonly output?: ToolResultOutput;
  /** How long the tool ran, by its own clock. */
  readonly durationMs?: number;
  readonly capture?: ResultCapture;
  /** The last word on how far it is. */
  readonly progress?: JSONValue;
  /** The session of a delegate that works for it, where that was seen. */
  readonly childId?: string;
  /** It settled after it had been answered for. */
  readonly isLate: boolean;
}

/** A question to a person about a call. */
export interface GateView {
  readonly gateId: string;
  readonly requests: readonly AccessRequest[];
  readonly openedAt: number;
  readonly resolvedAt?: number;
  readonly decision?: 'approved' | 'denied';
  readonly reason?: string;
  /** The arguments that a person put in the place of the model's. */
  readonly input?: JSONValue;
  /** What a person allowed for the rest of the session. */
  readonly rules?: readonly GateRule[];
}
