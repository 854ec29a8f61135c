/** What readers are told: order, shape, and that no reader can change anything. */
import {
  assertNever,
  EVENT_DURABILITY,
  isTerminal,
  type SessionEvent,
  type ToolMiddleware,
  type TurnEvent,
  toolResult,
} from 'looprig';
import { collect, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, insisting, open, play, reached, type SetUp, saying } from './cases/setup.ts';
import { tamper } from './support/tamper.ts';
import { watchedStore } from './support/watched-store.ts';

const START = 1_700_000_000_000;
const busy = Object.assign(new Error('busy'), { isRetryable: true });

/** A turn in which every kind of event happens that a turn can tell. */
async function eventful(loop: Partial<SetUp> = {}) {
  const clock = manualClock(START);
  const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 2 };
  const calls = [
    { tool: 'plain', id: 'c1', input: { a: 1 } },
    { tool: 'gated', id: 'c2', input: { b: { c: [1] } } },
    { tool: 'ghost', id: 'c3' },
  ];
  const model = saying(
    { error: busy },
    { reasoning: 'hm', text: 'I look.', calls, usage },
    { calls: [{ tool: 'plain', id: 'c4' }], usage },
    { text: 'done', usage },
  );
  const plain = scriptedTool('plain', {
    sleepMs: 10,
    clock,
    returns: (_, call) => {
      call.progress({ done: 0.5 });
      return toolResult([
        { type: 'text', text: 'one' },
        { type: 'json', value: { two: [2] } },
      ]);
    },
  });
  const gated = scriptedTool('gated', {
    ...{ access: () => [{ action: 'act', target: 'x', description: 'Does x.' }], summary: () => 'does x' },
    returns: { some: { deep: ['json'] } },
  });
  const opened = await open({
    ...{ model, tools: [plain, gated], clock, limits: { iterations: 3, calls: 4 } },
    rig: { gate: { ask: true }, ...loop.rig },
    ...loop,
  });
  const turn = opened.session.submit('go');
  const answering = (async () => {
    for await (const event of turn) {
      if (event.type === 'gate.opened') await opened.session.answer(event.gateId, { decision: 'approve' });
    }
  })();
  const { events, result } = await clock.runUntil(collect(turn));
  await answering;
  return { opened, turn, events, result, clock };
}

const enduringOf = <E extends SessionEvent>(events: readonly E[]): E[] =>
  events.filter(({ type }) => EVENT_DURABILITY[type] === 'enduring');

