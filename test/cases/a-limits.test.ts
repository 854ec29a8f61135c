/** Cases of limits and runaway loops. */
import {
  DEFAULT_TOOL_LIMITS,
  defineLoop,
  defineRig,
  defineTool,
  type Rig,
  STRUCTURED_OUTPUT_TOOL_NAME,
  ToolLimitError,
} from 'looprig';
import { assertPaired, manualClock, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  expectNextTurn,
  expectSound,
  insisting,
  open,
  outcomes,
  play,
  resultsIn,
  saying,
  toolsOffered,
} from './setup.ts';

const calls = (count: number, tool = 't'): ScriptedReply => ({
  calls: Array.from({ length: count }, (_, n) => ({ tool, input: { n } })),
});

describe('a model that never stops', () => {
  it('case 1: the same call with the same empty result ends the turn by itself, without any option', async () => {
    const noop = scriptedTool('noop', { returns: '' });
    const opened = await open({
      model: insisting(index => ({ calls: [{ tool: 'noop', id: `c${index}` }] })),
      tools: [noop],
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'tool_limit', limit: 'repeat', repeated: { toolName: 'noop', times: 6 } },
      steps: 6,
      iterations: 6,
      calls: 6,
    });
    expect(ToolLimitError.is(result.status === 'failed' && result.error)).toBe(true);
    expect([noop.count, opened.model.count]).toEqual([6, 6]);
    const texts = resultsIn(opened.session.history).map(([, text]) => text);
    expect(texts.slice(0, 2)).toEqual(['empty result', 'empty result']);
    expect(texts.slice(2).every(text => /the same call with the same result for the \dth|3rd/.test(String(text)))).toBe(
      true,
    );
    expectSound(opened);
    await expectNextTurn(opened);
  });

  it.each([
    ['other arguments each time', (index: number) => ({ index }), () => ''],
    ['another result each time', () => ({}), (index: number) => `result ${index}`],
    ['a failure each time', (index: number) => ({ index }), () => Promise.reject(new Error('boom'))],
  ])('case 1: a loop with %s ends at the default cap', async (_, input, returns) => {
    const tool = scriptedTool('noop', () => returns(tool.count));
    const opened = await open({
      model: insisting(index => ({ calls: [{ tool: 'noop', input: input(index) }] })),
      tools: [tool],
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { limit: 'iterations', iterations: 26, maxIterations: DEFAULT_TOOL_LIMITS.iterations },
    });
    expect([tool.count, opened.model.count]).toEqual([25, 26]);
    expectSound(opened);
    await expectNextTurn(opened);
  });

  it('case 1: a loop of calls to a tool that does not exist, or with arguments that do not fit, ends too', async () => {
    for (const call of [{ tool: 'ghost' }, { tool: 'strict', inputText: '{' }, { tool: 'strict', input: {} }]) {
      const strict = scriptedTool('strict', { input: { type: 'object', required: ['x'] } });
      const opened = await open({ model: insisting(() => ({ calls: [call] })), tools: [strict] });
      const { result } = await play(opened);
      expect(result).toMatchObject({ status: 'failed', error: { limit: 'repeat' } });
      expect([strict.count, opened.model.count]).toEqual([0, 6]);
      await expectNextTurn(opened);
    }
  });
});

