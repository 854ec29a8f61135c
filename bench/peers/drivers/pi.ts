/** pi-agent-core: `Agent`, one a conversation. It always streams from the model; deltas come to a listener. */
import { Agent, type AgentMessage, type StreamFn } from '@earendil-works/pi-agent-core';
import { type AssistantMessage, createAssistantMessageEventStream, type Model } from '@earendil-works/pi-ai';
import { z } from 'zod';
import { answerOf, callsOf, DESCRIPTION, type Driver, type Job } from '../driver.ts';

const model: Model<'openai-completions'> = {
  ...{ id: 'quick', name: 'quick', api: 'openai-completions', provider: 'bench', baseUrl: 'http://localhost' },
  ...{ reasoning: false, input: ['text'], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
  ...{ contextWindow: 1e9, maxTokens: 1e9 },
};
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost };

function message(content: AssistantMessage['content'], stopReason: 'stop' | 'toolUse' | 'aborted'): AssistantMessage {
  const from = { api: model.api, provider: model.provider, model: model.id };
  return { role: 'assistant', content, ...from, usage, stopReason, timestamp: Date.now() };
}

/** Responses that the transcript has, whatever the library adds to it. */
function stepOf(messages: readonly { readonly role: string }[], width: number): number {
  const first = messages.findIndex(({ role }) => role === 'user');
  return (messages.length - first - 1) / (1 + width);
}

const streamOf =
  (job: Job): StreamFn =>
  (_model, { messages }, options) => {
    const stream = createAssistantMessageEventStream();
    if (options?.signal?.aborted) {
      stream.push({ type: 'error', reason: 'aborted', error: message([], 'aborted') });
      return stream;
    }
    const calls = callsOf(job, stepOf(messages, job.width));
    const content: AssistantMessage['content'] = [];
    const done = message(content, calls === undefined ? 'stop' : 'toolUse');
    stream.push({ type: 'start', partial: done });
    if (calls === undefined) {
      const text = { type: 'text' as const, text: '' };
      content.push(text);
      stream.push({ type: 'text_start', contentIndex: 0, partial: done });
      for (const delta of answerOf(job)) {
        text.text += delta;
        stream.push({ type: 'text_delta', contentIndex: 0, delta, partial: done });
      }
      stream.push({ type: 'text_end', contentIndex: 0, content: text.text, partial: done });
    }
    for (const [contentIndex, { id, n }] of (calls ?? []).entries()) {
      const toolCall = { type: 'toolCall' as const, id, name: 'add', arguments: { n } };
      content.push(toolCall);
      stream.push({ type: 'toolcall_start', contentIndex, partial: done });
      stream.push({ type: 'toolcall_delta', contentIndex, delta: `{"n":${n}}`, partial: done });
      stream.push({ type: 'toolcall_end', contentIndex, toolCall, partial: done });
    }
    stream.push({ type: 'done', reason: calls === undefined ? 'stop' : 'toolUse', message: done });
    return stream;
  };

function idsOf(messages: readonly AgentMessage[]) {
  return {
    calls: messages.flatMap(({ role, content }) =>
      role === 'assistant' ? content.flatMap(part => (part.type === 'toolCall' ? [part.id] : [])) : [],
    ),
    results: messages.flatMap(entry => (entry.role === 'toolResult' ? [entry.toolCallId] : [])),
  };
}

export const driver: Driver = {
  cannot: {
    durable: 'the library keeps nothing',
    crash: 'the library keeps nothing',
    limit: 'the library has no limit of steps',
  },
  define(job) {
    const add = {
      ...{ name: 'add', label: 'add', description: DESCRIPTION },
      parameters: z.toJSONSchema(z.object({ n: z.number() })),
      execute: async (_id: string, { n }: { n: number }) => ({
        content: [{ type: 'text' as const, text: await job.tool(n) }],
        details: undefined,
      }),
    };
    const streamFn = streamOf(job);
    return {
      open: () => {
        const agent = new Agent({ streamFn, initialState: { model, tools: [add as never] } });
        let deltas = 0;
        if (job.stream) {
          agent.subscribe(event => {
            if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') deltas += 1;
          });
        }
        job.signal?.addEventListener('abort', () => agent.abort());
        return async () => {
          await agent.prompt('go');
          const last = agent.state.messages.at(-1);
          const ended = last?.role === 'assistant' ? `returned, ${last.stopReason}` : 'returned';
          return { ended, deltas, history: () => idsOf(agent.state.messages) };
        };
      },
    };
  },
};
