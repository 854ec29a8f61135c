/**
 * One model response, put together from its parts, whether they came one by one or all at once. It becomes one assistant message in
 * the provider's own format, so that signatures and other metadata go back exactly as they came.
 */

import { isDeeperThan } from '../depth.ts';
import { deepFreeze } from '../freeze.ts';
import { newId } from '../ids.ts';
import type { Incomplete } from '../journal/journal.ts';
import type {
  AssistantContent,
  AssistantMessage,
  FinishReason,
  ModelContent,
  ModelStreamPart,
  ModelUsage,
  Usage,
} from '../model/model.ts';
import { usageOf } from '../model/model.ts';
import { wellFormed } from './cut.ts';
import { copyJson } from './json-copy.ts';
import {
  fileOf,
  finishReasonOf,
  type Metadata,
  markOf,
  metadataOf,
  nameOf,
  options,
  providerResultOf,
  requirePart,
  textOf,
} from './provider-parts.ts';

/** A call as the model asked for it. */
export interface RequestedCall {
  /** Unique in the session's history: the provider's own id unless it was missing or taken. */
  readonly callId: string;
  readonly toolName: string;
  /** The arguments as text, as the model wrote them. */
  readonly inputText: string;
  /** The arguments, parsed for the history; `{}` where the text is no JSON object. Frozen. */
  readonly input: unknown;
}

/** A whole response. */
export interface ModelResponse {
  readonly message: AssistantMessage;
  readonly calls: readonly RequestedCall[];
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  /** Whether it holds nothing that could be an answer: no text, no call, no file, nothing that the provider itself ran. */
  readonly isEmpty: boolean;
}

interface OpenBlock {
  readonly kind: 'text' | 'reasoning';
  /** Unset for one that came whole. */
  readonly id?: unknown;
  text: string;
  metadata: Metadata;
  sealed: boolean;
}

type ToolCall = Extract<ModelContent, { type: 'tool-call' }>;

type Block =
  | OpenBlock
  | { readonly kind: 'part'; readonly part: AssistantContent }
  | { readonly kind: 'call'; readonly place: number };

/** Collects the parts of one response, and says what it amounts to at any moment. */
export class ResponseBuilder {
  readonly #blocks: Block[] = [];
  /** Blocks that still grow, by what the provider gives as their id: it may be anything. */
  #open: { readonly text: Map<unknown, OpenBlock>; readonly reasoning: Map<unknown, OpenBlock> } | undefined;
  /** The block that grew last: most deltas are for the same one, and need no look into the map. */
  #growing: OpenBlock | undefined;
  readonly #calls: { id: string; toolName: string; inputText: string; metadata: Metadata }[] = [];
  /** Ids of the calls that the provider ran itself: no other call of the response may have them. */
  readonly #providerIds: string[] = [];
  #finishReason: FinishReason | undefined;
  #usage: ModelUsage | undefined;
  /** The first error that the stream carried as a part. */
  error: { readonly cause: unknown } | undefined;

  /** Whether the response came to its end. */
  get isFinished(): boolean {
    if (this.#finishReason === undefined) return false;
    const { unified, raw } = this.#finishReason;
    if (unified === 'interrupted') return false; // a provider's word for a stream that ended before its end
    // Older packages have no such word, and end a call that had only begun. They tell neither why the response ended nor what it cost.
    const tellsNothing = unified === 'other' && (raw === undefined || raw === 'unknown');
    if (!tellsNothing || !this.#calls.some(({ inputText }) => inputText === '')) return true;
    return usageOf(this.#usage).totalTokens > 0;
  }

  /** Whether the provider finished with an error and gave nothing. */
  get gaveUp(): boolean {
    if (this.#finishReason?.unified !== 'error') return false;
    return this.#blocks.every(block => {
      if (block.kind === 'text' || block.kind === 'reasoning') return block.text === '';
      return block.kind === 'part' && !isAnswer(block.part);
    });
  }

  /** Takes the next part of a stream. */
  add(part: ModelStreamPart): void {
    requirePart(part);
    switch (part.type) {
      case 'text-delta': // the most frequent one comes first
      case 'reasoning-delta': {
        const block = this.#blockOf(part.type === 'text-delta' ? 'text' : 'reasoning', part.id);
        block.text += textOf(part.type, 'delta', part.delta);
        if (part.providerMetadata !== undefined) block.metadata = metadataOf(part.type, part.providerMetadata);
        break;
      }
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        break;
      case 'text-end':
      case 'reasoning-end':
        this.#end(part.type === 'text-end' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        break;
      case 'finish':
        this.finish(part.finishReason, part.usage);
        break;
      case 'error':
        this.error ??= { cause: part.error };
        break;
      case 'tool-call':
      case 'tool-result':
      case 'file':
      case 'reasoning-file':
      case 'custom':
        this.addWhole(part);
        break;
      default: // starts and deltas of arguments, metadata, sources, pings: nothing that goes into the history
        break;
    }
  }

  /** Takes a part that came whole. */
  addWhole(part: ModelContent): void {
    requirePart(part);
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        const { type, text, providerMetadata } = part;
        const metadata = metadataOf(type, providerMetadata);
        this.#blocks.push({ kind: type, text: textOf(type, 'text', text), metadata, sealed: true });
        break;
      }
      case 'tool-call':
        if (part.providerExecuted === true) this.#providerCall(part);
        else this.#call(part);
        break;
      case 'tool-result':
        if (part.preliminary !== true) this.#part(providerResultOf(part));
        break;
      case 'file':
      case 'reasoning-file':
        this.#part(fileOf(part));
        break;
      case 'custom':
        this.#part(markOf(part));
        break;
      case 'source':
      case 'tool-approval-request':
        break;
    }
  }

