/** What a turn may use, exactly: iterations, calls, tokens, repeats and time. */
import {
  defineLoop,
  defineRig,
  EVENT_DURABILITY,
  type LimitReached,
  memoryStore,
  ToolLimitError,
  type TurnEvent,
  type TurnResult,
  TurnTimeoutError,
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
import { problemWithRecord } from '../src/journal/shape.ts';
import {
  expectNextTurn,
  expectSound,
  insisting,
  open,
  openLoop,
  outcomes,
  play,
  resultsIn,
  saying,
} from './cases/setup.ts';
import { streamOf } from './support/stream-of.ts';

/** A reply that makes so many calls, each with arguments of its own. */
const asks = (count = 1, tool = 't'): ScriptedReply => ({
  calls: Array.from({ length: count }, (_, n) => ({ tool, input: { n } })),
});
const done: ScriptedReply = { text: 'done' };

/** The error of a turn that failed at a limit. */
function limitError(result: TurnResult): ToolLimitError {
  if (result.status === 'failed' && ToolLimitError.is(result.error)) return result.error;
  throw new Error(`the turn did not fail at a limit: ${JSON.stringify(result)}`);
}

/** What a reader is told of near limits: limit, used, max. */
function nearLimits(events: readonly TurnEvent[]): (readonly [string, number, number])[] {
  return events.flatMap(event => (event.type === 'limit.near' ? [[event.limit, event.used, event.max] as const] : []));
}

describe('counts', () => {
  it('a response without calls ends the turn even when every limit is used up', async () => {
    const t = scriptedTool('t');
    const limits = { iterations: 1, calls: 2, tokens: 15 };
    const opened = await open({ model: saying(asks(2), done), tools: [t], limits });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', iterations: 1, calls: 2, steps: 2 });
    expect(result.usage.totalTokens).toBe(30);
    expect('limited' in result).toBe(false);
    expect(t.count).toBe(2);
  });

  it('a response with calls counts one iteration and as many calls as it has', async () => {
    const opened = await open({ model: saying(asks(3), asks(1), asks(2), done), tools: [scriptedTool('t')] });
    expect((await play(opened)).result).toMatchObject({ iterations: 3, calls: 6, steps: 4 });
  });

  it('calls that fail, are refused, denied or unknown count like any other', async () => {
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const bad = scriptedTool('bad', { throws: new Error('no') });
    const calls = [{ tool: 'gated' }, { tool: 'bad' }, { tool: 'ghost' }, { tool: 'bad', inputText: '{' }];
    const opened = await open({ model: saying({ calls }, asks(1, 'bad')), tools: [gated, bad], limits: { calls: 4 } });
    const { result } = await play(opened);
    expect(limitError(result)).toMatchObject({ limit: 'calls', calls: 5, maxCalls: 4 });
    expect([gated.count, bad.count]).toEqual([0, 1]);
    await expectNextTurn(opened);
  });

  it('the counts are those of the turn: the next turn starts at zero', async () => {
    const t = scriptedTool('t');
    const model = scriptedModel([asks(2), done, asks(2), done]);
    const opened = await open({ model, tools: [t], limits: { iterations: 1, calls: 2 } });
    for (const turn of [1, 2]) {
      expect((await play(opened)).result).toMatchObject({ status: 'done', iterations: 1, calls: 2 });
      expect(t.count).toBe(turn * 2);
    }
  });

  it('a tool is told what is left after its own batch', async () => {
    const budgets: unknown[] = [];
    const t = scriptedTool('t', (_, call) => {
      budgets.push({ ...call.budget });
      return String(budgets.length);
    });
    const limits = { iterations: 5, calls: 10, tokens: 100 };
    const opened = await open({ model: saying(asks(2), asks(1), done), tools: [t], limits });
    await play(opened);
    expect(budgets).toEqual([
      { iterationsLeft: 4, callsLeft: 8, tokensLeft: 85 },
      { iterationsLeft: 4, callsLeft: 8, tokensLeft: 85 },
      { iterationsLeft: 3, callsLeft: 7, tokensLeft: 70 },
    ]);
  });

  it('limits of a submit hold for that turn alone, over those of the loop', async () => {
    const t = scriptedTool('t');
    const model = scriptedModel([asks(2), asks(2), done]);
    const opened = await open({ model, tools: [t], limits: { iterations: 9 } });
    const narrow = await opened.session.submit('go', { limits: { calls: 1 } }).result;
    expect(limitError(narrow)).toMatchObject({ limit: 'calls', maxCalls: 1, maxIterations: 9 });
    expect((await play(opened)).result).toMatchObject({ status: 'done', calls: 2 });
    expect(t.count).toBe(2);
  });

  it('limits of a mode stand over those of the loop where they are positive', async () => {
    const t = scriptedTool('t');
    const model = saying(asks(1), asks(1));
    const loop = defineLoop({
      ...{ name: 'modal', model, tools: [t.definition], limits: { iterations: 5, calls: 3 } },
      modes: { narrow: { limits: { iterations: 1, calls: 0 } } },
      initialMode: 'narrow',
    });
    const { result } = await play(await openLoop(loop, model));
    expect(limitError(result)).toMatchObject({ limit: 'iterations', maxIterations: 1, maxCalls: 3 });
  });
});

describe('beyond a limit, atLimit: fail', () => {
  it('the step that goes beyond the iterations runs nothing and is not committed, and the next turn works', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(asks(2), asks(2), asks(2)), tools: [t], limits: { iterations: 2 } });
    const { result, events } = await play(opened);
    const { limit, iterations, maxIterations, calls, maxCalls } = limitError(result);
    expect({ limit, iterations, maxIterations, calls, maxCalls }).toEqual({
      ...{ limit: 'iterations', iterations: 3, maxIterations: 2, calls: 6, maxCalls: 100 },
    });
    expect(t.count).toBe(4);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
    expect(events.filter(({ type }) => type === 'step.done')).toHaveLength(2);
    await expectNextTurn(opened);
  });

  it('a batch that goes beyond the calls runs none of its calls, not the first ones either', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(asks(3)), tools: [t], limits: { calls: 2 } });
    const { result, events } = await play(opened);
    expect(limitError(result)).toMatchObject({ limit: 'calls', calls: 3, maxCalls: 2 });
    expect(t.count).toBe(0);
    const enduring = events.filter(({ type }) => EVENT_DURABILITY[type] === 'enduring').map(({ type }) => type);
    expect(enduring).toEqual(['turn.started', 'step.started', 'turn.failed']);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user']);
    await expectNextTurn(opened);
  });

  it('the first response can be beyond a limit, and the terminal event says the limit and the counts', async () => {
    const opened = await open({ model: saying(asks(4)), tools: [scriptedTool('t')], limits: { calls: 3 } });
    const { events } = await play(opened);
    expect(events.at(-1)).toMatchObject({
      type: 'turn.failed',
      error: { name: 'ToolLimitError', kind: 'tool_limit', limit: { limit: 'calls', calls: 4, maxCalls: 3 } },
    });
  });

  it('an infinite limit is never reached, and can be told in events', async () => {
    const opened = await open({
      model: saying(asks(30), asks(30), asks(30), asks(30), done),
      tools: [scriptedTool('t')],
      limits: { calls: Number.POSITIVE_INFINITY },
      repeat: false,
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 120 });
    expect(nearLimits(events)).toEqual([]);
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
  });
});

