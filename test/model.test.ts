/** What a turn asks of a model, and what it makes of the answers: whole ones, broken ones, and those that no model should give. */
import {
  defineLoop,
  type Message,
  ModelError,
  type ModelRequest,
  type ModelStreamPart,
  type ToolContent,
  type TurnEvent,
  toolResult,
} from 'looprig';
import {
  assertPaired,
  collect,
  forever,
  manualClock,
  type ScriptedReply,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import {
  expectNextTurn,
  expectSound,
  insisting,
  open,
  openLoop,
  outcomes,
  play,
  reached,
  resultsIn,
  saying,
} from './cases/setup.ts';
import { streamOf } from './support/stream-of.ts';
import { tamper } from './support/tamper.ts';

const done: ScriptedReply = { text: 'done' };
const asks: ScriptedReply = { calls: [{ tool: 't', id: 'c1', input: { n: 1 } }] };

/** An error as provider packages throw it. */
function apiError(details: Record<string, unknown>): Error {
  return Object.assign(new Error('the provider said no'), { name: 'AI_APICallError' }, details);
}
const busy = apiError({ isRetryable: true, statusCode: 503 });
const refused = apiError({ isRetryable: false, statusCode: 400 });

function retries(events: readonly TurnEvent[]) {
  return events.filter(event => event.type === 'step.retrying');
}

function deltas(events: readonly TurnEvent[]): string {
  return events.map(event => (event.type === 'text.delta' ? event.text : '')).join('');
}

/** The prompts without what is not history. */
function prompts(requests: readonly { readonly prompt: readonly Message[] }[]): readonly (readonly Message[])[] {
  return requests.map(({ prompt }) => prompt.filter(({ role }) => role !== 'system'));
}

describe('models of every specification', () => {
  it.each(
    (['v4', 'v3', 'v2'] as const).flatMap(specification =>
      [true, false].map(stream => [specification, stream] as const),
    ),
  )('a model of %s runs a turn with tools (stream: %s)', async (specification, stream) => {
    const t = scriptedTool('t', 'result');
    const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, reasoningTokens: 5 };
    const model = scriptedModel(
      [
        { reasoning: 'hm', text: 'I look.', usage, ...asks },
        { text: 'done', usage },
      ],
      { specification },
    );
    const loop = defineLoop({ name: 'any', model, tools: [t.definition], stream, system: 'Be brief.' });
    const { events, result } = await play(await openLoop(loop, scriptedModel([])));
    expect(result).toMatchObject({
      status: 'done',
      text: 'done',
      steps: 2,
      calls: 1,
      finishReason: { unified: 'stop' },
    });
    expect(result.usage).toEqual({
      ...{ inputTokens: 200, outputTokens: 40, totalTokens: 240, cachedInputTokens: 120, reasoningTokens: 10 },
    });
    expect(t.runs.map(({ input, callId }) => [input, callId])).toEqual([[{ n: 1 }, 'c1']]);
    expect(deltas(events)).toBe(stream ? 'I look.done' : '');
    model.assertUsed();
    const last = model.requests.at(-1)?.prompt as readonly Message[];
    expect(last.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(JSON.stringify(last)).toContain('I look.');
    assertPaired(last.slice(1));
  });

  it.each([true, false])('`stream: %s` decides which of the two methods is called', async stream => {
    const called: string[] = [];
    const inner = scriptedModel(forever(done));
    const model = {
      ...{ specificationVersion: 'v4' as const, provider: 'p', modelId: 'm', supportedUrls: {} },
      doStream: (request: ModelRequest) => {
        called.push('doStream');
        return inner.doStream(request);
      },
      doGenerate: (request: ModelRequest) => {
        called.push('doGenerate');
        return inner.doGenerate(request);
      },
    };
    const opened = await openLoop(defineLoop({ name: 'l', model, ...(stream ? {} : { stream }) }), inner);
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect(called).toEqual([stream ? 'doStream' : 'doGenerate']);
  });
});

describe('the request', () => {
  it('has the system text first, the tools, the settings and the signal', async () => {
    const model = saying(done);
    const opened = await open({
      ...{ model, tools: [scriptedTool('t')], system: 'Be brief.' },
      settings: { temperature: 0.5, maxOutputTokens: 9, providerOptions: { p: { effort: 'low' } } },
    });
    await play(opened);
    expect(model.requests[0]).toMatchObject({
      ...{ temperature: 0.5, maxOutputTokens: 9, providerOptions: { p: { effort: 'low' } } },
      prompt: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'go' }] },
      ],
      tools: [{ type: 'function', name: 't' }],
      toolChoice: { type: 'auto' },
    });
    expect(model.requests[0]?.abortSignal).toBeInstanceOf(AbortSignal);
  });

  it('shares the messages of earlier steps: only the array is new, and nothing in it can be changed', async () => {
    const seen: (readonly Message[])[] = [];
    const model = scriptedModel(
      forever(({ prompt }, index) => {
        seen.push(prompt);
        return index < 6 ? { text: `step ${index}`, calls: [{ tool: 't', input: { index } }] } : done;
      }),
    );
    const opened = await open({ model, tools: [scriptedTool('t', { returns: { some: ['json'] } })] });
    await play(opened);
    expect(seen).toHaveLength(7);
    for (const [index, prompt] of seen.entries()) {
      expect(prompt).toHaveLength(1 + 2 * index);
      for (const [place, message] of (seen[index - 1] ?? []).entries()) expect(prompt[place]).toBe(message);
      expect(prompt).not.toBe(seen[index - 1]);
    }
    for (const message of seen.at(-1) ?? []) expectFrozen(message);
    expect(opened.session.history.slice(0, -1)).toEqual(seen.at(-1));
  });
});