describe('the events of a turn', () => {
  it('come in order: the turn, its steps, what is said, the calls, the end', async () => {
    const { events } = await eventful();
    expect(events.map(({ type }) => type)).toEqual([
      ...['turn.started', 'step.started', 'step.retrying', 'reasoning.delta', 'text.delta'],
      ...['tool.input.delta', 'tool.input.delta', 'tool.input.delta', 'gate.opened', 'gate.resolved'],
      ...['tool.called', 'tool.called', 'tool.called', 'tool.completed', 'tool.started', 'tool.started'],
      ...['tool.completed', 'tool.progress', 'tool.completed', 'step.done'],
      ...['step.started', 'limit.near', 'tool.input.delta', 'tool.called', 'tool.started'],
      ...['tool.progress', 'tool.completed', 'step.done'],
      ...['step.started', 'limit.near', 'limit.near', 'text.delta', 'step.done', 'turn.done'],
    ]);
  });

  it('every start has exactly one end, and nothing comes after the terminal', async () => {
    const { opened, events } = await eventful();
    const count = (type: TurnEvent['type']): number => events.filter(event => event.type === type).length;
    expect(count('step.started')).toBe(count('step.done'));
    expect(count('tool.called')).toBe(count('tool.completed'));
    expect(events.filter(isTerminal)).toHaveLength(1);
    expect(isTerminal(events.at(-1)!)).toBe(true);
    expectSound(opened);
  });

  it('each says where and when it belongs', async () => {
    const { opened, turn, events } = await eventful();
    let [seq, at] = [0, 0];
    for (const event of events) {
      expect(event).toMatchObject({ sessionId: opened.session.id, loopId: opened.session.loopId, turnId: turn.id });
      expect(event.at).toBeGreaterThanOrEqual(Math.max(at, START));
      expect(event.seq).toBeGreaterThanOrEqual(seq);
      if (EVENT_DURABILITY[event.type] === 'enduring') expect(event.seq).toBeGreaterThan(seq);
      [seq, at] = [event.seq, event.at];
      const isOfTurn = event.type === 'turn.started' || isTerminal(event);
      expect('stepId' in event).toBe(!isOfTurn);
    }
    const steps = events.flatMap(event => (event.type === 'step.started' ? [event.step] : []));
    expect(steps).toEqual([1, 2, 3]);
    const ids = events.flatMap(event => (event.type === 'step.started' ? [event.stepId] : []));
    expect(new Set(ids).size).toBe(3);
  });

  it('are JSON: a round trip changes none of them', async () => {
    const { events, opened } = await eventful();
    for (const event of [...events, ...opened.events]) expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  });

  it.each<readonly [string, Partial<SetUp>]>([
    ['failed at a limit', { limits: { calls: 1 } }],
    ['limited', { limits: { iterations: 1 }, atLimit: 'answer' }],
    ['failed at repeats', {}],
    ['timed out', { limits: { turnTimeoutMs: 5 } }],
    ['failed at the model', { modelRetries: 0 }],
  ])('are JSON in a turn that %s', async (_, loop) => {
    const clock = manualClock();
    const t = scriptedTool('t', { sleepMs: 10, clock, returns: { a: 1 } });
    const error = loop.modelRetries === 0 ? { error: busy } : {};
    const reply: ScriptedReply = { calls: [{ tool: 't' }, { tool: 't' }], ...error };
    const opened = await open({ model: insisting(() => reply), tools: [t], clock, ...loop });
    const { events, result } = await play(opened);
    expect(events.at(-1)?.type).toBe(`turn.${result.status}`);
    for (const event of opened.events) expect(JSON.parse(JSON.stringify(event))).toEqual(event);
  });

  it('deltas come as the model gives them, and join to what it said', async () => {
    const reply = { reasoning: 'let me think', text: 'Hello there, you', deltas: 4 };
    const { events } = await play(await open({ model: saying(reply) }));
    const texts = events.flatMap(event => (event.type === 'text.delta' ? [event.text] : []));
    expect(texts).toHaveLength(4);
    expect(texts.join('')).toBe('Hello there, you');
    expect(events.flatMap(event => (event.type === 'reasoning.delta' ? [event.text] : [])).join('')).toBe(
      'let me think',
    );
  });

  it('the terminal says what the result says', async () => {
    const { events, result } = await eventful();
    expect(result).toMatchObject({
      ...{ status: 'done', text: 'done', steps: 3, iterations: 2, calls: 4, finishReason: { unified: 'stop' } },
      usage: { inputTokens: 30, outputTokens: 15, totalTokens: 45, cachedInputTokens: 12, reasoningTokens: 6 },
    });
    const { status: _, ...figures } = result;
    expect(events.at(-1)).toMatchObject(JSON.parse(JSON.stringify(figures)));
  });

  it('every kind of event has its durability, and a switch over all of them compiles to its end', () => {
    expect(Object.values(EVENT_DURABILITY).every(durability => ['enduring', 'ephemeral'].includes(durability))).toBe(
      true,
    );
    expect(Object.isFrozen(EVENT_DURABILITY)).toBe(true);
    expect(() => assertNever('surprise' as never)).toThrow(/surprise/);
  });
});

