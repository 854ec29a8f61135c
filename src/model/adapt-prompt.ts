/** Requests on their way to a model of an older specification: what it does not know is said in words that it does, or left out. */

import type {
  LanguageModelV2CallOptions,
  LanguageModelV2ToolResultOutput,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV4FilePart,
} from '@ai-sdk/provider';
import { deepFreeze } from '../freeze.ts';
import type { Message, ModelRequest, ToolResultOutput, ToolResultPart } from './model.ts';

/** The model that a request is for. */
export interface OlderModel {
  readonly specificationVersion: 'v3' | 'v2';
  readonly provider: string;
}

type MessagePart = Exclude<Message['content'], string>[number];
type FileData = LanguageModelV4FilePart['data'];
type OutputContent = Extract<ToolResultOutput, { type: 'content' }>['value'][number];
type OlderOutput = LanguageModelV3ToolResultOutput | LanguageModelV2ToolResultOutput;
type OlderContent<Output extends OlderOutput> = Extract<Output, { type: 'content' }>['value'][number];

/**
 * Converts requests for one model. A message is converted once and known again by identity, and one that needs no change is
 * handed on as it is, so that a request costs no more for the history before it: a message must not change after its first use.
 */
export function createRequestConverter(
  model: OlderModel,
): (request: ModelRequest) => LanguageModelV3CallOptions & LanguageModelV2CallOptions {
  const converted = new WeakMap<Message, Message | 'left out'>();
  const convert = (message: Message): Message | 'left out' => {
    const known = converted.get(message);
    if (known !== undefined) return known;
    const older = deepFreeze(convertMessage(message, model) ?? 'left out'); // it is shown again with every later request
    converted.set(message, older);
    return older;
  };
  return ({ reasoning: _unknownToOlderModels, ...request }) => {
    const prompt = request.prompt.map(convert).filter(message => message !== 'left out');
    const tools = request.tools && deepFreeze(convertTools(request.tools, model));
    // The conversions below see to the differences; what is left to the eye of the compiler are optional fields more or less.
    return { ...request, prompt, ...(tools && { tools }) } as unknown as ReturnType<
      ReturnType<typeof createRequestConverter>
    >;
  };
}

/** The message for an older model, or `undefined` where nothing is left of it. */
function convertMessage(message: Message, model: OlderModel): Message | undefined {
  if (message.role === 'system') return message;
  let changed = false;
  const content: unknown[] = [];
  for (const part of message.content) {
    const older = convertPart(part, model);
    if (older !== part) changed = true;
    if (older !== undefined) content.push(older);
  }
  if (!changed) return message;
  return content.length === 0 ? undefined : ({ ...message, content } as Message);
}

function convertPart(part: MessagePart, model: OlderModel): object | undefined {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'tool-call':
      return part;
    case 'custom':
    case 'reasoning-file':
      return undefined;
    case 'tool-approval-response':
      return model.specificationVersion === 'v3' ? part : undefined;
    case 'file':
      return { ...part, ...convertFile(part, model) };
    case 'tool-result':
      return convertResult(part, model);
  }
}

function convertFile(
  file: LanguageModelV4FilePart,
  model: OlderModel,
): Pick<LanguageModelV3FilePart, 'data' | 'mediaType'> {
  return { data: convertFileData(file.data, model), mediaType: fullMediaType(file.mediaType) };
}

function convertFileData(data: FileData, model: OlderModel): LanguageModelV3FilePart['data'] {
  switch (data.type) {
    case 'data':
      return data.data;
    case 'url':
      return asURL(data.url);
    case 'text':
      return new TextEncoder().encode(data.text);
    case 'reference':
      return convertReference(data.reference, model);
  }
}

/** Older models take a provider's file id as a string, and its address as a URL, in the place of the data. */
function convertReference(reference: Readonly<Record<string, string>>, { provider }: OlderModel): string | URL {
  const [family = provider] = provider.split('.');
  const id = reference[provider] ?? reference[family];
  if (id === undefined) {
    throw new TypeError(
      `a file in the history has no id for provider "${family}", only for ${Object.keys(reference).join(', ') || 'none'}`,
    );
  }
  return /^https?:\/\//.test(id) ? new URL(id) : id;
}

/** The newest specification also takes the first half of a media type; the older ones want a wildcard after it. */
function fullMediaType(mediaType: string): string {
  return mediaType.includes('/') ? mediaType : `${mediaType}/*`;
}

/** A history that was kept as JSON holds addresses as text. */
function asURL(url: URL | string): URL {
  return typeof url === 'string' ? new URL(url) : url;
}

function convertResult(part: ToolResultPart, { specificationVersion }: OlderModel): object {
  const output = specificationVersion === 'v3' ? outputForV3(part.output) : outputForV2(part.output);
  return output === part.output ? part : { ...part, output };
}

function outputForV3(output: ToolResultOutput): LanguageModelV3ToolResultOutput {
  if (output.type !== 'content') return output;
  return { ...output, value: output.value.map(contentForV3) };
}

function contentForV3(content: OutputContent): OlderContent<LanguageModelV3ToolResultOutput> {
  if (content.type !== 'file') return content;
  const { data, mediaType, filename } = content;
  const options = content.providerOptions && { providerOptions: content.providerOptions };
  const isImage = mediaType.startsWith('image');
  switch (data.type) {
    case 'text':
      return { type: 'text', text: data.text, ...options };
    case 'url':
      return { type: isImage ? 'image-url' : 'file-url', url: asURL(data.url).href, ...options };
    case 'reference':
      return { type: isImage ? 'image-file-id' : 'file-id', fileId: data.reference, ...options };
    case 'data': {
      const media = { data: asBase64(data.data), mediaType: fullMediaType(mediaType), ...options };
      if (isImage) return { type: 'image-data', ...media };
      return { type: 'file-data', ...media, ...(filename !== undefined && { filename }) };
    }
  }
}

function outputForV2(output: ToolResultOutput): LanguageModelV2ToolResultOutput {
  switch (output.type) {
    case 'execution-denied':
      return { type: 'error-text', value: `permission denied${output.reason ? `: ${output.reason}` : ''}` };
    case 'content':
      return { type: 'content', value: output.value.flatMap(contentForV2) };
    default:
      return output;
  }
}

/** This version carries text and data only: a file that is elsewhere is told in words, so that the model knows that it is there. */
function contentForV2(content: OutputContent): OlderContent<LanguageModelV2ToolResultOutput>[] {
  if (content.type === 'custom') return [];
  if (content.type === 'text') return [{ type: 'text', text: content.text }];
  const { data, mediaType, filename } = content;
  const name = filename === undefined ? 'a file' : `the file "${filename}"`;
  switch (data.type) {
    case 'text':
      return [{ type: 'text', text: data.text }];
    case 'url':
      return [{ type: 'text', text: `${name} (${mediaType}) at ${asURL(data.url).href}` }];
    case 'reference':
      return [{ type: 'text', text: `${name} (${mediaType}), kept by the provider and not shown here` }];
    case 'data':
      return [{ type: 'media', data: asBase64(data.data), mediaType: fullMediaType(mediaType) }];
  }
}

function asBase64(data: Uint8Array | string): string {
  if (typeof data === 'string') return data;
  let binary = '';
  for (const byte of data) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Version 2 has another word for the tools that a provider defines. */
function convertTools(tools: NonNullable<ModelRequest['tools']>, { specificationVersion }: OlderModel): unknown[] {
  if (specificationVersion === 'v3') return tools;
  return tools.map(tool => (tool.type === 'provider' ? { ...tool, type: 'provider-defined' } : tool));
}
