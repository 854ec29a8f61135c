/** Middlewares around the validated execution of each call of a turn. */
import { defineTool, type ToolMiddleware, toolError, toolResult } from 'looprig';
import { manualClock, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, open, outcomes, play, reached, resultsIn, saying } from './cases/setup.ts';

const done = { text: 'done' };
const input = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
} as const;

/** Runs a batch of two calls (n = 1 and n = 2) of one tool through these middlewares. */
async function run(middlewares: readonly ToolMiddleware[], returns: (n: number) => unknown = n => `result ${n}`) {
  const ran: number[] = [];
  const tool = defineTool({
    ...{ name: 't', description: 'Counts.', input },
    execute: ({ n }) => {
      ran.push(n);
      return returns(n) as string;
    },
  });
  const calls = [1, 2].map(n => ({ tool: 't', id: `c${n}`, input: { n } }));
  const opened = await open({ model: saying({ calls }, done), tools: [tool], middlewares });
  const { result, events } = await play(opened);
  expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
  expectSound(opened);
  await expectNextTurn(opened);
  return { ran, opened, events, results: resultsIn(opened.session.history).map(([, value]) => value) };
}

describe('the onion', () => {
  it('the first listed is outermost, and each call goes through all of them', async () => {
    const log: string[] = [];
    const layer =
      (name: string): ToolMiddleware =>
      async (call, next) => {
        log.push(`${name} in ${call.callId}`);
        const result = await next();
        log.push(`${name} out ${call.callId}`);
        return result;
      };
    await run([layer('outer'), layer('inner')], n => {
      log.push(`tool c${n}`);
      return 'ok';
    });
    expect(log.filter(line => line.endsWith('c1'))).toEqual([
      ...['outer in c1', 'inner in c1', 'tool c1', 'inner out c1', 'outer out c1'],
    ]);
    expect(log).toHaveLength(10);
  });

  it('is told the call and its validated input', async () => {
    const seen: unknown[] = [];
    const { opened } = await run([
      (call, next) => {
        const { callId, toolName, sessionId, loopId, turnId, stepId, input: given, budget } = call;
        seen.push({ callId, toolName, sessionId, given, budget, ids: [loopId, turnId, stepId].every(id => id !== '') });
        expect(call.signal).toBeInstanceOf(AbortSignal);
        return next();
      },
    ]);
    expect(seen[0]).toMatchObject({
      ...{ callId: 'c1', toolName: 't', sessionId: opened.session.id, given: { n: 1 }, ids: true },
      budget: { iterationsLeft: 24, callsLeft: 98 },
    });
  });

  it('what was refused never reaches a middleware', async () => {
    const seen: string[] = [];
    const t = scriptedTool('t', { input: { type: 'object', required: ['x'] } });
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }] });
    const calls = [{ tool: 't' }, { tool: 'ghost' }, { tool: 'gated' }, { tool: 't', inputText: '[' }];
    const see: ToolMiddleware = (call, next) => {
      seen.push(call.toolName);
      return next();
    };
    await play(await open({ model: saying({ calls }, done), tools: [t, gated], middlewares: [see] }));
    expect(seen).toEqual([]);
  });
});

