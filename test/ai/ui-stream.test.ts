/** A turn as a UI message stream: what a page with `useChat` is told. */
import { defineLoop, defineRig, defineTool, type LoopOptions, memoryStore, type Session, toolResult } from 'looprig';
import { type ToldTurn, toUIMessageStream } from 'looprig/ai';
import { manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { partsOf, readPage, textOf } from './page.ts';

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather.',
  input: z.object({ city: z.string() }),
  execute({ city }, call) {
    call.progress({ asked: city });
    if (city === 'Atlantis') throw new Error('no such city');
    return { city, degrees: 21 };
  },
});

async function sessionOf(
  replies: readonly ScriptedReply[],
  options: Partial<LoopOptions> = {},
  clock = manualClock(),
): Promise<Session> {
  const model = scriptedModel(replies, { clock });
  const loop = defineLoop({ name: 'agent', model, tools: [weather], ...options } as LoopOptions);
  return await defineRig({ loops: [loop], clock }).open();
}

const typesOf = (chunks: readonly { readonly type: string }[]): string[] => chunks.map(({ type }) => type);

describe('the stream of a turn', () => {
  it('tells reasoning, text, arguments, progress, results and the end, in the words of AI SDK', async () => {
    const session = await sessionOf([
      { reasoning: 'Hm.', text: 'I look.', deltas: 2, calls: [{ tool: 'weather', input: { city: 'Rome' }, id: 'c1' }] },
      { text: 'Warm.' },
    ]);
    const turn = session.submit('How is Rome?');
    const { chunks, message, errors } = await readPage(toUIMessageStream(turn));
    expect(typesOf(chunks)).toEqual([
      ...['start', 'start-step', 'reasoning-start', 'reasoning-delta', 'reasoning-end'],
      ...['text-start', 'text-delta', 'text-delta', 'text-end'],
      ...['tool-input-start', 'tool-input-delta', 'tool-input-available'],
      ...['tool-output-available', 'tool-output-available', 'finish-step'],
      ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
    ]);
    expect(chunks.filter(({ type }) => type === 'tool-output-available')).toEqual([
      { type: 'tool-output-available', toolCallId: 'c1', output: { asked: 'Rome' }, preliminary: true },
      { type: 'tool-output-available', toolCallId: 'c1', output: { city: 'Rome', degrees: 21 } },
    ]);
    expect(partsOf(message)).toEqual([
      ['step-start'],
      ['reasoning', 'Hm.'],
      ['text', 'I look.'],
      ['tool-weather', 'output-available', { city: 'Rome' }, { city: 'Rome', degrees: 21 }],
      ['step-start'],
      ['text', 'Warm.'],
    ]);
    expect(message.id).toBe(turn.id);
    expect(message.metadata).toMatchObject({ turnId: turn.id, status: 'done', steps: 2, iterations: 1, calls: 1 });
    expect(message.metadata).toHaveProperty('usage.totalTokens', 30);
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
    expect(errors).toEqual([]);
  });

  it('leaves reasoning out, tells progress as data and says other metadata, where it is told to', async () => {
    const session = await sessionOf([
      { reasoning: 'Hm.', calls: [{ tool: 'weather', input: { city: 'Rome' }, id: 'c1' }] },
      { text: 'Warm.' },
    ]);
    const stream = toUIMessageStream(session.submit('How is Rome?'), {
      sendReasoning: false,
      progress: 'data',
      messageMetadata: end => ({ ended: end.type }),
    });
    const { chunks, message } = await readPage(stream);
    expect(message.parts.map(({ type }) => type)).toEqual(['step-start', 'tool-weather', 'step-start', 'text']);
    expect(message.metadata).toEqual({ ended: 'turn.done' });
    const data = { toolCallId: 'c1', toolName: 'weather', update: { asked: 'Rome' } };
    expect(chunks).toContainEqual({ type: 'data-tool-progress', data, transient: true });
  });

  it('gives the whole message to a reader that comes late, the text before the calls that it announces', async () => {
    const session = await sessionOf([
      { text: 'I look.', calls: [{ tool: 'weather', input: { city: 'Rome' }, id: 'c1' }] },
      { text: 'Warm.' },
    ]);
    const turn = session.submit('How is Rome?');
    const live = await readPage(toUIMessageStream(turn));
    const late = await readPage(toUIMessageStream(turn));
    expect(typesOf(late.chunks)).toContain('reset-step');
    expect(partsOf(late.message)).toEqual(partsOf(live.message));
    expect(late.message.id).toBe(live.message.id);
    expect(late.message.metadata).toEqual(live.message.metadata);
  });

  it('goes on with a message from wherever a page has got to, and ends with the same one', async () => {
    const clock = manualClock();
    const busy = Object.assign(new Error('busy'), { isRetryable: true });
    const calls = ['Rome', 'Atlantis'].map((city, index) => ({ tool: 'weather', input: { city }, id: `c${index}` }));
    const replies: readonly ScriptedReply[] = [
      { text: 'I look.', deltas: 2, calls },
      { text: 'I beg', error: busy, errorAfter: 3 },
      { text: 'Once more.', calls: [{ tool: 'weather', input: { city: 'Oslo' }, id: 'c2' }] },
      { text: 'Warm.', deltas: 3 },
    ];
    const session = await sessionOf(replies, {}, clock);
    const turn = session.submit('?');
    const read = readPage(toUIMessageStream(turn));
    await clock.runUntil(turn.result);
    const { message, states } = await read;
    expect(states.length).toBeGreaterThan(20);
    for (const state of states) {
      const rest = await readPage(toUIMessageStream(turn, { continues: state }), state);
      expect(rest.errors).toEqual([]);
      expect(partsOf(rest.message)).toEqual(partsOf(message));
    }
    const forged = { ...message, parts: [...message.parts, { type: 'step-start' as const }, ...message.parts] };
    const { chunks } = await readPage(toUIMessageStream(turn, { continues: forged }), forged);
    expect(typesOf(chunks)).toEqual(['start', 'finish']);
  });

  it('says an error of a tool, and arguments that do not fit, as errors of the call', async () => {
    const session = await sessionOf([
      {
        calls: [
          { tool: 'weather', input: { city: 'Atlantis' }, id: 'c1' },
          { tool: 'weather', inputText: '{"city":', id: 'c2' },
          { tool: 'wether', input: {}, id: 'c3' },
        ],
      },
      { text: 'Nothing.' },
    ]);
    const { message } = await readPage(toUIMessageStream(session.submit('?')));
    expect(partsOf(message).slice(1, 4)).toEqual([
      ['tool-weather', 'output-error', { city: 'Atlantis' }, 'no such city'],
      ['tool-weather', 'output-error', {}, expect.stringContaining('the arguments are not JSON')],
      ['tool-wether', 'output-error', {}, 'unknown tool "wether": did you mean "weather"?'],
    ]);
  });

  it('takes back what an attempt had shown that is made again', async () => {
    const clock = manualClock();
    const busy = Object.assign(new Error('busy'), { isRetryable: true });
    const session = await sessionOf([{ text: 'I beg', error: busy, errorAfter: 3 }, { text: 'Hello.' }], {}, clock);
    const turn = session.submit('Hi');
    const read = readPage(toUIMessageStream(turn));
    await clock.runUntil(turn.result);
    const { chunks, message, states } = await read;
    expect(typesOf(chunks)).toContain('reset-step');
    expect(states.map(textOf)).toContain('I beg');
    expect(partsOf(message)).toEqual([['step-start'], ['text', 'Hello.']]);
  });

  it('ends a turn beyond a limit with an error that says so, and says of the calls that they did not run', async () => {
    const calls = [1, 2].map(n => ({ tool: 'weather', input: { city: `city ${n}` }, id: `c${n}` }));
    const session = await sessionOf([{ text: 'I look.', calls }], { limits: { calls: 1 } });
    const { chunks, message, errors } = await readPage(toUIMessageStream(session.submit('?')));
    expect(typesOf(chunks).slice(-4)).toEqual(['finish-step', 'message-metadata', 'error', 'finish']);
    expect(errors).toEqual([expect.stringContaining('calls')]);
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'error' });
    expect(partsOf(message)).toEqual([
      ['step-start'],
      ['text', 'I look.'],
      ['tool-weather', 'output-error', { city: 'city 1' }, 'not run: the turn ended before'],
      ['tool-weather', 'output-error', { city: 'city 2' }, 'not run: the turn ended before'],
    ]);
    expect(message.metadata).toMatchObject({ status: 'failed', limit: 'calls' });
  });

  it('keeps the words of a provider from the page, unless it is told to say them', async () => {
    const secret = { error: Object.assign(new Error('key sk-123 is wrong'), { isRetryable: false }) };
    const session = await sessionOf([secret, secret]);
    const { errors, chunks } = await readPage(toUIMessageStream(session.submit('Hi')));
    expect(errors).toEqual(['The answer could not be finished (request_failed).']);
    expect(JSON.stringify(chunks)).not.toContain('sk-123');
    const told = await readPage(toUIMessageStream(session.submit('Hi'), { onError: ({ message }) => message }));
    expect(told.errors).toEqual([expect.stringContaining('sk-123')]);
  });

  it('ends an interrupted turn with its reason, and keeps what was said', async () => {
    const clock = manualClock();
    const session = await sessionOf([{ text: 'I think', hangAfter: 3 }], {}, clock);
    const turn = session.submit('Hi');
    const read = readPage(toUIMessageStream(turn));
    await clock.advance(1);
    turn.interrupt('enough');
    await clock.runUntil(turn.result);
    const { chunks, message, errors } = await read;
    expect(chunks.slice(-2)).toEqual([
      { type: 'abort', reason: 'enough' },
      { type: 'finish', finishReason: 'interrupted' },
    ]);
    expect(partsOf(message)).toEqual([['step-start'], ['text', 'I think']]);
    expect(message.metadata).toMatchObject({ status: 'interrupted' });
    expect(errors).toEqual([]);
  });

  it.each(['tool', 'native'] as const)('tells a typed output as data (%s)', async outputMode => {
    const answer = { degrees: 21 };
    const reply: ScriptedReply =
      outputMode === 'tool'
        ? { calls: [{ tool: '_looprig_final_output', input: answer }] }
        : { text: JSON.stringify(answer) };
    const session = await sessionOf([reply], { output: z.object({ degrees: z.number() }), outputMode });
    const { message } = await readPage(toUIMessageStream(session.submit('?')));
    expect(partsOf(message).at(-1)).toEqual(['data-output', answer]);
    expect(message.parts.filter(part => part.type.startsWith('tool-'))).toEqual([]);
  });

  it('tells a result of several parts as its parts', async () => {
    const picture = defineTool({
      name: 'picture',
      description: 'Draws.',
      input: z.object({}),
      execute: () =>
        toolResult([
          { type: 'text', text: 'a dot' },
          { type: 'image', data: 'AAAA', mediaType: 'image/png' },
        ]),
    });
    const session = await sessionOf([{ calls: [{ tool: 'picture', input: {} }] }, { text: 'See.' }], {
      tools: [picture],
    });
    const { message } = await readPage(toUIMessageStream(session.submit('?')));
    expect(partsOf(message)[1]).toEqual([
      ...['tool-picture', 'output-available', {}],
      {
        type: 'looprig-parts',
        parts: [
          { type: 'text', text: 'a dot' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        ],
      },
    ]);
  });

  it('leaves the turn running when the page stops reading, and tells whoever asked to know', async () => {
    const clock = manualClock();
    const session = await sessionOf([{ text: 'Slow.', partDelayMs: 10 }], {}, clock);
    const turn = session.submit('Hi');
    let left = 0;
    const stream = toUIMessageStream(turn, { onCancel: () => void left++ });
    const reader = stream.getReader();
    expect((await reader.read()).value).toEqual({ type: 'start', messageId: turn.id });
    await reader.cancel();
    expect(left).toBe(1);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'Slow.' });
  });

  it('refuses a way to tell progress that there is not', async () => {
    const session = await sessionOf([{ text: 'Hello.' }]);
    const turn = session.submit('Hi');
    expect(() => toUIMessageStream(turn, { progress: 'loud' as 'data' })).toThrow(
      '"progress" must be "preliminary" or "data"',
    );
  });

  it('ends with an error where the events cannot be read', async () => {
    const broken: ToldTurn = {
      id: 't1',
      subscribe: () => ({ next: () => Promise.reject(new Error('disk /dev/x is gone')) }),
    };
    const { chunks, errors } = await readPage(toUIMessageStream(broken));
    expect(typesOf(chunks)).toEqual(['start', 'error', 'finish']);
    expect(errors).toEqual(['The answer could not be finished (store_failed).']);
    const short: ToldTurn = { id: 't1', subscribe: () => ({ next: async () => ({ value: undefined, done: true }) }) };
    expect(typesOf((await readPage(toUIMessageStream(short))).chunks)).toEqual(['start', 'error', 'finish']);
  });
});