describe('the limit on calls', () => {
  it.each([
    ['eight calls in one reply', [calls(8)], 0, 8],
    ['four calls and four more', [calls(4), calls(4)], 4, 8],
    ['eight calls to a tool that does not exist', [calls(8, 'ghost')], 0, 8],
    ['six calls, then one more', [calls(6), calls(1)], 6, 7],
  ])(
    'case 2: of %s under a limit of six none of the batch that goes beyond it runs',
    async (_, replies, ran, asked) => {
      const t = scriptedTool('t');
      const opened = await open({ model: saying(...replies), tools: [t], limits: { calls: 6 } });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({
        status: 'failed',
        error: { kind: 'tool_limit', limit: 'calls', calls: asked, maxCalls: 6 },
      });
      expect(t.count).toBe(ran);
      expect(events.filter(({ type }) => type === 'tool.called')).toHaveLength(ran);
      expect(resultsIn(opened.session.history)).toHaveLength(ran);
      expectSound(opened);
      await expectNextTurn(opened);
    },
  );

  it('case 2: exactly as many calls as are allowed all run', async () => {
    const t = scriptedTool('t');
    const opened = await open({
      model: saying(calls(3), calls(3), { text: 'done' }),
      tools: [t],
      limits: { calls: 6 },
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done', calls: 6 });
    expect(t.count).toBe(6);
    expectSound(opened);
  });

  it('case 2: with a closing answer the batch that goes beyond the limit is answered, and still none of it runs', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(calls(8)), tools: [t], limits: { calls: 6 }, atLimit: 'answer' });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', limited: { limit: 'calls', calls: 8, maxCalls: 6 } });
    expect(t.count).toBe(0);
    expect(outcomes(events).map(([, outcome]) => outcome)).toEqual(Array(8).fill('refused'));
    await expectNextTurn(opened);
  });

  it.each(['fail', 'answer'] as const)(
    'case 6: a batch that crosses the limit leaves no call unanswered (atLimit: %s)',
    async atLimit => {
      const [a, b] = [scriptedTool('a'), scriptedTool('b')];
      const both = {
        calls: [
          { tool: 'a', id: 'c1' },
          { tool: 'b', id: 'c2' },
        ],
      };
      const opened = await open({ model: saying(both), tools: [a, b], limits: { calls: 1 }, atLimit });
      const { result } = await play(opened);
      expect(result.status).toBe(atLimit === 'fail' ? 'failed' : 'done');
      expect([a.count, b.count]).toEqual([0, 0]);
      expect(resultsIn(opened.session.history).map(([id]) => id)).toEqual(atLimit === 'fail' ? [] : ['c1', 'c2']);
      const text = expect.stringContaining('not run: the model asked for 2 tool calls, 1 is allowed');
      for (const [, value] of resultsIn(opened.session.history)) expect(value).toEqual(text);
      await expectNextTurn(opened);
    },
  );

  it('case 6: what was not run is not charged to the turn that takes it up again, nor to the next one', async () => {
    const [a, b] = [scriptedTool('a'), scriptedTool('b')];
    const both: ScriptedReply = { calls: [{ tool: 'a' }, { tool: 'b' }] };
    const opened = await open({
      model: saying(both, both, { text: 'both' }, { calls: [{ tool: 'a' }] }, { text: 'one' }),
      tools: [a, b],
      limits: { calls: 1 },
    });
    const { session } = opened;
    expect((await play(opened)).result).toMatchObject({ status: 'failed' });
    expect(await session.continue({ limits: { calls: 2 } }).result).toMatchObject({
      status: 'done',
      text: 'both',
      calls: 2,
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'one', calls: 1 });
    expect([a.count, b.count]).toEqual([2, 1]);
    await expectNextTurn(opened);
  });

  it('case 7: eighteen different calls of one tool in one reply all run', async () => {
    const add = scriptedTool('add', ({ n }) => `added ${n}`);
    const opened = await open({ model: saying(calls(18, 'add'), { text: 'done' }), tools: [add] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done', calls: 18, iterations: 1 });
    expect(add.runs.map(({ input }) => input.n)).toEqual(Array.from({ length: 18 }, (_, n) => n));
    expect(resultsIn(opened.session.history).map(([, text]) => text)).toEqual(
      Array.from({ length: 18 }, (_, n) => `added ${n}`),
    );
    await expectNextTurn(opened);
  });

  it('case 7: even eighteen equal calls in one reply are no repetition, and neither are other arguments over many rounds', async () => {
    const add = scriptedTool('add');
    const same: ScriptedReply = { calls: Array.from({ length: 18 }, () => ({ tool: 'add', input: { n: 1 } })) };
    const rounds = Array.from(
      { length: 10 },
      (_, n): ScriptedReply => ({ calls: [{ tool: 'add', input: { n: n + 2 } }] }),
    );
    const opened = await open({ model: saying(same, ...rounds, { text: 'done' }), tools: [add] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect(add.count).toBe(28);
    expect(resultsIn(opened.session.history).every(([, text]) => text === 'ok')).toBe(true);
    expectSound(opened);
  });

  it('case 7: the order in which a model writes its arguments does not hide a repetition', async () => {
    const add = scriptedTool('add');
    const texts = ['{"a":1,"b":2}', '{ "b": 2, "a": 1 }'];
    const model = insisting(index => ({ calls: [{ tool: 'add', inputText: texts[index % 2]! }] }));
    const opened = await open({ model, tools: [add] });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { limit: 'repeat' } });
    expect(add.count).toBe(6);
    expectSound(opened);
  });
});

describe('parallel calls', () => {
  it.each([
    ['forty calls', 40, {}, 8, 100],
    ['forty calls, three at a time', 40, { parallel: 3 }, 3, 280],
    ['forty calls, one at a time', 40, { parallel: 1 }, 1, 800],
    ['seven hundred and ninety-two calls', 792, { calls: Infinity }, 8, 1_980],
  ])('case 3: %s in one reply never run more than the parallel limit at once', async (_, count, limits, peak, took) => {
    const clock = manualClock();
    const t = scriptedTool('t', { sleepMs: 20, clock, returns: ({ n }) => `result ${n}` });
    const opened = await open({ model: saying(calls(count), { text: 'done' }), tools: [t], limits, clock });
    expect((await play(opened)).result).toMatchObject({ status: 'done', calls: count });
    expect([t.peak, t.count, clock.now()]).toEqual([peak, count, took]);
    expect(resultsIn(opened.session.history).map(([, text]) => text)).toEqual(
      Array.from({ length: count }, (_, n) => `result ${n}`),
    );
    await expectNextTurn(opened);
  });

  it('case 3: results stand in call order when the first call finishes last', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { sleepMs: ({ n }) => 100 - Number(n), clock, returns: ({ n }) => `result ${n}` });
    const opened = await open({ model: saying(calls(40)), tools: [t], clock });
    const { events } = await play(opened);
    const finished = outcomes(events).map(([callId]) => callId);
    const answered = resultsIn(opened.session.history);
    expect(answered.map(([, text]) => text)).toEqual(Array.from({ length: 40 }, (_, n) => `result ${n}`));
    expect(finished).not.toEqual(answered.map(([callId]) => callId));
    expect(t.peak).toBe(8);
    expectSound(opened);
  });

  it('case 3: 792 calls in one reply are beyond the default limit on calls, and none runs', async () => {
    const t = scriptedTool('t');
    const opened = await open({ model: saying(calls(792)), tools: [t] });
    expect((await play(opened)).result).toMatchObject({
      status: 'failed',
      error: { limit: 'calls', calls: 792, maxCalls: 100 },
    });
    expect(t.count).toBe(0);
    await expectNextTurn(opened);
  });
});

