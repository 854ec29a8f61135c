import { describe, expect, test } from 'vitest';
import type { ModelRequest, ModelStreamPart } from '../model/model.ts';
import { manualClock } from './manual-clock.ts';
import { forever, ScriptExhaustedError, scriptedModel } from './scripted-model.ts';
import type { ScriptedReply } from './scripted-reply.ts';
import { collectStream } from './stream-content.ts';

const ask = (text = 'hi', more: Partial<ModelRequest> = {}): ModelRequest => ({
  prompt: [{ role: 'user', content: [{ type: 'text', text }] }],
  ...more,
});

async function readAll<Part>(stream: ReadableStream<Part>): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

async function partsOf(reply: ScriptedReply): Promise<ModelStreamPart[]> {
  return readAll((await scriptedModel([reply]).doStream(ask())).stream);
}

const typesOf = (parts: readonly { readonly type: string }[]): string[] => parts.map(({ type }) => type);

describe('a reply', () => {
  test('gives reasoning, text, content and calls in this order', async () => {
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' } as const;
    const model = scriptedModel([
      { calls: [{ tool: 'look', input: { at: 'map' } }], content: [source], text: 'hm', reasoning: 'so' },
    ]);
    const result = await model.doGenerate(ask());
    expect(result.content).toEqual([
      { type: 'reasoning', text: 'so' },
      { type: 'text', text: 'hm' },
      source,
      { type: 'tool-call', toolCallId: 'call-0-0', toolName: 'look', input: '{"at":"map"}' },
    ]);
    expect(result.finishReason).toEqual({ unified: 'tool-calls', raw: undefined });
  });

  test('numbers its calls by request and place', async () => {
    const model = scriptedModel(forever({ calls: [{ tool: 'a' }, { tool: 'b', id: 'mine' }, { tool: 'c' }] }));
    const ids = async (): Promise<unknown[]> =>
      (await model.doGenerate(ask())).content.map(part => part.type === 'tool-call' && part.toolCallId);
    expect(await ids()).toEqual(['call-0-0', 'mine', 'call-0-2']);
    expect(await ids()).toEqual(['call-1-0', 'mine', 'call-1-2']);
  });

  test('sends inputText as it is, and no input as an empty object', async () => {
    const model = scriptedModel([
      { calls: [{ tool: 'a', inputText: '{"cut' }, { tool: 'b' }, { tool: 'c', input: null }] },
    ]);
    const inputs = (await model.doGenerate(ask())).content.map(part => part.type === 'tool-call' && part.input);
    expect(inputs).toEqual(['{"cut', '{}', '{}']);
  });

  test('finishes with stop where the client has nothing to run', async () => {
    const model = scriptedModel([{ calls: [{ tool: 'search', providerExecuted: true }] }, { text: 'done' }]);
    expect((await model.doGenerate(ask())).finishReason.unified).toBe('stop');
    expect((await model.doGenerate(ask())).finishReason.unified).toBe('stop');
  });

  test('finishes and counts as it says', async () => {
    const usage = { inputTokens: 7, outputTokens: 4, cachedInputTokens: 2, reasoningTokens: 1 };
    const model = scriptedModel([{ finishReason: 'length', rawFinishReason: 'max_tokens', usage }, { text: '' }]);
    const result = await model.doGenerate(ask());
    expect(result.finishReason).toEqual({ unified: 'length', raw: 'max_tokens' });
    expect(result.usage).toEqual({
      inputTokens: { total: 7, noCache: 5, cacheRead: 2, cacheWrite: 0 },
      outputTokens: { total: 4, text: 3, reasoning: 1 },
    });
    const { usage: usual } = await model.doGenerate(ask());
    expect([usual.inputTokens.total, usual.outputTokens.total]).toEqual([10, 5]);
  });

  test('may be a function of the request and its place', async () => {
    const model = scriptedModel([
      { text: 'first' },
      async (request, index) => ({ text: `${index}: ${request.prompt.length} messages` }),
    ]);
    await model.doGenerate(ask());
    expect((await model.doGenerate(ask())).content).toEqual([{ type: 'text', text: '1: 1 messages' }]);
  });

  test.each([
    [{ txt: 'typo' }, 'unknown field "txt"'],
    ['text', 'must be an object'],
    [null, 'must be an object'],
    [{ text: 'ab', deltas: ['a', 'c'] }, 'do not join'],
  ])('%j is refused', (reply, message) => {
    expect(() => scriptedModel([reply as ScriptedReply])).toThrow(message);
  });

  test('of a function is checked when it is given', async () => {
    const model = scriptedModel([() => ({ txt: 'typo' }) as ScriptedReply]);
    await expect(model.doGenerate(ask())).rejects.toThrow('unknown field "txt"');
  });
});

