/** Where the calls and the results of tools stand in what goes over the wire, for each of the formats that recordings have. */
import { type ToolContent, type ToolReturn, toolResult } from '../define/tool.ts';
import { eventsOf, parseJSON, type RecordedResponse } from './recording.ts';

/** A call that a response asks the client for. */
export interface WireCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly input: unknown;
}

/** A result that a request carries. Formats give it an id or a name, and some both. */
export interface WireResult {
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly value: ToolReturn;
}

/** How to read one format. */
export interface WireFormat {
  calls(response: RecordedResponse): readonly WireCall[];
  results(requestBody: unknown): readonly WireResult[];
}

const anthropicMessages: WireFormat = {
  calls({ sse, body }) {
    const blocks = sse === undefined ? list(at(body, 'content')) : anthropicBlocks(eventsOf(sse));
    return blocks
      .filter(block => at(block, 'type') === 'tool_use')
      .map(block => ({ id: text(at(block, 'id')), name: String(at(block, 'name')), input: at(block, 'input') }));
  },
  results: body =>
    list(at(body, 'messages'))
      .flatMap(message => list(at(message, 'content')))
      .filter(block => at(block, 'type') === 'tool_result')
      .map(block => ({
        id: text(at(block, 'tool_use_id')),
        name: undefined,
        value: contentValue(at(block, 'content'), at(block, 'is_error') === true),
      })),
};

/** The content blocks that a stream builds up, with the arguments of calls put together. */
function anthropicBlocks(events: readonly unknown[]): unknown[] {
  const blocks = new Map<unknown, { readonly block: object; input: string }>();
  for (const event of events) {
    const block = at(event, 'content_block');
    const piece = at(at(event, 'delta'), 'partial_json');
    const growing = blocks.get(at(event, 'index'));
    if (typeof block === 'object' && block !== null) blocks.set(at(event, 'index'), { block, input: '' });
    else if (growing !== undefined && typeof piece === 'string') growing.input += piece;
  }
  return [...blocks.values()].map(({ block, input }) => ({ ...block, input: argumentsOf(input) }));
}

const openaiChat: WireFormat = {
  calls({ sse, body }) {
    const calls = sse === undefined ? openaiMessageCalls(body) : openaiDeltaCalls(eventsOf(sse));
    return calls.map(({ id, name, input }) => ({ id, name, input: argumentsOf(input) }));
  },
  results: body =>
    list(at(body, 'messages'))
      .filter(message => at(message, 'role') === 'tool')
      .map(message => ({
        id: text(at(message, 'tool_call_id')),
        name: undefined,
        value: contentValue(at(message, 'content'), false),
      })),
};

interface GrowingCall {
  id: string | undefined;
  name: string;
  input: string;
}

function openaiMessageCalls(body: unknown): GrowingCall[] {
  return list(at(at(list(at(body, 'choices'))[0], 'message'), 'tool_calls')).map(call => ({
    id: text(at(call, 'id')),
    name: text(at(at(call, 'function'), 'name')) ?? '',
    input: text(at(at(call, 'function'), 'arguments')) ?? '',
  }));
}

/** Pieces of one call have one index. The name comes once from most providers, from some with every piece. */
function openaiDeltaCalls(events: readonly unknown[]): GrowingCall[] {
  const calls = new Map<unknown, GrowingCall>();
  for (const event of events) {
    const delta = at(list(at(event, 'choices'))[0], 'delta');
    for (const [place, piece] of list(at(delta, 'tool_calls')).entries()) {
      const index = at(piece, 'index') ?? place;
      const call = calls.get(index) ?? { id: undefined, name: '', input: '' };
      calls.set(index, call);
      call.id ??= text(at(piece, 'id'));
      call.name ||= text(at(at(piece, 'function'), 'name')) ?? '';
      call.input += text(at(at(piece, 'function'), 'arguments')) ?? '';
    }
  }
  return [...calls.values()];
}

const openaiResponses: WireFormat = {
  calls({ sse, body }) {
    const done = (event: unknown): unknown[] =>
      at(event, 'type') === 'response.output_item.done' ? [at(event, 'item')] : [];
    const items = sse === undefined ? list(at(body, 'output')) : eventsOf(sse).flatMap(done);
    return items.flatMap(item => {
      const type = at(item, 'type');
      if (type !== 'function_call' && type !== 'custom_tool_call') return [];
      const input = type === 'function_call' ? argumentsOf(text(at(item, 'arguments')) ?? '') : at(item, 'input');
      return [{ id: text(at(item, 'call_id')), name: String(at(item, 'name')), input }];
    });
  },
  results: body =>
    list(at(body, 'input'))
      .filter(item => ['function_call_output', 'custom_tool_call_output'].includes(String(at(item, 'type'))))
      .map(item => ({
        id: text(at(item, 'call_id')),
        name: undefined,
        value: contentValue(at(item, 'output'), false),
      })),
};

const geminiGenerateContent: WireFormat = {
  calls({ sse, body }) {
    const chunks = sse === undefined ? [body] : eventsOf(sse);
    return chunks
      .flatMap(chunk => list(at(at(list(at(chunk, 'candidates'))[0], 'content'), 'parts')))
      .map(part => at(part, 'functionCall'))
      .filter(call => call !== undefined)
      .map(call => ({ id: text(at(call, 'id')), name: String(at(call, 'name')), input: at(call, 'args') ?? {} }));
  },
  results: body =>
    list(at(body, 'contents'))
      .flatMap(content => list(at(content, 'parts')))
      .map(part => at(part, 'functionResponse'))
      .filter(response => response !== undefined)
      .map(response => ({
        id: text(at(response, 'id')),
        name: text(at(response, 'name')),
        value: at(response, 'response') as ToolReturn,
      })),
};

/** The formats by the name that recordings give them. */
const WIRE_FORMATS: ReadonlyMap<string, WireFormat> = new Map([
  ['anthropic-messages', anthropicMessages],
  ['openai-chat', openaiChat],
  ['openai-responses', openaiResponses],
  ['gemini-generate-content', geminiGenerateContent],
]);

/** The format of that name, or throws `TypeError`. */
export function wireFormat(api: string): WireFormat {
  const format = WIRE_FORMATS.get(api);
  if (format !== undefined) return format;
  throw new TypeError(`"api" of a recording must be one of ${[...WIRE_FORMATS.keys()].join(', ')}, not "${api}"`);
}

/** Arguments as they were meant: none are an empty object, and what is cut off stays text. */
function argumentsOf(json: string): unknown {
  return json === '' ? {} : (parseJSON(json) ?? json);
}

/** A result's content: text where it is all text, else its parts. */
function contentValue(content: unknown, isError: boolean): ToolReturn {
  const parts = Array.isArray(content) ? content.map(contentPart) : [textPart(text(content) ?? '')];
  if (isError) return toolResult(parts, { isError });
  const texts = parts.flatMap(part => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? texts.join('\n') : toolResult(parts);
}

function contentPart(part: unknown): ToolContent {
  const written = text(at(part, 'text'));
  if (written !== undefined) return textPart(written);
  const [data, mediaType] = [text(at(at(part, 'source'), 'data')), text(at(at(part, 'source'), 'media_type'))];
  if (data === undefined || mediaType === undefined) return { type: 'json', value: part };
  return { type: mediaType.startsWith('image/') ? 'image' : 'file', data, mediaType };
}

function textPart(written: string): ToolContent {
  return { type: 'text', text: written };
}

/** A field of what may be no object at all: recorded bodies come in all shapes. */
function at(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
