/** An interrupted turn: what stops, what is kept, and that it settles in bounded time whatever tools do. */
import type { TurnEvent, TurnResult } from 'looprig';
import {
  assertPaired,
  collect,
  type ManualClock,
  manualClock,
  type ScriptedReply,
  type ScriptedToolOptions,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import {
  expectNextTurn,
  expectSound,
  of,
  open,
  outcomes,
  reached,
  resultsIn,
  type SetUp,
  saying,
} from './cases/setup.ts';

const done: ScriptedReply = { text: 'done' };

function endsOf(events: readonly { readonly type: string }[]): string[] {
  return events.flatMap(({ type }) => (/^turn\.(done|failed|interrupted)$/.test(type) ? [type] : []));
}

describe('in a batch', () => {
  /** A batch of a finished, a running and a waiting call, interrupted at 50 ms. */
  async function batch(running: ScriptedToolOptions, loop: Partial<SetUp> = {}) {
    const clock = manualClock();
    const fast = scriptedTool('fast', { sleepMs: 10, clock, returns: 'fast result' });
    const slow = scriptedTool('slow', { sleepMs: 1_000, clock, returns: 'slow result', ...running });
    const waiting = scriptedTool('waiting');
    const calls = ['fast', 'slow', 'waiting', 'waiting'].map((tool, index) => ({ tool, id: `c${index}` }));
    const limits = { parallel: 1 };
    const model = saying({ text: 'I work.', calls });
    const opened = await open({ model, tools: [fast, slow, waiting], clock, limits, ...loop });
    const turn = opened.session.submit('go');
    const collected = collect(turn);
    await clock.advance(50);
    turn.interrupt('enough');
    const result = await clock.runUntil(turn.result);
    return { opened, clock, slow, waiting, result, events: (await collected).events, turn };
  }

  it('finished calls keep their result, running ones may or may not have taken effect, waiting ones did not run', async () => {
    const { opened, slow, waiting, result, events } = await batch({});
    expect(result).toMatchObject({ status: 'interrupted', reason: 'enough', calls: 4, iterations: 1, steps: 1 });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c0', 'fast result'],
      ['c1', 'interrupted; it may or may not have taken effect'],
      ['c2', 'not run: interrupted'],
      ['c3', 'not run: interrupted'],
    ]);
    expect(new Map(outcomes(events))).toEqual(
      new Map([
        ['c0', 'done'],
        ['c1', 'interrupted'],
        ['c2', 'not_run'],
        ['c3', 'not_run'],
      ]),
    );
    expect(slow.runs).toMatchObject([{ aborted: true }]);
    expect(waiting.count).toBe(0);
    expect(endsOf(events)).toEqual(['turn.interrupted']);
    expect(events.at(-1)).toMatchObject({ type: 'turn.interrupted', reason: 'enough' });
    await expectNextTurn(opened);
  });

  it('a tool that heeds its signal lets the turn settle at once, with nothing left behind', async () => {
    const { clock, result, events } = await batch({});
    expect(clock.now()).toBe(50);
    expect(result).toMatchObject({ leftBehind: [] });
    expect(events.at(-1)).not.toHaveProperty('leftBehind');
  });

  it('a tool that throws something of its own when it is aborted says the same', async () => {
    const { opened } = await batch({
      returns: (_, call) =>
        new Promise((__, reject) => call.signal.addEventListener('abort', () => reject(new Error('mine')))),
      sleepMs: 0,
    });
    expect(resultsIn(opened.session.history)[1]?.[1]).toBe('interrupted; it may or may not have taken effect');
  });

  it('a tool whose abort listener throws ends no process: that is told, and the call settles as any other', async () => {
    const { opened, result } = await batch({
      returns: (_, call) => {
        call.signal.addEventListener('abort', () => {
          throw new Error('no way to stop');
        });
        call.signal.addEventListener('abort', async () => Promise.reject(new Error('nor so')));
        return new Promise(() => {});
      },
      sleepMs: 0,
    });
    expect(result).toMatchObject({ status: 'interrupted', leftBehind: [{ callId: 'c1' }] });
    expect(resultsIn(opened.session.history)[1]?.[1]).toBe('interrupted; it may or may not have taken effect');
    expect(opened.events.flatMap(event => ('message' in event ? [event.message] : []))).toEqual([
      'a listener of the signal of a call of "slow" threw: no way to stop',
      'a listener of the signal of a call of "slow" threw: nor so',
    ]);
    await expectNextTurn(opened);
  });

  it('a tool that gives its result when it is aborted keeps it', async () => {
    const { opened, result } = await batch({
      returns: (_, call) => new Promise(resolve => call.signal.addEventListener('abort', () => resolve('half done'))),
      sleepMs: 0,
    });
    expect(result.status).toBe('interrupted');
    expect(resultsIn(opened.session.history)[1]?.[1]).toBe('half done');
  });

  it.each([
    [{ hangs: true, sleepMs: 0 }, undefined, 2_000],
    [{ deaf: true, sleepMs: 100_000 }, undefined, 2_000],
    [{ hangs: true, sleepMs: 0 }, 300, 300],
    [{ hangs: true, sleepMs: 0 }, 0, 0],
  ] as const)(
    'a tool that ignores its signal (%j) is left behind after drainTimeoutMs %s, and named',
    async (behaviour, drainTimeoutMs, ms) => {
      const { opened, clock, result, events } = await batch(behaviour, { drainTimeoutMs });
      expect(clock.now()).toBe(50 + ms);
      const leftBehind = [{ callId: 'c1', toolName: 'slow' }];
      expect(result).toMatchObject({ status: 'interrupted', leftBehind });
      expect(events.at(-1)).toMatchObject({ type: 'turn.interrupted', leftBehind });
      expect(resultsIn(opened.session.history)[1]?.[1]).toBe('interrupted; it may or may not have taken effect');
      await expectNextTurn(opened);
    },
  );

  it('its late result is dropped, and told to whoever still listens to the session', async () => {
    const { opened, clock } = await batch({ deaf: true, sleepMs: 10_000, returns: 'late result' });
    const before = JSON.stringify(opened.session.history);
    await clock.advance(20_000);
    expect(JSON.stringify(opened.session.history)).toBe(before);
    expect(before).not.toContain('late result');
    expect(opened.events.filter(({ type }) => type === 'tool.late')).toMatchObject([{ callId: 'c1', isError: false }]);
  });

  it('a tool that is done while the turn drains keeps its result', async () => {
    const { opened, clock } = await batch({ deaf: true, sleepMs: 500 });
    expect(clock.now()).toBe(510);
    expect(resultsIn(opened.session.history)[1]?.[1]).toBe('slow result');
  });

  it('a call that times out while the turn drains has one result', async () => {
    const { opened, events } = await batch({ hangs: true, sleepMs: 0, timeoutMs: 100 });
    expect(outcomes(events).filter(([id]) => id === 'c1')).toHaveLength(1);
    expectSound(opened);
  });

  it('the time of the turn that is over while it drains changes nothing', async () => {
    const { result, events } = await batch(
      { hangs: true, sleepMs: 0 },
      { limits: { parallel: 1, turnTimeoutMs: 100 } },
    );
    expect(result).toMatchObject({ status: 'interrupted', reason: 'enough' });
    expect(endsOf(events)).toEqual(['turn.interrupted']);
  });

  it('no call starts after it, whatever finishes then', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 100, clock, deaf: true, resource: () => 'k' });
    const calls = Array.from({ length: 6 }, () => ({ tool: 'slow' }));
    const opened = await open({ model: saying({ calls }), tools: [slow], clock });
    const turn = opened.session.submit('go');
    await clock.advance(50);
    turn.interrupt();
    await clock.runUntil(turn.result);
    expect(slow.count).toBe(1);
    expect(clock.now()).toBe(100);
  });

  it('a timeout of the turn settles in the same bounded way, and says the same honest thing', async () => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { hangs: true });
    const waiting = scriptedTool('waiting');
    const calls = [
      { tool: 'hang', id: 'c0' },
      { tool: 'waiting', id: 'c1' },
    ];
    const limits = { turnTimeoutMs: 100, parallel: 1 };
    const opened = await open({ model: saying({ calls }), tools: [hang, waiting], clock, limits, drainTimeoutMs: 40 });
    const { result, events } = await clock.runUntil(collect(opened.session.submit('go')));
    expect(clock.now()).toBe(140);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'turn_timeout' }, leftBehind: [{ callId: 'c0' }] });
    const [[, running], [, notRun]] = resultsIn(opened.session.history) as [[string, string], [string, string]];
    expect(running).toMatch(/time of 100 ms was over; it may or may not have taken effect/);
    expect(notRun).toMatch(/^not run: .*time of 100 ms was over/);
    expect(outcomes(events)).toEqual([
      ['c1', 'not_run'],
      ['c0', 'timed_out'],
    ]);
  });
});

