/** Spans and metrics of real turns, by the exporters of the SDK that keep them in memory. */
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  defineLoop,
  defineRig,
  defineTool,
  type GateOptions,
  type LoopDefinition,
  type LoopOptions,
  memoryStore,
  type SessionEvent,
} from 'looprig';
import { type OpenTelemetryOptions, openTelemetry, traceTools } from 'looprig/otel';
import { faultyStore, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { AsyncContexts, recorder, times } from './support/telemetry.ts';

const START = 1_700_000_000_000;
const SECRET = 'hunter2';

interface Setup {
  readonly replies: readonly ScriptedReply[];
  readonly loop?: Partial<LoopOptions>;
  readonly gate?: GateOptions;
  readonly telemetry?: OpenTelemetryOptions;
}

/** A session on a clock that begins at `START`, and what its telemetry tells. `slow` takes 50 ms, `bad` throws. */
async function setup({ replies, loop: options, gate, telemetry }: Setup) {
  const clock = manualClock(START);
  const told = recorder();
  const slow = scriptedTool('slow', { sleepMs: 50, clock, returns: `the secret is ${SECRET}` });
  const bad = scriptedTool('bad', { throws: new Error(`no, ${SECRET}`) });
  const stuck = scriptedTool('stuck', { hangs: true });
  const asking = scriptedTool('asking', {
    access: () => [{ action: 'fs.write', target: SECRET }],
    summary: () => SECRET,
  });
  const loop = defineLoop({
    name: 'agent',
    model: scriptedModel(replies, { clock }),
    tools: [slow, bad, stuck, asking].map(({ definition }) => definition),
    ...options,
  } as LoopOptions) as LoopDefinition;
  const observer = openTelemetry({ loop, ...told.providers, ...telemetry });
  const store = memoryStore();
  const rigOf = (more: object = {}) =>
    defineRig({ loops: [loop], observers: [observer], clock, store, ...(gate && { gate }), ...more });
  return { clock, told, loop, observer, store, rigOf, session: await rigOf().open() };
}

const call = (tool: string, id: string, input: object = {}) => ({ tool, id, input });
const names = (spans: readonly ReadableSpan[]): string[] => spans.map(({ name }) => name);
const since = (span: ReadableSpan): number[] => times(span).map(at => at - START);
const eventsOf = ({ events }: ReadableSpan) => events.map(({ name, attributes }) => ({ name, ...attributes }));

describe('the spans of a turn', () => {
  it('are one of the turn, and in it one of each model call and one of each call that started, at the times of the events', async () => {
    const { clock, told, session } = await setup({
      replies: [
        { calls: [call('slow', 'c1'), call('slow', 'c2')], delayMs: 20, usage: { inputTokens: 7, outputTokens: 3 } },
        { text: 'Done.', delayMs: 10, usage: { inputTokens: 20, outputTokens: 4, cachedInputTokens: 6, reasoningTokens: 2 } },
      ],
      loop: { limits: { parallel: 1 } },
    });
    await clock.runUntil(session.run('Go.'));
    expect(names(told.begun)).toEqual([
      'invoke_agent agent',
      'chat scripted',
      'execute_tool slow',
      'execute_tool slow',
      'chat scripted',
    ]);
    const [turn, first, one, two, last] = told.begun as [ReadableSpan, ReadableSpan, ReadableSpan, ReadableSpan, ReadableSpan];
    expect(told.begun.map(since)).toEqual([
      [0, 130],
      [0, 20],
      [20, 70],
      [70, 120],
      [120, 130],
    ]);
    expect(told.ended()).toHaveLength(5);
    const parents = told.begun.slice(1).map(({ parentSpanContext }) => parentSpanContext?.spanId);
    expect(new Set(parents)).toEqual(new Set([turn.spanContext().spanId]));
    expect([turn.kind, first.kind, one.kind]).toEqual([SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.INTERNAL]);
    expect(turn.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(turn.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted',
      'gen_ai.conversation.id': session.id,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 27,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 6,
      'gen_ai.usage.reasoning.output_tokens': 2,
      'looprig.loop.id': session.loopId,
      'looprig.turn.id': expect.any(String),
      'looprig.turn.outcome': 'done',
      'looprig.turn.steps': 2,
      'looprig.turn.iterations': 1,
      'looprig.turn.calls': 2,
      'looprig.limit.iterations': 25,
      'looprig.limit.calls': 100,
      'looprig.limit.parallel': 1,
    });
    expect(first.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.agent.name': 'agent',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'scripted',
      'gen_ai.conversation.id': session.id,
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
      'looprig.step': 1,
    });
    expect(last.attributes).toMatchObject({ 'gen_ai.usage.cache_read.input_tokens': 6, 'looprig.step': 2 });
    expect(two.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.agent.name': 'agent',
      'gen_ai.conversation.id': session.id,
      'gen_ai.tool.name': 'slow',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'c2',
      'looprig.call.outcome': 'done',
    });
  });

  it('have no model and no name where no loop is known, and the attributes that the program adds', async () => {
    const { clock, told, session } = await setup({
      replies: [{ text: 'Hello.' }],
      telemetry: {
        loop: () => {
          throw new Error('not known');
        },
        attributes: { 'deployment.environment.name': 'test', 'gen_ai.operation.name': 'mine' },
      },
    });
    await clock.runUntil(session.run('Hello?'));
    expect(names(told.begun)).toEqual(['invoke_agent', 'chat']);
    for (const { attributes } of told.begun) {
      expect(attributes).toMatchObject({ 'deployment.environment.name': 'test' });
      expect(attributes['gen_ai.operation.name']).not.toBe('mine');
      expect(Object.keys(attributes)).not.toContain('gen_ai.request.model');
    }
  });

  it('have the model of the mode that the turn runs in', async () => {
    const clock = manualClock(START);
    const told = recorder();
    const models = ['base', 'strong'].map(modelId => Object.assign(scriptedModel([{ text: 'Yes.' }], { clock }), { modelId }));
    const loop = defineLoop({
      ...{ name: 'agent', model: models[0]!, initialMode: 'think' },
      modes: { think: { model: models[1]! } },
    });
    const session = await defineRig({ loops: [loop], clock, observers: [openTelemetry({ loop, ...told.providers })] }).open();
    await clock.runUntil(session.run('Think.'));
    await session.setMode('');
    await clock.runUntil(session.run('Now.'));
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat strong', 'invoke_agent agent', 'chat base']);
    expect(told.begun.map(({ attributes }) => attributes['looprig.turn.mode'])).toEqual(['think', undefined, undefined, undefined]);
  });

  it('of several sessions and of turns that waited do not mix', async () => {
    const answers = Array.from({ length: 4 }, (): ScriptedReply => ({ text: 'Yes.', delayMs: 10 }));
    const { clock, told, rigOf, session } = await setup({ replies: answers });
    const other = await rigOf().open();
    const turns = [session.submit('1'), session.submit('2'), other.submit('3'), other.submit('4')];
    await clock.runUntil(Promise.all(turns.map(({ result }) => result)));
    const roots = told.begun.filter(({ name }) => name === 'invoke_agent agent');
    const ids = roots.map(({ attributes }) => attributes['looprig.turn.id']);
    expect(ids.sort()).toEqual(turns.map(({ id }) => id).sort());
    for (const root of roots) {
      const inside = told.begun.filter(span => span.parentSpanContext?.spanId === root.spanContext().spanId);
      expect(names(inside)).toEqual(['chat scripted']);
      expect(inside[0]!.attributes['gen_ai.conversation.id']).toBe(root.attributes['gen_ai.conversation.id']);
    }
    expect(told.ended()).toHaveLength(8);
  });

  it('of a turn that is cancelled while it waits are none', async () => {
    const { clock, told, session } = await setup({ replies: [{ text: 'Yes.', delayMs: 10 }] });
    const first = session.submit('1');
    session.submit('2').interrupt();
    await clock.runUntil(first.result);
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat scripted']);
  });

  it('belong to the context that is active when the turn begins, or to the one that the program gives', async () => {
    const { clock, told, session } = await setup({
      replies: [{ text: 'Yes.' }],
      telemetry: { parent: () => trace.setSpan(context.active(), request) },
    });
    const request = told.tracer.startSpan('request');
    await clock.runUntil(session.run('Hello?'));
    const turn = told.span('invoke_agent agent');
    expect(turn.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  });
});

