/**
 * Where a turn stands that another process left unfinished: what its journal says, in the words of a running turn. What was recorded
 * is used; nothing of it is asked or run again.
 */
import type { LimitReached } from '../errors.ts';
import type { CallOutcome } from '../journal/journal.ts';
import type { AssistantMessage, FinishReason, ToolResultOutput, Usage } from '../model/model.ts';
import type { Shown } from './repeat.ts';
import { hasNoArguments, type ModelResponse, type RequestedCall, saysNothing } from './response.ts';
import { outputText } from './result.ts';

/** A result that stands in the journal. */
export interface RecordedResult {
  readonly outcome: CallOutcome;
  readonly output: ToolResultOutput;
  readonly endTurn: boolean;
  readonly resultDigest?: string;
}

/** What the journal has of the calls of a step. */
export interface RecordedBatch {
  /** Whether its calls were announced. */
  readonly isAnnounced: boolean;
  /** Calls whose start is recorded: they may have taken effect. */
  readonly started: ReadonlySet<string>;
  readonly results: ReadonlyMap<string, RecordedResult>;
}

/** A step that had begun. */
export interface StepUnderWay {
  readonly stepId: string;
  /** Absent where the model had not answered yet. */
  readonly response: ModelResponse | undefined;
  readonly batch: RecordedBatch;
}

/** A call of an earlier step of the turn, for the watch over repeats. */
export interface RepeatedCall {
  readonly toolName: string;
  readonly asked: unknown;
  readonly result: Shown;
}

/** A recorded result as the watch over repeats sees it: where a line was added, the digest of what it was before. */
export function shownOf({
  output,
  resultDigest,
}: {
  readonly output: ToolResultOutput;
  readonly resultDigest?: string;
}): Shown {
  return resultDigest === undefined ? outputText(output) : { digest: resultDigest };
}

/** All that a turn needs to go on. */
export interface ResumePoint {
  /** How many steps have begun. */
  readonly step: number;
  readonly usage: Usage;
  readonly steps: number;
  /** Counts without those of the step that is under way. */
  readonly iterations: number;
  readonly calls: number;
  readonly delegatedCalls: number;
  /** Pauses of the provider in a row, and answers that did not fit. */
  readonly pauses: number;
  readonly unfit: number;
  /** What the next request tells the model. */
  readonly note: string | undefined;
  readonly closing: LimitReached | undefined;
  /** The text of the last response. */
  readonly text: string;
  /** The calls of each earlier step in which calls ran. */
  readonly ran: readonly (readonly RepeatedCall[])[];
  readonly underWay: StepUnderWay | undefined;
}

/** A response as it was before it was recorded. */
export function responseFromRecord(record: {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly unparsed?: readonly (readonly [callId: string, text: string])[];
}): ModelResponse {
  const { message, finishReason, usage } = record;
  const unparsed = new Map(record.unparsed);
  const calls: RequestedCall[] = [];
  let text = '';
  for (const part of message.content) {
    if (part.type === 'text') text += part.text;
    if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
    const { toolCallId: callId, toolName, input } = part;
    calls.push({ callId, toolName, input, inputText: unparsed.get(callId) ?? JSON.stringify(input) });
  }
  const isEmpty = calls.length === 0 && text === '' && saysNothing(message.content);
  return { message, calls, text, finishReason, usage, isEmpty };
}

/** Arguments that are no JSON object: the history cannot hold them, and a process that takes the turn up must refuse them again. */
export function unparsedOf(calls: readonly RequestedCall[]): { readonly unparsed?: [string, string][] } {
  let unparsed: [string, string][] | undefined;
  for (const call of calls) {
    const { callId, inputText } = call;
    if (inputText === '{}' || !hasNoArguments(call)) continue;
    const text: unknown = inputText; // a provider may have given no text at all
    unparsed ??= [];
    unparsed.push([callId, typeof text === 'string' ? text : '']);
  }
  return unparsed === undefined ? {} : { unparsed };
}