describe('a stream', () => {
  test('has every part in its order, between start and finish', async () => {
    const parts = await partsOf({
      reasoning: 'so',
      text: 'hello',
      calls: [{ tool: 'look', input: { at: 'map' } }],
      providerMetadata: { test: { trace: 'x' } },
    });
    expect(parts).toEqual([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'so' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'hello' },
      { type: 'text-end', id: '1' },
      { type: 'tool-input-start', id: 'call-0-0', toolName: 'look' },
      { type: 'tool-input-delta', id: 'call-0-0', delta: '{"at":"map"}' },
      { type: 'tool-input-end', id: 'call-0-0' },
      { type: 'tool-call', toolCallId: 'call-0-0', toolName: 'look', input: '{"at":"map"}' },
      {
        type: 'finish',
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: expect.objectContaining({ outputTokens: { total: 5, text: 5, reasoning: 0 } }),
        providerMetadata: { test: { trace: 'x' } },
      },
    ]);
  });

  const deltasOf = async (reply: ScriptedReply): Promise<string[]> =>
    (await partsOf(reply)).flatMap(part => (part.type === 'text-delta' ? [part.delta] : []));

  test('cuts its text into so many pieces, never inside a character', async () => {
    expect(await deltasOf({ text: '🙂🙂🙂🙂🙂', deltas: 3 })).toEqual(['🙂🙂', '🙂🙂', '🙂']);
    expect(await deltasOf({ text: 'ab', deltas: 9 })).toEqual(['a', 'b']);
    expect(await deltasOf({ reasoning: 'abc', text: 'abcd', deltas: 2 })).toEqual(['ab', 'cd']);
  });

  test('takes the pieces themselves, and the text from them', async () => {
    expect(await deltasOf({ deltas: ['a', '', 'bc'] })).toEqual(['a', '', 'bc']);
  });

  test('of an empty text has a block without deltas', async () => {
    expect(typesOf(await partsOf({ text: '' }))).toEqual(['stream-start', 'text-start', 'text-end', 'finish']);
  });

  test('gives a signature with the end of its block', async () => {
    const signed = { type: 'reasoning', text: 'so', providerMetadata: { test: { signature: 's' } } } as const;
    const parts = await partsOf({ content: [signed] });
    expect(parts.filter(part => 'providerMetadata' in part)).toEqual([
      { type: 'reasoning-end', id: '0', providerMetadata: { test: { signature: 's' } } },
    ]);
  });

  test('collected gives what doGenerate gives', async () => {
    const reply: ScriptedReply = {
      reasoning: 'because',
      text: 'hello',
      deltas: 3,
      content: [{ type: 'text', text: 'cited', citations: [], providerMetadata: { test: { a: 1 } } }],
      calls: [
        { tool: 'a', input: { b: 1 } },
        { tool: 'c', providerExecuted: true },
      ],
      providerMetadata: { test: { trace: 'x' } },
    };
    const model = scriptedModel([reply, reply]);
    const { stream } = await model.doStream(ask());
    const streamed = await collectStream(stream);
    const whole = await model.doGenerate(ask());
    expect(JSON.parse(JSON.stringify(streamed).replaceAll('call-0', 'call-1'))).toEqual(
      JSON.parse(JSON.stringify(whole)),
    );
    expect(streamed.content.map(({ type }) => type)).toEqual(['reasoning', 'text', 'text', 'tool-call', 'tool-call']);
  });
});