describe('nobody can change what happened', () => {
  it('observers and readers that write over all they are given reach neither the journal, nor other readers, nor the result', async () => {
    const store = watchedStore();
    const untouched = await eventful();
    const { opened, turn, events, result } = await eventful({
      rig: { gate: { ask: true }, store, observers: [event => tamper(event)] },
    });
    for (const event of events) tamper(event);
    tamper(result);
    tamper(opened.session.history);
    for (const [place, what] of [
      ['journal', store.records],
      ['history', opened.session.history],
      ['result', result],
      ['events', events],
      ['requests', opened.model.requests.map(({ prompt, tools }) => [prompt, tools])],
    ] as const) {
      expect(JSON.stringify(what).includes('tampered'), place).toBe(false);
    }
    expect(events.map(({ type }) => type)).toEqual(untouched.events.map(({ type }) => type));
    const again = await collect(turn);
    expect(JSON.stringify(again.events)).not.toContain('tampered');
    expect(enduringOf(again.events)).toHaveLength(enduringOf(events).length);
    await expectNextTurn(opened);
  });

  it('events and results are frozen all through', async () => {
    const { events, result, opened } = await eventful();
    const frozen = (value: unknown, path: string): string[] => {
      if (typeof value !== 'object' || value === null) return [];
      const own = Object.isFrozen(value) ? [] : [path];
      return [...own, ...Object.entries(value).flatMap(([key, member]) => frozen(member, `${path}.${key}`))];
    };
    const loose = [
      ...events.flatMap(event => frozen(event, event.type)),
      ...frozen(result, 'result'),
      ...opened.session.history.flatMap(message => frozen(message, message.role)),
    ];
    expect([...new Set(loose)]).toEqual([]);
  });

  it('a caller that changes the input after submitting it changes nothing', async () => {
    const opened = await open({ model: saying({ text: 'done' }) });
    const bytes = new Uint8Array([1, 2, 3]);
    const input = [
      { type: 'text' as const, text: 'as said' },
      { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: bytes } },
    ];
    const turn = opened.session.submit(input);
    tamper(input);
    bytes.fill(9);
    const { events } = await opened.clock.runUntil(collect(turn));
    expect(events[0]).toMatchObject({
      input: [
        { type: 'text', text: 'as said' },
        { type: 'file', data: { type: 'data', data: 'AQID' } },
      ],
    });
    expect(JSON.stringify(opened.session.history)).not.toContain('tampered');
  });
});

