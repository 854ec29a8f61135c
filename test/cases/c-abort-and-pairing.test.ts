/** Cases of interrupts, errors and pairing: whatever happens, every call is answered and the session goes on. */
import {
  defineLoop,
  defineRig,
  defineTool,
  defineToolset,
  isTerminal,
  type JournalRecord,
  type JournalStore,
  liveTool,
  type Message,
  memoryStore,
  type SessionEvent,
  type ToolCall,
  type ToolMiddleware,
  toolResult,
} from 'looprig';
import { collect, forever, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { dyingAt, leftBy, openOn, readingOn, recordsOf } from './restart.ts';
import {
  expectNextTurn,
  expectSound,
  expectValidPrompt,
  type OpenedSession,
  of,
  open,
  outcomes,
  play,
  reached,
  resultsIn,
  saying,
} from './setup.ts';

const done: ScriptedReply = { text: 'done' };
const input = { type: 'object' } as const;
const UNKNOWN = 'interrupted; it may or may not have taken effect';
const NOT_RUN = 'not run: interrupted';

describe('an interrupt while a batch runs', () => {
  const batch = (...tools: string[]): ScriptedReply => ({
    calls: tools.map((tool, index) => ({ tool, id: `c${index + 1}` })),
  });

  it('case 23: keeps the result of the call that was done, answers the running one, and the session goes on', async () => {
    const clock = manualClock();
    const fast = scriptedTool('fast', 'fast result');
    const slow = scriptedTool('slow', { sleepMs: 1_000, clock });
    const opened = await open({ model: saying(batch('fast', 'slow')), tools: [fast, slow], clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.completed', of('c1'));
    turn.interrupt('enough');
    expect(await clock.runUntil(turn.result)).toMatchObject({
      status: 'interrupted',
      reason: 'enough',
      leftBehind: [],
      calls: 2,
    });
    expect(slow.runs[0]).toMatchObject({ aborted: true, endedAt: 0 });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'fast result'],
      ['c2', UNKNOWN],
    ]);
    expect(outcomes(opened.events)).toEqual([
      ['c1', 'done'],
      ['c2', 'interrupted'],
    ]);
    const prompt = await expectNextTurn(opened);
    expect(resultsIn(prompt)).toEqual([
      ['c1', 'fast result'],
      ['c2', UNKNOWN],
    ]);
    expect([fast.count, slow.count]).toEqual([1, 1]);
  });

  it('case 23: an interrupt while calls wait for permission closes the gates, and no late answer runs anything', async () => {
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const free = scriptedTool('free');
    const opened = await open({
      model: saying(batch('free', 'gated')),
      tools: [free, gated],
      rig: { gate: { ask: true } },
    });
    const turn = opened.session.submit('go');
    const gate = await reached(turn, 'gate.opened');
    turn.interrupt();
    expect(await turn.result).toMatchObject({ status: 'interrupted' });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', NOT_RUN],
      ['c2', NOT_RUN],
    ]);
    const gateId = 'gateId' in gate ? gate.gateId : '';
    await expect(opened.session.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
    await expectNextTurn(opened);
    expect([free.count, gated.count]).toEqual([0, 0]);
  });

  describe.each([
    ['at once, from an observer', (interrupt: () => void) => interrupt()],
    ['a moment later', (interrupt: () => void) => void setImmediate(interrupt)],
  ])('%s', (_, when) => {
    it.each([true, false])(
      'case 23: at whichever event it comes, nothing starts after it, calls are paired and the session goes on (stream: %s)',
      async stream => {
        const whole = await interruptedAt(Number.POSITIVE_INFINITY, when, stream);
        expect(whole.status).toBe('done');
        expect(whole.told).toBeGreaterThan(20);
        const statuses = new Set<string>();
        for (let place = 0; place < whole.told; place++)
          statuses.add((await interruptedAt(place, when, stream)).status);
        expect([...statuses].sort()).toEqual(['done', 'interrupted']);
      },
    );
  });

  /** Plays a turn of two batches and an answer, and interrupts it at its nth event. */
  async function interruptedAt(place: number, when: (interrupt: () => void) => void, stream: boolean) {
    const clock = manualClock();
    const tools = [
      scriptedTool('fast', 'fast result'),
      scriptedTool('slow', { sleepMs: 20, clock }),
      scriptedTool('alone', { sequential: true, sleepMs: 5, clock }),
      scriptedTool('deaf', { sleepMs: 3_000, clock, deaf: true }),
      scriptedTool('keyed', { resource: () => 'key', sleepMs: 5, clock }),
    ];
    const ran = (): number => tools.reduce((sum, tool) => sum + tool.count, 0);
    let told = 0;
    let atInterrupt: readonly [number, number] | undefined;
    const opened = await open({
      model: saying(
        { text: 'first', ...batch('fast', 'slow', 'ghost', 'alone', 'keyed', 'keyed') },
        { calls: [{ tool: 'deaf' }] },
        { text: 'the answer', deltas: 3 },
      ),
      tools,
      clock,
      stream,
      rig: {
        observers: [
          () => {
            if (told++ !== place) return;
            when(() => {
              if (atInterrupt === undefined && opened.session.isRunning) atInterrupt = [ran(), opened.model.count];
              turn.interrupt();
            });
          },
        ],
      },
    });
    const turn = opened.session.submit('go');
    const result = await clock.runUntil(turn.result);
    const figures = [ran(), opened.model.count];
    if (result.status === 'interrupted') expect(figures).toEqual(atInterrupt);
    await clock.advance(10_000);
    expect([ran(), opened.model.count]).toEqual(figures);
    const count = told;
    await expectNextTurn(opened);
    return { status: result.status, told: count };
  }

  it.each([
    ['sequential tools', { sequential: true }, {}],
    ['one call at a time', {}, { parallel: 1 }],
    ['calls on one resource', { resource: () => 'file' }, {}],
  ])(
    'case 25: with %s the call that waits never runs, and the model is not asked again',
    async (_, capabilities, limits) => {
      const clock = manualClock();
      const sleep = scriptedTool('sleep', { ...capabilities, sleepMs: 1_000, clock });
      const write = scriptedTool('write', { ...capabilities });
      const opened = await open({ model: saying(batch('sleep', 'write')), tools: [sleep, write], limits, clock });
      const turn = opened.session.submit('go');
      await reached(turn, 'tool.started', of('c1'));
      turn.interrupt();
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', UNKNOWN],
        ['c2', NOT_RUN],
      ]);
      expect(outcomes(opened.events)).toEqual(
        expect.arrayContaining([
          ['c1', 'interrupted'],
          ['c2', 'not_run'],
        ]),
      );
      await clock.advance(10_000);
      expect([write.count, opened.model.count]).toEqual([0, 1]);
      await expectNextTurn(opened);
    },
  );

  it.each([
    [undefined, 2_000],
    [300, 300],
    [0, 0],
  ])(
    'case 26: a tool that never settles holds the turn for the drain time alone (drainTimeoutMs: %s)',
    async (drainTimeoutMs, waits) => {
      const clock = manualClock();
      const deaf = scriptedTool('deaf', { hangs: true });
      const model = saying(batch('deaf'));
      const opened = await open({
        model,
        tools: [deaf],
        clock,
        ...(drainTimeoutMs === undefined ? {} : { drainTimeoutMs }),
      });
      const turn = opened.session.submit('go');
      await reached(turn, 'tool.started');
      await clock.advance(50);
      turn.interrupt();
      const result = await clock.runUntil(turn.result);
      expect(clock.now()).toBe(50 + waits);
      expect(result).toMatchObject({ status: 'interrupted', leftBehind: [{ callId: 'c1', toolName: 'deaf' }] });
      expect(opened.events.findLast(isTerminal)).toMatchObject({
        type: 'turn.interrupted',
        leftBehind: [{ callId: 'c1' }],
      });
      expect(deaf.runs[0]?.aborted).toBe(true);
      expect(resultsIn(opened.session.history)).toEqual([['c1', UNKNOWN]]);
      expect(clock.pending).toBe(0);
      await expectNextTurn(opened);
    },
  );

  it.each(['returns', 'throws'] as const)(
    'case 26: what a tool that was left behind %s later does not enter the history',
    async how => {
      const clock = manualClock();
      const late = Promise.withResolvers<string>();
      const deaf = scriptedTool('deaf', { returns: () => late.promise });
      const opened = await open({ model: saying(batch('deaf')), tools: [deaf], clock });
      const turn = opened.session.submit('go');
      await reached(turn, 'tool.started');
      turn.interrupt();
      await clock.runUntil(turn.result);
      const before = opened.session.history;
      if (how === 'returns') late.resolve('done after all');
      else late.reject(new Error('failed after all'));
      await clock.advance(0);
      expect(opened.session.history).toEqual(before);
      expect(outcomes(opened.events)).toEqual([['c1', 'interrupted']]);
      expect(opened.events.at(-1)).toMatchObject({ type: 'tool.late', callId: 'c1', isError: how === 'throws' });
      await expectNextTurn(opened);
    },
  );

  it('case 26: a middleware that never settles holds the turn no longer', async () => {
    const clock = manualClock();
    const tool = scriptedTool('a');
    const stuck: ToolMiddleware = () => new Promise<never>(() => {});
    const opened = await open({ model: saying(batch('a')), tools: [tool], middlewares: [stuck], clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    turn.interrupt();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [{ callId: 'c1' }] });
    expect(clock.now()).toBe(2_000);
    await expectNextTurn(opened);
  });

  it.each([
    ['a request that is never answered', { delayMs: Number.POSITIVE_INFINITY, deaf: true }],
    ['a stream that stands still', { text: 'Hello world', deltas: 2, hangAfter: 3, deaf: true }],
  ])('case 26: a model that ignores its signal holds the turn not at all: %s', async (_, reply) => {
    for (const stream of [true, false]) {
      const clock = manualClock();
      const opened = await open({ model: saying(reply), clock, stream });
      const turn = opened.session.submit('go');
      await reached(turn, 'step.started');
      await clock.advance(50);
      turn.interrupt();
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
      expect(clock.now()).toBe(50);
      await expectNextTurn(opened);
    }
  });

  const never = (): Promise<never> => new Promise(() => {});
  it.each([
    ['its access', { access: never }],
    ['its resource', { resource: never }],
    ['its summary', { summary: never }],
  ])('case 26: a tool that never says %s does not hold the turn', async (_, capability) => {
    const clock = manualClock();
    const tool = scriptedTool('a', capability);
    const opened = await open({ model: saying(batch('a')), tools: [tool], clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'step.started');
    await clock.advance(50);
    turn.interrupt();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
    expect(clock.now()).toBeLessThanOrEqual(2_050);
    expect(resultsIn(opened.session.history)).toEqual([['c1', expect.stringContaining('interrupted')]]);
    expect(tool.count).toBe(0);
    await expectNextTurn(opened);
  });

  it('case 27: a tool that ignores the interrupt but is done in the drain time has its real result', async () => {
    const clock = manualClock();
    const send = scriptedTool('send', { sleepMs: 200, clock, deaf: true, returns: 'sent' });
    const opened = await open({ model: saying(batch('send')), tools: [send], clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    await clock.advance(50);
    turn.interrupt();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [] });
    expect(clock.now()).toBe(200);
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'sent']]);
    await expectNextTurn(opened);
  });

  it('case 27: the result of a tool that takes effect after the turn does not deny it, and the effect is told', async () => {
    const clock = manualClock();
    const effects: number[] = [];
    const send = scriptedTool('send', {
      sleepMs: 200,
      clock,
      deaf: true,
      returns: () => `sent ${effects.push(clock.now())}`,
    });
    const opened = await open({ model: saying(batch('send')), tools: [send], clock, drainTimeoutMs: 100 });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    await clock.advance(50);
    turn.interrupt();
    await clock.runUntil(turn.result);
    expect([clock.now(), effects]).toEqual([150, []]);
    await clock.advance(400);
    expect(effects).toEqual([200]);
    expect(resultsIn(opened.session.history)).toEqual([['c1', UNKNOWN]]);
    expect(opened.events.filter(({ type }) => type === 'tool.late')).toMatchObject([
      { callId: 'c1', at: 200, isError: false },
    ]);
    await expectNextTurn(opened);
  });
});