describe('errors', () => {
  test('a reply with an error rejects with it, as it is', async () => {
    const error = { not: 'an Error' };
    const model = scriptedModel([{ error }, { error }]);
    await expect(model.doStream(ask())).rejects.toBe(error);
    await expect(model.doGenerate(ask())).rejects.toBe(error);
  });

  test('a stream breaks after so many parts, and doGenerate fails', async () => {
    const error = new Error('reset');
    const reply: ScriptedReply = { text: 'hello', deltas: 5, error, errorAfter: 3 };
    const model = scriptedModel(forever(reply));
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const part of (await model.doStream(ask())).stream) seen.push(part.type);
    };
    await expect(read()).rejects.toBe(error);
    expect(seen).toEqual(['stream-start', 'text-start', 'text-delta']);
    await expect(model.doGenerate(ask())).rejects.toBe(error);
  });

  test('without an error it breaks as a lost connection does, at the end at the latest', async () => {
    const model = scriptedModel(forever({ text: 'a', errorAfter: 100 }));
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const part of (await model.doStream(ask())).stream) seen.push(part.type);
    };
    await expect(read()).rejects.toThrow(new TypeError('terminated'));
    expect(seen.at(-1)).toBe('finish');
  });

  test('an error may be told in a part instead', async () => {
    const error = new Error('overloaded');
    const parts = await partsOf({ text: 'hello', error, errorAsPart: true, errorAfter: 3 });
    expect(typesOf(parts)).toEqual(['stream-start', 'text-start', 'text-delta', 'error', 'finish']);
    expect(parts.at(-2)).toEqual({ type: 'error', error });
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'error' } });
    const late = await partsOf({ text: 'hello', error, errorAsPart: true });
    expect(typesOf(late).slice(-3)).toEqual(['text-end', 'error', 'finish']);
  });

  test('a request too many rejects with an error that is not to be retried', async () => {
    const model = scriptedModel([{ text: 'only' }], { modelId: 'short' });
    await model.doStream(ask());
    const error: unknown = await model.doStream(ask()).then(undefined, reason => reason);
    expect(error).toBeInstanceOf(ScriptExhaustedError);
    expect(error).toMatchObject({ name: 'ScriptExhaustedError', isRetryable: false });
    expect(String(error)).toContain('"short" was asked 2 times, but its script has 1 replies');
  });

  test('assertUsed throws until every reply was used', async () => {
    const model = scriptedModel([{ text: 'a' }, { text: 'b' }, forever({ text: 'c' })]);
    await model.doGenerate(ask());
    expect(() => model.assertUsed()).toThrow('was asked 1 times, but its script has 2 replies');
    await model.doGenerate(ask());
    expect(() => model.assertUsed()).not.toThrow();
  });

  test('nothing may come after a forever', () => {
    expect(() => scriptedModel([forever({ text: 'a' }), { text: 'b' }])).toThrow('reply 1 of the script comes after');
  });
});

