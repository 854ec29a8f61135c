/** Telemetry of turns that wait for people, or that another process takes up; contents, metrics, and the spans of tools. */
import { type ContextManager, context, SpanStatusCode, trace } from '@opentelemetry/api';
import { defineLoop, defineRig, defineTool, delegate, memoryStore, type Session } from 'looprig';
import { openTelemetry, traceTools } from 'looprig/otel';
import { collect, manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { AsyncContexts, call, eventsOf, names, recorder, SECRET, START, setup, since } from './support/telemetry.ts';

const ASK = { gate: { ask: true } } as const;

/** Answers the one gate of a session after 1,000 ms. */
async function answerLater(
  session: Session,
  clock: ReturnType<typeof manualClock>,
  answer: Parameters<Session['answer']>[1],
) {
  await clock.advance(1_000);
  await session.answer(session.gates[0]!.gateId, answer);
}

describe('a gate', () => {
  it('is an event when it is opened and when it is decided, and no part of the model call or of the call', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('asking', 'c1')], delayMs: 10 }, { text: 'Done.' }],
      rig: ASK,
    });
    const turn = session.submit('Go.');
    await clock.advance(10);
    await answerLater(session, clock, { decision: 'edit', input: { better: true } });
    await clock.runUntil(turn.result);
    const [root, chat, ran] = told.begun;
    expect(eventsOf(root!)).toEqual([
      {
        name: 'looprig.gate.opened',
        'looprig.gate.id': expect.any(String),
        'gen_ai.tool.call.id': 'c1',
        'gen_ai.tool.name': 'asking',
        'looprig.gate.actions': ['fs.write'],
      },
      {
        name: 'looprig.gate.resolved',
        'looprig.gate.id': expect.any(String),
        'gen_ai.tool.call.id': 'c1',
        'looprig.gate.decision': 'approved',
        'looprig.gate.edited': true,
      },
    ]);
    expect([root, chat, ran].map(span => since(span!))).toEqual([
      [0, 1_010],
      [0, 10],
      [1_010, 1_010],
    ]);
  });

  it('that is denied leaves no span of the call', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('asking', 'c1')] }, { text: 'Then not.' }],
      rig: ASK,
    });
    const turn = session.submit('Go.');
    await answerLater(session, clock, { decision: 'deny', reason: SECRET });
    await clock.runUntil(turn.result);
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat scripted-model', 'chat scripted-model']);
    expect(eventsOf(told.begun[0]!).map(({ name }) => name)).toEqual([
      'looprig.gate.opened',
      'looprig.gate.resolved',
      'looprig.call.not_run',
    ]);
  });
});

describe('a turn that another process takes up', () => {
  it('has a span of its own, which holds what is done of it there', async () => {
    const store = memoryStore();
    const replies: ScriptedReply[] = [
      { calls: [call('asking', 'c1')] },
      { calls: [call('safe', 'c2')] },
      { text: 'Done.', delayMs: 5 },
    ];
    const { clock, told, loop, session } = await setup({ replies, rig: { ...ASK, store } });
    session.submit('Go.');
    await clock.advance(100);
    const later = recorder();
    const rig = defineRig({
      loops: [loop],
      clock,
      store,
      ...ASK,
      observers: [openTelemetry({ loop, ...later.providers })],
    });
    const again = await rig.open({ sessionId: session.id });
    const turn = again.resume();
    await answerLater(again, clock, { decision: 'approve' });
    await clock.runUntil(turn.result);
    expect(names(later.begun)).toEqual([
      'invoke_agent agent',
      'execute_tool asking',
      'chat scripted-model',
      'execute_tool safe',
      'chat scripted-model',
    ]);
    expect(later.ended()).toHaveLength(5);
    expect(later.begun[0]!.attributes).toMatchObject({
      'looprig.turn.resumed': true,
      'looprig.turn.id': turn.id,
      'looprig.turn.outcome': 'done',
      'gen_ai.conversation.id': session.id,
    });
    expect(since(later.begun[0]!)).toEqual([100, 1_155]);
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat scripted-model']);
    await session.close(); // it was overtaken
  });

  it('is told once more by the same observer: the first span ends as abandoned, the second has a link to it, and a late failure changes nothing', async () => {
    const store = memoryStore();
    const { clock, told, openRig, session } = await setup({
      replies: [{ calls: [call('asking', 'c1')] }, { text: 'Done.' }],
      rig: { ...ASK, store },
    });
    const lost = session.submit('Go.');
    await clock.advance(100);
    const again = await openRig().open({ sessionId: session.id });
    const turn = again.resume();
    await clock.advance(10);
    lost.interrupt(); // refused by the store, and so told as a failure
    await clock.runUntil(lost.result);
    expect((await lost.result).status).toBe('failed');
    await answerLater(again, clock, { decision: 'approve' });
    await clock.runUntil(turn.result);
    const [first, , second] = told.begun;
    expect(first!.attributes).toMatchObject({ 'error.type': 'abandoned', 'looprig.turn.outcome': 'abandoned' });
    expect(second!.links.map(({ context }) => context.spanId)).toEqual([first!.spanContext().spanId]);
    expect(second!.status.code).toBe(SpanStatusCode.UNSET);
    expect(since(second!)).toEqual([100, 1_110]);
    expect(told.begun.length).toBe(told.ended().length);
  });

  it('has a span of a call that runs again, as long as it ran, and of a model that is asked again', async () => {
    const store = memoryStore();
    const replies: ScriptedReply[] = [
      { calls: [call('safe', 'c1')] },
      { text: 'Once.', delayMs: 5 },
      { text: 'Twice.', delayMs: 5 },
    ];
    const { clock, told, openRig, session } = await setup({ replies, rig: { store } });
    session.submit('Go.');
    await clock.advance(20); // the tool runs
    const second = await openRig().open({ sessionId: session.id });
    second.resume();
    await clock.advance(53); // the tool has run again, and the model is asked
    const third = await openRig().open({ sessionId: session.id });
    await clock.runUntil(third.resume().result);
    const again = told.begun.filter(({ name }) => name === 'execute_tool safe').map(since);
    expect(again).toContainEqual([20, 70]);
    const resumed = told.begun.at(-1)!;
    expect(resumed.name).toBe('chat scripted-model');
    expect(since(resumed)).toEqual([73, 78]);
    expect(told.begun.length).toBe(told.ended().length);
  });
});