describe('listeners that throw', () => {
  const calls: ScriptedReply = { text: 'calling', calls: [{ tool: 'a', id: 'c1' }] };

  it.each([
    [
      'throws',
      () => {
        throw new Error('listener broke');
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('listener broke');
      },
    ],
    [
      'throws an error whose message throws',
      () => {
        throw Object.defineProperty(new Error('x'), 'message', {
          get: () => {
            throw new Error('y');
          },
        });
      },
    ],
    [
      'throws nothing',
      () => {
        throw undefined;
      },
    ],
  ])('case 29: an observer that %s on the end of a tool is reported once, and changes nothing', async (_, act) => {
    const a = scriptedTool('a', 'result');
    const seen: string[] = [];
    const observers = [
      (event: SessionEvent) => (event.type === 'tool.completed' ? act() : undefined),
      (event: SessionEvent) => void seen.push(event.type),
    ];
    const opened = await open({ model: saying(calls, done), tools: [a], rig: { observers } });
    const reader = opened.session.subscribe();
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect([a.count, opened.model.count]).toEqual([1, 2]);
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'result']]);
    expect(seen.filter(type => type === 'tool.completed' || type === 'turn.done')).toEqual([
      'tool.completed',
      'turn.done',
    ]);
    await opened.session.close();
    const failures: SessionEvent[] = [];
    for await (const event of reader) if (event.type === 'observer.failed') failures.push(event);
    expect(failures).toHaveLength(1);
    expectSound(opened);
  });

  it('case 29: an observer that throws on every event changes nothing', async () => {
    const a = scriptedTool('a', 'result');
    const observers = [
      () => {
        throw new Error('listener broke');
      },
    ];
    const opened = await open({ model: saying(calls, done), tools: [a], rig: { observers } });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(events.map(({ type }) => type)).toEqual(opened.events.map(({ type }) => type));
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'result']]);
    expect(a.count).toBe(1);
    await expectNextTurn(opened);
  });

  it('case 29: a reader that throws on the end of a tool changes nothing', async () => {
    const a = scriptedTool('a', 'result');
    const opened = await open({ model: saying(calls, done), tools: [a] });
    const turn = opened.session.submit('go');
    const reading = (async () => {
      for await (const event of turn) if (event.type === 'tool.completed') throw new Error('reader broke');
    })();
    await expect(reading).rejects.toThrow('reader broke');
    expect(await turn.result).toMatchObject({ status: 'done', text: 'done' });
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'result']]);
    expect(a.count).toBe(1);
    await expectNextTurn(opened);
  });
});