describe('the stream of a turn with gates', () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ sum: z.number() }),
    access: ({ sum }) => [{ action: 'pay', target: String(sum) }],
    execute: ({ sum }) => `paid ${sum}`,
  });

  async function askingSession(replies: readonly ScriptedReply[], store = memoryStore()): Promise<Session> {
    const loop = defineLoop({ name: 'agent', model: scriptedModel(replies), tools: [pay] });
    return await defineRig({ loops: [loop], store, gate: { ask: true } }).open();
  }
  const asking: readonly ScriptedReply[] = [
    { calls: [{ tool: 'pay', input: { sum: 5 }, id: 'p' }] },
    { text: 'Paid.' },
  ];

  it('stays open over a gate without the session, and tells how it was decided', async () => {
    const session = await askingSession(asking);
    const turn = session.submit('Pay');
    const read = readPage(toUIMessageStream(turn));
    for await (const event of turn) {
      if (event.type === 'gate.opened') await session.answer(event.gateId, { decision: 'edit', input: { sum: 3 } });
    }
    const { chunks, message } = await read;
    expect(typesOf(chunks)).toEqual([
      ...[
        'start',
        'start-step',
        'tool-input-start',
        'tool-input-delta',
        'tool-input-available',
        'tool-approval-request',
      ],
      ...['tool-input-available', 'tool-approval-response', 'tool-output-available', 'finish-step'],
      ...['start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
    ]);
    expect(message.parts[1]).toMatchObject({
      state: 'output-available',
      input: { sum: 3 },
      approval: { approved: true },
    });
  });

  it('ends with the session where the turn waits, without the calls that wait with it', async () => {
    const session = await askingSession(asking);
    const turn = session.submit('Pay');
    const { chunks, message } = await readPage(toUIMessageStream(turn, { session }));
    expect(typesOf(chunks).slice(-3)).toEqual(['tool-approval-request', 'finish-step', 'finish']);
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' });
    expect(message.parts[1]).toMatchObject({ type: 'tool-pay', state: 'approval-requested', input: { sum: 5 } });
    expect(session.isRunning).toBe(true);
    await session.close();
    const closed = await readPage(toUIMessageStream(turn, { session }));
    expect(closed.message.parts[1]).toMatchObject({ state: 'output-denied', approval: { approved: false } });
  });

  it('tells a gate that nobody answers in time as denied', async () => {
    const clock = manualClock();
    const loop = defineLoop({ name: 'agent', model: scriptedModel(asking, { clock }), tools: [pay] });
    const session = await defineRig({ loops: [loop], clock, gate: { ask: true, gateTimeoutMs: 1_000 } }).open();
    const turn = session.submit('Pay');
    const read = readPage(toUIMessageStream(turn));
    await clock.runUntil(turn.result);
    const { message } = await read;
    expect(message.parts[1]).toMatchObject({
      state: 'output-denied',
      approval: { reason: 'nobody answered in 1000 ms' },
    });
    expect(textOf(message)).toBe('Paid.');
  });

  it('does not know the arguments of a call that waits where nobody saw them written, and has them once it is decided', async () => {
    const store = memoryStore();
    const first = await askingSession(asking.slice(0, 1), store);
    for await (const event of first.submit('Pay')) if (event.type === 'gate.opened') break;
    const loop = defineLoop({ name: 'agent', model: scriptedModel(asking.slice(1)), tools: [pay] });
    const second = await defineRig({ loops: [loop], store, gate: { ask: true } }).open({ sessionId: first.id });
    const turn = second.resume();
    const waiting = await readPage(toUIMessageStream(turn, { session: second }));
    expect(waiting.message.parts[1]).toMatchObject({
      ...{ state: 'approval-requested', input: {} },
      approval: { requestReason: 'pay on 5', descriptor: { requests: [{ action: 'pay', target: '5' }] } },
    });
    await second.answer(second.gates[0]!.gateId, { decision: 'approve' });
    const rest = toUIMessageStream(turn, { session: second, continues: waiting.message });
    const { message, chunks } = await readPage(rest, waiting.message);
    expect(partsOf(message)).toEqual([
      ['step-start'],
      ['tool-pay', 'output-available', { sum: 5 }, 'paid 5'],
      ['step-start'],
      ['text', 'Paid.'],
    ]);
    expect(typesOf(chunks)).not.toContain('tool-approval-request');
  });

  it('tells of a call that another process left running that its outcome is unknown', async () => {
    const store = memoryStore();
    const started = Promise.withResolvers<void>();
    const stuck = defineTool({
      name: 'stuck',
      description: 'Never ends.',
      input: z.object({}),
      execute: () => {
        started.resolve();
        return new Promise<never>(() => {});
      },
    });
    const loopOf = (replies: readonly ScriptedReply[]) =>
      defineLoop({ name: 'agent', model: scriptedModel(replies), tools: [stuck] });
    const first = await defineRig({
      loops: [loopOf([{ text: 'I go.', calls: [{ tool: 'stuck', input: {} }] }])],
      store,
    }).open();
    first.submit('Go');
    await started.promise;
    const second = await defineRig({ loops: [loopOf([{ text: 'Who knows.' }])], store }).open({ sessionId: first.id });
    const { message, errors } = await readPage(toUIMessageStream(second.resume()));
    expect(errors).toEqual([]);
    expect(partsOf(message)).toEqual([
      ['step-start'],
      ['text', 'I go.'],
      ['tool-stuck', 'output-error', {}, expect.stringContaining('may or may not have taken effect')],
      ['step-start'],
      ['text', 'Who knows.'],
    ]);
  });
});