  /** The response came to its end. */
  finish(finishReason: FinishReason, usage: ModelUsage | undefined): void {
    this.#finishReason = finishReasonOf(finishReason);
    this.#usage = usage;
  }

  /** The response as it is. `isTaken` says which call ids the history holds already. */
  build(isTaken: (callId: string) => boolean): ModelResponse {
    // A call that is alone in its response has nobody to share its id with.
    const ids = this.#calls.length + this.#providerIds.length > 1 ? new Set(this.#providerIds) : undefined;
    const calls = this.#calls.map(({ id, toolName, inputText }): RequestedCall => {
      const callId = isCallId(id) && ids?.has(id) !== true && !isTaken(id) ? id : freshCallId();
      ids?.add(callId);
      return { callId, toolName, inputText, input: deepFreeze(parsedObject(inputText)) };
    });
    const content = this.#blocks.filter(isKept).map((block): AssistantContent => {
      if (block.kind === 'part') return block.part;
      if (block.kind !== 'call') return textPart(block);
      const { callId, toolName, input } = calls[block.place]!;
      const { metadata } = this.#calls[block.place]!;
      return { type: 'tool-call', toolCallId: callId, toolName, input, ...options(metadata) };
    });
    const text = this.#text();
    return {
      message: frozenMessage(content),
      calls,
      text,
      finishReason: this.#finishReason ?? finishReasonOf(undefined),
      usage: usageOf(this.#usage),
      isEmpty: calls.length === 0 && text === '' && saysNothing(content),
    };
  }

  /** What may be kept of a response that broke off: text and sealed reasoning, never a call; marked. `undefined` if there is no text. */
  safePrefix(incomplete: Incomplete): AssistantMessage | undefined {
    if (this.#text().trim() === '') return undefined;
    const content: AssistantContent[] = [];
    for (const block of this.#blocks) {
      if (block.kind === 'text' && block.text !== '') content.push(textPart(block));
      if (block.kind === 'reasoning' && block.sealed) content.push(textPart(block));
    }
    return frozenMessage(content, incomplete);
  }

  /** The text so far. */
  text(): string {
    return this.#text();
  }

  /** The usage so far; none before the end. */
  usage(): Usage {
    return usageOf(this.#usage);
  }

  #text(): string {
    let text = '';
    for (const block of this.#blocks) if (block.kind === 'text') text += block.text;
    return wellFormed(text);
  }

  /** The block that a delta is for; one that was never started begins with it. */
  #blockOf(kind: 'text' | 'reasoning', id: unknown): OpenBlock {
    const last = this.#growing;
    if (last !== undefined && last.id === id && last.kind === kind && !last.sealed) return last;
    const open = this.#open?.[kind].get(id);
    if (open === undefined) return this.#start(kind, id, undefined);
    this.#growing = open;
    return open;
  }

  #start(kind: 'text' | 'reasoning', id: unknown, metadata: Metadata): OpenBlock {
    const block: OpenBlock = { kind, id, text: '', metadata: metadataOf(`${kind}-start`, metadata), sealed: false };
    this.#open ??= { text: new Map(), reasoning: new Map() }; // a response that comes whole has none
    this.#open[kind].set(id, block);
    this.#growing = block;
    this.#blocks.push(block);
    return block;
  }

  #end(kind: 'text' | 'reasoning', id: unknown, metadata: Metadata): void {
    const block = this.#open?.[kind].get(id);
    if (block === undefined) return;
    block.sealed = true;
    if (metadata !== undefined) block.metadata = metadataOf(`${kind}-end`, metadata);
    this.#open?.[kind].delete(id);
  }

  #call({ toolCallId, toolName, input, providerMetadata }: ToolCall): void {
    const isNamed = typeof toolName === 'string' && toolName !== '';
    this.#blocks.push({ kind: 'call', place: this.#calls.length });
    this.#calls.push({
      id: toolCallId,
      toolName: isNamed ? wellFormed(toolName) : UNNAMED,
      // There may be a tool of that name, and a call that names none must not run it.
      inputText: isNamed ? inputText(input) : 'no tool is named',
      metadata: metadataOf('tool-call', providerMetadata),
    });
  }

  #providerCall({ type, toolCallId, toolName, input, providerMetadata }: ToolCall): void {
    const id = nameOf(type, 'toolCallId', toolCallId);
    this.#providerIds.push(id);
    this.#part({
      ...{ type, toolCallId: id, toolName: nameOf(type, 'toolName', toolName) },
      input: deepFreeze(parsedObject(inputText(input))),
      providerExecuted: true,
      ...options(metadataOf(type, providerMetadata)),
    });
  }

  #part(part: AssistantContent): void {
    this.#blocks.push({ kind: 'part', part });
  }
}