describe('readers', () => {
  const long: ScriptedReply = { text: 'x'.repeat(3_000), deltas: 3_000, calls: [{ tool: 't' }] };

  it('several readers each get all of it', async () => {
    const opened = await open({
      model: saying({ text: 'one two', deltas: 2, calls: [{ tool: 't' }] }, { text: 'done' }),
      tools: [scriptedTool('t')],
    });
    const turn = opened.session.submit('go');
    const all = await opened.clock.runUntil(Promise.all([collect(turn), collect(turn), collect(turn)]));
    expect(all[0].events.length).toBeGreaterThan(8);
    for (const { events } of all.slice(1)) expect(events).toEqual(all[0].events);
  });

  it('a late reader gets the enduring ones: in the middle, after the end, and after later turns', async () => {
    const clock = manualClock();
    const slow = scriptedTool('slow', { sleepMs: 100, clock });
    const model = saying({ text: 'I work.', calls: [{ tool: 'slow' }] }, { text: 'done' });
    const opened = await open({ model, tools: [slow], clock });
    const turn = opened.session.submit('go');
    const first = collect(turn);
    await clock.advance(50);
    const middle = collect(turn);
    const whole = enduringOf((await clock.runUntil(first)).events);
    expect(enduringOf((await middle).events)).toEqual(whole);
    expect((await collect(turn)).events).toEqual(whole);
    await expectNextTurn(opened);
    expect((await collect(turn)).events).toEqual(whole);
  });

  it('a reader is registered when it is made: nothing between that and its first pull is lost', async () => {
    const opened = await open({ model: saying({ text: 'Hello', deltas: 5 }) });
    const turn = opened.session.submit('go');
    const reader = turn.subscribe();
    await turn.result;
    const events: TurnEvent[] = [];
    for await (const event of reader) events.push(event);
    expect(events.filter(({ type }) => type === 'text.delta')).toHaveLength(5);
    expect(events.at(-1)?.type).toBe('turn.done');
  });

  it('a slow reader loses deltas past 1,024 waiting ones, is told how many, and loses nothing that endures', async () => {
    const opened = await open({
      model: saying(long, { text: 'done' }),
      tools: [scriptedTool('t')],
      clock: manualClock(START),
    });
    const turn = opened.session.submit('go');
    const slow = turn.subscribe();
    const quick = collect(turn);
    const { events: whole } = await opened.clock.runUntil(quick);
    const events: TurnEvent[] = [];
    for await (const event of slow) events.push(event);
    expect(enduringOf(events)).toEqual(enduringOf(whole));
    const dropped = events.flatMap(event => (event.type === 'events.dropped' ? [event] : []));
    const ephemeral = (list: readonly TurnEvent[]): number =>
      list.filter(({ type }) => EVENT_DURABILITY[type] === 'ephemeral' && type !== 'events.dropped').length;
    expect(dropped.reduce((sum, { count }) => sum + count, 0)).toBe(ephemeral(whole) - ephemeral(events));
    expect(ephemeral(events)).toBeGreaterThan(1_000);
    expect(ephemeral(events)).toBeLessThanOrEqual(1_024);
    for (const note of dropped) {
      expect(note).toMatchObject({ sessionId: opened.session.id, loopId: opened.session.loopId, turnId: turn.id });
      expect(note.at).toBeGreaterThanOrEqual(START);
    }
  });

  it('a slow reader of many enduring events gets all of them', async () => {
    const calls = Array.from({ length: 700 }, (_, n) => ({ tool: 't', input: { n } }));
    const opened = await open({
      model: saying({ calls }, { text: 'done' }),
      tools: [scriptedTool('t')],
      limits: { calls: 1_000 },
    });
    const turn = opened.session.submit('go');
    const slow = turn.subscribe();
    const { events: whole } = await opened.clock.runUntil(collect(turn));
    expect(enduringOf(whole).length).toBeGreaterThan(2_000);
    const events: TurnEvent[] = [];
    for await (const event of slow) events.push(event);
    expect(enduringOf(events)).toEqual(enduringOf(whole));
  });

  it('a reader that never reads holds at most what may wait', async () => {
    const opened = await open({ model: saying(long, { text: 'done' }), tools: [scriptedTool('t')] });
    const turn = opened.session.submit('go');
    turn.subscribe();
    opened.session.subscribe();
    expect(await opened.clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    await expectNextTurn(opened);
  });

  it('a reader that breaks off, at any event, changes nothing in the turn', async () => {
    const { events } = await eventful();
    for (let nth = 1; nth <= events.length; nth++) {
      const clock = manualClock(START);
      const model = saying({ text: 'I look.', calls: [{ tool: 't' }] }, { text: 'done' });
      const opened = await open({ model, tools: [scriptedTool('t')], clock });
      const turn = opened.session.submit('go');
      let seen = 0;
      for await (const _ of turn) if (++seen === nth) break;
      expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', calls: 1 });
      expectSound(opened);
    }
  });

  it('a reader that throws has its own error, and nobody else notices', async () => {
    const opened = await open({ model: saying({ text: 'Hello', deltas: 5 }) });
    const turn = opened.session.submit('go');
    const throwing = (async () => {
      for await (const event of turn) if (event.type === 'text.delta') throw new Error('reader broke');
    })();
    const other = collect(turn);
    await expect(throwing).rejects.toThrow('reader broke');
    expect((await other).result).toMatchObject({ status: 'done' });
    expect((await other).events.filter(({ type }) => type === 'text.delta')).toHaveLength(5);
  });

  it('pulls that were made ahead are all answered', async () => {
    const opened = await open({ model: saying({ text: 'Hello', deltas: 3 }) });
    const reader = opened.session.submit('go').subscribe();
    const pulled = await Promise.all(Array.from({ length: 12 }, () => reader.next()));
    expect(pulled.map(({ value }) => value?.type)).toEqual([
      ...['turn.started', 'step.started', 'text.delta', 'text.delta', 'text.delta', 'step.done', 'turn.done'],
      ...Array(5).fill(undefined),
    ]);
    expect(pulled.map(({ done }) => done)).toEqual([...Array(7).fill(false), ...Array(5).fill(true)]);
  });

  it('a reader of the session gets all its turns and what happens between them, until it is closed', async () => {
    const opened = await open({ model: saying({ text: 'one' }, { text: 'two' }) });
    const { session } = opened;
    const reader = session.subscribe();
    const collected = (async () => {
      const events: SessionEvent[] = [];
      for await (const event of reader) events.push(event);
      return events;
    })();
    await session.run('a');
    await session.run('b');
    await session.close();
    const types = (await collected).map(({ type }) => type);
    expect(types.filter(type => type === 'turn.done')).toHaveLength(2);
    expect(await collected).toEqual(opened.events);
  });

  it('without a reader nothing is made for one: no progress, no delta', async () => {
    let copied = 0;
    const t = scriptedTool('t', (_, call) => {
      call.progress({ toJSON: () => String(++copied) } as never);
      return 'ok';
    });
    const clock = manualClock();
    const { session } = await open({
      model: saying({ calls: [{ tool: 't' }] }, { text: 'done' }),
      tools: [t],
      clock,
      rig: {},
    });
    await clock.runUntil(session.submit('go').result);
    const watchedCopies = copied; // the set-up of these tests has an observer
    expect(watchedCopies).toBe(1);
    const { defineLoop, defineRig } = await import('looprig');
    const model = scriptedModel([{ calls: [{ tool: 't' }] }, { text: 'done' }]);
    const alone = await defineRig({ loops: [defineLoop({ name: 'l', model, tools: [t.definition] })], clock }).open();
    await clock.runUntil(alone.submit('go').result);
    expect(copied).toBe(watchedCopies);
  });
});

describe('observers and hooks that go wrong', () => {
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

  it.each<readonly [string, (event: SessionEvent) => unknown, RegExp]>([
    [
      'throws',
      () => {
        throw new Error('observer broke');
      },
      /observer broke/,
    ],
    ['rejects', () => Promise.reject(new Error('observer broke')), /observer broke/],
    [
      'throws null',
      () => {
        throw null;
      },
      /^it threw null$/,
    ],
    [
      'throws what cannot be read',
      () => {
        throw unreadable;
      },
      /./,
    ],
    ['returns what cannot be read', () => unreadable, /^$/],
    [
      'returns a thenable that throws',
      () =>
        Object.fromEntries([
          [
            'then',
            () => {
              throw new Error('hostile');
            },
          ],
        ]),
      /^$/,
    ],
  ])('one that %s is reported as an event, and changes nothing else', async (_, observer, message) => {
    const told: SessionEvent[] = [];
    const observers = [observer as (event: SessionEvent) => void];
    const opened = await open({
      model: saying({ text: 'I look.', calls: [{ tool: 't' }] }, { text: 'done' }),
      tools: [scriptedTool('t')],
      rig: { observers },
    });
    const reading = (async () => {
      for await (const event of opened.session.subscribe()) told.push(event);
    })();
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done', calls: 1 });
    expectSound(opened);
    await opened.session.close();
    await reading;
    const failures = told.flatMap(event => (event.type === 'observer.failed' ? [event] : []));
    if (message.source === '^$') return;
    expect(failures.length).toBeGreaterThan(5);
    for (const failure of failures) {
      expect(failure.message).toMatch(message);
      expect(JSON.parse(JSON.stringify(failure))).toEqual(failure);
    }
    expect(failures.some(({ message: text }) => text.length > 1_024)).toBe(false);
  });

  it('one that throws does not keep the next from seeing the event', async () => {
    const seen: string[] = [];
    const observers = [
      (): void => {
        throw new Error('first');
      },
      ({ type }: SessionEvent): void => void seen.push(type),
    ];
    const opened = await open({ model: saying({ text: 'done' }), rig: { observers } });
    await play(opened);
    expect(seen).toEqual(opened.events.map(({ type }) => type));
  });

  it('a summary, a middleware and a result of one call that go wrong are told as that call’s events alone', async () => {
    const breaking: ToolMiddleware = (call, next) => (call.callId === 'c1' ? Promise.reject(new Error('no')) : next());
    const t = scriptedTool('t', {
      summary: () => {
        throw new Error('no summary');
      },
    });
    const calls = [
      { tool: 't', id: 'c1' },
      { tool: 't', id: 'c2' },
    ];
    const opened = await open({ model: saying({ calls }, { text: 'done' }), tools: [t], middlewares: [breaking] });
    const turn = opened.session.submit('go');
    await reached(turn, 'turn.done');
    const completed = opened.events.flatMap(event =>
      event.type === 'tool.completed' ? [[event.callId, event.isError]] : [],
    );
    expect(new Map(completed as [string, boolean][])).toEqual(
      new Map([
        ['c1', true],
        ['c2', false],
      ]),
    );
    for (const event of opened.events) if (event.type === 'tool.called') expect(event).not.toHaveProperty('summary');
  });
});

describe('results', () => {
  it('never reject, and run gives the done result or throws the error', async () => {
    const error = Object.assign(new Error('no'), { isRetryable: false });
    const good = await open({ model: saying({ text: 'done' }) });
    expect(await good.session.run('go')).toMatchObject({ status: 'done', text: 'done' });
    const bad = await open({ model: saying({ error }) });
    await expect(bad.session.run('go')).rejects.toMatchObject({ name: 'ModelError', cause: error });
    expect(await (await open({ model: saying({ error }) })).session.submit('go').result).toMatchObject({
      status: 'failed',
    });
  });

  it('usage is summed over the turn, with cached and reasoning tokens, and a provider that tells none gives zeros', async () => {
    const usage = { inputTokens: { total: undefined }, outputTokens: { total: undefined } } as never;
    const silent = await play(await open({ model: saying({ text: 'done', usage }) }));
    expect(silent.result.usage).toEqual({
      ...{ inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
    });
  });
});