function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  expect(Object.isFrozen(value), JSON.stringify(value)).toBe(true);
  for (const member of Object.values(value)) expectFrozen(member);
}

describe('what goes back', () => {
  const metadata = { p: { signature: 'sig-1', cache: { type: 'ephemeral' } } };

  it.each(
    (['v4', 'v3', 'v2'] as const).flatMap(specification =>
      [true, false].map(stream => [specification, stream] as const),
    ),
  )(
    'metadata of reasoning, text and calls goes back exactly as it came (%s, stream: %s)',
    async (specification, stream) => {
      const model = scriptedModel(
        [
          {
            content: [
              { type: 'reasoning', text: 'first', providerMetadata: { p: { signature: 'sig-0' } } },
              { type: 'reasoning', text: '', providerMetadata: { p: { redacted: 'xyz' } } },
              { type: 'text', text: 'I look.', providerMetadata: metadata },
              { type: 'tool-call', toolCallId: 'c1', toolName: 't', input: '{"a":1}', providerMetadata: metadata },
            ],
          },
          done,
        ],
        { specification },
      );
      const loop = defineLoop({ name: 'l', model, tools: [scriptedTool('t').definition], stream });
      await play(await openLoop(loop, scriptedModel([])));
      const sent = model.requests[1]?.prompt as readonly Message[];
      expect(sent.find(({ role }) => role === 'assistant')?.content).toEqual([
        { type: 'reasoning', text: 'first', providerOptions: { p: { signature: 'sig-0' } } },
        { type: 'reasoning', text: '', providerOptions: { p: { redacted: 'xyz' } } },
        { type: 'text', text: 'I look.', providerOptions: metadata },
        { type: 'tool-call', toolCallId: 'c1', toolName: 't', input: { a: 1 }, providerOptions: metadata },
      ]);
    },
  );

  it('blocks that come interleaved keep the order in which they began', async () => {
    const parts: ModelStreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      { type: 'text-start', id: 'a' },
      { type: 'text-delta', id: 'a', delta: 'one ' },
      { type: 'reasoning-delta', id: 'r', delta: 'think' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'two' },
      { type: 'text-delta', id: 'a', delta: 'more ' },
      { type: 'text-end', id: 'b' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signature: 's' } } },
      { type: 'text-end', id: 'a' },
      { type: 'finish', finishReason: { unified: 'stop', raw: 'end' }, usage: NO_COUNTS },
    ];
    const { opened } = await streaming([parts]);
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'done',
      text: 'one more two',
      finishReason: { unified: 'stop', raw: 'end' },
    });
    expect(opened.session.history.at(-1)?.content).toEqual([
      { type: 'reasoning', text: 'think', providerOptions: { p: { signature: 's' } } },
      { type: 'text', text: 'one more ' },
      { type: 'text', text: 'two' },
    ]);
  });

  it('sources, response metadata, raw chunks and pings leave no trace in the history', async () => {
    const parts: ModelStreamPart[] = [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1' },
      { type: 'raw', rawValue: { any: 'thing' } },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' },
      ...textParts('hello'),
      finish('stop'),
    ];
    const { opened } = await streaming([parts]);
    await play(opened);
    expect(opened.session.history.at(-1)?.content).toEqual([{ type: 'text', text: 'hello' }]);
  });

  it('a file of the model is kept and goes back', async () => {
    const data = { type: 'data' as const, data: 'AAEC' };
    const file = { type: 'file' as const, mediaType: 'image/png', data };
    const opened = await open({ model: saying({ content: [file] }) });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: '' });
    const [, , answer] = await expectNextTurn(opened);
    expect(opened.session.history[1]?.content).toEqual([file]);
    expect(answer?.role).toBe('user');
  });
});