describe('tools that throw', () => {
  const boom = (): never => {
    throw new Error('boom');
  };
  const description = 'Throws.';
  const ways = [
    ['a plain tool', defineTool({ name: 'a', description, input, execute: boom }), []],
    ['an async tool', defineTool({ name: 'a', description, input, execute: async () => boom() }), []],
    ['a tool of a factory', defineTool({ name: 'a', description, input, create: () => boom }), []],
    [
      'a tool of a toolset',
      defineToolset({
        name: 'set',
        produces: ['a'],
        create: () => [liveTool({ info: { name: 'a', description, input }, execute: boom })],
      }),
      [],
    ],
    ['a middleware', defineTool({ name: 'a', description, input, execute: () => 'ok' }), [async () => boom()]],
    [
      'a tool in a middleware',
      defineTool({ name: 'a', description, input, execute: boom }),
      [((_, next) => next()) satisfies ToolMiddleware],
    ],
  ] as const;

  it.each(
    ways.flatMap(([way, tool, middlewares]) => [true, false].map(stream => [way, stream, tool, middlewares] as const)),
  )(
    'case 30, case 31: %s that throws gives an error result, and the turn goes on (stream: %s)',
    async (_, stream, tool, middlewares) => {
      const ok = scriptedTool('ok');
      const model = saying(
        {
          calls: [
            { tool: 'a', id: 'c1' },
            { tool: 'ok', id: 'c2' },
          ],
        },
        done,
      );
      const opened = await open({ model, tools: [tool, ok], middlewares, stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done' });
      expect(events.find(event => event.type === 'tool.completed' && event.callId === 'c1')).toMatchObject({
        outcome: 'failed',
        isError: true,
        output: { type: 'error-text', value: 'boom' },
      });
      const answered = resultsIn(opened.session.history);
      expect(answered[0]).toEqual(['c1', 'boom']);
      expect(answered[1]?.[0]).toBe('c2');
      expect(JSON.stringify(opened.session.history)).not.toMatch(/ at .*\.ts:\d+/);
      expect(model.count).toBe(2);
      await expectNextTurn(opened);
    },
  );

  it('case 31: a tool that wants its failure to end the turn says so, and its call is answered all the same', async () => {
    const ok = scriptedTool('ok');
    const fatal = scriptedTool('fatal', toolResult('cannot go on', { isError: true, endTurn: true }));
    const model = saying({
      calls: [
        { tool: 'fatal', id: 'c1' },
        { tool: 'ok', id: 'c2' },
      ],
    });
    const opened = await open({ model, tools: [fatal, ok] });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'cannot go on' });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'cannot go on'],
      ['c2', 'ok'],
    ]);
    expect(model.count).toBe(1);
    await expectNextTurn(opened);
  });
});

