/** LangGraph: a graph of a model and a `ToolNode`, as its guides write it; invoked, or streamed in the mode `messages`. */
import type { AIMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { addOf, openSaver, ScriptedChat } from '../chat-model.ts';
import type { Driver } from '../driver.ts';
import { agentOf } from '../graph.ts';

export const driver: Driver = {
  async define(job) {
    const saver = await openSaver(job);
    const tools = [addOf(job)];
    const model = new ScriptedChat(job).bindTools(tools);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode('tools', new ToolNode(tools))
      .addEdge(START, 'agent')
      .addConditionalEdges('agent', ({ messages }) =>
        ((messages.at(-1) as AIMessage).tool_calls?.length ?? 0) > 0 ? 'tools' : END,
      )
      .addEdge('tools', 'agent')
      .compile(saver ? { checkpointer: saver.checkpointer } : {});
    return agentOf(job, graph as never, saver);
  },
};
