/** Streams in which a model thinks and answers, as each family of providers sends them. */
import type { Recording } from 'looprig/testing';

/** What the model thinks and says, in the pieces in which it comes. */
export const THOUGHT: readonly [string, string] = ['They ask for ', 'the weather.'];
export const ANSWER: readonly [string, string] = ['It is ', 'sunny.'];

/** The families, and the kind of recording of each. */
const FAMILIES = {
  anthropic: { provider: 'anthropic', api: 'anthropic-messages', stream: anthropic },
  openai: { provider: 'openai', api: 'openai-responses', stream: openai },
  google: { provider: 'google', api: 'gemini-generate-content', stream: google },
  compatible: { provider: 'openai-compatible', api: 'openai-chat', stream: compatible },
} as const;

export type Family = keyof typeof FAMILIES;

export const familyNames: readonly Family[] = Object.keys(FAMILIES) as Family[];

/** A recording that gives the same response `times` times. */
export function thinkingRecording(family: Family, times = 1): Recording {
  const { provider, api, stream } = FAMILIES[family];
  const response = { status: 200, headers: { 'content-type': 'text/event-stream' }, sse: stream().map(line).join('') };
  const exchanges = Array.from({ length: times }, () => ({ request: null, response }));
  return { name: `thinking-${family}`, provider, api, model: 'thinker', exchanges };
}

interface Sent {
  readonly event?: string;
  readonly data: object | string;
}

function line({ event, data }: Sent): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`;
}

/** Events whose name stands in the data too. */
function named(type: string, data: object): Sent {
  return { event: type, data: { type, ...data } };
}

function anthropic(): Sent[] {
  const block = (index: number, start: object, deltas: readonly object[]): Sent[] => [
    named('content_block_start', { index, content_block: start }),
    ...deltas.map(delta => named('content_block_delta', { index, delta })),
    named('content_block_stop', { index }),
  ];
  const usage = { input_tokens: 60, cache_read_input_tokens: 40, output_tokens: 1 };
  const message = { id: 'm1', type: 'message', role: 'assistant', model: 'thinker', content: [], stop_reason: null };
  return [
    named('message_start', { message: { ...message, stop_sequence: null, usage } }),
    ...block(0, { type: 'thinking', thinking: '', signature: '' }, [
      ...THOUGHT.map(thinking => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'c2lnbmVk' },
    ]),
    ...block(
      1,
      { type: 'text', text: '' },
      ANSWER.map(text => ({ type: 'text_delta', text })),
    ),
    named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 20 } }),
    named('message_stop', {}),
  ];
}

function openai(): Sent[] {
  const response = { id: 'r1', object: 'response', created_at: 0, model: 'thinker', incomplete_details: null };
  const inReasoning = { item_id: 'rs1', output_index: 0, summary_index: 0 };
  const inText = { item_id: 'm1', output_index: 1, content_index: 0 };
  const reasoning = { type: 'reasoning', id: 'rs1', summary: [] };
  const message = { type: 'message', id: 'm1', role: 'assistant', content: [] };
  return [
    named('response.created', { response }),
    named('response.output_item.added', { output_index: 0, item: reasoning }),
    named('response.reasoning_summary_part.added', { ...inReasoning, part: { type: 'summary_text', text: '' } }),
    ...THOUGHT.map(delta => named('response.reasoning_summary_text.delta', { ...inReasoning, delta })),
    named('response.reasoning_summary_part.done', {
      ...inReasoning,
      part: { type: 'summary_text', text: THOUGHT.join('') },
    }),
    named('response.output_item.done', { output_index: 0, item: reasoning }),
    named('response.output_item.added', { output_index: 1, item: message }),
    ...ANSWER.map(delta => named('response.output_text.delta', { ...inText, delta })),
    named('response.output_item.done', { output_index: 1, item: message }),
    named('response.completed', {
      response: {
        ...response,
        usage: {
          ...{ input_tokens: 100, input_tokens_details: { cached_tokens: 40 } },
          ...{ output_tokens: 20, output_tokens_details: { reasoning_tokens: 12 } },
        },
      },
    }),
  ];
}

function google(): Sent[] {
  const chunk = (parts: readonly object[], more: object = {}): Sent => ({
    data: {
      candidates: [{ content: { role: 'model', parts }, index: 0, ...more }],
      usageMetadata: {
        ...{ promptTokenCount: 100, cachedContentTokenCount: 40 },
        ...{ candidatesTokenCount: 8, thoughtsTokenCount: 12, totalTokenCount: 120 },
      },
      ...{ modelVersion: 'thinker', responseId: 'r1' },
    },
  });
  return [
    ...THOUGHT.map(text => chunk([{ text, thought: true }])),
    ...ANSWER.map((text, index) => chunk([{ text }], index === ANSWER.length - 1 ? { finishReason: 'STOP' } : {})),
  ];
}

function compatible(): Sent[] {
  const chunk = (choice: object, usage?: object): Sent => ({
    data: {
      ...{ id: 'c1', object: 'chat.completion.chunk', created: 0, model: 'thinker' },
      choices: [{ index: 0, finish_reason: null, ...choice }],
      ...(usage !== undefined && { usage }),
    },
  });
  const usage = {
    ...{ prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 40 } },
    ...{ completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 12 }, total_tokens: 120 },
  };
  return [
    ...THOUGHT.map(reasoning_content => chunk({ delta: { role: 'assistant', reasoning_content } })),
    ...ANSWER.map(content => chunk({ delta: { content } })),
    chunk({ delta: {}, finish_reason: 'stop' }, usage),
    { data: '[DONE]' },
  ];
}