describe('an interrupt while the model answers', () => {
  const callA: ScriptedReply = { calls: [{ tool: 'a', id: 'c1' }] };

  async function interrupted(reply: ScriptedReply, at: 'text.delta' | 'tool.input.delta' | 'reasoning.delta') {
    const a = scriptedTool('a', 'result');
    const opened = await open({ model: saying(callA, reply), tools: [a] });
    const turn = opened.session.submit('go');
    await reached(turn, at, event => 'stepId' in event && event.stepId?.endsWith('.2') === true);
    turn.interrupt('enough');
    const { result, events } = await opened.clock.runUntil(collect(turn));
    expect(a.count).toBe(1);
    return { opened, result, events };
  }

  it('case 32: the outcome has the steps, the text and the usage so far, and the history has the text, marked', async () => {
    const { opened, result } = await interrupted({ deltas: ['Hello wor', 'ld'], hangAfter: 3 }, 'text.delta');
    expect(result).toMatchObject({
      status: 'interrupted',
      reason: 'enough',
      text: 'Hello wor',
      steps: 2,
      iterations: 1,
      calls: 1,
      usage: { inputTokens: 10, outputTokens: 5 },
    });
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'result']]);
    expect(opened.session.history.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello wor' }],
      providerOptions: { looprig: { incomplete: 'interrupted' } },
    });
    expect(opened.events.at(-1)).toMatchObject({ type: 'turn.interrupted', text: 'Hello wor', steps: 2 });
    await expectNextTurn(opened);
  });

  it('case 32: a call that had come is neither kept nor run, and reasoning without its end is not kept', async () => {
    const withCall = await interrupted(
      { text: 'Hello', calls: [{ tool: 'a', id: 'c2' }], hangAfter: 8 },
      'tool.input.delta',
    );
    expect(withCall.opened.session.history.at(-1)?.content).toEqual([{ type: 'text', text: 'Hello' }]);
    await expectNextTurn(withCall.opened);

    const alone = await interrupted({ calls: [{ tool: 'a', id: 'c2' }], hangAfter: 5 }, 'tool.input.delta');
    expect(alone.opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(alone.result).toMatchObject({ status: 'interrupted', text: '', steps: 1 });
    await expectNextTurn(alone.opened);

    const thinking = await interrupted({ reasoning: 'hm', text: 'x', hangAfter: 3 }, 'reasoning.delta');
    expect(thinking.opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    await expectNextTurn(thinking.opened);
  });

  it('case 32: the partial text of a turn whose time is over, or whose connection broke, is kept and marked in the same way', async () => {
    const clock = manualClock();
    const late = await open({
      model: saying({ deltas: ['Hello wor', 'ld'], hangAfter: 3 }),
      clock,
      limits: { turnTimeoutMs: 100 },
    });
    expect((await play(late)).result).toMatchObject({
      status: 'failed',
      error: { kind: 'turn_timeout', timeoutMs: 100 },
      text: 'Hello wor',
    });
    expect(late.session.history.at(-1)).toMatchObject({ providerOptions: { looprig: { incomplete: 'timed_out' } } });
    await expectNextTurn(late);

    const broken = await open({ model: saying({ deltas: ['Hello wor', 'ld'], errorAfter: 3 }), modelRetries: 0 });
    expect((await play(broken)).result).toMatchObject({
      status: 'failed',
      error: { kind: 'stream_broken' },
      text: 'Hello wor',
    });
    expect(broken.session.history.at(-1)).toMatchObject({ providerOptions: { looprig: { incomplete: 'broken' } } });
    await expectNextTurn(broken);
  });

  it('case 32: a turn that is taken up after its partial text gives the model the turn to speak', async () => {
    const { opened } = await interrupted({ deltas: ['Hello wor', 'ld'], hangAfter: 3 }, 'text.delta');
    expect(await opened.session.continue().result).toMatchObject({ status: 'done', text: 'fine' });
    expectSound(opened);
  });

  it('case 33: an interrupted turn has one terminal event, of its own kind, to every reader', async () => {
    const { opened, result, events } = await interrupted({ deltas: ['Hello wor', 'ld'], hangAfter: 3 }, 'text.delta');
    expect(result.status).toBe('interrupted');
    expect(events.filter(isTerminal).map(({ type }) => type)).toEqual(['turn.interrupted']);
    expect(opened.events.filter(isTerminal).map(({ type }) => type)).toEqual(['turn.interrupted']);
  });

  it('case 33: interrupting twice, after the end, or while it waits in the queue makes no second terminal', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 100, clock });
    const opened = await open({ model: saying({ calls: [{ tool: 'slow' }] }, done, done), tools: [slow], clock });
    const first = opened.session.submit('one');
    const queued = opened.session.submit('two');
    await reached(first, 'tool.started');
    queued.interrupt('not that');
    queued.interrupt();
    first.interrupt('once');
    first.interrupt('twice');
    expect(await clock.runUntil(first.result)).toMatchObject({ status: 'interrupted', reason: 'once' });
    expect(await queued.result).toMatchObject({ status: 'interrupted', reason: 'not that', steps: 0 });
    first.interrupt('late');
    const third = opened.session.submit('three');
    first.interrupt('later');
    const { events } = await clock.runUntil(collect(third));
    expect(events.filter(isTerminal).map(({ type }) => type)).toEqual(['turn.done']);
    third.interrupt('after the end');
    await clock.advance(0);
    const ends = opened.events.filter(isTerminal);
    expect(ends.map(({ turnId, type }) => [turnId, type]).sort()).toEqual(
      [
        [first.id, 'turn.interrupted'],
        [queued.id, 'turn.interrupted'],
        [third.id, 'turn.done'],
      ].sort(),
    );
    const { events: late } = await collect(queued);
    expect(late.map(({ type }) => type)).toEqual(['turn.interrupted']);
    expectSound(opened);
  });
});

