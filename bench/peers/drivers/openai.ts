/** @openai/agents: `run`, or `run` with `stream: true` and its stream read to the end. Tracing is off. */
import { Agent, type AgentInputItem, type Model, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { z } from 'zod';
import { answerOf, callsOf, DESCRIPTION, type Driver, type Job, nameOf } from '../driver.ts';

setTracingDisabled(true);

const counts = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function outputOf(job: Job, input: string | AgentInputItem[]) {
  const calls = callsOf(job, typeof input === 'string' ? 0 : (input.length - 1) / (2 * job.width));
  if (calls === undefined) {
    const content = [{ type: 'output_text' as const, text: answerOf(job).join('') }];
    return [{ id: 'm', type: 'message' as const, role: 'assistant' as const, status: 'completed' as const, content }];
  }
  return calls.map(({ id, n }) => ({
    ...{ type: 'function_call' as const, status: 'completed' as const },
    ...{ id, callId: id, name: 'add', arguments: `{"n":${n}}` },
  }));
}

const modelOf = (job: Job): Model => ({
  async getResponse({ input, signal }) {
    signal?.throwIfAborted();
    return { usage: new Usage(counts), output: outputOf(job, input), responseId: 'r' };
  },
  async *getStreamedResponse({ input, signal }) {
    signal?.throwIfAborted();
    const output = outputOf(job, input);
    yield { type: 'response_started' };
    if (output[0]?.type === 'message') {
      for (const delta of answerOf(job)) yield { type: 'output_text_delta', delta };
    }
    yield { type: 'response_done', response: { id: 'r', usage: counts, output } };
  },
});

function idsOf(history: readonly AgentInputItem[]) {
  const ids = (type: 'function_call' | 'function_call_result'): string[] =>
    history.flatMap(item => (item.type === type ? [item.callId] : []));
  return { calls: ids('function_call'), results: ids('function_call_result') };
}

export const driver: Driver = {
  cannot: { durable: 'sessions are kept by OpenAI, or in memory', crash: 'sessions are kept by OpenAI, or in memory' },
  define(job) {
    const add = tool({
      name: 'add',
      description: DESCRIPTION,
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => job.tool(n),
    });
    const agent = new Agent({ name: 'bench', model: modelOf(job), tools: [add] });
    const options = { maxTurns: job.limit ?? Number.MAX_SAFE_INTEGER, ...(job.signal && { signal: job.signal }) };
    const once = async () => {
      const { history } = await run(agent, 'go', options);
      return { ended: 'returned', history: () => idsOf(history) };
    };
    const streamed = async () => {
      let deltas = 0;
      const result = await run(agent, 'go', { ...options, stream: true });
      for await (const event of result) {
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') deltas += 1;
      }
      await result.completed;
      return { ended: 'returned', deltas, history: () => idsOf(result.history) };
    };
    const start = job.stream ? streamed : once;
    return {
      open: () => () =>
        start().catch(error => {
          const history = error?.state?.history as AgentInputItem[] | undefined;
          return { ended: nameOf(error), ...(Array.isArray(history) && { history: () => idsOf(history) }) };
        }),
    };
  },
};