describe('retries', () => {
  it('a retryable error is tried again twice, with exponential back-off and jitter', async () => {
    const clock = manualClock();
    const times: number[] = [];
    const model = scriptedModel(
      forever(() => {
        times.push(clock.now());
        return { error: busy };
      }),
    );
    const opened = await open({ model, clock });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'request_failed', attempts: 3 } });
    expect(ModelError.is(result.status === 'failed' && result.error)).toBe(true);
    expect(result.status === 'failed' && result.error.cause).toBe(busy);
    const [first = 0, second = 0, third = 0] = times;
    expect(times).toHaveLength(3);
    expect(second - first).toBeGreaterThanOrEqual(500);
    expect(second - first).toBeLessThanOrEqual(1_000);
    expect(third - second).toBeGreaterThanOrEqual(1_000);
    expect(third - second).toBeLessThanOrEqual(2_000);
    expect(retries(events)).toMatchObject([
      { attempt: 2, delayMs: second - first, reason: 'the provider said no' },
      { attempt: 3, delayMs: third - second },
    ]);
  });

  it('the wait has jitter', async () => {
    const waits = new Set<number>();
    for (let turn = 0; turn < 12; turn++) {
      const { events } = await play(await open({ model: saying({ error: busy }, done) }));
      for (const { delayMs } of retries(events)) waits.add(delayMs);
    }
    expect(waits.size).toBeGreaterThan(1);
  });

  it('an attempt that goes well ends the retries, and the turn does not show that there were any', async () => {
    const t = scriptedTool('t');
    const opened = await open({
      model: saying({ error: busy }, asks, { error: busy }, { error: busy }, done),
      tools: [t],
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', steps: 2, iterations: 1, calls: 1 });
    expect(retries(events)).toHaveLength(3);
    expect(t.count).toBe(1);
    expect(opened.session.history).toHaveLength(4);
    await expectNextTurn(opened);
  });

  it.each([
    ['retry-after in seconds', { 'retry-after': '7' }, 7_000],
    ['retry-after as a date', { 'retry-after': new Date(1_000_000 + 9_000).toUTCString() }, 9_000],
    ['retry-after-ms', { 'retry-after-ms': '1234', 'retry-after': '99' }, 1_234],
    ['a date that is past', { 'retry-after': new Date(0).toUTCString() }, 0],
  ])('%s is honoured', async (_, responseHeaders, delayMs) => {
    const clock = manualClock(1_000_000);
    const error = apiError({ isRetryable: true, statusCode: 429, responseHeaders });
    const { events, result } = await play(await open({ model: saying({ error }, done), clock }));
    expect(result.status).toBe('done');
    expect(retries(events)).toMatchObject([{ delayMs }]);
    expect(clock.now()).toBe(1_000_000 + delayMs);
  });

  it.each([
    ['which the provider calls retryable', busy],
    [
      'of a lost connection',
      new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) }),
    ],
    ['with a network code', Object.assign(new Error('read'), { code: 'ETIMEDOUT' })],
    ['of status 429', apiError({ statusCode: 429 })],
    ['of status 529', apiError({ statusCode: 529 })],
  ])('an error %s is tried again', async (_, error) => {
    const { result } = await play(await open({ model: saying({ error }, done) }));
    expect(result).toMatchObject({ status: 'done', text: 'done' });
  });

  it.each([
    ['which the provider calls final', refused],
    ['of status 401', apiError({ statusCode: 401 })],
    ['of status 500 which the provider calls final', apiError({ statusCode: 500, isRetryable: false })],
    ['of a program', new RangeError('out of range')],
    ['that is a word', 'no'],
    ['that is undefined', undefined],
  ])('an error %s ends the turn at once, and the next turn works', async (_, error) => {
    const reply = { error: error ?? null };
    const opened = await open({ model: saying(reply) });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'request_failed', attempts: 1 } });
    expect(result.status === 'failed' && result.error.cause).toBe(reply.error);
    expect(retries(events)).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'turn.failed', error: { name: 'ModelError', kind: 'request_failed' } });
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user']);
    await expectNextTurn(opened);
  });

  it.each([
    [0, 1],
    [1, 2],
    [4, 5],
  ])('modelRetries: %i makes at most %i attempts', async (modelRetries, attempts) => {
    const model = insisting(() => ({ error: busy }));
    const { result } = await play(await open({ model, modelRetries }));
    expect(result).toMatchObject({ status: 'failed', error: { attempts } });
    expect(model.count).toBe(attempts);
  });

  it('step.retrying stands between what the broken attempt showed and what the next one shows', async () => {
    const model = saying({ text: 'first try', deltas: 3, errorAfter: 4 }, { text: 'second try' });
    const opened = await open({ model });
    const { events, result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'second try' });
    const place = events.findIndex(({ type }) => type === 'step.retrying');
    expect('first try'.startsWith(deltas(events.slice(0, place)))).toBe(true);
    expect(deltas(events.slice(0, place))).not.toBe('');
    expect(deltas(events.slice(place))).toBe('second try');
    expect(JSON.stringify(opened.session.history)).not.toContain('first');
    const steps = events.filter(({ type }) => type === 'step.started' || type === 'step.done');
    expect(steps.map(({ type }) => type)).toEqual(['step.started', 'step.done']);
  });

  it('a call of a broken attempt is never run', async () => {
    const t = scriptedTool('t');
    const model = saying({ text: 'a', ...asks, errorAfter: 8 }, done);
    const { result, events } = await play(await open({ model, tools: [t] }));
    expect(result).toMatchObject({ status: 'done', calls: 0 });
    expect(t.count).toBe(0);
    expect(events.some(({ type }) => type === 'tool.called')).toBe(false);
  });

  it('retries of each step are its own', async () => {
    const fail = { error: busy };
    const model = saying(fail, fail, asks, fail, fail, done);
    expect((await play(await open({ model, tools: [scriptedTool('t')] }))).result).toMatchObject({ status: 'done' });
  });
});

