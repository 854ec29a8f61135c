import { describe, expect, it } from 'vitest';
import type { ModelContent, ModelStreamPart } from '../model/model.ts';
import { NO_USAGE } from '../model/model.ts';
import { isTooDeep, ResponseBuilder } from './response.ts';

const STOP = { unified: 'stop' as const, raw: 'end_turn' };
const usage = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 4, text: 3, reasoning: 1 },
};
const nothingTaken = (): boolean => false;

function streamed(...parts: readonly object[]): ResponseBuilder {
  const builder = new ResponseBuilder();
  for (const part of parts) builder.add(part as ModelStreamPart);
  return builder;
}

function whole(...parts: readonly object[]): ResponseBuilder {
  const builder = new ResponseBuilder();
  for (const part of parts) builder.addWhole(part as ModelContent);
  builder.finish(STOP, usage);
  return builder;
}

const call = (toolCallId: unknown, input: unknown = '{}', more: object = {}) => ({
  ...{ type: 'tool-call', toolCallId, toolName: 'a', input },
  ...more,
});

describe('a streamed response', () => {
  it('becomes one message with its parts in the order of their starts, and the metadata that came last', () => {
    const builder = streamed(
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'think' },
      { type: 'text-start', id: '0', providerMetadata: { p: { early: 1 } } },
      { type: 'text-delta', id: '0', delta: 'Hel' },
      { type: 'reasoning-end', id: '0', providerMetadata: { p: { signature: 'x' } } },
      { type: 'text-delta', id: '0', delta: 'lo' },
      { type: 'text-end', id: '0' },
      call('c1', '{"n":1}', { providerMetadata: { p: { item: 'i' } } }),
      { type: 'finish', finishReason: STOP, usage },
    );
    const { message, text, calls, isEmpty, finishReason, usage: used } = builder.build(nothingTaken);
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'think', providerOptions: { p: { signature: 'x' } } },
        { type: 'text', text: 'Hello', providerOptions: { p: { early: 1 } } },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'a', input: { n: 1 }, providerOptions: { p: { item: 'i' } } },
      ],
    });
    expect([text, isEmpty, finishReason]).toEqual(['Hello', false, STOP]);
    expect(calls).toEqual([{ callId: 'c1', toolName: 'a', inputText: '{"n":1}', input: { n: 1 } }]);
    expect(used).toMatchObject({
      inputTokens: 5,
      outputTokens: 4,
      totalTokens: 9,
      cachedInputTokens: 2,
      reasoningTokens: 1,
    });
  });

  it('takes deltas of a block that was never started, and blocks that are never ended', () => {
    const builder = streamed({ type: 'text-delta', id: '9', delta: 'a' }, { type: 'text-delta', id: '9', delta: 'b' });
    expect(builder.build(nothingTaken).message.content).toEqual([{ type: 'text', text: 'ab' }]);
  });

  it('leaves out blocks of no text, but for those that carry metadata', () => {
    const builder = streamed(
      { type: 'text-start', id: '0' },
      { type: 'text-end', id: '0' },
      { type: 'reasoning-start', id: '1' },
      { type: 'reasoning-end', id: '1', providerMetadata: { p: { redacted: 'x' } } },
    );
    expect(builder.build(nothingTaken).message.content).toEqual([
      { type: 'reasoning', text: '', providerOptions: { p: { redacted: 'x' } } },
    ]);
  });

  it('makes no text of a delta that is none: a missing one says nothing, any other fails the attempt', () => {
    const builder = streamed({ type: 'text-delta', id: '0' }, { type: 'text-delta', id: '0', delta: null });
    expect(builder.build(nothingTaken)).toMatchObject({ text: '', isEmpty: true, message: { content: [] } });
    for (const delta of [7, {}, 1n, Symbol('s')]) {
      expect(() => streamed({ type: 'text-delta', id: '0', delta })).toThrow(/"text-delta" whose delta is/);
    }
  });

  it('takes ids of any kind for those of its blocks', () => {
    const builder = streamed(
      { type: 'text-start', id: 0 },
      { type: 'text-start', id: Symbol('s') },
      { type: 'text-delta', id: 0, delta: 'a' },
      { type: 'text-delta', delta: 'b' },
      { type: 'text-end' },
    );
    expect(builder.build(nothingTaken).text).toBe('ab');
  });

  it('that starts one id twice begins a new block with the second', () => {
    const builder = streamed(
      ...[
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'a' },
      ],
      ...[
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'b' },
        { type: 'text-end', id: '0' },
      ],
      { type: 'text-delta', id: '0', delta: 'c' },
    );
    expect(builder.build(nothingTaken).message.content).toMatchObject([{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
  });

  it("is no call where only arguments were streamed, and takes the call's own where they differ", () => {
    const inputs = [
      { type: 'tool-input-start', id: 'c', toolName: 'a' },
      { type: 'tool-input-delta', id: 'c', delta: '{"n":1}' },
      { type: 'tool-input-end', id: 'c' },
    ];
    expect(streamed(...inputs).build(nothingTaken).calls).toEqual([]);
    expect(streamed(...inputs, call('c', '{"n":2}')).build(nothingTaken).calls).toMatchObject([{ input: { n: 2 } }]);
  });

  it('that a provider itself calls interrupted has not come to its end', () => {
    const builder = streamed({ type: 'text-delta', id: '0', delta: 'half' }, call('c'));
    builder.finish({ unified: 'interrupted', raw: undefined }, usage);
    expect([builder.isFinished, builder.usage().inputTokens]).toEqual([false, 5]);
  });

  it('has not come to its end either where a call has no arguments, and neither a reason nor a cost is told', () => {
    const finished = (input: string, unified: 'other' | 'tool-calls', raw: string | undefined, used: object) => {
      const builder = streamed(call('c', input));
      builder.finish({ unified, raw }, used as typeof usage);
      return builder.isFinished;
    };
    expect(finished('', 'other', undefined, {})).toBe(false);
    expect(finished('', 'other', 'unknown', {})).toBe(false);
    expect(finished('{}', 'other', undefined, {})).toBe(true);
    expect(finished('', 'tool-calls', undefined, {})).toBe(true);
    expect(finished('', 'other', 'end_turn', {})).toBe(true);
    expect(finished('', 'other', undefined, usage)).toBe(true);
  });

  it('keeps its first error, and is finished by its finish alone', () => {
    const builder = streamed({ type: 'error', error: 'first' }, { type: 'error', error: 'second' });
    expect([builder.error, builder.isFinished]).toEqual([{ cause: 'first' }, false]);
    builder.finish(STOP, undefined);
    expect([builder.isFinished, builder.usage()]).toEqual([true, NO_USAGE]);
  });
});

