/** Mastra: `agent.generate`, or `agent.stream` with its `fullStream` read to the end. It always streams from the model. */
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { DESCRIPTION, type Driver, nameOf } from '../driver.ts';
import { idsOf, modelV4 } from '../model-v4.ts';

/** Instructions stand before what the user says, as one message; whatever Mastra adds, a step adds two messages. */
const stepAt = ({ prompt }: { readonly prompt: readonly { readonly role: string }[] }): number =>
  (prompt.length - prompt.findIndex(message => message.role === 'user') - 1) >> 1;

export const driver: Driver = {
  cannot: { durable: 'storage is in packages of its own', crash: 'storage is in packages of its own' },
  define(job) {
    const add = createTool({
      id: 'add',
      description: DESCRIPTION,
      inputSchema: z.object({ n: z.number() }),
      execute: async ({ n }) => job.tool(n),
    });
    const model = modelV4(job, stepAt) as never;
    const agent = new Agent({ id: 'bench', name: 'bench', instructions: 'Add.', model, tools: { add } });
    const options = {
      maxSteps: job.limit ?? Number.MAX_SAFE_INTEGER,
      ...(job.ownParallel ? {} : { toolCallConcurrency: job.width }),
      ...(job.signal && { abortSignal: job.signal }),
    };
    const once = async () => {
      const result = await agent.generate('go', options);
      if (result.error) throw result.error;
      return { ended: `returned, ${result.finishReason}`, history: () => idsOf(result.response.messages ?? []) };
    };
    const streamed = async () => {
      let deltas = 0;
      const result = await agent.stream('go', options);
      for await (const part of result.fullStream) if (part.type === 'text-delta') deltas += 1;
      return { ended: `returned, ${await result.finishReason}`, deltas };
    };
    const start = job.stream ? streamed : once;
    return { open: () => () => start().catch((error: unknown) => ({ ended: nameOf(error) })) };
  },
};