describe('in a model call', () => {
  /** A model call that stands still in this way, interrupted at 50 ms. */
  async function call(reply: ScriptedReply, stream = true) {
    const clock = manualClock();
    const t = scriptedTool('t');
    const model = scriptedModel([reply, done, done], { clock });
    const opened = await open({ model, tools: [t], clock, stream });
    const turn = opened.session.submit('go');
    const collected = collect(turn);
    await clock.advance(50);
    turn.interrupt('enough');
    const result = await clock.runUntil(turn.result);
    return { opened, clock, t, result, events: (await collected).events };
  }

  it('text already shown is kept with the marker, and no call of it is', async () => {
    const reply = { deltas: ['Hello wor', 'ld'], calls: [{ tool: 't', id: 'c1' }], hangAfter: 8 };
    const { opened, t, result, events } = await call(reply);
    expect(result).toMatchObject({ status: 'interrupted', text: 'Hello world', calls: 0 });
    expect(opened.session.history.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello world' }],
      providerOptions: { looprig: { incomplete: 'interrupted' } },
    });
    expect(t.count).toBe(0);
    expect(events.some(({ type }) => type === 'tool.called')).toBe(false);
    expect(endsOf(events)).toEqual(['turn.interrupted']);
    assertPaired(opened.session.history);
    expect(await opened.session.continue().result).toMatchObject({ status: 'done', text: 'done' });
  });

  it.each([
    ['before the response begins', { delayMs: 1_000, text: 'never' }, true],
    ['and the model does not heed it', { delayMs: Number.POSITIVE_INFINITY, deaf: true }, true],
    ['of doGenerate', { delayMs: 1_000, text: 'never' }, false],
    ['of doGenerate that does not heed it', { delayMs: Number.POSITIVE_INFINITY, deaf: true }, false],
    ['after reasoning alone', { reasoning: 'hm', text: 'never', hangAfter: 3 }, true],
  ] as const)('%s, nothing is kept, and the turn settles at once', async (_, reply, stream) => {
    const { opened, clock, result } = await call(reply, stream);
    expect(result).toMatchObject({ status: 'interrupted', text: '' });
    expect(clock.now()).toBe(50);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user']);
    expect(await clock.runUntil(opened.session.submit('and now?').result)).toMatchObject({ status: 'done' });
  });

  it('the signal of the request says who stopped it', async () => {
    const clock = manualClock();
    const signals: AbortSignal[] = [];
    const model = scriptedModel([
      request => {
        signals.push(request.abortSignal!);
        return { delayMs: 1_000 };
      },
    ]);
    const opened = await open({ model, clock });
    const turn = opened.session.submit('go');
    await clock.advance(0);
    turn.interrupt('enough');
    await turn.result;
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).toMatchObject({ name: 'AbortError', message: 'the turn was interrupted: enough' });
  });

  it('between two attempts no further one is made', async () => {
    const busy = Object.assign(new Error('busy'), { isRetryable: true });
    const { opened, clock, result } = await call({ error: busy });
    expect(result.status).toBe('interrupted');
    expect(clock.now()).toBe(50);
    expect(opened.model.count).toBe(1);
  });

  it('in a later step keeps the steps before it', async () => {
    const clock = manualClock();
    const model = scriptedModel([{ calls: [{ tool: 't' }] }, { text: 'Hello', hangAfter: 3 }], { clock });
    const opened = await open({ model, tools: [scriptedTool('t')], clock });
    const turn = opened.session.submit('go');
    await clock.advance(10);
    turn.interrupt();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', steps: 2, calls: 1 });
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    assertPaired(opened.session.history);
  });
});

