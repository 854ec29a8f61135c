/** LangChain: `createAgent`, invoked, or streamed in the mode `messages`. Tracing is off by the environment. */
import { createAgent } from 'langchain';
import { addOf, openSaver, ScriptedChat } from '../chat-model.ts';
import type { Driver } from '../driver.ts';
import { agentOf } from '../graph.ts';

export const driver: Driver = {
  async define(job) {
    const saver = await openSaver(job);
    const model = new ScriptedChat(job);
    const agent = createAgent({ model, tools: [addOf(job)], ...(saver && { checkpointer: saver.checkpointer }) });
    return agentOf(job, agent as never, saver);
  },
};
