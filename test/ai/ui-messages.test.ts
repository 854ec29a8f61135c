/** A history as the messages of a page. */
import { validateUIMessages } from 'ai';
import { defineLoop, defineRig, defineTool, type Message } from 'looprig';
import { toUIMessageStream, toUIMessages } from 'looprig/ai';
import { scriptedModel } from 'looprig/testing';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { partsOf, readPage } from './page.ts';

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => {
    if (city === 'Atlantis') throw new Error('no such city');
    return { city, degrees: 21 };
  },
});

it('a history gives the same messages as the streams of its turns did', async () => {
  const calls = ['Rome', 'Atlantis'].map((city, index) => ({ tool: 'weather', input: { city }, id: `c${index}` }));
  const model = scriptedModel([{ reasoning: 'Hm.', text: 'I look.', calls }, { text: 'Warm.' }, { text: 'Bye.' }]);
  const session = await defineRig({ loops: [defineLoop({ name: 'agent', model, tools: [weather] })] }).open();
  const pages = [];
  for (const input of ['How is it?', 'Thanks']) pages.push(await readPage(toUIMessageStream(session.submit(input))));
  const messages = toUIMessages(session.history);
  expect(messages.map(({ id, role }) => [id, role])).toEqual([
    ['message-0', 'user'],
    ['message-1', 'assistant'],
    ['message-2', 'user'],
    ['message-3', 'assistant'],
  ]);
  expect(partsOf(messages[0]!)).toEqual([['text', 'How is it?']]);
  expect([messages[1]!, messages[3]!].map(partsOf)).toEqual(pages.map(({ message }) => partsOf(message)));
  expect(JSON.parse(JSON.stringify(await validateUIMessages({ messages })))).toEqual(
    JSON.parse(JSON.stringify(messages)),
  );
});

it('a typed output is data, and what only a provider has is left out', () => {
  const history: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'AAAA' } },
        { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
        { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { openai: 'f' } } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: '' },
        { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: {}, providerExecuted: true },
        { type: 'tool-call', toolCallId: 'o', toolName: '_looprig_final_output', input: { n: 1 } },
        { type: 'tool-call', toolCallId: 'x', toolName: 'lost', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'o',
          toolName: '_looprig_final_output',
          output: { type: 'text', value: 'taken' },
        },
      ],
    },
  ];
  expect(toUIMessages(history).map(({ parts }) => parts)).toEqual([
    [
      { type: 'file', mediaType: 'image/png', filename: 'a.png', url: 'data:image/png;base64,AAAA' },
      { type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' },
    ],
    [
      { type: 'step-start' },
      { type: 'data-output', data: { n: 1 } },
      { type: 'tool-lost', toolCallId: 'x', input: {}, state: 'output-error', errorText: 'there is no result' },
    ],
  ]);
});