describe('next', () => {
  it('with a changed input gives the tool, and those further in, that input', async () => {
    const inner: unknown[] = [];
    const { ran, opened } = await run([
      (call, next) => next({ n: (call.input as { n: number }).n * 10 }),
      (call, next) => {
        inner.push(call.input);
        return next();
      },
    ]);
    expect(ran).toEqual([10, 20]);
    expect(inner).toEqual([{ n: 10 }, { n: 20 }]);
    expect(JSON.stringify(opened.session.history[1])).not.toContain('"n":10'); // what the model asked for stands
  });

  it('not called at all answers instead, and the tool does not run', async () => {
    const { ran, results } = await run([
      async (call, next) => (call.callId === 'c1' ? toolResult('from the cache') : await next()),
    ]);
    expect(ran).toEqual([2]);
    expect(results).toEqual(['from the cache', 'result 2']);
  });

  it('called again runs the tool again: a retry', async () => {
    const retry: ToolMiddleware = async (_, next) => {
      try {
        return await next();
      } catch {
        return next();
      }
    };
    let runs = 0;
    const { ran, results } = await run([retry], n => {
      runs += 1;
      if (runs === 1) throw new Error('once');
      return `result ${n}`;
    });
    expect(ran.filter(n => n === 1)).toHaveLength(2);
    expect(results).toEqual(['result 1', 'result 2']);
  });

  it('gives a result, whatever the tool returned', async () => {
    const seen: unknown[] = [];
    const see: ToolMiddleware = async (_, next) => {
      const result = await next();
      seen.push([result.content, result.isError]);
      return result;
    };
    const { results } = await run([see], n => (n === 1 ? { a: 1 } : undefined));
    expect(seen).toContainEqual([[{ type: 'json', value: { a: 1 } }], false]);
    expect(seen).toContainEqual([[], false]);
    expect(results).toEqual([{ a: 1 }, 'empty result']);
  });

  it('its result may be changed', async () => {
    const { results } = await run([
      async (_, next) => {
        const { content } = await next();
        return toolResult([...content, { type: 'text', text: 'checked' }]);
      },
    ]);
    expect(results[0]).toEqual([
      { type: 'text', text: 'result 1' },
      { type: 'text', text: 'checked' },
    ]);
  });

  it('called after the call is over does no harm', async () => {
    let later: (() => Promise<unknown>) | undefined;
    const { ran, opened } = await run([
      async (call, next) => {
        if (call.callId === 'c1') later = next;
        return toolResult('early');
      },
    ]);
    const before = JSON.stringify(opened.session.history);
    await later?.();
    expect(ran).toEqual([1]);
    expect(JSON.stringify(opened.session.history)).toBe(before);
  });
});

