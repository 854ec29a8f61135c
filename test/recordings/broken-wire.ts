/** What each wire format says for an answer and for an error, and the real package that reads it. */
import type { LanguageModel } from 'looprig';
import type { RecordedResponse } from 'looprig/testing';

/** The key that every package is given: nothing that a turn says may hold it. */
export const KEY = 'sk-a-key-that-nobody-may-see';

/** A wire format, and the package that speaks it. */
export interface Wire {
  readonly name: string;
  readonly model: (url: string) => Promise<LanguageModel>;
  /** The events of a streamed answer: what comes before its text, one piece of text, and what comes after it. */
  readonly start: string;
  readonly piece: (text: string) => string;
  readonly end: string;
  /** An answer that is not streamed. */
  readonly body: (text: string) => unknown;
  /** The body of an error response. */
  readonly error: (message: string) => unknown;
}

const settings = (url: string, version = 'v1') => ({ baseURL: `${url}/${version}`, apiKey: KEY });
const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: { readonly type: string }): string => `event: ${data.type}\n${event(data)}`;
const counts = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const chunk = (choice: object): object => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, finish_reason: null, ...choice }],
});

const chat = {
  start: event(chunk({ delta: { role: 'assistant', content: '' } })),
  piece: (content: string) => event(chunk({ delta: { content } })),
  end: `${event({ ...chunk({ delta: {}, finish_reason: 'stop' }), usage: counts })}data: [DONE]\n\n`,
  body: (content: string) => ({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage: counts },
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  }),
  error: (message: string) => ({ error: { message, type: 'some_error', param: null, code: null } }),
};

const responded = { id: 'r', object: 'response', created_at: 1, model: 'm', incomplete_details: null, error: null };
const item = (text: string) => ({
  ...{ type: 'message', id: 'i', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
});
const used = { input_tokens: 7, output_tokens: 3, total_tokens: 10 };
const at = { item_id: 'i', output_index: 0, content_index: 0 };

const gemini = (text: string, more: object = {}): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
});

/** One for each format, and for each package. */
export const WIRES: readonly Wire[] = [
  {
    name: 'anthropic',
    model: async url => (await import('@ai-sdk/anthropic')).createAnthropic(settings(url))('m'),
    start:
      named({
        type: 'message_start',
        ...{
          message: {
            id: 'm',
            type: 'message',
            role: 'assistant',
            model: 'm',
            content: [],
            usage: { input_tokens: 7, output_tokens: 1 },
          },
        },
      }) + named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
    piece: text => named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
    end:
      named({ type: 'content_block_stop', ...{ index: 0 } }) +
      named({ type: 'message_delta', ...{ delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } } }) +
      named({ type: 'message_stop' }),
    body: text => ({
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', stop_sequence: null },
      content: [{ type: 'text', text }],
      usage: { input_tokens: 7, output_tokens: 3 },
    }),
    error: message => ({ type: 'error', error: { type: 'some_error', message } }),
  },
  {
    name: 'openai chat',
    model: async url => (await import('@ai-sdk/openai')).createOpenAI(settings(url)).chat('m'),
    ...chat,
  },
  {
    name: 'openai responses',
    model: async url => (await import('@ai-sdk/openai')).createOpenAI(settings(url)).responses('m'),
    start:
      named({ type: 'response.created', ...{ response: { ...responded, status: 'in_progress', output: [] } } }) +
      named({ type: 'response.output_item.added', ...{ output_index: 0, item: { ...item(''), content: [] } } }),
    piece: delta => named({ type: 'response.output_text.delta', ...at, ...{ delta } }),
    end:
      named({ type: 'response.output_item.done', ...{ output_index: 0, item: item('') } }) +
      named({
        type: 'response.completed',
        ...{ response: { ...responded, status: 'completed', output: [], usage: used } },
      }),
    body: text => ({ ...responded, status: 'completed', output: [item(text)], usage: used }),
    error: chat.error,
  },
  {
    name: 'google',
    model: async url => (await import('@ai-sdk/google')).createGoogle(settings(url, 'v1beta'))('m'),
    start: '',
    piece: text => event(gemini(text)),
    end: event(gemini('', { finishReason: 'STOP' })),
    body: text => gemini(text, { finishReason: 'STOP' }),
    error: message => ({ error: { code: 400, message, status: 'SOME_ERROR' } }),
  },
  {
    name: 'openai-compatible',
    model: async url =>
      (await import('@ai-sdk/openai-compatible'))
        .createOpenAICompatible({ name: 'any', ...settings(url) })
        .chatModel('m'),
    ...chat,
  },
];

/** The pieces of text as a streamed response; `rest` in the place of its end. */
export function streaming(wire: Wire, pieces: readonly string[], rest: string = wire.end): RecordedResponse {
  const sse = wire.start + pieces.map(wire.piece).join('') + rest;
  return { status: 200, headers: { 'content-type': 'text/event-stream' }, sse };
}

/** An answer as the request wants it. */
export function answering(wire: Wire, text: string, stream = true): RecordedResponse {
  if (stream) return streaming(wire, [text]);
  return { status: 200, headers: { 'content-type': 'application/json' }, body: wire.body(text) };
}
