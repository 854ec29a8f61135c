/** Responses of a scripted model in the words of an older specification, so that adapters can be tested on them. */
import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV2Usage,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import type { FinishReason, ModelContent, ModelStreamPart, ModelUsage } from '../model/model.ts';
import type { GenerateResult } from './stream-content.ts';

/** A whole response of a v2 model. */
export type V2GenerateResult = Awaited<ReturnType<LanguageModelV2['doGenerate']>>;

type AnyPart = ModelContent | ModelStreamPart;

/** The response as a v3 model gives it. What that version has no word for is left out. */
export function asV3(result: GenerateResult): LanguageModelV3GenerateResult {
  const content = result.content.flatMap(partAsV3) as LanguageModelV3GenerateResult['content'];
  return { ...result, content, finishReason: finishAsV3(result.finishReason), warnings: [] };
}

/** The response as a v2 model gives it. What that version has no word for is left out. */
export function asV2(result: GenerateResult, finishReason: string): V2GenerateResult {
  const { content, usage, providerMetadata } = result;
  return {
    content: content.flatMap(part => partAsV2(part, finishReason)) as V2GenerateResult['content'],
    finishReason: finishReason as V2GenerateResult['finishReason'],
    usage: usageAsV2(usage),
    warnings: [],
    ...(providerMetadata && { providerMetadata: providerMetadata as V2GenerateResult['providerMetadata'] & object }),
  };
}

/** The part of a stream as a v3 model sends it: none where that version has no word for it. */
export function partAsV3(part: AnyPart): LanguageModelV3StreamPart[] {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
    case 'ping':
      return [];
    case 'file':
      return [{ ...part, data: bytesOf(part) }];
    case 'finish':
      return [{ ...part, finishReason: finishAsV3(part.finishReason) }];
    default:
      return [part as LanguageModelV3StreamPart];
  }
}

/** The part of a stream as a v2 model sends it: none where that version has no word for it. */
export function partAsV2(part: AnyPart, finishReason: string): LanguageModelV2StreamPart[] {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
    case 'ping':
    case 'tool-approval-request':
      return [];
    case 'file':
      return [{ type: 'file', mediaType: part.mediaType, data: bytesOf(part) }];
    case 'tool-result':
      return [{ ...part, providerExecuted: true } as LanguageModelV2StreamPart];
    case 'finish': {
      const v2 = { ...part, finishReason, usage: usageAsV2(part.usage) };
      return [v2 as LanguageModelV2StreamPart];
    }
    default:
      return [part as LanguageModelV2StreamPart];
  }
}

function bytesOf({ data }: Extract<ModelContent, { type: 'file' }>): string | Uint8Array {
  if (data.type === 'data') return data.data;
  throw new TypeError('a scripted model of specification v3 or v2 gives a file as data, not as a URL');
}

function finishAsV3({ unified, raw }: FinishReason): LanguageModelV3GenerateResult['finishReason'] {
  return { unified: unified === 'interrupted' ? 'other' : unified, raw };
}

function usageAsV2({ inputTokens, outputTokens }: ModelUsage): LanguageModelV2Usage {
  return {
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    totalTokens: (inputTokens.total ?? 0) + (outputTokens.total ?? 0),
    reasoningTokens: outputTokens.reasoning,
    cachedInputTokens: inputTokens.cacheRead,
  };
}