describe('at any event', () => {
  const replies: ScriptedReply[] = [
    { reasoning: 'hm', text: 'I look.', calls: [{ tool: 'a' }, { tool: 'a' }, { tool: 'gated' }] },
    { text: 'And again.', calls: [{ tool: 'a' }] },
    { text: 'done' },
  ];

  /** Runs the turn and interrupts it from within an observer or a reader when the n-th event comes. */
  async function interruptedAt(nth: number, from: 'observer' | 'reader') {
    const clock = manualClock();
    let seen = 0;
    let stop: (() => void) | undefined;
    const watch = (): void => {
      seen += 1;
      if (seen === nth) stop?.();
    };
    const a = scriptedTool('a', { sleepMs: 5, clock });
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const rig = {
      gate: { rules: [{ action: 'act', decision: 'allow' as const }] },
      observers: from === 'observer' ? [watch] : [],
    };
    const opened = await open({ model: saying(...replies), tools: [a, gated], clock, rig });
    const turn = opened.session.submit('go');
    const effects = (): number => a.count + gated.count + opened.model.count;
    let atStop: number | undefined;
    stop = () => {
      atStop = effects();
      turn.interrupt('first');
      turn.interrupt('second');
    };
    const collected = (async () => {
      const events: TurnEvent[] = [];
      for await (const event of turn) {
        if (from === 'reader') watch();
        events.push(event);
      }
      return events;
    })();
    const result = await clock.runUntil(turn.result);
    return { opened, clock, result, events: await collected, atStop, atEnd: effects() };
  }

  it.each(['observer', 'reader'] as const)(
    'the turn has one terminal and a valid history, and the next turn works (from an %s)',
    async from => {
      const { events } = await interruptedAt(Number.POSITIVE_INFINITY, from);
      const statuses = new Set<TurnResult['status']>();
      for (let nth = 1; nth <= events.length; nth++) {
        const { opened, result, events: told, atStop, atEnd } = await interruptedAt(nth, from);
        statuses.add(result.status);
        expect(endsOf(told), `at event ${nth}`).toEqual([`turn.${result.status}`]);
        if (result.status === 'interrupted') {
          expect(result.reason).toBe('first');
          expect(atEnd, `what ran after event ${nth}`).toBe(atStop);
        }
        assertPaired(opened.session.history);
        expectSound(opened);
        expect(await opened.clock.runUntil(opened.session.submit('and now?').result)).toMatchObject({ status: 'done' });
        assertPaired(opened.session.history);
      }
      expect(statuses).toContain('interrupted');
    },
  );
});