describe('at the limit on iterations', () => {
  const callA: ScriptedReply = { calls: [{ tool: 'a' }] };

  it('case 4: the turn fails with an error that names the limit and the counts', async () => {
    const a = scriptedTool('a');
    const opened = await open({ model: saying(callA, callA, callA), tools: [a], limits: { iterations: 2 } });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'tool_limit', limit: 'iterations', iterations: 3, maxIterations: 2, calls: 3, maxCalls: 100 },
    });
    expect(result.status === 'failed' && result.error.message).toContain('in 3 steps, 2 are allowed');
    expect(events.at(-1)).toMatchObject({
      type: 'turn.failed',
      error: { kind: 'tool_limit', limit: { limit: 'iterations' } },
    });
    expect([a.count, opened.model.count]).toEqual([2, 3]);
    await expectNextTurn(opened);
  });

  it('case 4: or it ends with a closing answer, asked for with tools off and marked as stopped by the limit', async () => {
    const a = scriptedTool('a');
    const model = saying(callA, callA, callA, { text: 'so far: ...' });
    const opened = await open({ model, tools: [a], limits: { iterations: 2 }, atLimit: 'answer' });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({
      status: 'done',
      text: 'so far: ...',
      limited: { limit: 'iterations', iterations: 3, maxIterations: 2 },
    });
    expect(events.at(-1)).toMatchObject({ type: 'turn.done', limited: { limit: 'iterations' } });
    expect([a.count, model.count]).toEqual([2, 4]);
    expect(toolsOffered(model)).toEqual([['a'], ['a'], ['a'], []]);
    expect(outcomes(events).map(([, outcome]) => outcome)).toEqual(['done', 'done', 'refused']);
    await expectNextTurn(opened);
  });

  it('case 4: a call in the closing reply is not run, and the turn fails at the limit', async () => {
    const a = scriptedTool('a');
    const opened = await open({
      model: saying(callA, callA, callA, callA),
      tools: [a],
      limits: { iterations: 2 },
      atLimit: 'answer',
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { limit: 'iterations', maxIterations: 2 } });
    expect([a.count, opened.model.count]).toEqual([2, 4]);
    await expectNextTurn(opened);
  });

  it.each([
    ['fail', false, 3],
    ['answer', false, 4],
    ['fail', true, 3],
    ['answer', true, 4],
  ] as const)(
    'case 10: no tool runs after it, whatever the model is told (atLimit: %s, announced: %s)',
    async (atLimit, announceLimits, requests) => {
      const a = scriptedTool('a', ({ index }) => `result ${index}`);
      const model = insisting(index => ({ text: 'one more', calls: [{ tool: 'a', input: { index } }] }));
      const opened = await open({ model, tools: [a], limits: { iterations: 2 }, atLimit, announceLimits });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'failed', error: { kind: 'tool_limit', limit: 'iterations' } });
      expect([a.count, model.count]).toEqual([2, requests]);
      expect(events.some(({ type }) => type === 'limit.near')).toBe(true);
      const told = model.requests.filter(({ prompt }) =>
        JSON.stringify(prompt).includes('are left before this turn is stopped'),
      );
      expect(told.length > 0).toBe(announceLimits);
      expect(JSON.stringify(opened.session.history)).not.toContain('are left before this turn is stopped');
      await expectNextTurn(opened);
    },
  );
});