describe('the signal of a call', () => {
  /** A tool that waits for its signal, and notes why it fired. */
  function waiting() {
    const fired: { callId: string; name: string }[] = [];
    const execute = (_: unknown, { signal, callId }: ToolCall): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          fired.push({ callId, name: (signal.reason as Error).name });
          reject(signal.reason);
        });
      });
    return { fired, execute };
  }
  const call: ScriptedReply = { calls: [{ tool: 'w', id: 'c1' }] };
  const description = 'Waits.';
  const changed: ToolMiddleware = (_, next) => next({ changed: true });
  const twice: ToolMiddleware = async (_, next) => {
    await next();
    return next();
  };

  it.each([
    ['a plain call', {}, {}],
    ['a call in a middleware', {}, { middlewares: [(async (_, next) => await next()) satisfies ToolMiddleware] }],
    ['a call whose input a middleware changed', {}, { middlewares: [changed, changed] }],
    ['a call that a middleware makes twice', {}, { middlewares: [twice] }],
    ['a sequential call', { sequential: true }, {}],
    ['a call on a resource', { resource: () => 'key' }, {}],
    ['a call without a stream', {}, { stream: false }],
  ])('case 34: fires for %s', async (_, capabilities, options) => {
    const { fired, execute } = waiting();
    const w = defineTool({ name: 'w', description, input, execute, ...capabilities });
    const opened = await open({ model: saying(call), tools: [w], ...options });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    await opened.clock.advance(0);
    turn.interrupt();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [] });
    expect(fired).toEqual([{ callId: 'c1', name: 'AbortError' }]);
    await expectNextTurn(opened);
  });

  it('case 34: fires for a call that was approved later', async () => {
    const { fired, execute } = waiting();
    const w = defineTool({ name: 'w', description, input, execute, access: () => [{ action: 'act', target: 'x' }] });
    const opened = await open({ model: saying(call), tools: [w], rig: { gate: { ask: true } } });
    const turn = opened.session.submit('go');
    const gate = await reached(turn, 'gate.opened');
    await opened.session.answer('gateId' in gate ? gate.gateId : '', { decision: 'approve' });
    await reached(turn, 'tool.started');
    await opened.clock.advance(0);
    turn.interrupt();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [] });
    expect(fired).toEqual([{ callId: 'c1', name: 'AbortError' }]);
    await expectNextTurn(opened);
  });

  const onion: ToolMiddleware = async (_, next) => await next();
  const restarts = ['before the call started', 'while it ran', 'while it waited for a person', 'after its approval'];
  const chains: readonly (readonly [string, readonly ToolMiddleware[]])[] = [
    ['plain', []],
    ['in middlewares', [onion, changed]],
  ];

  it.each(restarts.flatMap(restart => chains.map(([chain, middlewares]) => [restart, chain, middlewares] as const)))(
    'case 34: fires for a call whose turn is resumed by a process that came %s (%s)',
    async (restart, _, middlewares) => {
      const isAsked = restart.includes('person') || restart.includes('approval');
      const setUp = () => {
        const { fired, execute } = waiting();
        const access = () => (isAsked ? [{ action: 'act', target: 'x' }] : []);
        const w = defineTool({ name: 'w', description, input, idempotent: true, access, execute });
        return { fired, parts: { model: readingOn(call), tools: [w], middlewares, rig: { gate: { ask: true } } } };
      };
      const first = setUp();
      const store = memoryStore();
      const { store: mortal, died } = dyingAt(store, restart === 'before the call started' ? 3 : 100, 'before');
      const before = await openOn(mortal, first.parts);
      before.session.submit('go');
      if (restart === 'before the call started') await died;
      await before.clock.advance(1);
      const { id } = before.session;
      let left = await leftBy(store, id);
      const approve = ({ session }: OpenedSession) => session.answer(session.gates[0]!.gateId, { decision: 'approve' });
      if (restart === 'after its approval') {
        await approve(await openOn(left, setUp().parts, id));
        left = await leftBy(left, id);
      }
      const types = (await recordsOf(left, id)).map(({ type }) => type);
      expect(types.includes('tool.started')).toBe(restart === 'while it ran');
      const { fired, parts } = setUp();
      const opened = await openOn(left, parts, id);
      const turn = opened.session.resume();
      if (restart === 'while it waited for a person') await approve(opened);
      await opened.clock.advance(1);
      turn.interrupt();
      expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [] });
      expect(fired).toEqual([{ callId: 'c1', name: 'AbortError' }]);
      expect(resultsIn(opened.session.history)).toEqual([['c1', UNKNOWN]]);
      expect(first.fired).toEqual([]); // the other process is gone, not interrupted
      await expectNextTurn({ ...opened, events: [] });
    },
  );

  it('case 34: fires for a call of a turn that goes on after an interrupt and a restart', async () => {
    const store = memoryStore();
    const setUp = () => {
      const { fired, execute } = waiting();
      const w = defineTool({ name: 'w', description, input, execute });
      const replies: ScriptedReply[] = [call, { calls: [{ tool: 'w', id: 'c2' }] }];
      return { fired, parts: { model: readingOn(...replies), tools: [w] } };
    };
    const one = setUp();
    const before = await openOn(store, one.parts);
    const first = before.session.submit('go');
    await reached(first, 'tool.started');
    await before.clock.advance(0);
    await before.session.close();
    const other = setUp();
    const after = await openOn(store, other.parts, before.session.id);
    const turn = after.session.continue();
    await reached(turn, 'tool.started');
    await after.clock.advance(0);
    turn.interrupt();
    expect(await after.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', leftBehind: [] });
    expect([one.fired, other.fired].map(([event]) => event?.callId)).toEqual(['c1', 'c2']);
    expect(resultsIn(after.session.history)).toEqual([
      ['c1', UNKNOWN],
      ['c2', UNKNOWN],
    ]);
    await expectNextTurn(after);
  });

  it('case 34: fires with the reason that it is about: an interrupt, the time of the call, the time of the turn', async () => {
    for (const [limits, name, outcome] of [
      [{ callTimeoutMs: 100 }, 'TimeoutError', 'timed_out'],
      [{ turnTimeoutMs: 100 }, 'TimeoutError', 'timed_out'],
    ] as const) {
      const { fired, execute } = waiting();
      const w = defineTool({ name: 'w', description, input, execute });
      const opened = await open({ model: saying(call), tools: [w], limits });
      const { events } = await play(opened);
      expect(fired).toEqual([{ callId: 'c1', name }]);
      expect(outcomes(events)).toEqual([['c1', outcome]]);
      await expectNextTurn(opened);
    }
  });

  it('case 34: a tool that looks at its signal only after the interrupt finds it aborted', async () => {
    const gate = Promise.withResolvers<void>();
    const found: boolean[] = [];
    const w = defineTool({
      name: 'w',
      description,
      input,
      execute: async (_, call) => {
        await gate.promise;
        found.push(call.signal.aborted);
      },
    });
    const opened = await open({ model: saying(call), tools: [w] });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    await opened.clock.advance(0);
    turn.interrupt();
    gate.resolve();
    await opened.clock.runUntil(turn.result);
    expect(found).toEqual([true]);
  });

  it('case 37: an interrupted turn leaves nothing aborted behind', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 100, clock });
    const a = scriptedTool('a', (_, { signal }) => `aborted: ${signal.aborted}`);
    const model = saying(
      { calls: [{ tool: 'slow', id: 'c1' }] },
      { calls: [{ tool: 'a', id: 'c2' }] },
      done,
      { calls: [{ tool: 'a', id: 'c3' }] },
      done,
    );
    const opened = await open({ model, tools: [slow, a], clock });
    const first = opened.session.submit('go');
    await reached(first, 'tool.started');
    first.interrupt();
    await clock.runUntil(first.result);
    expect(await clock.runUntil(opened.session.continue().result)).toMatchObject({ status: 'done', text: 'done' });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', UNKNOWN],
      ['c2', 'aborted: false'],
      ['c3', 'aborted: false'],
    ]);
    expect(model.requests.map(({ abortSignal }) => abortSignal?.aborted)).toEqual([true, false, false, false, false]);
    await expectNextTurn(opened);
  });
});

