/** AI SDK: `generateText`, or `streamText` with its `fullStream` read to the end. */
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { DESCRIPTION, type Driver, nameOf } from '../driver.ts';
import { idsOf, modelV4 } from '../model-v4.ts';

export const driver: Driver = {
  cannot: { durable: 'the library keeps nothing', crash: 'the library keeps nothing' },
  define(job) {
    const add = tool({
      description: DESCRIPTION,
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => job.tool(n),
    });
    const settings = {
      model: modelV4(job),
      tools: { add },
      prompt: 'go',
      stopWhen: stepCountIs(job.limit ?? Number.POSITIVE_INFINITY),
      maxRetries: 0,
      ...(job.signal && { abortSignal: job.signal }),
    };
    const generate = async () => {
      const result = await generateText(settings);
      return { ended: `returned, ${result.finishReason}`, history: () => idsOf(result.responseMessages) };
    };
    const stream = async () => {
      let deltas = 0;
      const thrown: unknown[] = [];
      const result = streamText({ ...settings, onError: ({ error }) => void thrown.push(error) });
      for await (const part of result.fullStream) if (part.type === 'text-delta') deltas += 1;
      if (thrown.length > 0) throw thrown[0];
      const messages = await result.responseMessages;
      return { ended: `returned, ${await result.finishReason}`, deltas, history: () => idsOf(messages) };
    };
    const run = job.stream ? stream : generate;
    return { open: () => () => run().catch(error => ({ ended: nameOf(error) })) };
  },
};
