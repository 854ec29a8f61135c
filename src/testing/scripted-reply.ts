/** What a scripted model is told to say, and the response that this is. */
import type { FinishReason, ModelContent, ModelUsage } from '../model/model.ts';
import type { GenerateResult, Split } from './stream-content.ts';

/** A call that a reply makes: with `input`, which is written as JSON, or with `inputText`, which is sent as it is. */
export type ScriptedCall = {
  readonly tool: string;
  /** Default `call-<request>-<index>`, both counted from 0. */
  readonly id?: string;
  /** The provider ran it itself. Its result, if wanted, goes into `content`. */
  readonly providerExecuted?: boolean;
} & ({ readonly input?: unknown; readonly inputText?: never } | { readonly inputText: string; readonly input?: never });

/** Counts as a test writes them; what is left out is 0. */
export interface ScriptedUsage {
  /** Default 0. */
  readonly inputTokens?: number;
  /** Default 0. */
  readonly outputTokens?: number;
  /** Of the input tokens. Default 0. */
  readonly cachedInputTokens?: number;
  /** Of the output tokens. Default 0. */
  readonly reasoningTokens?: number;
}

/** One response of a scripted model: `reasoning`, then `text`, then `content`, then `calls`. */
export interface ScriptedReply {
  /** What the model thinks, before its text. */
  readonly reasoning?: string;
  /** What the model says. */
  readonly text?: string;
  /** Anything else, as specification v4 has it: sources, files, signatures, results of the provider's own tools. */
  readonly content?: readonly ModelContent[];
  /** The tools that it asks for, after its text. */
  readonly calls?: readonly ScriptedCall[];
  /** Default `tool-calls` where there is a call for the client to run, else `stop`. `unknown` is a word of v2, and `other` elsewhere. */
  readonly finishReason?: FinishReason['unified'] | 'unknown';
  /** The provider's own word for it (not in v2). Default none. */
  readonly rawFinishReason?: string;
  /** Default 10 tokens in and 5 out. */
  readonly usage?: ScriptedUsage | ModelUsage;
  /** What the provider says beside the response. */
  readonly providerMetadata?: NonNullable<GenerateResult['providerMetadata']>;
  /** Into how many pieces `text` is cut in a stream, or the pieces themselves. Default 1. */
  readonly deltas?: number | readonly string[];
  /** The request fails with this; with `errorAfter` the stream does. */
  readonly error?: unknown;
  /** The stream breaks after so many parts, with `error` or, without one, as a lost connection does. `doGenerate` fails. */
  readonly errorAfter?: number;
  /** The stream does not break but tells the error in a part, and finishes with `error`. Default false. */
  readonly errorAsPart?: boolean;
  /** The stream stands still after so many parts, until it is aborted. `doGenerate` never answers. */
  readonly hangAfter?: number;
  /** Milliseconds before the response begins; `Infinity` for never. Default 0. */
  readonly delayMs?: number;
  /** Milliseconds before each part of a stream. Default 0. */
  readonly partDelayMs?: number;
  /** Goes on when it is aborted. Default false. */
  readonly deaf?: boolean;
}

const REPLY_FIELDS: ReadonlySet<string> = new Set([
  'reasoning',
  'text',
  'content',
  'calls',
  'finishReason',
  'rawFinishReason',
  'usage',
  'providerMetadata',
  'deltas',
  'error',
  'errorAfter',
  'errorAsPart',
  'hangAfter',
  'delayMs',
  'partDelayMs',
  'deaf',
] satisfies (keyof ScriptedReply)[]);

/** Throws `TypeError` for what is no reply, an unknown field included: a script with a typo would test nothing. */
export function requireReply(reply: unknown, index: number): asserts reply is ScriptedReply {
  if (typeof reply !== 'object' || reply === null || Array.isArray(reply)) {
    throw new TypeError(
      `reply ${index} of the script must be an object such as { text: "hello" }, not ${typeof reply}`,
    );
  }
  const unknown = Object.keys(reply).find(field => !REPLY_FIELDS.has(field));
  if (unknown !== undefined) throw new TypeError(`reply ${index} of the script has an unknown field "${unknown}"`);
  const { text, deltas } = reply as ScriptedReply;
  if (Array.isArray(deltas) && text !== undefined && deltas.join('') !== text) {
    throw new TypeError(`reply ${index} of the script has "deltas" that do not join to its "text"`);
  }
}

/** The response that a reply stands for. */
export function responseOf(reply: ScriptedReply, request: number): GenerateResult {
  const text = reply.text ?? (typeof reply.deltas === 'object' ? reply.deltas.join('') : undefined);
  const content: ModelContent[] = [];
  if (reply.reasoning !== undefined) content.push({ type: 'reasoning', text: reply.reasoning });
  if (text !== undefined) content.push({ type: 'text', text });
  if (reply.content !== undefined) content.push(...reply.content);
  reply.calls?.forEach((call, index) => {
    content.push(toContent(call, `call-${request}-${index}`));
  });
  return {
    content,
    finishReason: finishReasonOf(reply, content),
    usage: usageOf(reply.usage),
    warnings: [],
    ...(reply.providerMetadata && { providerMetadata: reply.providerMetadata }),
  };
}

/** How a reply's text is cut. Other texts come in one piece. */
export function splitOf(reply: ScriptedReply): Split {
  const { deltas = 1 } = reply;
  return text => {
    if (typeof deltas === 'object') return deltas.join('') === text ? deltas : [text];
    return inPieces(text, text === reply.text ? deltas : 1);
  };
}

/** Cuts between characters, never inside one. */
function inPieces(text: string, pieces: number): string[] {
  if (text === '') return [];
  if (pieces <= 1) return [text];
  const characters = [...text];
  const size = Math.max(1, Math.ceil(characters.length / pieces));
  const cut: string[] = [];
  for (let from = 0; from < characters.length; from += size) cut.push(characters.slice(from, from + size).join(''));
  return cut;
}

function toContent(call: ScriptedCall, defaultId: string): ModelContent {
  return {
    type: 'tool-call',
    toolCallId: call.id ?? defaultId,
    toolName: call.tool,
    input: call.inputText ?? JSON.stringify(call.input ?? {}),
    ...(call.providerExecuted && { providerExecuted: true }),
  };
}

function finishReasonOf(reply: ScriptedReply, content: readonly ModelContent[]): FinishReason {
  const asksForTools = content.some(part => part.type === 'tool-call' && !part.providerExecuted);
  const unified = reply.finishReason ?? (asksForTools ? 'tool-calls' : 'stop');
  return { unified: unified === 'unknown' ? 'other' : unified, raw: reply.rawFinishReason };
}

function usageOf(usage: ScriptedReply['usage'] = { inputTokens: 10, outputTokens: 5 }): ModelUsage {
  if (typeof usage.inputTokens === 'object') return usage as ModelUsage;
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 } = usage as ScriptedUsage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - cachedInputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: 0,
    },
    outputTokens: { total: outputTokens, text: outputTokens - reasoningTokens, reasoning: reasoningTokens },
  };
}