describe('a history that ends in the middle of a batch', () => {
  it('case 35: a call with a recorded result keeps it, one that had started is unknown, and the model goes on with the turn', async () => {
    const { records, cut, a, b } = await cutJournal('tool.completed');
    expect(records.filter(({ type }) => type === 'tool.completed')).toHaveLength(1);
    const { session, model } = await cut(records.length);
    expect(resultsIn(session.history)).toEqual([]); // the step is not committed yet
    const { result, events } = await collect(session.resume());
    expect(result).toMatchObject({ status: 'done', text: 'fine' });
    expect(events.filter(isTerminal)).toHaveLength(1);
    expect(resultsIn(model.requests[0]!.prompt)).toEqual([
      ['c1', 'result of a'],
      ['c2', 'interrupted: the process ended while it ran; it may or may not have taken effect'],
    ]);
    expect(session.history.filter(({ role }) => role === 'user')).toHaveLength(1);
    expect([a.count, b.count]).toEqual([1, 1]);
  });

  it('case 35: after whichever append the journal ends, the history is valid, the turn can be taken up, and nothing that was started runs again', async () => {
    const { records, appended, cut, a, b } = await cutJournal('turn.done');
    expect(appended.length).toBeGreaterThan(5);
    for (const length of appended) {
      const { session, model } = await cut(length);
      expectValidPrompt([...session.history, { role: 'user', content: [{ type: 'text', text: 'x' }] }]);
      const begun = records.slice(0, length).some(({ type }) => type === 'turn.started');
      const ended = records.slice(0, length).some(({ type }) => type === 'turn.done');
      const turn = begun && !ended ? session.continue() : session.submit('more');
      expect(await turn.result).toMatchObject({ status: 'done', text: 'fine' });
      for (const { prompt } of model.requests) expectValidPrompt(prompt);
    }
    expect([a.count, b.count]).toEqual([1, 1]);
  });

  it('case 35: messages from elsewhere are refused with the place, or repaired and gone on with', async () => {
    const history: Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'c1', toolName: 'a', input: {} },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'b', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'a', output: { type: 'text', value: 'result of a' } },
        ],
      },
    ];
    const model = saying();
    const rig = defineRig({ loops: [defineLoop({ name: 'case', model })], clock: manualClock() });
    await expect(rig.open({ history })).rejects.toMatchObject({ kind: 'invalid_history', index: 2 });
    const session = await rig.open({ history, repair: true });
    expect(resultsIn(session.history)).toEqual([
      ['c1', 'result of a'],
      ['c2', 'result not available'],
    ]);
    expect(await session.submit('more').result).toMatchObject({ status: 'done' });
    expectValidPrompt(model.requests[0]!.prompt);
  });

  /** The journal of a turn of two calls up to its first record of this type, and sessions restored from its first records. */
  async function cutJournal(end: JournalRecord['type']) {
    const memory = memoryStore();
    const appended: number[] = [];
    const store: JournalStore = {
      ...{
        list: options => memory.list(options),
        delete: (id, seq) => memory.delete(id, seq),
        find: id => memory.find(id),
        read: (id, from) => memory.read(id, from),
      },
      ...{
        putCapture: (id, bytes) => memory.putCapture(id, bytes),
        getCapture: (id, key) => memory.getCapture(id, key),
      },
      append(id, expectedSeq, records) {
        appended.push(expectedSeq + records.length);
        return memory.append(id, expectedSeq, records);
      },
    };
    const clock = manualClock();
    const a = scriptedTool('a', 'result of a');
    const b = scriptedTool('b', { sleepMs: 100, clock, returns: 'result of b' });
    const tools = [a.definition, b.definition];
    const model = scriptedModel([
      {
        text: 'both',
        calls: [
          { tool: 'a', id: 'c1' },
          { tool: 'b', id: 'c2' },
        ],
      },
      done,
    ]);
    const session = await defineRig({ loops: [defineLoop({ name: 'case', model, tools })], store, clock }).open();
    await clock.runUntil(session.submit('go').result);
    const records: JournalRecord[] = [];
    for await (const record of store.read(session.id, 1)) {
      records.push(record);
      if (record.type === end) break;
    }
    const cut = async (length: number) => {
      const kept = memoryStore();
      await kept.append(session.id, 0, records.slice(0, length));
      const again = scriptedModel(forever({ text: 'fine' }));
      const rig = defineRig({ loops: [defineLoop({ name: 'case', model: again, tools })], store: kept, clock });
      return { session: await rig.open({ sessionId: session.id }), model: again };
    };
    return { records, appended, cut, a, b };
  }
});