describe('beyond a limit, atLimit: answer', () => {
  it('answers each call of the batch, commits the step, and asks once more with tools off', async () => {
    const t = scriptedTool('t');
    const model = saying(asks(1), asks(2), { text: 'so far' });
    const opened = await open({ model, tools: [t], limits: { iterations: 1 }, atLimit: 'answer' });
    const { result, events } = await play(opened);
    const reached: Partial<LimitReached> = { limit: 'iterations', iterations: 2, maxIterations: 1, calls: 3 };
    expect(result).toMatchObject({ status: 'done', text: 'so far', steps: 3, limited: reached });
    expect(events.at(-1)).toMatchObject({ type: 'turn.done', text: 'so far', limited: reached });
    expect(t.count).toBe(1);
    expect(model.requests.map(({ toolChoice }) => toolChoice?.type)).toEqual(['auto', 'auto', 'none']);
    const refused = resultsIn(opened.session.history).slice(1);
    expect(refused).toHaveLength(2);
    for (const [, text] of refused) expect(text).toMatch(/asked for tools in 2 steps, 1 is allowed/);
    expect(outcomes(events)).toEqual([
      ['call-0-0', 'done'],
      ['call-1-0', 'refused'],
      ['call-1-1', 'refused'],
    ]);
    expect(model.requests[2]?.prompt.at(-1)?.role).toBe('tool');
    await expectNextTurn(opened);
  });

  it('names the limit on calls too', async () => {
    const opened = await open({
      ...{ model: saying(asks(2), { text: 'so far' }), tools: [scriptedTool('t')] },
      ...{ limits: { calls: 1 }, atLimit: 'answer' as const },
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', limited: { limit: 'calls', calls: 2 } });
    for (const [, text] of resultsIn(opened.session.history)) expect(text).toMatch(/2 tool calls, 1 is allowed/);
  });

  it('a model that asks for tools again in its closing response fails the turn, and that response is not kept', async () => {
    const t = scriptedTool('t');
    const model = insisting(() => asks(1));
    const opened = await open({ model, tools: [t], limits: { iterations: 1 }, atLimit: 'answer' });
    const { result } = await play(opened);
    expect(limitError(result)).toMatchObject({ limit: 'iterations', maxIterations: 1 });
    expect([t.count, model.count]).toEqual([1, 3]);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
    await expectNextTurn(opened);
  });

  it('an empty closing response fails as an empty response, and the session goes on', async () => {
    const opened = await open({
      ...{ model: saying(asks(2), {}), tools: [scriptedTool('t')] },
      ...{ limits: { calls: 1 }, atLimit: 'answer' as const },
    });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { kind: 'empty_response' } });
    await expectNextTurn(opened);
  });
});

