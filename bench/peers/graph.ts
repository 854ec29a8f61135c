/** How LangChain's agent and LangGraph's are run: both are graphs, and take the same calls. */
import type { BaseMessage } from '@langchain/core/messages';
import { idsOf, type openSaver } from './chat-model.ts';
import { type Agent, type Job, nameOf } from './driver.ts';

interface Graph {
  invoke(input: unknown, options: object): Promise<{ messages: BaseMessage[] }>;
  stream(input: unknown, options: object): Promise<AsyncIterable<unknown>>;
  getState?(options: object): Promise<{ values: { messages?: BaseMessage[] } }>;
}

export function agentOf(job: Job, graph: Graph, saver: Awaited<ReturnType<typeof openSaver>>): Agent {
  const open = () => {
    const thread = job.store?.session ?? crypto.randomUUID();
    const options = {
      // One step of an agent is two of its graph.
      recursionLimit: job.limit === undefined ? Number.MAX_SAFE_INTEGER : 2 * job.limit,
      ...(job.signal && { signal: job.signal }),
      ...(saver && { configurable: { thread_id: thread } }),
    };
    const go = { messages: [{ role: 'user', content: 'go' }] };
    const once = async () => {
      const known = saver && job.store?.session ? await graph.getState?.(options) : undefined;
      // `null` goes on from where the thread was left.
      const { messages } = await graph.invoke(known?.values.messages ? null : go, options);
      return { ended: 'returned', history: () => idsOf(messages) };
    };
    const streamed = async () => {
      let deltas = 0;
      for await (const part of await graph.stream(go, { ...options, streamMode: 'messages' })) {
        if (Array.isArray(part) && part[0]?.content) deltas += 1;
      }
      return { ended: 'returned', deltas };
    };
    const start = job.stream ? streamed : once;
    return () =>
      start().catch(async (error: unknown) => {
        const state = saver ? await graph.getState?.(options).catch(() => undefined) : undefined;
        const messages = state?.values.messages;
        return { ended: nameOf(error), ...(messages && { history: () => idsOf(messages) }) };
      });
  };
  return { open, ...(saver && { close: saver.close }) };
}
