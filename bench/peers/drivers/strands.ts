/** Strands Agents: `Agent`, one a conversation, invoked or streamed. It always streams from the model. The window of its history is off. */
import {
  Agent,
  FileStorage,
  type Message,
  Model,
  type ModelStreamEvent,
  NullConversationManager,
  SessionManager,
  type StreamOptions,
  tool,
} from '@strands-agents/sdk';
import { z } from 'zod';
import { answerOf, callsOf, DESCRIPTION, type Driver, type Job, nameOf } from '../driver.ts';

class Scripted extends Model {
  readonly #job: Job;

  constructor(job: Job) {
    super();
    this.#job = job;
  }

  override updateConfig(): void {}

  override getConfig() {
    return { modelId: 'quick', contextWindowLimit: 1e9 };
  }

  override async *stream(messages: Message[], options?: StreamOptions): AsyncIterable<ModelStreamEvent> {
    options?.cancelSignal?.throwIfAborted();
    const calls = callsOf(this.#job, (messages.length - 1) >> 1);
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    if (calls === undefined) {
      yield { type: 'modelContentBlockStartEvent' };
      for (const text of answerOf(this.#job)) {
        yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text } };
      }
      yield { type: 'modelContentBlockStopEvent' };
    }
    for (const { id, n } of calls ?? []) {
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name: 'add', toolUseId: id } };
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: `{"n":${n}}` } };
      yield { type: 'modelContentBlockStopEvent' };
    }
    yield { type: 'modelMessageStopEvent', stopReason: calls === undefined ? 'endTurn' : 'toolUse' };
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } };
  }
}

function idsOf(messages: readonly Message[]) {
  const blocks = messages.flatMap(message => message.content);
  return {
    calls: blocks.flatMap(block => (block.type === 'toolUseBlock' ? [block.toolUseId] : [])),
    results: blocks.flatMap(block => (block.type === 'toolResultBlock' ? [block.toolUseId] : [])),
  };
}

/** A snapshot after each message, in files beside the one that the others use. */
function managerOf(file: string, sessionId: string): SessionManager {
  const storage = { snapshot: new FileStorage(`${file}.strands`) };
  return new SessionManager({ sessionId, storage, saveLatestOn: 'message' });
}

export const driver: Driver = {
  cannot: {
    durable: 'it keeps snapshots as files, not in SQLite',
  },
  define(job) {
    const add = tool({
      name: 'add',
      description: DESCRIPTION,
      inputSchema: z.object({ n: z.number() }),
      callback: ({ n }) => job.tool(n),
    });
    const model = new Scripted(job);
    const options = {
      ...(job.limit !== undefined && { limits: { turns: job.limit } }),
      ...(job.signal && { cancelSignal: job.signal }),
    };
    const build = () =>
      new Agent({
        ...{ id: 'bench', model, tools: [add], printer: false },
        conversationManager: new NullConversationManager(),
        ...(job.store?.session && { sessionManager: managerOf(job.store.file, job.store.session) }),
      });
    return {
      open: () => {
        const agent = build();
        const once = async () => ({ ended: `returned, ${(await agent.invoke('go', options)).stopReason}` });
        const streamed = async () => {
          let deltas = 0;
          for await (const event of agent.stream('go', options)) {
            if (event.type === 'modelStreamUpdateEvent' && event.event.type === 'modelContentBlockDeltaEvent') {
              deltas += event.event.delta.type === 'textDelta' ? 1 : 0;
            }
          }
          return { ended: 'returned', deltas };
        };
        const start = job.stream ? streamed : once;
        return () =>
          start().then(
            outcome => ({ ...outcome, history: () => idsOf(agent.messages) }),
            error => ({ ended: nameOf(error), history: () => idsOf(agent.messages) }),
          );
      },
    };
  },
};
