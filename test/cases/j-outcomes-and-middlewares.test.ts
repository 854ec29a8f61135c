/** Cases of how a turn's end is told, and of wrapping each call. */
import { isTerminal, ToolLimitError, type ToolMiddleware, toolResult } from 'looprig';
import { type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import {
  expectNextTurn,
  insisting,
  type OpenedSession,
  open,
  outcomes,
  play,
  reached,
  resultsIn,
  saying,
} from './setup.ts';

/** What a user should never be shown: words of the inside, stacks, and platform errors. */
const INTERNAL = /internal|undefined|\[object|\bat .+:\d+:\d+|AbortError|DOMException|execution error|fault of/i;

function terminalsOf({ events }: OpenedSession): readonly string[] {
  return events.filter(isTerminal).map(({ type }) => type);
}

describe('interrupted, failed and limited', () => {
  const callA = (index: number): ScriptedReply => ({ calls: [{ tool: 'a', id: `c${index}`, input: { index } }] });

  it.each([
    ['hangs', { settles: 'never' }],
    ['gives an error when it is told to stop', { settles: 'throws' }],
    ['gives a result when it is told to stop', { settles: 'returns' }],
  ] as const)('case 78: an interrupt during a tool that %s is no failure', async (_, { settles }) => {
    const a = scriptedTool('a', (_input, { signal }) => {
      if (settles === 'never') return new Promise(() => {});
      return new Promise((resolve, reject) => {
        const settle = (): void => (settles === 'throws' ? reject(signal.reason) : resolve('stopped early'));
        signal.addEventListener('abort', settle);
      });
    });
    const opened = await open({ model: insisting(callA), tools: [a] });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started');
    turn.interrupt('the user pressed a key');
    const result = await opened.clock.runUntil(turn.result);
    expect(result).toMatchObject({ status: 'interrupted', reason: 'the user pressed a key' });
    expect(result).not.toHaveProperty('error');
    expect(terminalsOf(opened)).toEqual(['turn.interrupted']);
    const { events } = opened;
    const told = events.filter(event => event.type === 'tool.completed' || isTerminal(event));
    expect(JSON.stringify(told)).not.toMatch(INTERNAL);
    expect(JSON.stringify(opened.session.history)).not.toMatch(INTERNAL);
    await expectNextTurn(opened);
  });

  it('case 78: so is one while the model answers, and one without a reason', async () => {
    const opened = await open({ model: saying({ text: 'Hello wor', hangAfter: 3 }) });
    const turn = opened.session.submit('go');
    await reached(turn, 'text.delta');
    turn.interrupt();
    const result = await opened.clock.runUntil(turn.result);
    expect(result).toMatchObject({ status: 'interrupted', text: 'Hello wor' });
    expect(result).not.toHaveProperty('reason');
    expect(terminalsOf(opened)).toEqual(['turn.interrupted']);
    await expectNextTurn(opened);
  });

  it('case 78: what `run` throws for each of the three says which it was', async () => {
    const a = scriptedTool('a');
    const limited = await open({ model: insisting(callA), tools: [a], limits: { iterations: 1 } });
    const atLimit: unknown = await limited.clock.runUntil(limited.session.run('go').catch((error: unknown) => error));
    expect(ToolLimitError.is(atLimit)).toBe(true);
    expect(terminalsOf(limited)).toEqual(['turn.failed']);

    const refused = Object.assign(new Error('no credit'), { isRetryable: false });
    const failed = await open({ model: saying({ error: refused }), tools: [a] });
    const error: unknown = await failed.clock.runUntil(failed.session.run('go').catch((thrown: unknown) => thrown));
    expect(error).toMatchObject({ kind: 'request_failed', cause: refused });
    expect(terminalsOf(failed)).toEqual(['turn.failed']);

    const answered = await open({
      model: saying(callA(0), callA(1)),
      tools: [a],
      limits: { iterations: 1 },
      atLimit: 'answer',
    });
    const { result } = await play(answered);
    expect(result).toMatchObject({ status: 'done', limited: { limit: 'iterations' } });
    expect(terminalsOf(answered)).toEqual(['turn.done']);
    for (const told of [atLimit, error]) expect((told as Error).message).not.toMatch(INTERNAL);
  });
});

/** What each layer saw, in order. */
function layers() {
  const log: string[] = [];
  const layer =
    (name: string, act: ToolMiddleware = (_call, next) => next()): ToolMiddleware =>
    async (call, next) => {
      log.push(`${name} in`);
      try {
        return await act(call, next);
      } finally {
        log.push(`${name} out`);
      }
    };
  return { log, layer };
}

describe('a wrapper round each call', () => {
  const boom = (): never => {
    throw new Error('the wrapper broke');
  };

  const cases: readonly (readonly [string, readonly ToolMiddleware[], readonly string[], number, unknown])[] = [
    ['nothing of its own', [], ['A in', 'B in', 't', 'B out', 'A out'], 1, 'result 1'],
    ['an answer of A', [async () => toolResult('from A')], ['A in', 'A out'], 0, 'from A'],
    [
      'an answer of B',
      [(_call, next) => next(), async () => toolResult('from B')],
      ['A in', 'B in', 'B out', 'A out'],
      0,
      'from B',
    ],
    [
      'two more tries of B',
      [(_call, next) => next(), async (_call, next) => [await next(), await next(), await next()].at(-1)!],
      ['A in', 'B in', 't', 't', 't', 'B out', 'A out'],
      3,
      'result 3',
    ],
    [
      'a second try of A, through B again',
      [async (_call, next) => [await next(), await next()].at(-1)!],
      ['A in', 'B in', 't', 'B out', 'B in', 't', 'B out', 'A out'],
      2,
      'result 2',
    ],
    ['an error of A before the tool', [boom], ['A in', 'A out'], 0, 'the wrapper broke'],
    [
      'an error of B after the tool',
      [(_call, next) => next(), (_call, next) => next().then(boom)],
      ['A in', 'B in', 't', 'B out', 'A out'],
      1,
      'the wrapper broke',
    ],
    [
      'an error of B that A makes an answer of',
      [(_call, next) => next().catch(() => toolResult('made good')), boom],
      ['A in', 'B in', 'B out', 'A out'],
      0,
      'made good',
    ],
  ];

  it.each(cases)(
    'case 80: with %s the order is A(B(t)), and the call counts, starts and ends once',
    async (_, acts, order, runs, value) => {
      const { log, layer } = layers();
      const t = scriptedTool('t', () => {
        log.push('t');
        return `result ${t.count}`;
      });
      const middlewares = [layer('A', acts[0]), layer('B', acts[1])];
      const model = saying({ calls: [{ tool: 't', id: 'c1' }] }, { text: 'done' });
      const opened = await open({ model, tools: [t], middlewares });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 1, iterations: 1 });
      expect([log, t.count]).toEqual([order, runs]);
      expect(resultsIn(opened.session.history)).toEqual([['c1', value]]);
      const told = events.filter(event => event.type === 'tool.started' || event.type === 'tool.completed');
      expect(told.map(({ type }) => type)).toEqual(['tool.started', 'tool.completed']);
      await expectNextTurn(opened);
    },
  );

  it('case 80: one that breaks for one call of a batch breaks nothing for the others', async () => {
    const t = scriptedTool('t', ({ n }) => `result ${n}`);
    const picky: ToolMiddleware = (call, next) => (call.callId === 'c2' ? boom() : next());
    const calls = [1, 2, 3].map(n => ({ tool: 't', id: `c${n}`, input: { n } }));
    const opened = await open({ model: saying({ calls }, { text: 'done' }), tools: [t], middlewares: [picky] });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 3 });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'result 1'],
      ['c2', 'the wrapper broke'],
      ['c3', 'result 3'],
    ]);
    expect(Object.fromEntries(outcomes(events))).toEqual({ c1: 'done', c2: 'failed', c3: 'done' });
    await expectNextTurn(opened);
  });

  it('case 80: one that never calls on and never answers is over when the time of the call is', async () => {
    const t = scriptedTool('t');
    const opened = await open({
      model: saying({ calls: [{ tool: 't', id: 'c1' }] }, { text: 'done' }),
      ...{ tools: [t], middlewares: [() => new Promise<never>(() => {})], limits: { callTimeoutMs: 100 } },
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 1 });
    expect([t.count, opened.clock.now()]).toEqual([0, 100]);
    expect(outcomes(events)).toEqual([['c1', 'timed_out']]);
    await expectNextTurn(opened);
  });
});