describe('doing it again, or too late', () => {
  it('twice does what once does, and the first reason stands', async () => {
    const clock = manualClock();
    const opened = await open({
      model: saying({ calls: [{ tool: 'hang' }] }),
      tools: [scriptedTool('hang', { hangs: true })],
      clock,
    });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    turn.interrupt('one');
    turn.interrupt('two');
    await clock.advance(10);
    turn.interrupt('three');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', reason: 'one' });
    expect(endsOf(opened.events)).toEqual(['turn.interrupted']);
  });

  it('after the end does nothing', async () => {
    const opened = await open({ model: saying(done) });
    const turn = opened.session.submit('go');
    const result = await turn.result;
    const told = opened.events.length;
    turn.interrupt('late');
    await opened.clock.advance(10_000);
    expect(await turn.result).toBe(result);
    expect(opened.events).toHaveLength(told);
    await expectNextTurn(opened);
  });

  it.each<readonly [string, unknown]>([
    ['a symbol', Symbol('s')],
    ['an object that JSON cannot hold', { big: 1n }],
    ['an event of a button', new Event('click')],
  ])('with %s for its reason, as a program without types may give it, does what any other does', async (_, reason) => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { hangs: true });
    const opened = await open({ model: saying({ calls: [{ tool: 'hang' }] }), tools: [hang], clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    await clock.advance(0);
    expect(() => turn.interrupt(reason as string)).not.toThrow();
    const result = await clock.runUntil(turn.result, { maxMs: 10_000 });
    expect(result.status).toBe('interrupted');
    expect(JSON.parse(JSON.stringify(opened.events))).toEqual(opened.events);
  });

  it('at once, before anything ran, leaves the input in the history and asks no model', async () => {
    const opened = await open({ model: saying(done) });
    const turn = opened.session.submit('go');
    turn.interrupt();
    expect(await turn.result).toMatchObject({ status: 'interrupted', steps: 0 });
    expect(opened.model.count).toBe(0);
    expect(opened.session.history.map(({ role }) => role)).toEqual(['user']);
    await expectNextTurn(opened);
  });

  it('`await using` interrupts the turn on leaving the block, and waits until it has settled', async () => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { clock, sleepMs: 10_000 });
    const opened = await open({ model: saying({ calls: [{ tool: 'hang' }] }), tools: [hang], clock });
    const leave = async (): Promise<Promise<TurnResult>> => {
      await using turn = opened.session.submit('go');
      await reached(turn, 'tool.started');
      await clock.advance(0);
      return turn.result;
    };
    expect(await leave()).toMatchObject({ status: 'interrupted' });
    expect(opened.session.isRunning).toBe(false);
    expect(hang.runs).toMatchObject([{ aborted: true }]);
  });

  it('run throws TurnInterruptedError', async () => {
    const opened = await open({ model: saying({ delayMs: Number.POSITIVE_INFINITY }) });
    const running = opened.session.run('go');
    await opened.session.close();
    await expect(running).rejects.toMatchObject({ name: 'TurnInterruptedError', kind: 'interrupted' });
  });
});

