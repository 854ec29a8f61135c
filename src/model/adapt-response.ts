/** Responses of a model of an older specification, on their way into the loop. A part that is the same in both is handed on as it is. */
import type {
  LanguageModelV2,
  LanguageModelV2CallWarning,
  LanguageModelV2Content,
  LanguageModelV2File,
  LanguageModelV2FinishReason,
  LanguageModelV2StreamPart,
  LanguageModelV2Usage,
  LanguageModelV3Content,
  LanguageModelV3File,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV4File,
  LanguageModelV4GenerateResult,
  LanguageModelV4ToolResult,
  SharedV2ProviderMetadata,
  SharedV4Warning,
} from '@ai-sdk/provider';
import type { FinishReason, JSONObject, ModelContent, ModelStreamPart, ModelUsage } from './model.ts';

type V2GenerateResult = Awaited<ReturnType<LanguageModelV2['doGenerate']>>;
type V2ToolResult = Extract<LanguageModelV2Content, { type: 'tool-result' }>;

/** A whole response of a v3 model. */
export function resultFromV3(result: LanguageModelV3GenerateResult): LanguageModelV4GenerateResult {
  return { ...result, content: result.content.map(contentFromV3) };
}

/** A whole response of a v2 model. */
export function resultFromV2(result: V2GenerateResult): LanguageModelV4GenerateResult {
  // The shapes of metadata differ only in whether a value may be undefined.
  const same = result as Pick<LanguageModelV4GenerateResult, 'providerMetadata' | 'request' | 'response'>;
  return {
    ...same,
    content: result.content.map(contentFromV2),
    finishReason: finishReasonFromV2(result.finishReason),
    usage: usageFromV2(result.usage, result.providerMetadata),
    warnings: warningsFromV2(result.warnings),
  };
}

/** One part of a v3 model's stream. */
export function partFromV3(part: LanguageModelV3StreamPart): ModelStreamPart {
  return part.type === 'file' ? fromFile(part) : part;
}

/** One part of a v2 model's stream. */
export function partFromV2(part: LanguageModelV2StreamPart): ModelStreamPart {
  switch (part.type) {
    case 'file':
      return fromFile(part);
    case 'tool-result':
      return fromToolResult(part);
    case 'stream-start':
      return { type: 'stream-start', warnings: warningsFromV2(part.warnings) };
    case 'finish':
      return {
        ...part,
        finishReason: finishReasonFromV2(part.finishReason),
        usage: usageFromV2(part.usage, part.providerMetadata),
      };
    default:
      return part;
  }
}

function contentFromV3(content: LanguageModelV3Content): ModelContent {
  return content.type === 'file' ? fromFile(content) : content;
}

function contentFromV2(content: LanguageModelV2Content): ModelContent {
  switch (content.type) {
    case 'file':
      return fromFile(content);
    case 'tool-result':
      return fromToolResult(content);
    default:
      return content;
  }
}

function fromFile(file: LanguageModelV3File | LanguageModelV2File): LanguageModelV4File {
  return { ...file, data: { type: 'data', data: file.data } };
}

/** Only results of tools that the provider ran are in a response, which later versions need not say. */
function fromToolResult({ providerExecuted: _always, ...part }: V2ToolResult): LanguageModelV4ToolResult {
  return { ...part, result: (part.result ?? '') as LanguageModelV4ToolResult['result'] };
}

const SAME_FINISH_REASONS: ReadonlySet<string> = new Set<LanguageModelV2FinishReason & FinishReason['unified']>([
  'stop',
  'length',
  'content-filter',
  'tool-calls',
  'error',
  'other',
]);

/** Version 2 does not tell the provider's own word, unless a provider puts it where the common one belongs. */
function finishReasonFromV2(reason: LanguageModelV2FinishReason | undefined): FinishReason {
  if (reason !== undefined && SAME_FINISH_REASONS.has(reason)) {
    return { unified: reason as FinishReason['unified'], raw: undefined };
  }
  return { unified: 'other', raw: reason === 'unknown' ? undefined : reason };
}

/**
 * Providers of that version disagree on what is counted among what. Their total says whether reasoning stands beside the output, and
 * what it has beyond that was put in: the results of tools that the provider ran. Anthropic counts tokens that went through its cache
 * beside the input, and beside the total.
 */
function usageFromV2(
  usage: LanguageModelV2Usage | undefined,
  metadata: SharedV2ProviderMetadata | undefined,
): ModelUsage {
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens } = usage ?? noUsage;
  const cacheWrite = metadata?.anthropic && count(metadata.anthropic.cacheCreationInputTokens);
  const throughCache = metadata?.anthropic ? (cachedInputTokens ?? 0) + (cacheWrite ?? 0) : 0;
  const notNamed = Math.max(0, (totalTokens ?? 0) - (inputTokens ?? 0) - (outputTokens ?? 0));
  const besideOutput = reasoningTokens !== undefined && notNamed >= reasoningTokens ? reasoningTokens : 0;
  return {
    inputTokens: {
      total: plus(inputTokens, notNamed - besideOutput + throughCache),
      noCache: undefined,
      cacheRead: cachedInputTokens,
      cacheWrite,
    },
    outputTokens: { total: plus(outputTokens, besideOutput), text: undefined, reasoning: reasoningTokens },
    ...(usage && { raw: { ...usage } satisfies JSONObject }),
  };
}

const noUsage: LanguageModelV2Usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };

/** A count that was not told stays untold, unless there is something to add to it. */
function plus(counted: number | undefined, more: number): number | undefined {
  return more > 0 ? (counted ?? 0) + more : counted;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** Nobody may lose a response over its warnings: what is no warning is left out. */
function warningsFromV2(warnings: readonly LanguageModelV2CallWarning[] | undefined): SharedV4Warning[] {
  return Array.isArray(warnings) ? warnings.flatMap(warningFromV2) : [];
}

function warningFromV2(warning: LanguageModelV2CallWarning): SharedV4Warning[] {
  if (warning?.type === 'other') return [warning];
  const details = typeof warning?.details === 'string' ? { details: warning.details } : {};
  if (warning?.type === 'unsupported-tool') {
    return [{ type: 'unsupported', feature: `tool ${warning.tool?.name ?? ''}`, ...details }];
  }
  if (warning?.type !== 'unsupported-setting') return [];
  return [{ type: 'unsupported', feature: String(warning.setting), ...details }];
}