describe('near limits', () => {
  it('the last two iterations are told, each once, before the model is asked', async () => {
    const model = saying(asks(), asks(), asks(), asks(), done);
    const opened = await open({ model, tools: [scriptedTool('t')], limits: { iterations: 5 } });
    const { events } = await play(opened);
    const near = nearLimits(events).filter(([, used, max]) => used < max);
    expect(near).toEqual([
      ['iterations', 3, 5],
      ['iterations', 4, 5],
    ]);
    const places = events.flatMap(({ type }, index) => (type === 'limit.near' ? [events[index - 1]?.type] : []));
    expect(new Set(places)).toEqual(new Set(['step.started']));
  });

  it('the last tenth of the calls is told', async () => {
    const model = saying(asks(17), asks(1), asks(1), done);
    const opened = await open({ model, tools: [scriptedTool('t')], limits: { calls: 20 } });
    const { events } = await play(opened);
    expect(nearLimits(events)).toEqual([
      ['calls', 18, 20],
      ['calls', 19, 20],
    ]);
  });

  it('nothing is told far from a limit', async () => {
    const opened = await open({ model: saying(asks(5), asks(5), done), tools: [scriptedTool('t')] });
    expect(nearLimits((await play(opened)).events)).toEqual([]);
  });

  it('announceLimits gives the model one line then, last in the request and not kept', async () => {
    const model = saying(asks(), asks(), done);
    const opened = await open({ model, tools: [scriptedTool('t')], limits: { iterations: 3 }, announceLimits: true });
    await play(opened);
    const last = model.requests.map(({ prompt }) => prompt.at(-1));
    expect(JSON.stringify(last[0])).not.toMatch(/left before/);
    expect(last.slice(1).map(message => message?.role)).toEqual(['user', 'user']);
    expect(JSON.stringify(last[1])).toMatch(/2 of 3 rounds of tool calls are left/);
    expect(JSON.stringify(last[2])).toMatch(/1 of 3 rounds of tool calls are left/);
    for (const { prompt } of model.requests) {
      expect(prompt.filter(message => JSON.stringify(message).includes('are left')).length).toBeLessThanOrEqual(1);
    }
    expect(JSON.stringify(opened.session.history)).not.toMatch(/are left/);
    await expectNextTurn(opened);
  });

  it('without announceLimits the model is told nothing', async () => {
    const model = saying(asks(), asks(), done);
    await play(await open({ model, tools: [scriptedTool('t')], limits: { iterations: 3 } }));
    expect(JSON.stringify(model.requests.map(({ prompt }) => prompt))).not.toMatch(/are left/);
  });
});

