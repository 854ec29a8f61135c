import { expect, test } from 'vitest';
import type { AssistantMessage, Message, ToolMessage } from '../model/model.ts';
import { assertPaired } from './paired.ts';

const user: Message = { role: 'user', content: [{ type: 'text', text: 'go on' }] };
const asks = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map(toolCallId => ({ type: 'tool-call', toolCallId, toolName: 'look', input: {} })),
});
const answers = (...ids: string[]): ToolMessage => ({
  role: 'tool',
  content: ids.map(toolCallId => ({
    type: 'tool-result',
    toolCallId,
    toolName: 'look',
    output: { type: 'text', value: 'seen' },
  })),
});

test('a history in which each call has its result is paired', () => {
  expect(() => assertPaired([])).not.toThrow();
  expect(() => assertPaired([user, asks('a', 'b'), answers('b', 'a'), asks('c'), answers('c'), asks()])).not.toThrow();
});

test('calls that the provider ran are not looked at', () => {
  const provider: AssistantMessage = {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 'p', toolName: 'search', input: {}, providerExecuted: true },
      { type: 'tool-result', toolCallId: 'p', toolName: 'search', output: { type: 'text', value: 'found' } },
    ],
  };
  expect(() => assertPaired([user, provider, user])).not.toThrow();
});

const unpaired: [string, Message[], string][] = [
  ['a call without a result', [asks('a', 'b'), answers('a')], 'message 0: the call "b"'],
  ['a call at the end', [user, asks('a')], 'message 1: the call "a"'],
  ['a result that comes later', [asks('a'), user, answers('a')], 'message 0: the call "a"'],
  ['two results for one call', [asks('a'), answers('a', 'a')], '2 results follow'],
  ['a result without a call', [asks('a'), answers('a', 'b')], 'message 1: the result "b"'],
  ['results after no call at all', [user, answers('a')], 'message 1: the result "a"'],
  ['one id in two steps', [asks('a'), answers('a'), asks('a'), answers('a')], 'message 2: the id "a"'],
  ['one id twice in a step', [asks('a', 'a'), answers('a')], 'message 0: the id "a"'],
];

test.each(unpaired)('%s is refused', (_, history, message) => {
  expect(() => assertPaired(history)).toThrow(message);
});

test('a result under the name of another tool is refused', () => {
  const [part] = answers('a').content;
  const other = { role: 'tool', content: [{ ...part, toolName: 'listen' }] } as ToolMessage;
  expect(() => assertPaired([asks('a'), other])).toThrow('its result names the tool "listen"');
});