describe('a stream that breaks off', () => {
  const broken = (reply: ScriptedReply): ScriptedReply => ({ ...reply, error: refused });

  it('keeps the text that was shown, with a marker, and the turn can be taken up', async () => {
    const opened = await open({ model: saying(broken({ deltas: ['Hello wor', 'ld'], errorAfter: 3 }), done) });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'stream_broken' }, text: 'Hello wor' });
    expect(opened.session.history.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello wor' }],
      providerOptions: { looprig: { incomplete: 'broken' } },
    });
    expect(events.at(-1)).toMatchObject({ type: 'turn.failed', text: 'Hello wor' });
    expect(await opened.session.continue().result).toMatchObject({ status: 'done', text: 'done' });
    await expectNextTurn(opened);
  });

  it('keeps sealed reasoning with its signature, and drops reasoning that did not come to its end', async () => {
    const sealed: ScriptedReply = {
      content: [
        { type: 'reasoning', text: 'thought', providerMetadata: { p: { signature: 's' } } },
        { type: 'text', text: 'Hello' },
        { type: 'reasoning', text: 'second thought' },
      ],
      errorAfter: 9,
    };
    const opened = await open({ model: saying(broken(sealed)) });
    await play(opened);
    expect(opened.session.history.at(-1)?.content).toEqual([
      { type: 'reasoning', text: 'thought', providerOptions: { p: { signature: 's' } } },
      { type: 'text', text: 'Hello' },
    ]);
    await expectNextTurn(opened);
  });

  it('never keeps a call, not even a whole one', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(broken({ text: 'I look.', ...asks, errorAfter: 8 })), tools: [t] });
    await play(opened);
    expect(opened.session.history.at(-1)?.content).toEqual([{ type: 'text', text: 'I look.' }]);
    expect(t.count).toBe(0);
    await expectNextTurn(opened);
  });

  it('keeps nothing where no text was shown', async () => {
    const opened = await open({
      model: saying(broken({ reasoning: 'hm', ...asks, errorAfter: 5 })),
      tools: [scriptedTool('t')],
    });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', text: '' });
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user']);
    await expectNextTurn(opened);
  });

  it('without a finish part is broken too, after retries', async () => {
    const parts: ModelStreamPart[] = [{ type: 'stream-start', warnings: [] }, ...textParts('Hello')];
    const { opened, model } = await streaming([parts]);
    expect((await play(opened)).result).toMatchObject({
      status: 'failed',
      error: { kind: 'stream_broken', attempts: 3 },
    });
    expect(model.count).toBe(3);
    expect(opened.session.history.at(-1)).toMatchObject({ providerOptions: { looprig: { incomplete: 'broken' } } });
    assertPaired(opened.session.history);
  });

  it('an error told as a part breaks the stream as well', async () => {
    const opened = await open({ model: saying({ text: 'Hello', errorAfter: 3, errorAsPart: true, error: refused }) });
    expect((await play(opened)).result).toMatchObject({
      status: 'failed',
      error: { kind: 'stream_broken', cause: refused },
    });
    expect(opened.session.history.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'Hello' }] });
  });

  it('in a later step keeps the steps before it', async () => {
    const opened = await open({
      model: saying(asks, broken({ text: 'Hello', errorAfter: 3 })),
      tools: [scriptedTool('t')],
    });
    await play(opened);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    await expectNextTurn(opened);
  });

  it('its marked text goes to the model as it is, without any word of ours in it', async () => {
    const opened = await open({ model: saying(broken({ deltas: ['Hello wor', 'ld'], errorAfter: 3 })) });
    await play(opened);
    const prompt = await expectNextTurn(opened);
    expect(prompt[1]).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'Hello wor' }] });
  });
});