describe('malformed calls', () => {
  it('case 7: calls that are malformed each in its own way are no repetition', async () => {
    const t = scriptedTool('t');
    const model = insisting(index =>
      index < 8 ? { calls: [{ tool: 't', inputText: `[${index}]` }] } : { text: 'done' },
    );
    const opened = await open({ model, tools: [t] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', iterations: 8 });
    expect(t.count).toBe(0);
  });

  it('case 1: the same malformed call again and again is', async () => {
    const model = insisting(() => ({ calls: [{ tool: 't', inputText: '[1]' }] }));
    const opened = await open({ model, tools: [scriptedTool('t')] });
    expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { limit: 'repeat' }, iterations: 6 });
  });
});

describe('structured output', () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const;
  const asText = { text: '{"n": "x"}' };
  const asCall = { calls: [{ tool: STRUCTURED_OUTPUT_TOOL_NAME, input: { n: 'x' } }] };

  it.each([
    ['text', 'native', asText, undefined, 3],
    ['text', 'tool', asText, undefined, 3],
    ['the control call', 'tool', asCall, undefined, 3],
    ['text', 'native', asText, 0, 1],
    ['text', 'tool', asText, 0, 1],
    ['the control call', 'tool', asCall, 4, 5],
    ['text', 'native', asText, 4, 5],
  ] as const)(
    'case 12: an answer by %s (%s) that never fits its schema is asked for again so often and no more (%#)',
    async (_, outputMode, reply, outputRetries, requests) => {
      const model = insisting(() => reply);
      const retries = outputRetries === undefined ? {} : { outputRetries };
      const loop = defineLoop({ name: 'case', model, output, outputMode, ...retries });
      const session = await defineRig({ loops: [loop], clock: manualClock() }).open();
      const result = await session.submit('go').result;
      expect(result).toMatchObject({ status: 'failed', error: { kind: 'invalid_output' } });
      expect(model.requests).toHaveLength(requests);
      assertPaired(session.history);
    },
  );

  it('case 12: a schema that never says whether the answer fits does not hold an interrupted turn', async () => {
    const never = z.object({ n: z.number() }).refine(() => new Promise<boolean>(() => {}));
    const clock = manualClock();
    const loop = defineLoop({
      name: 'case',
      model: insisting(() => ({ text: '{"n": 1}' })),
      output: never,
      outputRetries: 0,
    });
    const session = await defineRig({ loops: [loop], clock }).open();
    const turn = session.submit('go');
    clock.setTimer(() => turn.interrupt(), 10);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', text: '{"n": 1}' });
    const overdue = session.submit('again').result;
    expect(await clock.runUntil(overdue)).toMatchObject({ status: 'failed', error: { kind: 'invalid_output' } });
    assertPaired(session.history);
  });
});