describe('while a person is asked', () => {
  async function asked(clock: ManualClock = manualClock()) {
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const free = scriptedTool('free');
    const calls = [
      { tool: 'free', id: 'c0' },
      { tool: 'gated', id: 'c1' },
    ];
    const opened = await open({ model: saying({ calls }), tools: [gated, free], clock, rig: { gate: { ask: true } } });
    const turn = opened.session.submit('go');
    const gate = await reached(turn, 'gate.opened', of('c1'));
    return { opened, turn, gateId: gate.type === 'gate.opened' ? gate.gateId : '', gated, free };
  }

  it('nothing of the batch ran, each call says so, and the gate is closed', async () => {
    const { opened, turn, gateId, gated, free } = await asked();
    turn.interrupt();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
    expect([gated.count, free.count]).toEqual([0, 0]);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c0', 'not run: interrupted'],
      ['c1', 'not run: interrupted'],
    ]);
    await expect(opened.session.answer(gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(gated.count).toBe(0);
    await expectNextTurn(opened);
  });
});

describe('closing the session', () => {
  it('interrupts and drains the running turn, cancels queued ones, and refuses new ones', async () => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { hangs: true });
    const opened = await open({
      model: saying({ calls: [{ tool: 'hang' }] }),
      tools: [hang],
      clock,
      drainTimeoutMs: 70,
    });
    const running = opened.session.submit('one');
    const queued = opened.session.submit('two');
    await reached(running, 'tool.started');
    await clock.runUntil(opened.session.close());
    expect(await running.result).toMatchObject({ status: 'interrupted', leftBehind: [{ toolName: 'hang' }] });
    expect(await queued.result).toMatchObject({ status: 'interrupted', steps: 0 });
    expect(clock.now()).toBe(70);
    expect(() => opened.session.submit('three')).toThrowError(expect.objectContaining({ kind: 'closed' }));
    assertPaired(opened.session.history);
  });
});