describe('answers that are none', () => {
  it.each([
    ['nothing', {}],
    ['empty text', { text: '' }],
    ['reasoning alone', { reasoning: 'hm' }],
    [
      'a source alone',
      { content: [{ type: 'source' as const, sourceType: 'url' as const, id: 's', url: 'https://example.org' }] },
    ],
    ['a finish that speaks of calls, and none', { finishReason: 'tool-calls' as const }],
  ])('%s ends the turn as an empty response, which is not kept', async (_, reply: ScriptedReply) => {
    for (const stream of [true, false]) {
      const opened = await open({ model: saying(reply), stream });
      const { result } = await play(opened);
      expect(result).toMatchObject({ status: 'failed', error: { kind: 'empty_response' } });
      expect(ModelError.is(result.status === 'failed' && result.error)).toBe(true);
      expect(opened.session.history).toHaveLength(1);
      await expectNextTurn(opened);
    }
  });

  it('an empty answer after tools leaves their step in the history', async () => {
    const opened = await open({ model: saying(asks, {}), tools: [scriptedTool('t')] });
    expect((await play(opened)).result).toMatchObject({
      status: 'failed',
      error: { kind: 'empty_response' },
      calls: 1,
    });
    expect(opened.session.history).toHaveLength(3);
    await expectNextTurn(opened);
  });

  it('a finish with an error and no content is tried again', async () => {
    const gone: ScriptedReply = { finishReason: 'error', rawFinishReason: 'MALFORMED_FUNCTION_CALL' };
    const good = await play(await open({ model: saying(gone, gone, done) }));
    expect(good.result).toMatchObject({ status: 'done', text: 'done', steps: 1 });
    expect(retries(good.events)).toHaveLength(2);
    const bad = await play(await open({ model: insisting(() => gone) }));
    expect(bad.result).toMatchObject({ status: 'failed', error: { kind: 'provider_error', attempts: 3 } });
  });

  it('a finish with an error and content is reported as it is', async () => {
    const { result } = await play(await open({ model: saying({ text: 'half', finishReason: 'error' }) }));
    expect(result).toMatchObject({ status: 'done', text: 'half', finishReason: { unified: 'error' } });
  });
});

describe('finish reasons', () => {
  it.each(['length', 'content-filter', 'other'] as const)(
    '%s is reported on the result and in the events',
    async finishReason => {
      const { result, events } = await play(
        await open({ model: saying({ text: 'half', finishReason, rawFinishReason: 'raw' }) }),
      );
      expect(result).toMatchObject({ status: 'done', finishReason: { unified: finishReason, raw: 'raw' } });
      expect(events.at(-1)).toMatchObject({ type: 'turn.done', finishReason: { unified: finishReason, raw: 'raw' } });
      expect(events.find(({ type }) => type === 'step.done')).toMatchObject({
        finishReason: { unified: finishReason },
      });
    },
  );

  it.each(['stop', 'other', 'content-filter', 'error'] as const)(
    'calls are run though the finish reason is %s',
    async finishReason => {
      const t = scriptedTool('t');
      const { result } = await play(await open({ model: saying({ ...asks, finishReason }, done), tools: [t] }));
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 1 });
      expect(t.count).toBe(1);
    },
  );

  it('text without calls is the answer though the finish reason speaks of calls', async () => {
    const { result } = await play(await open({ model: saying({ text: 'done', finishReason: 'tool-calls' }) }));
    expect(result).toMatchObject({ status: 'done', text: 'done', finishReason: { unified: 'tool-calls' } });
  });

  it.each([true, false])('a response cut off by the output limit runs none of its calls (stream: %s)', async stream => {
    const t = scriptedTool('t');
    const calls = [
      { tool: 't', id: 'c1', input: {} },
      { tool: 't', id: 'c2', inputText: '{"text": "half a' },
    ];
    const opened = await open({
      model: saying({ text: 'I write.', calls, finishReason: 'length' }, done),
      tools: [t],
      stream,
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', iterations: 1, calls: 2 });
    expect(t.count).toBe(0);
    for (const [, text] of resultsIn(opened.session.history)) expect(text).toMatch(/cut off by the output limit/);
    expect(outcomes(events).map(([id, outcome]) => [id, outcome])).toEqual([
      ['c1', 'refused'],
      ['c2', 'refused'],
    ]);
    await expectNextTurn(opened);
  });
});

