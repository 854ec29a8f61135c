/** Google's ADK: `InMemoryRunner`, its events read to the end; streaming is its mode SSE. */
import {
  BaseLlm,
  type Event,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LogLevel,
  StreamingMode,
  setLogLevel,
} from '@google/adk';
import { z } from 'zod';
import { answerOf, callsOf, DESCRIPTION, type Driver, type Job, nameOf } from '../driver.ts';

setLogLevel(LogLevel.ERROR);

class Scripted extends BaseLlm {
  readonly #job: Job;

  constructor(job: Job) {
    super({ model: 'quick' });
    this.#job = job;
  }

  override async *generateContentAsync(
    { contents }: LlmRequest,
    _stream?: boolean,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    signal?.throwIfAborted();
    const calls = callsOf(this.#job, (contents.length - 1) >> 1);
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    if (calls !== undefined) {
      const parts = calls.map(({ id, n }) => ({ functionCall: { id, name: 'add', args: { n } } }));
      yield { content: { role: 'model', parts }, usageMetadata };
      return;
    }
    const answer = answerOf(this.#job);
    if (this.#job.stream) {
      for (const text of answer) yield { content: { role: 'model', parts: [{ text }] }, partial: true };
    }
    yield { content: { role: 'model', parts: [{ text: answer.join('') }] }, usageMetadata, turnComplete: true };
  }

  override connect(): Promise<never> {
    return Promise.reject(new Error('this benchmark has no live model'));
  }
}

function idsOf(events: readonly Event[]) {
  const parts = events.flatMap(event => event.content?.parts ?? []);
  return {
    calls: parts.flatMap(part => (part.functionCall ? [String(part.functionCall.id)] : [])),
    results: parts.flatMap(part => (part.functionResponse ? [String(part.functionResponse.id)] : [])),
  };
}

export const driver: Driver = {
  cannot: {
    durable: 'its database sessions need an ORM of their own',
    crash: 'its database sessions need an ORM of their own',
  },
  define(job) {
    const add = new FunctionTool({
      name: 'add',
      description: DESCRIPTION,
      parameters: z.object({ n: z.number() }),
      execute: ({ n }) => job.tool(n),
    });
    const agent = new LlmAgent({ name: 'bench', model: new Scripted(job), tools: [add] });
    const runner = new InMemoryRunner({ agent, appName: 'bench' });
    const userId = 'u';
    const runConfig = {
      maxLlmCalls: job.limit ?? 0,
      streamingMode: job.stream ? StreamingMode.SSE : StreamingMode.NONE,
    };
    return {
      open: async () => {
        const { id: sessionId } = await runner.sessionService.createSession({ appName: 'bench', userId });
        const newMessage = { role: 'user', parts: [{ text: 'go' }] };
        const signal = job.signal && { abortSignal: job.signal };
        const start = async () => {
          let deltas = 0;
          let ended = 'returned';
          for await (const event of runner.runAsync({ userId, sessionId, newMessage, runConfig, ...signal })) {
            if (event.partial) deltas += 1;
            if (event.errorCode) ended = `returned, ${event.errorCode}: ${event.errorMessage?.slice(0, 60)}`;
          }
          return { ended, deltas };
        };
        return async () => {
          const outcome = await start().catch(error => ({ ended: nameOf(error) }));
          const history = async () => {
            const session = await runner.sessionService.getSession({ appName: 'bench', userId, sessionId });
            return idsOf(session?.events ?? []);
          };
          const close = () => runner.sessionService.deleteSession({ appName: 'bench', userId, sessionId });
          return { ...outcome, history, close };
        };
      },
    };
  },
};