describe('turns that never end', () => {
  it('are held up to a number: beyond it the oldest is ended as abandoned, and what comes of it later is nothing', async () => {
    const hanging = (): ScriptedReply => ({ calls: [call('slow', 'c1')], delayMs: 10 });
    const { clock, told, openRig, session } = await setup({
      replies: [hanging(), hanging(), { text: 'Done.' }, { text: 'Done.' }],
      telemetry: { maxOpenTurns: 1 },
    });
    const other = await openRig().open();
    const first = session.submit('1');
    await clock.advance(4);
    const second = other.submit('2');
    await clock.runUntil(Promise.all([first.result, second.result]));
    const [oldest, chat] = told.begun;
    expect([oldest, chat].map(span => [span!.attributes['error.type'], since(span!)])).toEqual([
      ['abandoned', [0, 0]],
      ['abandoned', [0, 0]],
    ]);
    expect(names(told.ended()).slice(2)).toEqual([
      ...['execute_tool slow', 'chat scripted-model', 'chat scripted-model', 'invoke_agent agent'],
    ]);
  });
});

describe('contents', () => {
  const replies = (): ScriptedReply[] => [
    { text: `I know ${SECRET}.`, calls: [call('slow', 'c1', { key: SECRET }), call('bad', 'c2', { key: SECRET })] },
    { error: Object.assign(new Error(SECRET), { isRetryable: true }) },
    { calls: [call('asking', 'c3', { key: SECRET })] },
    { error: Object.assign(new Error(SECRET), { isRetryable: false }) },
  ];

  it('are in no span and in no metric unless they are asked for', async () => {
    const { clock, told, session } = await setup({ replies: replies(), rig: ASK });
    const turn = session.submit(`Use ${SECRET}.`);
    await clock.advance(5_000);
    await session.answer(session.gates[0]!.gateId, { decision: 'deny', reason: SECRET });
    const { result } = await clock.runUntil(collect(turn));
    expect(result.status).toBe('failed');
    const all = told.begun.map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
    expect(all.length).toBe(6);
    const metrics = ['gen_ai.client.operation.duration', 'gen_ai.client.token.usage', 'looprig.tool.calls'];
    const measured = await Promise.all(metrics.map(metric => told.measured(metric)));
    expect(JSON.stringify({ all, measured })).not.toContain(SECRET);
  });

  it('are cut to a length, in the shape that the conventions give messages', async () => {
    const { clock, told, session } = await setup({
      replies: [{ text: 'I look.', calls: [call('slow', 'c1', { key: 'a long word' })] }, { text: 'A long answer.' }],
      telemetry: { content: true, contentLength: 10 },
    });
    await clock.runUntil(
      session.run([
        { type: 'text', text: 'A long question.' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
      ]),
    );
    const [turn, first, tool] = told.begun;
    expect(JSON.parse(String(turn!.attributes['gen_ai.input.messages']))).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'text', content: 'A long qu…' },
          { type: 'file', mime_type: 'image/png' },
        ],
      },
    ]);
    expect(JSON.parse(String(turn!.attributes['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'A long an…' }], finish_reason: 'stop' },
    ]);
    expect(JSON.parse(String(first!.attributes['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'I look.' }], finish_reason: 'tool_call' },
    ]);
    expect(tool!.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': '{"key":"a…',
      'gen_ai.tool.call.result': 'the secre…',
    });
  });

  it('have the arguments that a person changed, and why', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('asking', 'c1', { key: 1 })] }, { text: 'Done.' }],
      rig: ASK,
      telemetry: { content: true },
    });
    const turn = session.submit('Go.');
    await answerLater(session, clock, { decision: 'edit', input: { key: 2 } });
    await clock.runUntil(turn.result);
    expect(told.span('execute_tool asking').attributes['gen_ai.tool.call.arguments']).toBe('{"key":2}');
    expect(eventsOf(told.begun[0]!)[0]).toMatchObject({ 'looprig.gate.actions': [`fs.write ${SECRET}`] });
  });
});