describe('a response that the provider paused', () => {
  const paused: ScriptedReply = {
    content: [
      { type: 'text', text: 'Searching. ', providerMetadata: { p: { mark: 1 } } },
      { type: 'tool-call', toolCallId: 'srv1', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
    ],
    finishReason: 'other',
    rawFinishReason: 'pause_turn',
  };

  it('goes back unchanged, and the same turn goes on', async () => {
    const model = saying(paused, done);
    const opened = await open({ model });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', iterations: 0, calls: 0, steps: 2 });
    expect(prompts(model.requests)[1]?.at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Searching. ', providerOptions: { p: { mark: 1 } } },
        { type: 'tool-call', toolCallId: 'srv1', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
      ],
    });
    expect(events.filter(({ type }) => type === 'turn.done')).toHaveLength(1);
    assertPaired(opened.session.history);
  });

  it('without any content goes on too', async () => {
    const opened = await open({ model: saying({ finishReason: 'other', rawFinishReason: 'pause_turn' }, done) });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
  });

  it('with calls of ours has them run', async () => {
    const t = scriptedTool('t');
    const model = saying({ ...paused, ...asks }, done);
    expect((await play(await open({ model, tools: [t] }))).result).toMatchObject({ status: 'done', calls: 1 });
    expect(t.count).toBe(1);
  });

  it('for ever ends all the same', async () => {
    const model = insisting(() => paused);
    const opened = await open({ model });
    const { result } = await play(opened);
    expect(['done', 'failed']).toContain(result.status);
    expect(model.count).toBeLessThan(50);
  });
});

describe('arguments and provider-executed tools', () => {
  it('an empty argument text is {} where the schema takes it', async () => {
    const free = scriptedTool('free');
    const strict = scriptedTool('strict', { input: { type: 'object', required: ['x'] } });
    const calls = [
      { tool: 'free', inputText: '' },
      { tool: 'strict', inputText: '' },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [free, strict] });
    const { events } = await play(opened);
    expect(free.runs.map(({ input }) => input)).toEqual([{}]);
    expect(strict.count).toBe(0);
    expect(
      outcomes(events)
        .map(([, outcome]) => outcome)
        .sort(),
    ).toEqual(['done', 'refused']);
    expect(JSON.stringify(resultsIn(opened.session.history))).toMatch(/do not fit the schema/);
  });

  it.each([true, false])(
    'tools that the provider ran are recorded, never run here, and count for nothing (stream: %s)',
    async stream => {
      const search = scriptedTool('web_search');
      const reply: ScriptedReply = {
        content: [
          { type: 'tool-call', toolCallId: 'srv1', toolName: 'web_search', input: '{"q":"x"}', providerExecuted: true },
          { type: 'tool-result', toolCallId: 'srv1', toolName: 'web_search', result: { hits: [1] } },
          { type: 'text', text: 'found' },
        ],
      };
      const opened = await open({ model: saying(reply), tools: [search], limits: { iterations: 1, calls: 1 }, stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'found', iterations: 0, calls: 0 });
      expect(search.count).toBe(0);
      expect(events.some(({ type }) => type.startsWith('tool.'))).toBe(false);
      expect(opened.session.history.at(-1)?.content).toEqual([
        { type: 'tool-call', toolCallId: 'srv1', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
        {
          type: 'tool-result',
          toolCallId: 'srv1',
          toolName: 'web_search',
          output: { type: 'json', value: { hits: [1] } },
        },
        { type: 'text', text: 'found' },
      ]);
      await expectNextTurn(opened);
    },
  );

  it('beside a call of ours, only ours runs and counts', async () => {
    const t = scriptedTool('t', 'mine');
    const reply: ScriptedReply = {
      content: [
        { type: 'tool-call', toolCallId: 'c1', toolName: 'web_search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'c1', toolName: 'web_search', result: 'theirs' },
      ],
      ...asks,
    };
    const opened = await open({ model: saying(reply, done), tools: [t] });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 1 });
    const [id] = resultsIn(opened.session.history)[0] ?? [];
    expect(id).not.toBe('c1'); // the provider's own call has that id
    expect(t.runs.map(({ callId }) => callId)).toEqual([id]);
    await expectNextTurn(opened);
  });
});

// What follows is no model at all by its contract, and still ends a turn only in the ways that a turn may end.

const NO_COUNTS = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};

function textParts(text: string): ModelStreamPart[] {
  return [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
  ];
}

function finish(unified: 'stop' | 'tool-calls', usage: unknown = NO_COUNTS): ModelStreamPart {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: usage as never };
}