describe('a stuck model', () => {
  const same: ScriptedReply = { calls: [{ tool: 't', input: { a: 1, b: [2] } }] };

  it('is told from the third time in a row on, and stopped at the sixth', async () => {
    const t = scriptedTool('t', 'same');
    const opened = await open({ model: insisting(() => same), tools: [t] });
    const { result } = await play(opened);
    expect(limitError(result)).toMatchObject({ limit: 'repeat', repeated: { toolName: 't', times: 6 }, iterations: 6 });
    const texts = resultsIn(opened.session.history).map(([, text]) => String(text));
    expect(texts.map(text => /same call with the same result for the (\w+) time/.exec(text)?.[1])).toEqual([
      ...[undefined, undefined, '3rd', '4th', '5th', '6th'],
    ]);
    for (const text of texts) expect(text.startsWith('same')).toBe(true);
    expect(t.count).toBe(6);
    await expectNextTurn(opened);
  });

  it('is asked for a closing answer where the loop says so', async () => {
    const model = saying(same, same, same, same, same, same, { text: 'I give up' });
    const opened = await open({ model, tools: [scriptedTool('t', 'same')], atLimit: 'answer' });
    expect((await play(opened)).result).toMatchObject({
      ...{ status: 'done', text: 'I give up', limited: { limit: 'repeat', repeated: { toolName: 't', times: 6 } } },
    });
    expect(model.requests.at(-1)?.toolChoice?.type).toBe('none');
    await expectNextTurn(opened);
  });

  it('is recognised by canonical JSON: the order of keys and white space do not matter', async () => {
    const texts = ['{"a":1,"b":2}', '{ "b": 2, "a": 1 }'];
    const model = insisting(index => ({ calls: [{ tool: 't', inputText: texts[index % 2] ?? '' }] }));
    expect(limitError((await play(await open({ model, tools: [scriptedTool('t', 'same')] }))).result).limit).toBe(
      'repeat',
    );
  });

  it.each([
    ['arguments', (index: number) => ({ n: index }), () => 'same'],
    ['results', () => ({}), (index: number) => `result ${index}`],
  ])('calls that differ in their %s never count', async (_, input, returns) => {
    const t = scriptedTool('t', () => returns(t.count));
    const model = insisting(index => (index < 12 ? { calls: [{ tool: 't', input: input(index) }] } : done));
    const opened = await open({ model, tools: [t] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', iterations: 12 });
    expect(JSON.stringify(opened.session.history)).not.toMatch(/same call/);
  });

  it('another call in between begins the count anew', async () => {
    const model = insisting(index => (index < 15 ? (index % 3 === 2 ? asks(1, 'other') : same) : done));
    const opened = await open({ model, tools: [scriptedTool('t', 'same'), scriptedTool('other')] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', iterations: 15 });
  });

  it('the same call many times in one batch is one time', async () => {
    const wide: ScriptedReply = { calls: Array.from({ length: 8 }, () => ({ tool: 't' })) };
    const opened = await open({ model: saying(wide, done), tools: [scriptedTool('t', 'same')] });
    expect((await play(opened)).result.status).toBe('done');
    expect(JSON.stringify(opened.session.history)).not.toMatch(/same call/);
  });

  it('beside a call that changes, the one that repeats is still stopped', async () => {
    const model = insisting(index => ({ calls: [{ tool: 't' }, { tool: 't', input: { index } }] }));
    expect(limitError((await play(await open({ model, tools: [scriptedTool('t', 'same')] }))).result)).toMatchObject({
      limit: 'repeat',
      iterations: 6,
    });
  });

  it('repeat: false turns it off, and { warn, stop } moves it', async () => {
    const off = await open({ model: insisting(() => same), tools: [scriptedTool('t')], repeat: false });
    expect(limitError((await play(off)).result).limit).toBe('iterations');
    expect(JSON.stringify(off.session.history)).not.toMatch(/same call/);
    const moved = await open({
      model: insisting(() => same),
      tools: [scriptedTool('t')],
      repeat: { warn: 2, stop: 3 },
    });
    expect(limitError((await play(moved)).result)).toMatchObject({ limit: 'repeat', iterations: 3 });
    expect(JSON.stringify(moved.session.history)).toMatch(/for the 2nd time/);
  });

  it('a result of several parts, or of JSON, carries the line as well', async () => {
    for (const returns of [
      { some: 'json' },
      toolResult([
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two' },
      ]),
    ]) {
      const opened = await open({ model: insisting(() => same), tools: [scriptedTool('t', { returns })] });
      await play(opened);
      const shown = resultsIn(opened.session.history).map(([, value]) => JSON.stringify(value));
      expect(shown.map(text => text.includes('same call'))).toEqual([false, false, true, true, true, true]);
      for (const text of shown) expect(text).toMatch(/some|one.*two/);
    }
  });

  it('the count is of one turn: the next turn starts anew', async () => {
    const model = scriptedModel([same, same, done, same, same, done]);
    const opened = await open({ model, tools: [scriptedTool('t', 'same')] });
    await play(opened);
    await play(opened);
    expect(JSON.stringify(opened.session.history)).not.toMatch(/same call/);
  });
});

describe('tokens', () => {
  it('usage summed over the turn beyond the limit stops it like any other limit', async () => {
    const t = scriptedTool('t');
    const reply = (n: number): ScriptedReply => ({ ...asks(1), usage: { inputTokens: 30 + n, outputTokens: 10 } });
    const opened = await open({ model: insisting(reply), tools: [t], limits: { tokens: 100 }, repeat: false });
    const { result } = await play(opened);
    expect(limitError(result)).toMatchObject({ limit: 'tokens', tokens: 123, maxTokens: 100, iterations: 3 });
    expect([t.count, opened.model.count]).toEqual([2, 3]);
    await expectNextTurn(opened);
  });

  it('with atLimit: answer the closing answer is still asked for', async () => {
    const usage = { inputTokens: 60, outputTokens: 0 };
    const model = saying({ ...asks(1), usage }, { ...asks(1), usage }, { text: 'so far', usage });
    const opened = await open({ model, tools: [scriptedTool('t')], limits: { tokens: 100 }, atLimit: 'answer' });
    expect((await play(opened)).result).toMatchObject({ status: 'done', limited: { limit: 'tokens', tokens: 120 } });
  });

  it('exactly as many tokens as are allowed are allowed', async () => {
    const opened = await open({ model: saying(asks(1), done), tools: [scriptedTool('t')], limits: { tokens: 15 } });
    expect((await play(opened)).result).toMatchObject({ status: 'done', calls: 1 });
  });

  it.each([
    ['none at all', undefined],
    ['null', null],
    ['numbers where counts are told apart', { inputTokens: 40, outputTokens: 10, totalTokens: 50 }],
    ['words', { inputTokens: { total: 'many' }, outputTokens: { total: {} } }],
    ['negative counts', { inputTokens: { total: -50 }, outputTokens: { total: Number.NaN } }],
  ])('a response that tells its usage as %s leaves numbers in the result, and the limit in force', async (_, usage) => {
    const call = { type: 'tool-call' as const, toolCallId: '', toolName: 't', input: '{}' };
    const finish = { type: 'finish' as const, finishReason: { unified: 'tool-calls', raw: undefined } };
    const honest = { inputTokens: { total: 50 }, outputTokens: { total: 10 } };
    let asked = 0;
    const t = scriptedTool('t', () => String(asked));
    const model = {
      ...{ specificationVersion: 'v4' as const, provider: 'odd', modelId: 'odd', supportedUrls: {} },
      doGenerate: () => Promise.reject(new Error('not used')),
      doStream: async () => {
        asked += 1;
        const parts = [call, { ...finish, usage: asked === 1 ? usage : honest }];
        return { stream: streamOf(parts) };
      },
    };
    const loop = defineLoop({ name: 'odd', model: model as never, tools: [t.definition], limits: { tokens: 100 } });
    const { result } = await play(await openLoop(loop, scriptedModel([])));
    expect(limitError(result).limit).toBe('tokens');
    for (const count of Object.values(result.usage)) expect(count).toBeGreaterThanOrEqual(0);
    expect(asked).toBeLessThanOrEqual(3);
  });
});

describe('time of a turn', () => {
  it('over turnTimeoutMs the turn fails with TurnTimeoutError, and its step is committed with honest results', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 500, clock });
    const quick = scriptedTool('quick', 'quick result');
    const calls = [{ tool: 'quick' }, { tool: 'slow' }];
    const opened = await open({
      model: saying({ calls }),
      tools: [slow, quick],
      clock,
      limits: { turnTimeoutMs: 100 },
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'turn_timeout', timeoutMs: 100 } });
    expect(TurnTimeoutError.is(result.status === 'failed' && result.error)).toBe(true);
    expect(clock.now()).toBe(100);
    expect(slow.runs[0]?.aborted).toBe(true);
    expect(outcomes(events)).toEqual([
      ['call-0-0', 'done'],
      ['call-0-1', 'timed_out'],
    ]);
    expect(resultsIn(opened.session.history)).toEqual([
      ['call-0-0', 'quick result'],
      ['call-0-1', expect.stringMatching(/may or may not have taken effect/)],
    ]);
    await expectNextTurn(opened);
  });

  it('ends a model call that never answers, and a wait before a retry', async () => {
    for (const reply of [
      { delayMs: Number.POSITIVE_INFINITY },
      { error: Object.assign(new Error('busy'), { isRetryable: true }) },
    ]) {
      const clock = manualClock();
      const opened = await open({
        ...{ model: scriptedModel(forever(reply), { clock }), clock },
        limits: { turnTimeoutMs: 100 },
      });
      expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { kind: 'turn_timeout' } });
      expect(clock.now()).toBe(100);
    }
  });

  it('does not run while a person is waited for', async () => {
    const clock = manualClock();
    const gated = scriptedTool('gated', { sleepMs: 50, clock, access: () => [{ action: 'act', target: 'x' }] });
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 'gated' }] }, done), tools: [gated], clock },
      ...{ limits: { turnTimeoutMs: 100 }, rig: { gate: { ask: true } } },
    });
    const turn = opened.session.submit('go');
    for await (const event of turn) {
      if (event.type !== 'gate.opened') continue;
      await clock.advance(10_000);
      await opened.session.answer(event.gateId, { decision: 'approve' });
      break;
    }
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(clock.now()).toBe(10_050);
  });

  it('leaves no timer behind', async () => {
    const clock = manualClock();
    const opened = await open({
      ...{ model: saying(asks(2), done), tools: [scriptedTool('t', { sleepMs: 10, clock })], clock },
      limits: { turnTimeoutMs: 5_000, callTimeoutMs: 1_000 },
    });
    await play(opened);
    expect(clock.pending).toBe(0);
  });
});

