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

/** A part of a model's response. */
export type ModelContent = LanguageModelV4Content;
/** A part of a model's response as a stream gives it. */
export type ModelStreamPart = LanguageModelV4StreamPart;

/** Settings of a request that a loop or a mode may give: temperature, maxOutputTokens, providerOptions and the like. */
export type ModelSettings = Omit<
  ModelRequest,
  'prompt' | 'tools' | 'toolChoice' | 'abortSignal' | 'responseFormat' | 'includeRawChunks'
>;

/** One message of a history. */
export type Message = LanguageModelV4Message;
/** What the user said. */
export type UserMessage = Extract<Message, { role: 'user' }>;
/** What the model said: text, reasoning, files, calls. */
export type AssistantMessage = Extract<Message, { role: 'assistant' }>;
/** The results of the calls of the assistant message before it. */
export type ToolMessage = Extract<Message, { role: 'tool' }>;
/** One part of an assistant message. */
export type AssistantContent = AssistantMessage['content'][number];
/** One part of a user message. */
export type UserContent = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** A tool as the model is told about it. */
export type ModelTool = LanguageModelV4FunctionTool;

/** A call in an assistant message. */
export type ToolCallPart = LanguageModelV4ToolCallPart;
/** The answer to a call, in the tool message after it. */
export type ToolResultPart = LanguageModelV4ToolResultPart;
/** What a call gave: text, JSON, parts of content, or an error. */
export type ToolResultOutput = LanguageModelV4ToolResultOutput;

/** Why the model ended its response: the common word, and the provider's own. */
export type FinishReason = LanguageModelV4FinishReason;

/** Usage as a provider reports it for one response. */
export type ModelUsage = LanguageModelV4Usage;

/** Tokens used, summed over a turn. A count that no response told is 0. */
export interface Usage {
  /** Tokens that the model read. What a provider does not tell counts as 0, here and below. */
  readonly inputTokens: number;
  /** Tokens that the model wrote. */
  readonly outputTokens: number;
  /** Both together. */
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

/** Two usages as one. */
export function addUsage(sum: Usage, added: Usage): Usage {
  return Object.freeze({
    inputTokens: sum.inputTokens + added.inputTokens,
    outputTokens: sum.outputTokens + added.outputTokens,
    totalTokens: sum.totalTokens + added.totalTokens,
    cachedInputTokens: sum.cachedInputTokens + added.cachedInputTokens,
    reasoningTokens: sum.reasoningTokens + added.reasoningTokens,
  });
}

/** A provider's usage as plain counts. What it leaves out, or sends as no number that can be counted with, counts as nothing; never throws. */
export function usageOf(usage: ModelUsage | undefined): Usage {
  try {
    const input: unknown = usage?.inputTokens;
    const output: unknown = usage?.outputTokens;
    const inputTokens = count(input, 'total');
    const outputTokens = count(output, 'total');
    return Object.freeze({
      inputTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cachedInputTokens: count(input, 'cacheRead'),
      reasoningTokens: count(output, 'reasoning'),
    });
  } catch {
    return NO_USAGE;
  }
}

function count(counts: unknown, name: string): number {
  const value =
    typeof counts === 'object' && counts !== null ? Reflect.get(counts, name) : name === 'total' ? counts : 0;
  return typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0;
}
