/** What every provider asks of a request that carries a history: calls and results in pairs, nothing empty, arguments that are objects. */
import { expect } from 'vitest';
import { at, list, text } from './json.ts';

/** Expects that a provider would take the request. */
export function expectValidRequest(api: string, body: unknown): void {
  const expectValid = VALID[api];
  if (expectValid === undefined) throw new TypeError(`no rules are known for "${api}"`);
  expectValid(body);
}

const VALID: Readonly<Record<string, (body: unknown) => void>> = {
  'anthropic-messages': expectAnthropic,
  'openai-chat': expectChat,
  'openai-responses': expectResponses,
  'gemini-generate-content': expectGemini,
};

function expectAnthropic(body: unknown): void {
  const messages = list(at(body, 'messages'));
  expect(at(messages[0], 'role')).toBe('user');
  expect(at(messages.at(-1), 'role')).toBe('user');
  messages.forEach((message, index) => {
    const blocks = list(at(message, 'content'));
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) if (at(block, 'type') === 'text') expect(text(at(block, 'text'))?.trim()).not.toBe('');
    if (at(message, 'role') !== 'assistant') return;
    expect(idsOf(list(at(messages[index + 1], 'content')), 'tool_result', 'tool_use_id')).toEqual(
      idsOf(blocks, 'tool_use', 'id'),
    );
  });
}

function expectChat(body: unknown): void {
  const messages = list(at(body, 'messages'));
  let open: string[] = [];
  for (const message of messages) {
    if (at(message, 'role') === 'tool') {
      const id = text(at(message, 'tool_call_id'))!;
      expect(open).toContain(id);
      open = open.filter(other => other !== id);
      continue;
    }
    expect(open, 'calls without a result').toEqual([]);
    const calls = list(at(message, 'tool_calls'));
    for (const call of calls) expectObject(at(at(call, 'function'), 'arguments'));
    open = calls.map(call => text(at(call, 'id'))!);
    expect(new Set(open).size).toBe(open.length);
    if (calls.length === 0) expect(at(message, 'content')).toBeTruthy();
  }
  expect(open, 'calls without a result').toEqual([]);
  expect(['user', 'tool']).toContain(at(messages.at(-1), 'role'));
}

function expectResponses(body: unknown): void {
  const items = list(at(body, 'input'));
  const calls = items.filter(item => ['function_call', 'custom_tool_call'].includes(String(at(item, 'type'))));
  const results = items.filter(item => /^(function|custom_tool)_call_output$/.test(String(at(item, 'type'))));
  const ids = calls.map(item => String(at(item, 'call_id')));
  expect(new Set(ids).size).toBe(ids.length);
  // A call that the provider keeps itself is referred to, and not sent again.
  const answered = results.map(item => String(at(item, 'call_id')));
  expect(new Set(answered).size).toBe(answered.length);
  for (const id of ids) expect(answered).toContain(id);
  for (const item of calls) if (at(item, 'type') === 'function_call') expectObject(at(item, 'arguments'));
}

function expectGemini(body: unknown): void {
  const contents = list(at(body, 'contents'));
  const named = (content: unknown, key: string): unknown[] =>
    list(at(content, 'parts')).flatMap(part => (at(part, key) === undefined ? [] : [at(at(part, key), 'name')]));
  expect(at(contents[0], 'role')).toBe('user');
  expect(at(contents.at(-1), 'role')).toBe('user');
  contents.forEach((content, index) => {
    expect(list(at(content, 'parts')).length).toBeGreaterThan(0);
    expect(named(contents[index + 1], 'functionResponse')).toEqual(named(content, 'functionCall'));
  });
}

function idsOf(blocks: readonly unknown[], type: string, key: string): unknown[] {
  return blocks.filter(block => at(block, 'type') === type).map(block => at(block, key));
}

function expectObject(json: unknown): void {
  expect(JSON.parse(String(json))).toBeTypeOf('object');
}
