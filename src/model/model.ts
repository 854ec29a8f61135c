/**
 * The contract with the model is the AI SDK provider specification v4, as its package publishes it, and history is kept
 * in its message format: nothing is converted on the way. This file only gives the types of that contract that appear
 * in looprig's own API the names under which they are used here.
 */
import type {
  JSONObject,
  JSONValue,
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FilePart,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';

export type { JSONObject, JSONValue };

/** A model as a provider package gives it: AI SDK 7 (v4), 6 (v3) or 5 (v2). */
export type AnyLanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2;

/** A model of the specification that the loop speaks. */
export type LanguageModel = LanguageModelV4;

/** One request to a model, as the provider gets it. */
export type ModelRequest = LanguageModelV4CallOptions;

/** A part of a model's response, and of its stream. */
export type ModelContent = LanguageModelV4Content;
export type ModelStreamPart = LanguageModelV4StreamPart;

/** Settings of a request that a loop or a mode may give: temperature, maxOutputTokens, providerOptions and the like. */
export type ModelSettings = Omit<
  ModelRequest,
  'prompt' | 'tools' | 'toolChoice' | 'abortSignal' | 'responseFormat' | 'includeRawChunks'
>;

/** One message of a history, and the kinds of it. */
export type Message = LanguageModelV4Message;
export type UserMessage = Extract<Message, { role: 'user' }>;
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
export type ToolMessage = Extract<Message, { role: 'tool' }>;
export type AssistantContent = AssistantMessage['content'][number];
export type UserContent = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** A tool as the model is told about it. */
export type ModelTool = LanguageModelV4FunctionTool;

/** A call in an assistant message, and its answer in the tool message after it. */
export type ToolCallPart = LanguageModelV4ToolCallPart;
export type ToolResultPart = LanguageModelV4ToolResultPart;
export type ToolResultOutput = LanguageModelV4ToolResultOutput;

/** Why the model ended its response: the common word, and the provider's own. */
export type FinishReason = LanguageModelV4FinishReason;

/** Usage as a provider reports it for one response. */
export type ModelUsage = LanguageModelV4Usage;

/** Tokens used, summed over a turn. A count that no response told is 0. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Of the input tokens, those read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** Of the output tokens, those spent on reasoning. */
  readonly reasoningTokens: number;
}

/** No tokens at all. */
export const NO_USAGE: Usage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
});

/** The usage of one response added to a sum. */
export function addUsage(sum: Usage, added: ModelUsage | Usage): Usage {
  const flat = typeof added.inputTokens === 'number' ? (added as Usage) : flattenUsage(added as ModelUsage);
  return {
    inputTokens: sum.inputTokens + flat.inputTokens,
    outputTokens: sum.outputTokens + flat.outputTokens,
    totalTokens: sum.totalTokens + flat.totalTokens,
    cachedInputTokens: sum.cachedInputTokens + flat.cachedInputTokens,
    reasoningTokens: sum.reasoningTokens + flat.reasoningTokens,
  };
}

function flattenUsage(usage: ModelUsage): Usage {
  const inputTokens = count(usage.inputTokens?.total);
  const outputTokens = count(usage.outputTokens?.total);
  return {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    cachedInputTokens: count(usage.inputTokens?.cacheRead),
    reasoningTokens: count(usage.outputTokens?.reasoning),
  };
}

/** A provider may leave a count out, or send something that is no count. */
function count(value: number | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