describe('metrics', () => {
  it('measure how long turns, model calls and tools took, tokens, and calls by how they came out', async () => {
    const { clock, told, session } = await setup({
      replies: [
        { calls: [call('slow', 'c1'), call('bad', 'c2'), call('ghost', 'c3')], delayMs: 20 },
        { text: 'Done.', delayMs: 30, usage: { inputTokens: 100, outputTokens: 0 } },
      ],
    });
    await clock.runUntil(session.run('Go.'));
    const durations = await told.measured('gen_ai.client.operation.duration');
    const model = { 'gen_ai.provider.name': 'scripted', 'gen_ai.request.model': 'scripted-model' };
    const agent = { 'gen_ai.agent.name': 'agent', 'gen_ai.provider.name': 'scripted' };
    expect(durations.map(({ count, sum, attributes }) => [count, Number(sum.toFixed(6)), attributes])).toEqual([
      [1, 0, { 'gen_ai.operation.name': 'execute_tool', ...agent, 'gen_ai.tool.name': 'bad', 'error.type': 'failed' }],
      [1, 0.05, { 'gen_ai.operation.name': 'execute_tool', ...agent, 'gen_ai.tool.name': 'slow' }],
      [1, 0.1, { 'gen_ai.operation.name': 'invoke_agent', ...agent }],
      [2, 0.05, { 'gen_ai.operation.name': 'chat', ...model }],
    ]);
    expect(durations[0]).toMatchObject({
      unit: 's',
      boundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    });
    const tokens = await told.measured('gen_ai.client.token.usage');
    expect(tokens.map(({ count, sum, attributes }) => [attributes['gen_ai.token.type'], count, sum])).toEqual([
      ['input', 2, 110],
      ['output', 1, 5],
    ]);
    expect(tokens[0]).toMatchObject({ unit: '{token}', attributes: { 'gen_ai.operation.name': 'chat', ...model } });
    expect(tokens[0]!.boundaries?.slice(0, 3)).toEqual([1, 4, 16]);
    const calls = await told.measured('looprig.tool.calls');
    expect(calls.map(({ sum, attributes }) => [sum, attributes])).toEqual([
      [1, { 'gen_ai.agent.name': 'agent', 'looprig.call.outcome': 'failed', 'gen_ai.tool.name': 'bad' }],
      [1, { 'gen_ai.agent.name': 'agent', 'looprig.call.outcome': 'done', 'gen_ai.tool.name': 'slow' }],
      [1, { 'gen_ai.agent.name': 'agent', 'looprig.call.outcome': 'refused' }],
    ]);
  });
});

