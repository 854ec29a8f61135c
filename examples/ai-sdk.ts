// Tools written for AI SDK in a loop, and its turn in the protocol of `useChat`: a page without a browser asks, approves, and reads on.
import { readUIMessageStream, tool, type UIMessage } from 'ai';
import { defineLoop, defineRig } from 'looprig';
import { chatStream, fromAISDK } from 'looprig/ai';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';

const tools = {
  weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, degrees: 21 }),
  }),
  book: tool({
    description: 'Books a table outside.',
    inputSchema: z.object({ seats: z.number() }),
    needsApproval: true,
    execute: ({ seats }) => `booked for ${seats}`,
  }),
};

const waiter = defineLoop({
  name: 'waiter',
  model: scriptedModel([
    { text: 'I look outside.', calls: [{ tool: 'weather', input: { city: 'Lisbon' } }] },
    { text: 'It is warm.', calls: [{ tool: 'book', input: { seats: 2 } }] },
    { text: 'Your table is outside.' },
  ]),
  tools: fromAISDK(tools),
  limits: { calls: 10 }, // now the batch that goes beyond is refused, whatever the model says
});
await using session = await defineRig({ loops: [waiter], gate: { ask: true } }).open();

/** A request to the server, and what the page makes of its answer. */
async function send(messages: UIMessage[]): Promise<UIMessage> {
  const stream = await chatStream(session, { messages }); // a server hands it to createUIMessageStreamResponse
  const last = messages.at(-1);
  const message = last?.role === 'assistant' ? { message: last } : {};
  let answer: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, ...message })) answer = state;
  return answer!;
}

const asked: UIMessage = { id: '1', role: 'user', parts: [{ type: 'text', text: 'A table for two, please.' }] };
const waiting = await send([asked]);
const request = waiting.parts.find(part => 'approval' in part && part.state === 'approval-requested');
if (request === undefined || !('toolCallId' in request)) throw new Error('nothing was asked');
console.log('asked:', request.type, JSON.stringify(request.input));

// What `addToolApprovalResponse` does to the page's message.
const approved = { ...request, state: 'approval-responded', approval: { ...request.approval, approved: true } };
const parts = waiting.parts.map(part => (part === request ? approved : part)) as UIMessage['parts'];
const done = await send([asked, { ...waiting, parts }]);
for (const part of done.parts) {
  if (part.type === 'text') console.log('text:', part.text);
  if ('toolCallId' in part) console.log(`${part.type}:`, part.state, JSON.stringify(part.output));
}