describe('continue', () => {
  it('takes up a turn that failed at a limit: from committed history, with fresh counts', async () => {
    const t = scriptedTool('t');
    const opened = await open({
      model: saying(asks(1), asks(1), asks(1), done),
      ...{ tools: [t], limits: { iterations: 1 } },
    });
    expect(limitError((await play(opened)).result).iterations).toBe(2);
    const before = opened.session.history;
    const again = await opened.session.continue().result;
    expect(again).toMatchObject({ status: 'done', iterations: 1, calls: 1, steps: 2 });
    expect(opened.session.history.slice(0, before.length)).toEqual(before);
    expect(opened.model.requests[2]?.prompt).toEqual(before);
    expect(opened.session.history.filter(({ role }) => role === 'user')).toHaveLength(1);
    expectSound(opened);
    await expectNextTurn(opened);
  });

  it('may be given limits of its own', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(asks(3), asks(3), done), tools: [t], limits: { calls: 2 } });
    await play(opened);
    expect(await opened.session.continue({ limits: { calls: 3 } }).result).toMatchObject({ status: 'done', calls: 3 });
    expect(t.count).toBe(3);
  });

  it('takes up a turn whose time was over', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 500, clock });
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 'slow' }] }, done), tools: [slow], clock },
      limits: { turnTimeoutMs: 100 },
    });
    await play(opened);
    expect(await clock.runUntil(opened.session.continue().result)).toMatchObject({ status: 'done', text: 'done' });
    assertPaired(opened.session.history);
  });

  it('is refused after an answer, and while a turn runs', async () => {
    const opened = await open({ model: saying(done) });
    expect(() => opened.session.continue()).toThrowError(expect.objectContaining({ kind: 'nothing_to_continue' }));
    const turn = opened.session.submit('go');
    expect(() => opened.session.continue()).toThrowError(expect.objectContaining({ kind: 'busy' }));
    await turn.result;
    expect(() => opened.session.continue()).toThrowError(expect.objectContaining({ kind: 'nothing_to_continue' }));
  });
});

describe('limits of one turn that waits', () => {
  it('are read with its input from the journal, and hold when its time comes', async () => {
    const store = memoryStore();
    const tool = scriptedTool('t', 'ok');
    const model = scriptedModel([asks(), done, asks(3), done]);
    const loop = defineLoop({ name: 'agent', model, tools: [tool.definition] });
    const session = await defineRig({ loops: [loop], store }).open();
    const first = session.submit('One.');
    const second = session.submit('Two.', { limits: { calls: 2, tokens: Number.POSITIVE_INFINITY } });
    await first.result;
    expect(limitError(await second.result)).toMatchObject({ limit: 'calls', maxCalls: 2 });

    for await (const record of store.read(session.id, 1))
      expect(problemWithRecord(record), record.type).toBeUndefined();
    const told = (await collect(second)).events.find(event => event.type === 'turn.started');
    expect(told?.limits).toMatchObject({ calls: 2 });
  });
});