describe('time', () => {
  test('an answer waits for its delay on the clock', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ text: 'late', delayMs: 100 }], { clock });
    const answer = model.doGenerate(ask());
    await clock.advance(99);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect((await answer).content).toEqual([{ type: 'text', text: 'late' }]);
  });

  test('parts wait for theirs', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ text: 'abc', deltas: 3, partDelayMs: 10 }], { clock });
    const times: number[] = [];
    const read = async (): Promise<void> => {
      for await (const _ of (await model.doStream(ask())).stream) times.push(clock.now());
    };
    await clock.runUntil(read());
    expect(times).toEqual([10, 20, 30, 40, 50, 60, 70]);
  });

  test('a request that is aborted already, or while it waits, rejects with the reason', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ text: 'a' }, { text: 'b', delayMs: Number.POSITIVE_INFINITY }], { clock });
    await expect(model.doStream(ask('hi', { abortSignal: AbortSignal.abort('before') }))).rejects.toBe('before');
    const controller = new AbortController();
    const waiting = model.doStream(ask('hi', { abortSignal: controller.signal }));
    await clock.advance(1_000);
    controller.abort('meanwhile');
    await expect(waiting).rejects.toBe('meanwhile');
  });

  test('a stream that is aborted breaks with the reason: between parts, in a pause, and where it hangs', async () => {
    const clock = manualClock();
    const replies: ScriptedReply[] = [{}, { partDelayMs: 10 }, { hangAfter: 2 }];
    for (const reply of replies) {
      const controller = new AbortController();
      const model = scriptedModel([{ text: 'abc', deltas: 3, ...reply }], { clock });
      const { stream } = await model.doStream(ask('hi', { abortSignal: controller.signal }));
      const reader = stream.getReader();
      await clock.runUntil(reader.read());
      await clock.runUntil(reader.read());
      if (reply.partDelayMs === undefined && reply.hangAfter === undefined) controller.abort('stop');
      const next = reader.read();
      next.catch(() => {});
      controller.abort('stop');
      await expect(next).rejects.toBe('stop');
      expect(clock.pending).toBe(0);
    }
  });

  test('a deaf reply goes on', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ text: 'still', delayMs: 10, partDelayMs: 10, deaf: true }], { clock });
    const answer = model.doStream(ask('hi', { abortSignal: AbortSignal.abort('stop') }));
    const parts = await clock.runUntil(answer.then(({ stream }) => readAll(stream)));
    expect(typesOf(parts).at(-1)).toBe('finish');
  });

  test('a stream that hangs gives nothing more, and doGenerate never answers', async () => {
    const clock = manualClock();
    const model = scriptedModel(forever({ text: 'abc', hangAfter: 2 }), { clock });
    const reader = (await model.doStream(ask())).stream.getReader();
    expect([(await reader.read()).value?.type, (await reader.read()).value?.type]).toEqual([
      'stream-start',
      'text-start',
    ]);
    let settled = 0;
    const count = (): void => {
      settled += 1;
    };
    reader.read().then(count, count);
    model.doGenerate(ask()).then(count, count);
    await clock.advance(1_000_000);
    expect(settled).toBe(0);
  });

  test('a reader that leaves leaves no timer behind', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ text: 'abc', partDelayMs: 10 }], { clock });
    const { stream } = await model.doStream(ask());
    const reader = stream.getReader();
    const next = reader.read();
    await clock.advance(1);
    expect(clock.pending).toBe(1);
    await reader.cancel();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(clock.pending).toBe(0);
  });
});

describe('requests', () => {
  test('are kept as frozen copies', async () => {
    const model = scriptedModel(forever({ text: 'ok' }));
    const bytes = new Uint8Array([1, 2, 3]);
    const request = ask('hi', { temperature: 0.5 });
    request.prompt.push({
      role: 'user',
      content: [{ type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } }],
    });
    await model.doStream(request);
    bytes.fill(0);
    request.prompt.pop();
    request.temperature = 1;
    const [kept] = model.requests;
    expect(kept).toMatchObject({ temperature: 0.5 });
    expect(kept?.prompt).toHaveLength(2);
    expect(kept?.prompt[1]).toMatchObject({ content: [{ data: { data: new Uint8Array([1, 2, 3]) } }] });
    expect(Object.isFrozen(kept?.prompt[0]?.content[0])).toBe(true);
  });

  test('share what was frozen throughout, and copy what was frozen in part', async () => {
    const model = scriptedModel(forever({ text: 'ok' }));
    const frozen = Object.freeze({ role: 'system', content: 'be short' } as const);
    const inPart = Object.freeze({ role: 'user' as const, content: [{ type: 'text' as const, text: 'hi' }] });
    await model.doStream({ prompt: [frozen, inPart] });
    expect(model.requests[0]?.prompt[0]).toBe(frozen);
    expect(model.requests[0]?.prompt[1]).toEqual(inPart);
    expect(model.requests[0]?.prompt[1]).not.toBe(inPart);
  });

  test('keep odd keys as data, and the signal as it is', async () => {
    const model = scriptedModel(forever({ text: 'ok' }));
    const { signal } = new AbortController();
    const input: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    const content = [{ type: 'tool-call' as const, toolCallId: 'a', toolName: 't', input }];
    await model.doStream({ prompt: [{ role: 'assistant', content }], abortSignal: signal });
    expect(model.requests[0]?.abortSignal).toBe(signal);
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('"__proto__":{"polluted":true}');
  });

  test('are only counted with record: false', async () => {
    const model = scriptedModel(forever({ text: 'ok' }), { record: false });
    await model.doStream(ask());
    expect(model.requests).toEqual([]);
    expect(model.count).toBe(1);
  });
});