/** A session on a model that streams exactly these parts: the last list again and again, or whatever a function gives. */
async function streaming(
  responses: readonly (readonly unknown[] | (() => unknown))[],
  options: { readonly stream?: boolean } = {},
) {
  const clock = manualClock();
  const counter = { count: 0, isHealed: false };
  const t = scriptedTool('t');
  const respond = async (): Promise<unknown> => {
    const response = counter.isHealed ? answer : responses[Math.min(counter.count++, responses.length - 1)];
    if (typeof response === 'function') return response();
    return { stream: streamOf(response as Iterable<unknown>) };
  };
  const model = {
    ...{ specificationVersion: 'v4', provider: 'odd', modelId: 'odd', supportedUrls: {} },
    doStream: respond,
    doGenerate: respond,
  };
  const loop = defineLoop({
    name: 'odd',
    model: model as never,
    tools: [t.definition],
    limits: { iterations: 4 },
    ...options,
  });
  const opened = await openLoop(loop, scriptedModel([]), clock);
  return { opened, clock, t, model: counter };
}

const never = (): Promise<never> => new Promise(() => {});
const throwing = {
  get message(): never {
    throw new Error('hostile');
  },
  get isRetryable(): never {
    throw new Error('hostile');
  },
};
const answer: readonly unknown[] = [...textParts('fine'), finish('stop')];
const call = (details: object): object => ({
  type: 'tool-call',
  toolCallId: 'c1',
  toolName: 't',
  input: '{}',
  ...details,
});

