/**
 * What a provider's parts hold, read as the untrusted data that they are. What is missing counts as nothing; what is of another kind than
 * the contract says, and would have to go into the history, throws a `TypeError` with one clear sentence: the attempt fails, and nothing is made up.
 */
import { copyContent } from '../model/copy.ts';
import type { AssistantContent, FinishReason, JSONValue, ModelContent } from '../model/model.ts';
import { isList, show } from '../show.ts';
import { wellFormed } from './cut.ts';
import { messageOf } from './result.ts';

/** Metadata of one part, by provider. */
export type Metadata = Record<string, Record<string, JSONValue | undefined>> | undefined;

type FilePart = Extract<ModelContent, { type: 'file' | 'reasoning-file' }>;

/** Throws unless a part is an object, which all parts are. */
export function requirePart(part: unknown): void {
  if (typeof part !== 'object' || part === null) {
    throw new TypeError(`the provider sent ${show(part)} where a part of a response belongs`);
  }
}

/** A text of a part: none where it is missing. */
export function textOf(type: string, field: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  throw malformed(type, field, value, 'a text');
}

/** A text that a part cannot do without. */
export function nameOf(type: string, field: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return wellFormed(value);
  throw malformed(type, field, value, 'a text');
}

/** A copy of a part's metadata, made when the part is taken: nobody else may change it. */
export function metadataOf(type: string, value: unknown): Metadata {
  if (value === undefined || value === null) return undefined;
  const copied = ownCopy(type, 'providerMetadata', value);
  if (!isRecord(copied)) throw malformed(type, 'providerMetadata', value, 'an object');
  for (const [provider, one] of Object.entries(copied)) {
    if (one === null) Reflect.deleteProperty(copied, provider);
    else if (!isRecord(one)) throw malformed(type, 'providerMetadata', one, `an object for ${show(provider)}`);
  }
  return copied as Metadata;
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !isList(value) && !(value instanceof URL);
}

/** Metadata as a message has it. */
export function options(metadata: Metadata): { providerOptions?: NonNullable<Metadata> } {
  return metadata === undefined ? NO_OPTIONS : { providerOptions: metadata };
}

const NO_OPTIONS = Object.freeze({});

/** A file that the model made. Bytes become base64 text. */
export function fileOf({ type, mediaType, data, providerMetadata }: FilePart): AssistantContent {
  const media = nameOf(type, 'mediaType', mediaType);
  return { type, data: fileData(type, data), mediaType: media, ...options(metadataOf(type, providerMetadata)) };
}

function fileData(type: string, data: unknown): FilePart['data'] {
  const copied = ownCopy(type, 'data', data);
  const kind: unknown = Object(copied).type;
  if (kind === 'data') return { type: kind, data: textOf(type, 'data', Object(copied).data) };
  if (kind !== 'url') throw malformed(type, 'data', data, 'data or an address');
  const { url, originalUrl } = Object(copied) as { url: unknown; originalUrl: unknown };
  const address = url instanceof URL ? url : new URL(nameOf(type, 'url', url));
  return { type: kind, url: address, ...(typeof originalUrl === 'string' ? { originalUrl } : {}) };
}

/** A mark of the provider's own. */
export function markOf({ kind, providerMetadata }: Extract<ModelContent, { type: 'custom' }>): AssistantContent {
  const name = nameOf('custom', 'kind', kind) as typeof kind;
  return { type: 'custom', kind: name, ...options(metadataOf('custom', providerMetadata)) };
}

/** What a tool that the provider ran itself gave. */
export function providerResultOf(part: Extract<ModelContent, { type: 'tool-result' }>): AssistantContent {
  const { type, toolCallId, toolName, result, isError, providerMetadata } = part;
  const value = (ownCopy(type, 'result', result) ?? null) as JSONValue;
  return {
    type,
    toolCallId: nameOf(type, 'toolCallId', toolCallId),
    toolName: nameOf(type, 'toolName', toolName),
    output: { type: isError === true ? 'error-json' : 'json', value },
    ...options(metadataOf(type, providerMetadata)),
  };
}

const FINISHES: ReadonlySet<unknown> = new Set<FinishReason['unified']>([
  ...(['stop', 'length', 'content-filter', 'tool-calls', 'error', 'interrupted', 'other'] as const),
]);

/** Why the response ended, in words of the contract; `other` for any other word. */
export function finishReasonOf(reason: unknown): FinishReason {
  // A provider that gives the bare word means it.
  const { unified, raw } = typeof reason === 'string' ? { unified: reason, raw: undefined } : Object(reason);
  return Object.freeze({
    unified: FINISHES.has(unified) ? (unified as FinishReason['unified']) : 'other',
    raw: typeof raw === 'string' ? wellFormed(raw) : undefined,
  });
}

/** A copy that nobody else holds. */
function ownCopy(type: string, field: string, value: unknown): unknown {
  try {
    return copyContent(value);
  } catch (error) {
    const reason = messageOf(error);
    throw new TypeError(`the provider sent a part of type "${type}" whose ${field} cannot be kept: ${reason}`);
  }
}

function malformed(type: string, field: string, value: unknown, expected: string): TypeError {
  return new TypeError(`the provider sent a part of type "${type}" whose ${field} is ${show(value)}, not ${expected}`);
}