describe('a middleware that goes wrong', () => {
  const hostile = (): never => {
    throw new Error('hostile');
  };
  const unreadable = new Proxy(
    {},
    { get: hostile, getPrototypeOf: hostile, has: hostile, ownKeys: hostile, getOwnPropertyDescriptor: hostile },
  );

  it.each<readonly [string, ToolMiddleware]>([
    [
      'throws',
      () => {
        throw new Error('middleware broke');
      },
    ],
    ['rejects', () => Promise.reject(new Error('middleware broke'))],
    [
      'throws after the tool ran',
      async (_, next) => {
        await next();
        throw new Error('middleware broke');
      },
    ],
  ])('one that %s: its error is the tool’s', async (_, breaking) => {
    const { results, events } = await run([(call, next) => (call.callId === 'c1' ? breaking(call, next) : next())]);
    expect(results).toEqual(['middleware broke', 'result 2']);
    expect(new Map(outcomes(events)).get('c1')).toBe('failed');
  });

  it.each<readonly [string, () => unknown]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol('s')],
    ['what only looks like a result', () => ({ content: [{ type: 'text', text: 'x' }], isError: 7, endTurn: 'yes' })],
    ['a result that cannot be read', () => unreadable],
    ['a promise of a result that cannot be read', () => Promise.resolve({ inside: unreadable })],
    ['an error result', () => toolError('no')],
  ])('one that gives %s: the call has one result, and nothing else breaks', async (_, given) => {
    const { results } = await run([(call, next) => (call.callId === 'c1' ? (given() as never) : next())]);
    expect(results).toHaveLength(2);
    expect(results[1]).toBe('result 2');
  });

  it('one that changes the call it is told about changes nothing', async () => {
    const { opened } = await run([
      (call, next) => {
        for (const key of ['callId', 'toolName', 'turnId', 'input', 'budget']) Reflect.set(call, key, 'tampered');
        return next();
      },
      (call, next) => next({ ...(call.input as object) }),
      (call, next) => {
        for (const key of ['callId', 'toolName', 'turnId', 'input', 'sessionId']) Reflect.set(call, key, 'tampered');
        return next();
      },
    ]);
    expect(JSON.stringify([opened.session.history, opened.events])).not.toContain('tampered');
  });

  it('one that never settles is over when the time of the call is, and at an interrupt', async () => {
    const stuck: ToolMiddleware = () => new Promise(() => {});
    const clock = manualClock();
    const setUp = { tools: [scriptedTool('t')], middlewares: [stuck], clock, limits: { callTimeoutMs: 100 } };
    const timed = await open({ ...setUp, model: saying({ calls: [{ tool: 't' }] }, done) });
    expect((await play(timed)).result).toMatchObject({ status: 'done' });
    expect(clock.now()).toBe(100);
    const stopped = await open({ ...setUp, model: saying({ calls: [{ tool: 't' }] }), drainTimeoutMs: 20 });
    const turn = stopped.session.submit('go');
    await reached(turn, 'tool.started');
    await clock.advance(0);
    turn.interrupt();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
    expect(clock.now()).toBe(120);
    expect([timed, stopped].map(({ session }) => resultsIn(session.history)[0]?.[1])).toEqual([
      'timed out after 100 ms while a middleware held the call: the tool was not run',
      'interrupted while a middleware held the call: the tool was not run',
    ]);
  });

  it('one that goes on after the call was answered does not run the tool, whose result says that it was not run', async () => {
    const clock = manualClock();
    const t = scriptedTool('t');
    const refused: unknown[] = [];
    const late: ToolMiddleware = async (_, next) => {
      await new Promise<void>(resolve => clock.setTimer(resolve, 200));
      return next().catch(error => {
        refused.push(error);
        throw error;
      });
    };
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 't' }] }, done), tools: [t], middlewares: [late], clock },
      limits: { callTimeoutMs: 100 },
    });
    await play(opened);
    await clock.advance(1_000);
    expect(t.runs).toEqual([]);
    expect(refused).toEqual([expect.objectContaining({ name: 'TimeoutError' })]);
    expect(resultsIn(opened.session.history)[0]?.[1]).toContain('the tool was not run');
  });

  it('one that retries after the time is over runs the tool no more, and what the first try did is unknown', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { throws: new Error('busy') });
    const again: ToolMiddleware = async (_, next) => {
      await next().catch(() => {});
      await new Promise<void>(resolve => clock.setTimer(resolve, 200));
      return next();
    };
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 't' }] }, done), tools: [t], middlewares: [again], clock },
      limits: { callTimeoutMs: 100 },
    });
    await play(opened);
    await clock.advance(1_000);
    expect(t.runs).toHaveLength(1);
    expect(resultsIn(opened.session.history)[0]?.[1]).toContain('may or may not have taken effect');
  });
});

it('the time of a call is the time of its middlewares and its tool together', async () => {
  const clock = manualClock();
  const slow: ToolMiddleware = async (_, next) => {
    await new Promise<void>(resolve => clock.setTimer(resolve, 80));
    return next();
  };
  const t = scriptedTool('t', { sleepMs: 80, clock });
  const opened = await open({
    ...{ model: saying({ calls: [{ tool: 't' }] }, done), tools: [t], middlewares: [slow], clock },
    limits: { callTimeoutMs: 100 },
  });
  const { events } = await play(opened);
  expect(outcomes(events)).toEqual([['call-0-0', 'timed_out']]);
  expect(t.runs[0]?.aborted).toBe(true);
});

it('endTurn of a middleware’s result ends the turn', async () => {
  const end: ToolMiddleware = async () => toolResult('that is all', { endTurn: true });
  const opened = await open({
    model: saying({ calls: [{ tool: 't' }] }),
    tools: [scriptedTool('t')],
    middlewares: [end],
  });
  expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'that is all' });
  expect(opened.model.count).toBe(1);
});
