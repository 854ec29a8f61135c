/** What was used and how it ended, as attributes. A count that nobody told is left out. */
import type { Attributes } from '@opentelemetry/api';
import type { TurnDone, TurnFailed, TurnInterrupted, TurnStarted } from '../events/events.ts';
import type { FinishReason, Usage } from '../model/model.ts';
import { cutText } from './content.ts';
import { ATTRIBUTES, ERRORS } from './names.ts';
import type { Failure } from './telemetry.ts';

/** The end of a turn. */
export type TurnEnd = TurnDone | TurnFailed | TurnInterrupted;

/** Tokens used; a count of 0 is one that nobody told. */
export function usageAttributes(usage: Usage): Attributes {
  return positive({
    [ATTRIBUTES.inputTokens]: usage.inputTokens,
    [ATTRIBUTES.outputTokens]: usage.outputTokens,
    [ATTRIBUTES.cachedTokens]: usage.cachedInputTokens,
    [ATTRIBUTES.reasoningTokens]: usage.reasoningTokens,
  });
}

function positive(counts: Readonly<Record<string, number>>): Attributes {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

/** What is left of the usage of a whole turn when that of its steps is taken away. */
export function usageLeft(whole: Usage, seen: Usage): Usage {
  const left = (name: keyof Usage): number => Math.max(whole[name] - seen[name], 0);
  return {
    inputTokens: left('inputTokens'),
    outputTokens: left('outputTokens'),
    totalTokens: left('totalTokens'),
    cachedInputTokens: left('cachedInputTokens'),
    reasoningTokens: left('reasoningTokens'),
  };
}

/** The limits that a turn began with. */
export function limitAttributes({ limits }: TurnStarted): Attributes {
  const { iterations, calls, parallel, tokens, turnTimeoutMs } = limits;
  return {
    [ATTRIBUTES.maxIterations]: iterations,
    [ATTRIBUTES.maxCalls]: calls,
    [ATTRIBUTES.maxParallel]: parallel,
    [ATTRIBUTES.maxTokens]: tokens,
    [ATTRIBUTES.turnTimeout]: turnTimeoutMs,
  };
}

/** What a turn came to. */
export function endAttributes(event: TurnEnd): Attributes {
  return {
    [ATTRIBUTES.turnOutcome]: event.type.slice('turn.'.length),
    [ATTRIBUTES.steps]: event.steps,
    [ATTRIBUTES.iterations]: event.iterations,
    [ATTRIBUTES.calls]: event.calls,
    ...usageAttributes(event.usage),
    [ATTRIBUTES.limitReached]: limitReached(event),
    ...(event.type === 'turn.done'
      ? { [ATTRIBUTES.finishReasons]: [finishWord(event.finishReason)] }
      : { [ATTRIBUTES.leftBehind]: event.leftBehind?.length }),
  };
}

/** The limit that a turn ended at, whether it failed or answered. */
export function limitReached(event: TurnEnd): string | undefined {
  if (event.type === 'turn.done') return event.limited?.limit;
  return event.type === 'turn.failed' ? event.error.limit?.limit : undefined;
}

/** The common word for why a response ended, as the conventions write it. */
export function finishWord({ unified }: FinishReason): string {
  return unified === 'tool-calls' ? 'tool_call' : unified.replaceAll('-', '_');
}

/** Kinds of errors whose message is of looprig's own making, and holds nothing that a model, a provider or a person said. */
const OWN_WORDS: ReadonlySet<string> = new Set(['tool_limit', 'turn_timeout', 'conflict', 'internal']);

/** Why a turn failed. What others said is told where content is, in at most `contentLength` characters. */
export function failureOf(event: TurnEnd, contentLength: number | undefined): Failure | undefined {
  if (event.type === 'turn.done') return undefined;
  if (event.type === 'turn.interrupted')
    return { type: ERRORS.interrupted, message: said(event.reason, contentLength) };
  const { kind, message } = event.error;
  return { type: kind, message: OWN_WORDS.has(kind) ? message : said(message, contentLength) };
}

function said(message: string | undefined, contentLength: number | undefined): string | undefined {
  return message === undefined || contentLength === undefined ? undefined : cutText(message, contentLength);
}