describe('what goes wrong in a turn', () => {
  it('is the error of a call that failed, ran too long, or was stopped; of one that never ran there is an event', async () => {
    const { clock, told, session } = await setup({
      replies: [
        { calls: [call('bad', 'c1'), call('stuck', 'c2'), call('ghost', 'c3'), call('asking', 'c4')] },
        { text: 'Done.' },
      ],
      loop: { limits: { callTimeoutMs: 30 } },
    });
    await clock.runUntil(session.run('Go.'));
    const bad = told.span('execute_tool bad');
    expect(bad.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(bad.attributes).toMatchObject({ 'error.type': 'failed', 'looprig.call.outcome': 'failed' });
    const stuck = told.span('execute_tool stuck');
    expect(stuck.attributes['error.type']).toBe('timed_out');
    expect(since(stuck)).toEqual([0, 30]);
    const turn = told.span('invoke_agent agent');
    expect(turn.status.code).toBe(SpanStatusCode.UNSET);
    expect(eventsOf(turn)).toEqual([
      {
        name: 'looprig.call.not_run',
        'gen_ai.tool.call.id': 'c3',
        'gen_ai.tool.name': 'ghost',
        'looprig.call.outcome': 'refused',
      },
      {
        name: 'looprig.call.not_run',
        'gen_ai.tool.call.id': 'c4',
        'gen_ai.tool.name': 'asking',
        'looprig.call.outcome': 'denied',
      },
    ]);
    expect(names(told.begun)).toHaveLength(5);
  });

  it('is the limit that a turn reached: the turn failed, the model did not, and what its last response cost is told', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('slow', 'c1'), call('slow', 'c2')], delayMs: 5, usage: { inputTokens: 9, outputTokens: 4 } }],
      loop: { limits: { calls: 1 } },
    });
    await clock.runUntil(session.submit('Go.').result);
    const turn = told.span('invoke_agent agent');
    expect(turn.status).toEqual({ code: SpanStatusCode.ERROR, message: expect.stringContaining('1 are allowed') });
    expect(turn.attributes).toMatchObject({
      'error.type': 'tool_limit',
      'looprig.limit.reached': 'calls',
      'looprig.limit.calls': 1,
      'looprig.turn.calls': 2,
      'looprig.turn.outcome': 'failed',
    });
    const chat = told.span('chat scripted');
    expect(chat.status.code).toBe(SpanStatusCode.UNSET);
    expect(chat.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': 9, 'gen_ai.usage.output_tokens': 4 });
    expect(since(chat)).toEqual([0, 5]);
    expect(await told.measured('looprig.limits.reached')).toMatchObject([
      { sum: 1, attributes: { 'looprig.limit.name': 'calls', 'gen_ai.agent.name': 'agent' } },
    ]);
  });

  it('is no error where a limit leaves the model an answer; that the limit was near is an event', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('slow', 'c1')] }, { calls: [call('slow', 'c2')] }, { text: 'So far.' }],
      loop: { limits: { iterations: 1 }, atLimit: 'answer' },
    });
    await clock.runUntil(session.run('Go.'));
    const turn = told.span('invoke_agent agent');
    expect(turn.status.code).toBe(SpanStatusCode.UNSET);
    expect(turn.attributes).toMatchObject({ 'looprig.turn.outcome': 'done', 'looprig.limit.reached': 'iterations' });
    expect(eventsOf(turn)[0]).toMatchObject({ name: 'looprig.limit.near', 'looprig.limit.name': 'iterations', 'looprig.limit.max': 1 });
  });

  it('is the time of the turn: the calls and the turn end with it', async () => {
    const { clock, told, session } = await setup({
      replies: [{ calls: [call('stuck', 'c1')] }],
      loop: { limits: { turnTimeoutMs: 100 }, drainTimeoutMs: 40 },
    });
    await clock.runUntil(session.submit('Go.').result);
    const turn = told.span('invoke_agent agent');
    expect(turn.attributes).toMatchObject({
      'error.type': 'turn_timeout',
      'looprig.limit.turn_timeout_ms': 100,
      'looprig.turn.left_behind': 1,
    });
    expect(since(turn)).toEqual([0, 140]);
    expect(told.span('execute_tool stuck').attributes['error.type']).toBe('timed_out');
    expect(told.span('chat scripted').status.code).toBe(SpanStatusCode.UNSET);
  });

  it('is an interrupt, in a model call too', async () => {
    const { clock, told, session } = await setup({
      replies: [{ text: 'Once upon a time', deltas: 4, hangAfter: 3, usage: { inputTokens: 3 } }],
    });
    const turn = session.submit('Go.');
    await clock.advance(10);
    turn.interrupt(SECRET);
    await clock.runUntil(turn.result);
    for (const span of told.begun) {
      expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
      expect(span.attributes['error.type']).toBe('interrupted');
      expect(since(span)).toEqual([0, 10]);
    }
    expect(names(told.ended())).toEqual(['chat scripted', 'invoke_agent agent']);
  });

  it('is a model that gives no answer after its retries, which are events and are counted', async () => {
    const busy = (): ScriptedReply => ({ error: Object.assign(new Error(`busy, ${SECRET}`), { isRetryable: true }) });
    const { clock, told, session } = await setup({ replies: [busy(), busy(), busy()], loop: { modelRetries: 2 } });
    await clock.runUntil(session.submit('Go.').result);
    const chat = told.span('chat scripted');
    expect(chat.attributes).toMatchObject({ 'error.type': 'request_failed', 'looprig.step.retries': 2 });
    expect(chat.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(eventsOf(chat)).toEqual([
      { name: 'looprig.retry', 'looprig.retry.attempt': 1, 'looprig.retry.delay_ms': expect.any(Number) },
      { name: 'looprig.retry', 'looprig.retry.attempt': 2, 'looprig.retry.delay_ms': expect.any(Number) },
    ]);
    const [, end] = since(chat);
    expect(end).toBe(clock.now() - START);
    expect(told.span('invoke_agent agent').attributes['error.type']).toBe('request_failed');
    expect(await told.measured('looprig.model.retries')).toMatchObject([
      { sum: 2, attributes: { 'gen_ai.request.model': 'scripted', 'gen_ai.provider.name': 'scripted' } },
    ]);
  });

  it('is a journal that fails: nothing stays open, and a turn whose start could not be written is told too', async () => {
    const clock = manualClock(START);
    const told = recorder();
    const slow = scriptedTool('slow', { sleepMs: 50, clock });
    const model = scriptedModel([{ calls: [call('slow', 'c1')] }], { clock });
    const loop = defineLoop({ name: 'agent', model, tools: [slow.definition] });
    for (const failing of [2, 4]) {
      const store = faultyStore(memoryStore(), { append: index => (index + 1 === failing ? 'fail' : 'take') } as never);
      const rig = defineRig({ loops: [loop], clock, store, observers: [openTelemetry({ loop, ...told.providers })] });
      const session = await rig.open();
      await clock.runUntil(session.submit('Go.').result);
    }
    expect(told.begun.length).toBe(told.ended().length);
  });
});