describe('a model that breaks its contract', () => {
  const unreadable = new Proxy(
    {},
    {
      get: () => {
        throw new Error('hostile');
      },
      getPrototypeOf: () => {
        throw new Error('hostile');
      },
    },
  );
  const throws = (what: unknown) => () => {
    throw what;
  };
  const headers = (responseHeaders: unknown) => throws(apiError({ isRetryable: true, responseHeaders }));

  it.each<readonly [string, readonly unknown[] | (() => unknown)]>([
    ['throws an error whose getters throw', throws(throwing)],
    ['throws a proxy that cannot be looked at', throws(unreadable)],
    ['throws null', throws(null)],
    ['throws a symbol', throws(Symbol('s'))],
    ['asks to wait for a symbol', headers({ 'retry-after-ms': Symbol('s') })],
    [
      'asks to wait for an object that is no number',
      headers({ 'retry-after-ms': { valueOf: throws(new Error('hostile')) } }),
    ],
    ['asks to wait for a negative time', headers({ 'retry-after': '-5' })],
    ['gives nothing', () => undefined],
    ['gives no stream', () => ({})],
    [
      'gives a stream that somebody else reads',
      () => {
        const stream = streamOf(answer);
        stream.getReader();
        return { stream };
      },
    ],
    ['streams null', [null]],
    ['streams parts of unknown types', [{ type: 'surprise' }, ...answer]],
    ['streams a part without a type', [{}, ...answer]],
    ['streams nothing', []],
    ['streams after its finish', [...answer, ...textParts('more')]],
    ['finishes without a reason', [...textParts('fine'), { type: 'finish' }]],
    ['finishes with null for its usage', [...textParts('fine'), finish('stop', null)]],
    ['finishes with a usage that cannot be read', [...textParts('fine'), finish('stop', unreadable)]],
    ['ends a text that it never began', [{ type: 'text-end', id: 'x' }, ...answer]],
    ['streams a delta that is no text', [{ type: 'text-delta', id: '0', delta: Symbol('s') }, ...answer]],
    ['calls a tool without a name', [call({ toolName: undefined }), finish('tool-calls')]],
    ['calls a tool whose name is a number', [call({ toolName: 7 }), finish('tool-calls')]],
    [
      'calls a tool with a name of a million letters',
      [call({ toolName: 'x'.repeat(1_000_000) }), finish('tool-calls')],
    ],
    ['calls with an id that is no text', [call({ toolCallId: { id: 1 } }), finish('tool-calls')]],
    ['calls with arguments that are no text', [call({ input: { n: 1 } }), finish('tool-calls')]],
    ['calls with undefined arguments', [call({ input: undefined }), finish('tool-calls')]],
    ['calls with arguments nested a thousand deep', [call({ input: nested(1_000) }), finish('tool-calls')]],
    ['calls with arguments nested fifty thousand deep', [call({ input: nested(50_000) }), finish('tool-calls')]],
    [
      'gives metadata that cannot be read',
      [
        { type: 'text-start', id: '0', providerMetadata: unreadable },
        { type: 'text-delta', id: '0', delta: 'fine' },
        finish('stop'),
      ],
    ],
  ])(
    'that %s ends the turn with one terminal, keeps the history valid, and the next turn works',
    async (_, response) => {
      const { opened, clock, model } = await streaming([response]);
      const { result, events } = await clock.runUntil(collect(opened.session.submit('go')), { maxMs: 3_600_000 });
      expect(['done', 'failed']).toContain(result.status);
      expect(result.status === 'failed' ? result.error.kind : 'fine').not.toBe('internal');
      expect(events.filter(({ type }) => /^turn\.(done|failed|interrupted)$/.test(type))).toHaveLength(1);
      assertPaired(opened.session.history);
      expect(() => JSON.stringify(opened.session.history)).not.toThrow();
      model.isHealed = true;
      const next = await clock.runUntil(opened.session.submit('and now?').result);
      expect(next).toMatchObject({ status: 'done' });
      assertPaired(opened.session.history);
    },
  );

  it.each<readonly [string, () => unknown]>([
    ['whose request never settles', never],
    ['whose stream never gives a part', () => ({ stream: new ReadableStream({ pull: never }) })],
    [
      'whose stream cannot be cancelled',
      () => ({ stream: new ReadableStream({ pull: never, cancel: throws(new Error('no')) }) }),
    ],
    ['whose stream never ends its cancelling', () => ({ stream: new ReadableStream({ pull: never, cancel: never }) })],
    [
      'whose stream is one by its looks only',
      () => ({
        stream: {
          getReader: () => ({ read: never, cancel: throws(new Error('no')), releaseLock: throws(new Error('no')) }),
        },
      }),
    ],
  ])('and %s is left behind by an interrupt and by the time of the turn', async (_, response) => {
    for (const stop of ['interrupt', 'timeout'] as const) {
      const { opened, clock } = await streaming([response, answer]);
      const turn = opened.session.submit('go', stop === 'timeout' ? { limits: { turnTimeoutMs: 100 } } : {});
      await reached(turn, 'step.started');
      await clock.advance(50);
      if (stop === 'interrupt') expect(() => turn.interrupt()).not.toThrow();
      const result = await clock.runUntil(turn.result, { maxMs: 5_000 });
      expect(result.status).toBe(stop === 'interrupt' ? 'interrupted' : 'failed');
      expect(await clock.runUntil(opened.session.submit('and now?').result)).toMatchObject({ status: 'done' });
    }
  });

  it.each(['v4', 'v3', 'v2'] as const)(
    'of %s that changes the request it is given changes nothing for the next step',
    async specification => {
      const seen: string[] = [];
      const tools: unknown[] = [];
      const model = scriptedModel<'v4'>(
        forever((request, index) => {
          seen.push(JSON.stringify(request.prompt));
          tools.push(request.tools?.map(({ name }) => name));
          tamper(request);
          return index < 2 ? { text: `step ${index}`, ...asks } : done;
        }),
        { record: false, specification: specification as 'v4' },
      );
      const parts: ToolContent[] = [
        { type: 'text', text: 'seen' },
        { type: 'json', value: { deep: { list: [1, { two: 2 }] } } },
        { type: 'image', data: new Uint8Array([0, 1, 2]), mediaType: 'image/png' },
      ];
      const tool = scriptedTool('t', { returns: toolResult(parts) });
      const settings = { providerOptions: { p: { a: 1 } } };
      const opened = await open({ model, tools: [tool], system: 'Be brief.', settings });
      const input = [
        { type: 'text' as const, text: 'go' },
        { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: 'AAEC' } },
      ];
      const result = await opened.clock.runUntil(opened.session.submit(input).result);
      expect(result).toMatchObject({ status: 'done', text: 'done' });
      expect(seen).toHaveLength(3);
      expect(JSON.stringify(seen)).not.toContain('tampered');
      expect(seen[2]?.startsWith(seen[1]?.slice(0, -1) ?? '')).toBe(true);
      expect(tools).toEqual([['t'], ['t'], ['t']]);
      expect(JSON.stringify(opened.session.history)).not.toContain('tampered');
      expectSound({ ...opened, model: scriptedModel([]) });
    },
  );

  it('that changes the request and then fails does not spoil the next attempt', async () => {
    const seen: string[] = [];
    const model = scriptedModel(
      forever((request, index) => {
        seen.push(JSON.stringify(request));
        tamper(request);
        return index === 0 ? { error: busy } : done;
      }),
      { record: false },
    );
    const opened = await open({ model, tools: [scriptedTool('t')], system: 'Be brief.' });
    expect((await play(opened)).result).toMatchObject({ status: 'done' });
    expect(seen[1]).toBe(seen[0]);
  });

  it('that keeps what it streamed and changes it later changes nothing', async () => {
    const kept = [
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { p: { signature: 's', more: { deep: 1 } } } },
      call({ providerMetadata: { p: { list: [1] } } }),
      { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'raw' }, usage: structuredClone(NO_COUNTS) },
    ];
    const { opened, clock } = await streaming([kept, answer]);
    const turn = opened.session.submit('go');
    await reached(turn, 'step.done');
    tamper(kept);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'fine' });
    expect(JSON.stringify(opened.session.history)).not.toContain('tampered');
  });
});

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}