/** Whether a block says anything that goes into the history. */
function isKept(block: Block): boolean {
  return block.kind === 'call' || block.kind === 'part' || block.text !== '' || block.metadata !== undefined;
}

/** What a call without a name is called by: providers refuse a history with none. */
const UNNAMED = 'unnamed';

/** Whether a part says something by itself. A provider's own marks (`custom`) and reasoning do not; text is looked at apart. */
function isAnswer(part: AssistantContent): boolean {
  return part.type !== 'text' && part.type !== 'reasoning' && part.type !== 'custom';
}

/** Whether there is nothing that could be an answer. A call of the provider's own that has no result waits for something that nobody gives it. */
export function saysNothing(content: readonly AssistantContent[]): boolean {
  const results = new Set(content.flatMap(part => (part.type === 'tool-result' ? [part.toolCallId] : [])));
  return content.every(part => !isAnswer(part) || (part.type === 'tool-call' && !results.has(part.toolCallId)));
}

/**
 * The arguments as text, for a provider that has parsed them against the contract: they must not become none. What JSON cannot say
 * becomes a text that is refused.
 */
function inputText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (input === undefined) return '';
  try {
    return JSON.stringify(copyJson(input));
  } catch {
    return 'unreadable';
  }
}

/** Whether a provider's id of a call can stand in a history. */
function isCallId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.isWellFormed();
}

/** The escape of half a surrogate pair. */
const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;

/** The arguments as an object, or `{}`: what a history holds of arguments that are none, since providers refuse anything else. */
function parsedObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject || isTooDeep(value, text)) return {};
    // Providers refuse a history that holds half of a surrogate pair.
    return text.isWellFormed() && !ESCAPED_SURROGATE.test(text) ? value : copyJson(value);
  } catch {
    return {};
  }
}

/** Whether the history holds `{}` as the arguments of a call. */
export function hasNoArguments({ input }: Pick<RequestedCall, 'input'>): boolean {
  for (const _name in input as object) return false;
  return true;
}

/** The deepest that arguments may be nested: results may be no deeper, and what copies them must not run out of stack. */
export const DEEPEST_ARGUMENTS = 500;

/** Whether a value parsed from this text is nested deeper than arguments may be. Each level takes two characters at least. */
export function isTooDeep(value: unknown, text: string): boolean {
  if (text.length <= 2 * DEEPEST_ARGUMENTS) return false;
  return isDeeperThan(value, DEEPEST_ARGUMENTS);
}

/** Letters and digits only, 37 of them: all providers take it as a call id. */
function freshCallId(): string {
  return `call_${newId().replaceAll('-', '')}`;
}

function textPart(block: OpenBlock): AssistantContent {
  // Signed reasoning must go back exactly as it came.
  const text = block.kind === 'text' || block.metadata === undefined ? wellFormed(block.text) : block.text;
  return { type: block.kind, text, ...options(block.metadata) };
}

function frozenMessage(content: AssistantContent[], incomplete?: Incomplete): AssistantMessage {
  for (const part of content) freezePart(part);
  const message: AssistantMessage = { role: 'assistant', content };
  Object.freeze(content);
  if (incomplete !== undefined) message.providerOptions = deepFreeze({ looprig: { incomplete } });
  return Object.freeze(message);
}

/** The part and its metadata; a call's input is frozen already, and file bytes cannot be. */
function freezePart(part: AssistantContent): void {
  if (part.providerOptions !== undefined) deepFreeze(part.providerOptions);
  if (part.type === 'tool-result') deepFreeze(part.output);
  Object.freeze(part);
}
