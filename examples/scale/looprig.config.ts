/** The loops that the workers run. The model plays a script, so that no key is needed: take any AI SDK model in its place. */
import { defineLoop, defineTool } from 'looprig';
import { forever, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const stock = defineTool({
  name: 'stock',
  description: 'How many pieces of an article are in stock.',
  input: z.object({ article: z.string() }),
  execute: async ({ article }) => {
    await new Promise(resolve => setTimeout(resolve, 500)); // a slow warehouse
    return { article, pieces: article.length, worker: process.pid };
  },
});

const order = defineTool({
  name: 'order',
  description: 'Orders an article.',
  input: z.object({ article: z.string() }),
  access: ({ article }) => [{ action: 'order', target: article }],
  execute: ({ article }) => ({ ordered: article, worker: process.pid }),
});

const CALLS = [
  { tool: 'stock', input: { article: 'lamp' } },
  { tool: 'stock', input: { article: 'chair' } },
  { tool: 'order', input: { article: 'desk' } },
];

const clerk = defineLoop({
  name: 'clerk',
  model: scriptedModel(
    forever(({ prompt }) => {
      const asked = prompt.findLastIndex(({ role }) => role === 'user');
      const steps = prompt.slice(asked).filter(({ role }) => role === 'assistant').length;
      const call = CALLS[steps];
      return call === undefined
        ? { text: 'Two lamps, and a desk is on its way.' }
        : { calls: [{ id: `call-${prompt.length}`, ...call }] };
    }),
  ),
  tools: [stock, order],
});

export default { loops: [clerk] };