it('a response is the same whether it came whole or in pieces', () => {
  const parts = [{ type: 'reasoning', text: 'r' }, { type: 'text', text: 'said' }, call('c', '{"a":[1]}')];
  const pieces = streamed(
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'r' },
    { type: 'reasoning-end', id: 'r' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'sa' },
    { type: 'text-delta', id: 't', delta: 'id' },
    { type: 'text-end', id: 't' },
    parts[2]!,
    { type: 'finish', finishReason: STOP, usage },
  );
  expect(pieces.build(nothingTaken)).toEqual(whole(...parts).build(nothingTaken));
});

describe('call ids', () => {
  it('that are missing, stand twice, or are taken already are made anew, in the call and in the message', () => {
    const builder = whole(call('x'), call('x'), call(''), call(undefined), call('old'), call('own'));
    const { calls, message } = builder.build(id => id === 'old');
    const ids = calls.map(({ callId }) => callId);
    expect(ids[0]).toBe('x');
    expect(ids[5]).toBe('own');
    expect(ids.slice(1, 5)).toEqual(ids.slice(1, 5).map(() => expect.stringMatching(/^call_[0-9a-f]{32}$/)));
    expect(new Set(ids).size).toBe(6);
    expect(message.content.map(part => part.type === 'tool-call' && part.toolCallId)).toEqual(ids);
  });

  it('that hold half of a surrogate pair are made anew: no provider takes them back', () => {
    const { calls, message } = whole(call('c\ud83d')).build(nothingTaken);
    expect(calls[0]!.callId).toMatch(/^call_[0-9a-f]{32}$/);
    expect(message.content[0]).toMatchObject({ toolCallId: calls[0]!.callId });
  });

  it('of calls that the provider ran are not given to others, wherever they stand', () => {
    const builder = whole(call('x'), call('x', '{}', { providerExecuted: true }));
    const { calls, message } = builder.build(nothingTaken);
    expect(calls).toHaveLength(1);
    expect(calls[0]!.callId).not.toBe('x');
    expect(message.content[1]).toMatchObject({ toolCallId: 'x', providerExecuted: true });
  });
});

