/** What telemetry says of turns that go wrong. */
import { SpanStatusCode } from '@opentelemetry/api';
import { memoryStore } from 'looprig';
import { faultyStore, type ScriptedReply } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { call, eventsOf, names, SECRET, START, setup, since } from './support/telemetry.ts';

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
      replies: [
        { calls: [call('slow', 'c1'), call('slow', 'c2')], delayMs: 5, usage: { inputTokens: 9, outputTokens: 4 } },
      ],
      loop: { limits: { calls: 1 } },
    });
    await clock.runUntil(session.submit('Go.').result);
    const turn = told.span('invoke_agent agent');
    expect(turn.status).toEqual({ code: SpanStatusCode.ERROR, message: expect.stringContaining('1 is allowed') });
    expect(turn.attributes).toMatchObject({
      'error.type': 'tool_limit',
      'looprig.limit.reached': 'calls',
      'looprig.limit.calls': 1,
      'looprig.turn.calls': 2,
      'looprig.turn.outcome': 'failed',
    });
    const chat = told.span('chat scripted-model');
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
    expect(eventsOf(turn)[0]).toMatchObject({
      name: 'looprig.limit.near',
      'looprig.limit.name': 'iterations',
      'looprig.limit.max': 1,
    });
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
    expect(told.span('chat scripted-model').status.code).toBe(SpanStatusCode.UNSET);
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
    expect(names(told.ended())).toEqual(['chat scripted-model', 'invoke_agent agent']);
  });

  it('is a model that gives no answer after its retries, which are events and are counted', async () => {
    const busy = (): ScriptedReply => ({ error: Object.assign(new Error(`busy, ${SECRET}`), { isRetryable: true }) });
    const { clock, told, session } = await setup({ replies: [busy(), busy(), busy()], loop: { modelRetries: 2 } });
    await clock.runUntil(session.submit('Go.').result);
    const chat = told.span('chat scripted-model');
    expect(chat.attributes).toMatchObject({ 'error.type': 'request_failed', 'looprig.step.retries': 2 });
    expect(chat.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(eventsOf(chat)).toEqual([
      { name: 'looprig.retry', 'looprig.retry.attempt': 2, 'looprig.retry.delay_ms': expect.any(Number) },
      { name: 'looprig.retry', 'looprig.retry.attempt': 3, 'looprig.retry.delay_ms': expect.any(Number) },
    ]);
    const [, end] = since(chat);
    expect(end).toBe(clock.now() - START);
    expect(told.span('invoke_agent agent').attributes['error.type']).toBe('request_failed');
    expect(await told.measured('looprig.model.retries')).toMatchObject([
      { sum: 2, attributes: { 'gen_ai.request.model': 'scripted-model', 'gen_ai.provider.name': 'scripted' } },
    ]);
  });

  it('is a journal that fails: nothing stays open, and a turn whose start could not be written is told too', async () => {
    const failing = new Set([2, 6]); // the start of the first turn, and the result of the second one's call
    const store = faultyStore(memoryStore(), ({ number }) => (failing.has(number) ? { how: 'reject' } : undefined));
    const { clock, told, openRig, session } = await setup({
      replies: [{ calls: [call('slow', 'c1')] }],
      rig: { store },
    });
    await clock.runUntil(session.submit('Go.').result);
    const start = told.span('invoke_agent agent');
    expect(start.attributes).toMatchObject({ 'error.type': 'store_failed', 'looprig.turn.steps': 0 });
    const other = await openRig().open();
    await clock.runUntil(other.submit('Go.').result);
    expect(names(told.ended())).toEqual([
      ...['invoke_agent agent', 'chat scripted-model'],
      ...['execute_tool slow', 'invoke_agent agent'],
    ]);
    expect(told.span('execute_tool slow').attributes['error.type']).toBe('unknown');
  });
});
