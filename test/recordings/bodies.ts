/**
 * What stands in the bodies of recorded responses: a reader that owes nothing to looprig or to a provider package, so that what those
 * make of a body can be compared with it.
 */
import type { Usage } from 'looprig';
import type { Recording } from 'looprig/testing';
import { at, list, text } from './json.ts';

type Response = Recording['exchanges'][number]['response'];

/** What one response says. */
export interface Said {
  readonly text: string;
  readonly usage: Usage;
  /** What has to go back unchanged with the next request: reasoning where the client keeps it, encrypted reasoning, signatures. */
  readonly seals: readonly string[];
  /** The names of the calls that the provider runs itself. */
  readonly serverCalls: readonly string[];
}

/** Reads one response. */
export function read({ api }: Recording, response: Response): Said {
  const format = FORMATS[api];
  if (format === undefined) throw new TypeError(`no reader for "${api}"`);
  return format(response.sse === undefined ? [response.body] : dataOf(response.sse));
}

/** The data of each event; every event of the recordings has it in one line. */
function dataOf(sse: string): unknown[] {
  const lines = [...sse.matchAll(/^data:[ \t]*(\{.*\})\r?$/gm)];
  return lines.map(([, json = '']) => JSON.parse(json));
}

/** One format: of the events of a stream, or of the one body. */
type Format = (events: readonly unknown[]) => Said;

const FORMATS: Readonly<Record<string, Format>> = {
  'anthropic-messages': anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'gemini-generate-content': gemini,
};

function anthropic(events: readonly unknown[]): Said {
  const starts = events.flatMap(event => [...list(at(event, 'content')), at(event, 'content_block')]);
  const usages = events.flatMap(event => [at(event, 'usage'), at(at(event, 'message'), 'usage')]);
  const pieces = [...starts, ...events.map(event => at(event, 'delta'))];
  const [input, written, cached] = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'].map(
    name => lastNumber(usages, name),
  );
  return {
    text: join(pieces, 'text'),
    usage: usage(sum(input, written, cached), lastNumber(usages, 'output_tokens'), cached ?? 0, 0),
    seals: [...sealsOf(pieces, 'thinking'), ...sealsOf(pieces, 'signature')],
    serverCalls: starts
      .filter(block => ['server_tool_use', 'mcp_tool_use'].includes(String(at(block, 'type'))))
      .map(block => String(at(block, 'name'))),
  };
}

function openaiChat(events: readonly unknown[]): Said {
  const messages = events.map(event => {
    const choice = list(at(event, 'choices'))[0];
    return at(choice, 'delta') ?? at(choice, 'message');
  });
  const usages = events.map(event => at(event, 'usage'));
  return {
    text: join(messages, 'content'),
    usage: usage(
      lastNumber(usages, 'prompt_tokens'),
      lastNumber(usages, 'completion_tokens'),
      lastNumber(details(usages, 'prompt_tokens_details'), 'cached_tokens'),
      lastNumber(details(usages, 'completion_tokens_details'), 'reasoning_tokens'),
    ),
    seals: [
      ...['reasoning_content', 'reasoning'].flatMap(name => sealsOf(messages, name)),
      ...sealsOf(details(messages, 'reasoning_details'), 'signature'),
    ],
    serverCalls: [],
  };
}

function openaiResponses(events: readonly unknown[]): Said {
  const whole = events.map(event => at(event, 'response') ?? event).at(-1); // the last event of a stream has the whole response
  const items = list(at(whole, 'output'));
  // Reasoning is encrypted anew each time it is told: what stands in the event that ends the item is what clients keep.
  const ended = events.flatMap(event => (at(event, 'type') === 'response.output_item.done' ? [at(event, 'item')] : []));
  const contents = items.flatMap(item => list(at(item, 'content')));
  const counts = at(whole, 'usage');
  return {
    text: contents.map(part => text(at(part, 'text')) ?? text(at(part, 'refusal')) ?? '').join(''),
    usage: usage(
      lastNumber([counts], 'input_tokens'),
      lastNumber([counts], 'output_tokens'),
      lastNumber([at(counts, 'input_tokens_details')], 'cached_tokens'),
      lastNumber([at(counts, 'output_tokens_details')], 'reasoning_tokens'),
    ),
    seals: (ended.length > 0 ? ended : items).flatMap(item => text(at(item, 'encrypted_content')) ?? []),
    serverCalls: items.flatMap(item => {
      const type = String(at(item, 'type'));
      return ['mcp_call', 'mcp_approval_request', 'tool_search_call'].includes(type) ? [type] : [];
    }),
  };
}

function gemini(events: readonly unknown[]): Said {
  const parts = events.flatMap(event => list(at(at(list(at(event, 'candidates'))[0], 'content'), 'parts')));
  const usages = events.map(event => at(event, 'usageMetadata'));
  const [prompt, tools, cached] = ['promptTokenCount', 'toolUsePromptTokenCount', 'cachedContentTokenCount'].map(name =>
    lastNumber(usages, name),
  );
  const thoughts = lastNumber(usages, 'thoughtsTokenCount');
  return {
    text: join(
      parts.filter(part => at(part, 'thought') !== true),
      'text',
    ),
    usage: usage(sum(prompt, tools), sum(lastNumber(usages, 'candidatesTokenCount'), thoughts), cached, thoughts),
    seals: parts.flatMap(part => text(at(part, 'thoughtSignature')) ?? []),
    serverCalls: parts.flatMap(part => {
      if (at(part, 'executableCode') !== undefined) return ['executableCode'];
      return at(part, 'toolCall') === undefined ? [] : [String(at(at(part, 'toolCall'), 'toolType'))];
    }),
  };
}

/** What stands in a field of each, itself or the list that it is. */
function details(values: readonly unknown[], name: string): readonly unknown[] {
  return values.flatMap(value => at(value, name) ?? []);
}

function join(pieces: readonly unknown[], name: string): string {
  return pieces.map(piece => text(at(piece, name)) ?? '').join('');
}

/** Seals that come piece by piece are one; an empty one is none. */
function sealsOf(pieces: readonly unknown[], name: string): string[] {
  const joined = join(pieces, name);
  return joined === '' ? [] : [joined];
}

/** Providers repeat their counts in later events: the last one told stands. */
function lastNumber(counts: readonly unknown[], name: string): number | undefined {
  const told = counts.map(each => at(each, name)).filter(value => typeof value === 'number');
  return told.at(-1);
}

function sum(...counts: readonly (number | undefined)[]): number {
  return counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

function usage(inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0): Usage {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cachedInputTokens, reasoningTokens };
}