describe('arguments', () => {
  it.each<readonly [string, unknown]>([
    ['{"a":1}', { a: 1 }],
    [' {} ', {}],
    ['', {}],
    ['null', {}],
    ['[1]', {}],
    ['7', {}],
    ['{"a":1} and more', {}],
    ['{"a"', {}],
    [`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, {}],
  ])('%.20s stand in the history as an object', (inputText, input) => {
    const { calls, message } = whole(call('c', inputText)).build(nothingTaken);
    expect(calls[0]).toMatchObject({ inputText, input });
    expect(message.content[0]).toMatchObject({ input });
  });

  it('with names of the prototype are data', () => {
    const { calls } = whole(call('c', '{"__proto__":{"polluted":1},"constructor":2}')).build(nothingTaken);
    expect(JSON.stringify(calls[0]!.input)).toBe('{"__proto__":{"polluted":1},"constructor":2}');
    expect('polluted' in {}).toBe(false);
  });

  it('with half of a surrogate pair have it replaced in the history, since providers refuse it', () => {
    const { calls, text } = whole(
      { type: 'text', text: 'cut \ud83d' },
      call('c', String.raw`{"a\ud800":["b\udc00","\ud83d\ude00"]}`),
      call('d', '{"a":"\ud800"}'),
    ).build(nothingTaken);
    expect(calls.map(({ input }) => input)).toEqual([{ 'a\ufffd': ['b\ufffd', '😀'] }, { a: '\ufffd' }]);
    expect(text).toBe('cut \ufffd');
  });

  it('that a provider parsed already are kept, not lost', () => {
    const { calls } = whole(call('c', { a: 1 }), call('d', undefined)).build(nothingTaken);
    expect(calls[0]).toMatchObject({ inputText: '{"a":1}', input: { a: 1 } });
    expect(calls[1]!.input).toEqual({});
  });

  it('that a provider parsed already and that JSON cannot say are none that would be taken', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    const odd = [null, 7, true, [], 1n, Symbol('s'), () => ({}), new Map([['n', 1]]), { n: () => 1 }, cycle];
    for (const input of [...odd, new Date(0), new String('{}')]) {
      const { inputText } = whole(call('c', input)).build(nothingTaken).calls[0]!;
      const isTaken = inputText !== 'unreadable' && JSON.stringify(JSON.parse(inputText)).startsWith('{');
      expect([inputText, isTaken]).toEqual([inputText, false]);
    }
  });

  it('of a call that names no tool are none that a tool would take', () => {
    for (const toolName of [undefined, '', 7, null]) {
      const { calls } = whole({ ...call('c', '{"n":1}'), toolName }).build(nothingTaken);
      expect(calls[0]).toMatchObject({ toolName: 'unnamed', input: {} });
      expect(() => JSON.parse(calls[0]!.inputText)).toThrow();
    }
  });

  it('are too deep from the 501st level on', () => {
    const nest = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    for (const text of [nest(501), lists(501)]) expect(isTooDeep(JSON.parse(text), text)).toBe(false);
    for (const text of [nest(502), lists(502)]) expect(isTooDeep(JSON.parse(text), text)).toBe(true);
  });
});

describe('what the provider ran', () => {
  it('stands in the message and is no call, and its parts are copies', () => {
    const result = { found: [1] };
    const metadata = { p: { a: [1] } };
    const builder = whole(
      call('s', '{"q":"x"}', { providerExecuted: true, providerMetadata: metadata }),
      { type: 'tool-result', toolCallId: 's', toolName: 'a', result: 'early', preliminary: true },
      { type: 'tool-result', toolCallId: 's', toolName: 'a', result },
      { type: 'tool-result', toolCallId: 's', toolName: 'a', result: undefined, isError: true },
    );
    result.found.push(2);
    metadata.p.a.push(2);
    const { calls, message, isEmpty } = builder.build(nothingTaken);
    expect([calls, isEmpty]).toEqual([[], false]);
    expect(message.content).toMatchObject([
      { type: 'tool-call', input: { q: 'x' }, providerOptions: { p: { a: [1] } } },
      { type: 'tool-result', output: { type: 'json', value: { found: [1] } } },
      { type: 'tool-result', output: { type: 'error-json', value: null } },
    ]);
    expect(Object.isFrozen(result)).toBe(false);
  });

  it('as files is kept as base64 text', () => {
    const builder = whole({
      type: 'file',
      mediaType: 'image/png',
      data: { type: 'data', data: new Uint8Array([1, 2]) },
    });
    expect(builder.build(nothingTaken).message.content).toEqual([
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQI=' } },
    ]);
  });
});

it('half of a surrogate pair stands in no name of a tool, and in no reasoning but what is signed', () => {
  const { message } = whole(
    { type: 'reasoning', text: 'r\ud83d' },
    { type: 'reasoning', text: 's\ud83d', providerMetadata: { p: { signature: 'x' } } },
    { ...call('c'), toolName: 'a\ud83d' },
  ).build(nothingTaken);
  expect(message.content).toMatchObject([{ text: 'r\ufffd' }, { text: 's\ud83d' }, { toolName: 'a\ufffd' }]);
});

it('a message is frozen all through', () => {
  const { message, calls } = whole(
    { type: 'text', text: 'a', providerMetadata: { p: { deep: { er: [1] } } } },
    call('c', '{"a":{"b":[1]}}'),
    call('s', '{"a":{"b":[1]}}', { providerExecuted: true }),
    { type: 'tool-result', toolCallId: 's', toolName: 'a', result: { list: [{}] } },
  ).build(nothingTaken);
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    expect(Object.isFrozen(value)).toBe(true);
    for (const member of Object.values(value)) visit(member);
  };
  visit(message);
  visit(calls[0]!.input);
});

describe('a response is empty', () => {
  it.each<readonly [string, readonly object[], boolean]>([
    ['without a part', [], true],
    ['with reasoning alone', [{ type: 'reasoning', text: 'hm' }], true],
    ['with a mark of the provider alone', [{ type: 'custom', kind: 'p.mark' }], true],
    ['with text', [{ type: 'text', text: 'a' }], false],
    ['with a call', [call('c')], false],
    ['with a file', [{ type: 'file', mediaType: 'a/b', data: { type: 'data', data: '' } }], false],
    [
      "with a call of the provider's own that waits for an approval",
      [call('s', '{}', { providerExecuted: true })],
      true,
    ],
    [
      "with a call of the provider's own and its result",
      [
        call('s', '{}', { providerExecuted: true }),
        { type: 'tool-result', toolCallId: 's', toolName: 'a', result: 'found' },
      ],
      false,
    ],
  ])('%s: %3$s', (_, parts, isEmpty) => {
    expect(whole(...parts).build(nothingTaken).isEmpty).toBe(isEmpty);
  });

  it('and given up where it finished with an error and says nothing', () => {
    const gaveUp = (...parts: object[]): boolean => {
      const builder = whole(...parts);
      builder.finish({ unified: 'error', raw: 'MALFORMED_FUNCTION_CALL' }, usage);
      return builder.gaveUp;
    };
    expect(gaveUp()).toBe(true);
    expect(gaveUp({ type: 'text', text: '' })).toBe(true);
    expect(gaveUp({ type: 'text', text: 'a' })).toBe(false);
    expect(gaveUp(call('c'))).toBe(false);
    expect(whole().gaveUp).toBe(false);
  });
});

describe('what may be kept of a response that broke off', () => {
  it('is its text and sealed reasoning, marked, and never a call', () => {
    const builder = streamed(
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'sealed' },
      { type: 'reasoning-end', id: '0' },
      call('c'),
      { type: 'text-delta', id: '1', delta: 'half a wo' },
      { type: 'reasoning-delta', id: '2', delta: 'open' },
    );
    const kept = builder.safePrefix('interrupted');
    expect(kept).toEqual({
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'sealed' },
        { type: 'text', text: 'half a wo' },
      ],
      providerOptions: { looprig: { incomplete: 'interrupted' } },
    });
    expect(Object.isFrozen(kept) && Object.isFrozen(kept?.providerOptions?.looprig)).toBe(true);
  });

  it('is nothing where no text came, or only white space', () => {
    expect(streamed({ type: 'reasoning-delta', id: '0', delta: 'hm' }, call('c')).safePrefix('broken')).toBeUndefined();
    expect(streamed({ type: 'text-delta', id: '0', delta: ' \n' }).safePrefix('broken')).toBeUndefined();
  });
});
