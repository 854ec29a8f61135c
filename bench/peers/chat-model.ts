/** The scripted model as a chat model of LangChain, and what LangChain and LangGraph share. */
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel, type BindToolsInput } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, ToolMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { z } from 'zod';
import { answerOf, callsOf, DESCRIPTION, type Job } from './driver.ts';

export class ScriptedChat extends BaseChatModel {
  readonly #job: Job;

  constructor(job: Job) {
    super({});
    this.#job = job;
    if (!job.stream) this.disableStreaming = true;
  }

  override _llmType(): string {
    return 'bench';
  }

  override bindTools(_tools: BindToolsInput[]): this {
    return this;
  }

  #calls(messages: BaseMessage[]) {
    const before = messages[0]?.type === 'system' ? 2 : 1;
    return callsOf(this.#job, (messages.length - before) / (1 + this.#job.width));
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    options.signal?.throwIfAborted();
    const calls = this.#calls(messages);
    const message =
      calls === undefined
        ? new AIMessage({ content: answerOf(this.#job).join('') })
        : new AIMessage({
            content: '',
            tool_calls: calls.map(({ id, n }) => ({ id, name: 'add', args: { n }, type: 'tool_call' })),
          });
    return { generations: [{ text: '', message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    options.signal?.throwIfAborted();
    for (const chunk of this.#chunks(messages)) {
      yield chunk;
      // A graph's stream of messages is fed by this, as it is by the models of providers.
      await manager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  *#chunks(messages: BaseMessage[]): Generator<ChatGenerationChunk> {
    const calls = this.#calls(messages);
    if (calls === undefined) {
      for (const text of answerOf(this.#job)) {
        yield new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
      }
      return;
    }
    for (const [index, { id, n }] of calls.entries()) {
      const tool_call_chunks = [{ index, id, name: 'add', args: `{"n":${n}}`, type: 'tool_call_chunk' as const }];
      yield new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content: '', tool_call_chunks }) });
    }
  }
}

export const addOf = (job: Job) =>
  tool(({ n }: { n: number }) => job.tool(n), {
    name: 'add',
    description: DESCRIPTION,
    schema: z.object({ n: z.number() }),
  });

export function idsOf(messages: readonly BaseMessage[]) {
  return {
    calls: messages.flatMap(message =>
      AIMessage.isInstance(message) ? (message.tool_calls ?? []).map(call => String(call.id)) : [],
    ),
    results: messages.flatMap(message => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])),
  };
}

/** LangGraph's SQLite saver over `node:sqlite`: the `better-sqlite3` that it asks for aborts on some releases of Node 24. */
export async function openSaver({ store }: Job) {
  if (store === undefined) return undefined;
  const { DatabaseSync } = await import('node:sqlite');
  const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite');
  const database = new DatabaseSync(store.file);
  type Value = string | number | Uint8Array | null | undefined;
  const nulls = (values: Value[]) => values.map(value => value ?? null);
  const adapted = {
    prepare(sql: string) {
      const statement = database.prepare(sql);
      return {
        run: (...values: Value[]) => statement.run(...nulls(values)),
        get: (...values: Value[]) => statement.get(...nulls(values)),
        all: (...values: Value[]) => statement.all(...nulls(values)),
      };
    },
    exec: (sql: string) => database.exec(sql),
    pragma: (text: string) => database.exec(`PRAGMA ${text}`),
    transaction: (work: (rows: unknown) => void) => (rows: unknown) => {
      database.exec('BEGIN');
      try {
        work(rows);
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
  };
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${store.synchronous}`);
  return { checkpointer: new SqliteSaver(adapted as never), close: () => database.close() };
}