describe('a reader that leaves early', () => {
  const replies = Array.from(
    { length: 6 },
    (_, n): ScriptedReply => ({ calls: [{ tool: 'a', id: `c${n}`, input: { n } }] }),
  );

  it('case 38: leaves the turn running, and it can be watched again from its beginning', async () => {
    const a = scriptedTool('a');
    const opened = await open({ model: saying(...replies, done), tools: [a] });
    const turn = opened.session.submit('go');
    for await (const event of turn) if (event.type === 'tool.called') break;
    const { events, result } = await collect(turn);
    expect(result).toMatchObject({ status: 'done', text: 'done', calls: 6 });
    expect(events[0]?.type).toBe('turn.started');
    expect(outcomes(events)).toHaveLength(6);
    expect(a.count).toBe(6);
    await expectNextTurn(opened);
  });

  it('case 38: of a block with `await using` interrupts the turn: no tool starts after it, and calls are paired', async () => {
    const clock = manualClock();
    const a = scriptedTool('a', { sleepMs: 10, clock });
    const opened = await open({ model: saying(...replies, done), tools: [a], clock });
    {
      await using turn = opened.session.submit('go');
      await reached(turn, 'tool.started');
    }
    expect(opened.session.isRunning).toBe(false);
    await clock.advance(1_000);
    expect([a.count, opened.model.count]).toEqual([1, 1]);
    expect(resultsIn(opened.session.history)).toEqual([['c0', UNKNOWN]]);
    expect(opened.events.at(-1)?.type).toBe('turn.interrupted');
    await expectNextTurn(opened);
  });
});