describe('delegates', () => {
  const schema = { type: 'object' } as const;

  it.each([
    ['what the parent has left', 6, {}, 5],
    ['its own limit, where that is less', 50, { calls: 3 }, 3],
    ['a parent that has nothing left', 1, {}, 0],
  ])('case 8: a child session whose model loops for ever is bounded by %s', async (_, parentCalls, limits, ran) => {
    const work = scriptedTool('work');
    const child = defineLoop({
      name: 'child',
      model: insisting(index => ({ calls: [{ tool: 'work', input: { index } }] })),
      tools: [work.definition],
    });
    const model = saying({ calls: [{ tool: 'research' }] }, { text: 'done' });
    let rig: Rig;
    const research = defineTool({
      name: 'research',
      description: 'Runs a session of its own, within what the caller has left.',
      input: schema,
      async execute(_input, call) {
        await using session = await rig.open({ loop: 'child' });
        const { status, calls, ...result } = await session.submit('go', { limits, budget: call.budget }).result;
        return { status, calls, limit: 'error' in result ? result.error.message : undefined };
      },
    });
    const parent = defineLoop({ name: 'case', model, tools: [research], limits: { calls: parentCalls } });
    rig = defineRig({ loops: [parent, child], clock: manualClock() });
    const session = await rig.open({ loop: 'case' });
    expect(await session.submit('go').result).toMatchObject({ status: 'done', text: 'done', calls: 1 });
    expect(work.count).toBe(ran);
    expect(resultsIn(session.history)).toEqual([
      [expect.any(String), { status: 'failed', calls: ran + 1, limit: expect.stringContaining(`${ran} are allowed`) }],
    ]);
  });

  it('case 8: a tool is told what is left after its own batch, down to nothing', async () => {
    const seen: unknown[] = [];
    const t = scriptedTool(
      't',
      (_, { budget }) => void seen.push([budget.callsLeft, budget.iterationsLeft, budget.tokensLeft]),
    );
    const usage = { inputTokens: 30, outputTokens: 10 };
    const opened = await open({
      model: saying({ ...calls(1), usage }, { ...calls(2), usage }),
      tools: [t],
      limits: { calls: 3, iterations: 2, tokens: 100 },
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done' });
    expect(seen).toEqual([
      [2, 1, 60],
      [0, 0, 20],
      [0, 0, 20],
    ]);
  });

  it('case 9: at the greatest depth `delegate` is not offered, a forced call is an unknown tool, and no session is opened', async () => {
    let rig: Rig;
    const delegateTo = (loop: string) =>
      defineTool({
        name: 'delegate',
        description: 'Hands the work on.',
        input: schema,
        async execute() {
          await using session = await rig.open({ loop });
          const result = await session.submit('go').result;
          return `${loop}: ${result.status} ${'error' in result ? result.error.kind : ''}`;
        },
      });
    const own = scriptedTool('own');
    const delegating = () => insisting(() => ({ calls: [{ tool: 'delegate' }] }));
    const once = () => saying({ calls: [{ tool: 'delegate' }] }, { text: 'done' });
    const [top, middle, bottom] = [once(), once(), delegating()];
    rig = defineRig({
      loops: [
        defineLoop({ name: 'top', model: top, tools: [delegateTo('middle')] }),
        defineLoop({ name: 'middle', model: middle, tools: [delegateTo('bottom')] }),
        defineLoop({ name: 'bottom', model: bottom, tools: [own.definition] }),
      ],
      clock: manualClock(),
    });
    const session = await rig.open({ loop: 'top' });
    expect(await session.submit('go').result).toMatchObject({ status: 'done', text: 'done' });
    expect(await rig.sessions()).toHaveLength(3);
    expect(toolsOffered(bottom)).toEqual(Array(6).fill(['own']));
    expect(resultsIn(bottom.requests.at(-1)!.prompt)[0]).toEqual([
      expect.any(String),
      expect.stringContaining('unknown tool "delegate"'),
    ]);
    expect(own.count).toBe(0);
    expect(resultsIn(middle.requests.at(-1)!.prompt)).toEqual([[expect.any(String), 'bottom: failed tool_limit']]);
    expect(resultsIn(session.history)).toEqual([[expect.any(String), expect.stringContaining('middle: done')]]);
  });
});

describe('the budget of tokens', () => {
  const reply = (index: number): ScriptedReply => ({
    text: `part ${index}`,
    calls: [{ tool: 'a', input: { index } }],
    usage: { inputTokens: 30, outputTokens: 10 },
  });

  it('case 11: a turn over its token budget asks no more, says the amounts, and keeps what was produced', async () => {
    const a = scriptedTool('a', ({ index }) => `result ${index}`);
    const opened = await open({ model: insisting(reply), tools: [a], limits: { tokens: 100 } });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'tool_limit', limit: 'tokens', tokens: 120, maxTokens: 100 },
      usage: { inputTokens: 90, outputTokens: 30, totalTokens: 120 },
      text: 'part 2',
    });
    expect([opened.model.count, a.count]).toEqual([3, 2]);
    expect(resultsIn(opened.session.history).map(([, text]) => text)).toEqual(['result 0', 'result 1']);
    await expectNextTurn(opened);
  });

  it('case 11: with a closing answer it asks once more, with tools off', async () => {
    const a = scriptedTool('a', ({ index }) => `result ${index}`);
    const model = saying(reply(0), reply(1), reply(2), {
      text: 'so far',
      usage: { inputTokens: 30, outputTokens: 10 },
    });
    const opened = await open({ model, tools: [a], limits: { tokens: 100 }, atLimit: 'answer' });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'done',
      text: 'so far',
      limited: { limit: 'tokens', tokens: 120, maxTokens: 100 },
    });
    expect([model.count, a.count]).toEqual([4, 2]);
    expect(toolsOffered(model).at(-1)).toEqual([]);
    await expectNextTurn(opened);
  });

  it('case 11: each turn has the whole budget', async () => {
    const a = scriptedTool('a');
    const model = saying(reply(0), { text: 'one', usage: { inputTokens: 60 } }, reply(2), { text: 'two' });
    const opened = await open({ model, tools: [a], limits: { tokens: 100 } });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'one', usage: { totalTokens: 100 } });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'two' });
    expect(a.count).toBe(2);
  });
});