describe('traceTools', () => {
  afterEach(() => void context.disable());

  it('makes the span of a call the active one while its tool runs, in parallel calls and in turns of their own too', async () => {
    context.setGlobalContextManager(new AsyncContexts() as ContextManager);
    const told = recorder();
    const clock = manualClock(START);
    const rest = (ms: number) => new Promise<void>(resolve => clock.setTimer(resolve, ms));
    const inner = defineLoop({ name: 'inner', model: scriptedModel([{ text: 'Yes.' }], { clock }) });
    const work = defineTool({
      ...{ name: 'work', description: 'Works.', input: { type: 'object' } },
      async execute(_input, { callId }) {
        await rest(callId === 'c1' ? 20 : 10);
        told.tracer.startSpan(`work of ${callId}`).end();
        if (callId === 'c2') await (await rig.open({ loop: 'inner' })).run('Well?');
        return 'ok';
      },
    });
    const model = scriptedModel([{ calls: [call('work', 'c1'), call('work', 'c2')] }, { text: 'Done.' }], { clock });
    const loop = defineLoop({ name: 'agent', model, tools: [work] });
    const telemetry = openTelemetry(told.providers);
    const traced = loop.extend({ middlewares: [traceTools(telemetry)] });
    const rig = defineRig({ loops: [traced, inner], clock, observers: [telemetry] });
    await clock.runUntil((await rig.open({ loop: 'agent' })).run('Go.'));
    const of = (id: string) =>
      told.begun.find(({ attributes }) => attributes['gen_ai.tool.call.id'] === id)!.spanContext().spanId;
    expect(told.span('work of c1').parentSpanContext?.spanId).toBe(of('c1'));
    expect(told.span('work of c2').parentSpanContext?.spanId).toBe(of('c2'));
    const child = told.begun.filter(({ name }) => name === 'invoke_agent')[1];
    expect(child?.parentSpanContext?.spanId).toBe(of('c2'));
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('puts the turn of a delegate into the span of its call, and nothing is counted twice', async () => {
    context.setGlobalContextManager(new AsyncContexts() as ContextManager);
    const child = defineLoop({
      name: 'child',
      model: scriptedModel([{ text: 'Found.', usage: { inputTokens: 100 } }]),
    });
    const ask = (id: string) => ({ calls: [call('child', id, { task: 'Find it.' })], usage: { inputTokens: 7 } });
    const telemetryOf = (sessionId: string) => (sessionId === session.id ? traced : undefined);
    const { told, observer, loop } = await setup({
      replies: [ask('c1'), ask('c2')],
      loop: { tools: [delegate(child, { description: 'Finds things.' })], limits: { calls: 1 } },
      telemetry: { loop: telemetryOf },
    });
    const traced = loop.extend({ middlewares: [traceTools(observer)] });
    const session = await defineRig({ loops: [traced], observers: [observer] }).open();
    const result = await session.submit('Go.').result;
    expect(result).toMatchObject({ status: 'failed', usage: { inputTokens: 114 } });
    const inner = told.span('invoke_agent');
    expect(inner.parentSpanContext?.spanId).toBe(told.span('execute_tool child').spanContext().spanId);
    expect(inner.attributes['gen_ai.conversation.id']).not.toBe(session.id);
    expect(told.begun.map(({ name, attributes }) => [name, attributes['gen_ai.usage.input_tokens']])).toEqual([
      ['invoke_agent agent', 114],
      ['chat scripted-model', 7],
      ['execute_tool child', undefined],
      ['invoke_agent', 100],
      ['chat', 100],
      ['chat scripted-model', undefined],
    ]);
    const tokens = await told.measured('gen_ai.client.token.usage');
    expect(tokens.reduce((all, { sum }) => all + sum, 0)).toBe(107);
  });

  it('lets a tool run whose call the observer does not know', async () => {
    const {
      clock,
      loop,
      session: _session,
    } = await setup({ replies: [{ calls: [call('slow', 'c1')] }, { text: 'Done.' }] });
    const traced = loop.extend({ middlewares: [traceTools(openTelemetry())] });
    const session = await defineRig({ loops: [traced], clock }).open();
    const result = await clock.runUntil(session.run('Go.'));
    expect(result.text).toBe('Done.');
    expect(session.history[2]?.content[0]).toMatchObject({ output: { type: 'text' } });
  });
});

describe('a tracer that throws', () => {
  it('changes nothing for the turn, and is reported', async () => {
    const broken = {
      getTracer: () => {
        throw new Error('no tracer');
      },
    };
    const { clock, session } = await setup({
      replies: [{ calls: [call('slow', 'c1')] }, { text: 'Done.' }],
      telemetry: { tracerProvider: broken },
    });
    const reader = session.subscribe();
    const result = await clock.runUntil(session.run('Go.'));
    expect(result.text).toBe('Done.');
    await session.close();
    const failures: string[] = [];
    for await (const event of reader) if (event.type === 'observer.failed') failures.push(event.message);
    expect(failures).toEqual(['no tracer']);
  });

  it('is asked for nothing where telemetry is set up after the rig: the global providers of the first turn are used', async () => {
    const told = recorder();
    const { clock, loop } = await setup({ replies: [{ text: 'Hello.' }] });
    const rig = defineRig({ loops: [loop], clock, observers: [openTelemetry({ loop })] });
    trace.setGlobalTracerProvider(told.providers.tracerProvider);
    await clock.runUntil((await rig.open()).run('Hello?'));
    trace.disable();
    expect(names(told.ended())).toEqual(['chat scripted-model', 'invoke_agent agent']);
  });
});