describe('an older specification', () => {
  const reply: ScriptedReply = {
    text: 'hello',
    content: [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: 'found' },
      { type: 'custom', kind: 'test.thing' },
      { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'p' },
    ],
    usage: { inputTokens: 7, outputTokens: 4, cachedInputTokens: 2, reasoningTokens: 1 },
    rawFinishReason: 'end',
  };

  test('v3 has files as bare data, and no custom content', async () => {
    const model = scriptedModel(forever(reply), { specification: 'v3' });
    expect(model.specificationVersion).toBe('v3');
    const result = await model.doGenerate({ prompt: [] });
    expect(result.content).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'file', mediaType: 'image/png', data: 'AAAA' },
      { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: 'found' },
      { type: 'tool-approval-request', approvalId: 'x', toolCallId: 'p' },
    ]);
    expect(result.finishReason).toEqual({ unified: 'stop', raw: 'end' });
    const parts = await readAll((await model.doStream({ prompt: [] })).stream);
    expect(parts).toContainEqual({ type: 'file', mediaType: 'image/png', data: 'AAAA' });
    expect(typesOf(parts)).not.toContain('custom');
  });

  test('v2 has one word to finish, flat usage, and results that say that the provider ran them', async () => {
    const model = scriptedModel(forever(reply), { specification: 'v2' });
    expect(model.specificationVersion).toBe('v2');
    const result = await model.doGenerate({ prompt: [] });
    expect(result.content).toEqual([
      { type: 'text', text: 'hello' },
      { type: 'file', mediaType: 'image/png', data: 'AAAA' },
      { type: 'tool-result', toolCallId: 'p', toolName: 'search', result: 'found', providerExecuted: true },
    ]);
    const end = {
      finishReason: 'stop',
      usage: { inputTokens: 7, outputTokens: 4, totalTokens: 11, reasoningTokens: 1, cachedInputTokens: 2 },
    };
    expect(result).toMatchObject(end);
    const parts = await readAll((await model.doStream({ prompt: [] })).stream);
    expect(parts.at(-1)).toEqual({ type: 'finish', ...end });
  });

  test('v2 can finish with unknown, which the others call other', async () => {
    const v2 = scriptedModel([{ text: 'a', finishReason: 'unknown' }], { specification: 'v2' });
    expect((await v2.doGenerate({ prompt: [] })).finishReason).toBe('unknown');
    const v4 = scriptedModel([{ text: 'a', finishReason: 'unknown' }]);
    expect((await v4.doGenerate({ prompt: [] })).finishReason.unified).toBe('other');
  });

  test('an interruption is called other', async () => {
    const v3 = scriptedModel(forever({ finishReason: 'interrupted' }), { specification: 'v3' });
    expect((await v3.doGenerate({ prompt: [] })).finishReason.unified).toBe('other');
    const v2 = scriptedModel(forever({ finishReason: 'interrupted' }), { specification: 'v2' });
    expect((await v2.doGenerate({ prompt: [] })).finishReason).toBe('other');
  });

  test('a file elsewhere cannot be told', async () => {
    const url = { type: 'url', url: new URL('https://example.com/a.png') } as const;
    const elsewhere: ScriptedReply = { content: [{ type: 'file', mediaType: 'image/png', data: url }] };
    const model = scriptedModel([elsewhere], { specification: 'v2' });
    await expect(model.doGenerate({ prompt: [] })).rejects.toThrow('as data, not as a URL');
  });
});
