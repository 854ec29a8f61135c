/** The spans of real turns, by the exporters of the SDK that keep them in memory. */
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { type Clock, defineLoop, defineRig } from 'looprig';
import { openTelemetry } from 'looprig/otel';
import { manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { call, names, recorder, START, setup, since } from './support/telemetry.ts';

describe('the spans of a turn', () => {
  it('are one of the turn, and in it one of each model call and one of each call that started, at the times of the events', async () => {
    const { clock, told, session } = await setup({
      replies: [
        { calls: [call('slow', 'c1'), call('slow', 'c2')], delayMs: 20, usage: { inputTokens: 7, outputTokens: 3 } },
        {
          text: 'Done.',
          delayMs: 10,
          usage: { inputTokens: 20, outputTokens: 4, cachedInputTokens: 6, reasoningTokens: 2 },
        },
      ],
      loop: { limits: { parallel: 1 } },
    });
    await clock.runUntil(session.run('Go.'));
    expect(names(told.begun)).toEqual([
      'invoke_agent agent',
      'chat scripted-model',
      'execute_tool slow',
      'execute_tool slow',
      'chat scripted-model',
    ]);
    const [turn, first, one, two, last] = told.begun as [
      ReadableSpan,
      ReadableSpan,
      ReadableSpan,
      ReadableSpan,
      ReadableSpan,
    ];
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
      'gen_ai.request.model': 'scripted-model',
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
      'gen_ai.request.model': 'scripted-model',
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
    const models = ['base', 'strong'].map(modelId => ({ ...scriptedModel([{ text: 'Yes.' }], { clock }), modelId }));
    const loop = defineLoop({
      ...{ name: 'agent', model: models[0]!, initialMode: 'think' },
      modes: { think: { model: models[1]! } },
    });
    const session = await defineRig({
      loops: [loop],
      clock,
      observers: [openTelemetry({ loop, ...told.providers })],
    }).open();
    await clock.runUntil(session.run('Think.'));
    await session.setMode('');
    await clock.runUntil(session.run('Now.'));
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat strong', 'invoke_agent agent', 'chat base']);
    expect(told.begun.map(({ attributes }) => attributes['looprig.turn.mode'])).toEqual([
      'think',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('never end before they begin, nor outside of the turn, when the clock is set back', async () => {
    const inner = manualClock(START);
    let back = 0;
    const clock: Clock = {
      now: () => inner.now() - back,
      setTimer: (callback, ms) => inner.setTimer(callback, ms),
      clearTimer: handle => inner.clearTimer(handle),
    };
    const { told, session } = await setup({
      replies: [{ calls: [call('slow', 'c1')] }, { text: 'Done.' }],
      rig: { clock },
      loop: { limits: { callTimeoutMs: 30 } },
    });
    const turn = session.submit('Go.');
    await inner.advance(10);
    back = 5_000;
    await inner.runUntil(turn.result);
    expect(told.begun.map(since)).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it('of several sessions and of turns that waited do not mix', async () => {
    const answers = Array.from({ length: 4 }, (): ScriptedReply => ({ text: 'Yes.', delayMs: 10 }));
    const { clock, told, openRig, session } = await setup({ replies: answers });
    const other = await openRig().open();
    const turns = [session.submit('1'), session.submit('2'), other.submit('3'), other.submit('4')];
    await clock.runUntil(Promise.all(turns.map(({ result }) => result)));
    const roots = told.begun.filter(({ name }) => name === 'invoke_agent agent');
    const ids = roots.map(({ attributes }) => attributes['looprig.turn.id']);
    expect(ids.sort()).toEqual(turns.map(({ id }) => id).sort());
    for (const root of roots) {
      const inside = told.begun.filter(span => span.parentSpanContext?.spanId === root.spanContext().spanId);
      expect(names(inside)).toEqual(['chat scripted-model']);
      expect(inside[0]!.attributes['gen_ai.conversation.id']).toBe(root.attributes['gen_ai.conversation.id']);
    }
    expect(told.ended()).toHaveLength(8);
  });

  it('of a turn that is cancelled while it waits are none', async () => {
    const { clock, told, session } = await setup({ replies: [{ text: 'Yes.', delayMs: 10 }] });
    const first = session.submit('1');
    session.submit('2').interrupt();
    await clock.runUntil(first.result);
    expect(names(told.begun)).toEqual(['invoke_agent agent', 'chat scripted-model']);
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
