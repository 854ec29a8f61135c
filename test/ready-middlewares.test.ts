/** The ready-made middlewares round the calls of real loops. */
import { type SessionEvent, type ToolMiddleware, toolError, toolResult } from 'looprig';
import { type CallLog, cache, logCalls, rateLimit, redact, retry } from 'looprig/middleware';
import { forever, manualClock, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, open, outcomes, play, reached, resultsIn, saying } from './cases/setup.ts';

const done = { text: 'done' };

/** A reply that calls `tool` once for each input. */
const calling = (tool: string, ...inputs: readonly object[]) => ({
  calls: inputs.map((input, index) => ({ tool, id: `c${index + 1}`, input })),
});

/** How many events of each kind were told about a call. */
function told(events: readonly SessionEvent[], callId: string): Record<string, number> {
  const own = events.filter(event => 'callId' in event && event.callId === callId && event.type !== 'tool.progress');
  const kinds = ['tool.called', 'tool.started', 'tool.completed'];
  return Object.fromEntries(kinds.map(kind => [kind, own.filter(({ type }) => type === kind).length]));
}

const once = { 'tool.called': 1, 'tool.started': 1, 'tool.completed': 1 };

describe('retry', () => {
  it('runs a call three times that counts once, starts once and ends once', async () => {
    const clock = manualClock();
    let attempts = 0;
    const t = scriptedTool('t', () => {
      attempts += 1;
      if (attempts < 3) throw new Error('busy');
      return 'at last';
    });
    const middlewares = [retry({ tools: ['t'], clock, random: () => 0 })];
    const opened = await open({ model: saying(calling('t', {}), done), tools: [t], middlewares, clock });
    const { result, events } = await play(opened);

    expect(result).toMatchObject({ status: 'done', calls: 1 });
    expect(resultsIn(opened.session.history)).toEqual([['c1', 'at last']]);
    expect(told(opened.events, 'c1')).toEqual(once);
    expect([t.count, clock.now()]).toEqual([3, 1_500]);
    expect(events.flatMap(event => (event.type === 'tool.progress' ? [event.update] : []))).toEqual([
      { retrying: 1, delayMs: 500 },
      { retrying: 2, delayMs: 1_000 },
    ]);
    await expectNextTurn(opened);
  });

  it('gives the model the last error', async () => {
    let attempts = 0;
    const t = scriptedTool('t', () => {
      attempts += 1;
      throw new Error(`busy ${attempts}`);
    });
    const clock = manualClock();
    const opened = await open({
      ...{ model: saying(calling('t', {}), done), tools: [t], clock },
      middlewares: [retry({ tools: ['t'], clock })],
    });
    await play(opened);

    expect(resultsIn(opened.session.history)).toEqual([['c1', 'busy 3']]);
    expect(outcomes(opened.events)).toEqual([['c1', 'failed']]);
  });

  it('ends its wait at once when the turn is interrupted, and runs nothing any more', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { throws: new Error('busy') });
    const opened = await open({
      ...{ model: saying(calling('t', {})), tools: [t], clock, drainTimeoutMs: 1_000 },
      middlewares: [retry({ tools: ['t'], clock, times: 10, delayMs: 60_000, maxDelayMs: 60_000 })],
    });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.progress');
    turn.interrupt();

    expect(await turn.result).toMatchObject({ status: 'interrupted' });
    expect([t.count, clock.now()]).toEqual([1, 0]);
    expect(outcomes(opened.events)).toEqual([['c1', 'interrupted']]);
    expectSound(opened);
    await expectNextTurn(opened);
    expect(t.count).toBe(1);
  });

  it('stops when the time of the call is over, of which its waits are a part', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { throws: new Error('busy') });
    const opened = await open({
      ...{ model: saying(calling('t', {}), done), tools: [t], clock, limits: { callTimeoutMs: 1_000 } },
      middlewares: [retry({ tools: ['t'], clock, times: 10, random: () => 0 })],
    });
    await play(opened);
    await clock.advance(100_000);

    expect(outcomes(opened.events)).toEqual([['c1', 'timed_out']]);
    expect(t.runs.map(run => run.startedAt)).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });
});

describe('cache', () => {
  it('answers the second of two same calls in one reply with the result of the first: two pairs, one run', async () => {
    const clock = manualClock();
    const charge = scriptedTool('charge', { returns: { charged: 1 }, sleepMs: 20, clock });
    const model = saying(calling('charge', { to: 'Ada', sum: 1 }, { sum: 1, to: 'Ada' }), done);
    const setUp = { model, tools: [charge], clock };
    const opened = await open({ ...setUp, middlewares: [cache({ tools: ['charge'], clock })] });
    const { result } = await play(opened);

    expect(result).toMatchObject({ status: 'done', calls: 2 });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', { charged: 1 }],
      ['c2', { charged: 1 }],
    ]);
    expect(charge.count).toBe(1);
    expect([told(opened.events, 'c1'), told(opened.events, 'c2')]).toEqual([once, once]);
    await expectNextTurn(opened);
  });

  it('runs both without it, and both of a tool that is not named', async () => {
    for (const middlewares of [[], [cache({ tools: ['search'] })]]) {
      const charge = scriptedTool('charge');
      await play(await open({ model: saying(calling('charge', {}, {}), done), tools: [charge], middlewares }));
      expect(charge.count).toBe(2);
    }
  });

  it('keeps results from one session to the next turn of it, and from no session to another', async () => {
    const t = scriptedTool('t', (_, { sessionId }) => sessionId);
    const middlewares = [cache({ tools: ['t'] })];
    const ask = () => open({ model: saying(calling('t', {}), done, calling('t', {}), done), tools: [t], middlewares });
    const [one, other] = [await ask(), await ask()];
    for (const opened of [one, one, other]) await play(opened);

    const results = (opened: typeof one): unknown[] => resultsIn(opened.session.history).map(([, value]) => value);
    expect(results(one)).toEqual([one.session.id, one.session.id]);
    expect(results(other)).toEqual([other.session.id]);
    expect(t.count).toBe(2);
  });

  it('lets the second call run when the first runs out of time', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', (_, { callId }) => (callId === 'c2' ? new Promise<never>(() => {}) : 'second'));
    const slow = scriptedTool('slow', { sleepMs: 50, clock });
    const calls = ['slow', 't', 't'].map((tool, index) => ({ tool, id: `c${index + 1}` }));
    const opened = await open({
      ...{ model: saying({ calls }, done), tools: [slow, t], clock, middlewares: [cache({ tools: ['t'], clock })] },
      limits: { callTimeoutMs: 100, parallel: 2 }, // the last starts when the slow one has made room, at 50 ms
    });
    await play(opened);

    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([
      ...['ok', expect.stringContaining('timed out after 100 ms'), 'second'],
    ]);
    expect(t.runs.map(run => run.callId)).toEqual(['c2', 'c3']);
    expect(clock.now()).toBe(100);
    expectSound(opened);
  });
});

describe('redact', () => {
  it('keeps a secret from the model, the journal and every event', async () => {
    const secret = 'correct-horse-battery';
    const t = scriptedTool('t', ({ n }) => {
      if (n === 1) return `the password is ${secret}`;
      if (n === 2) return { nested: [{ password: 'other', note: secret }] };
      if (n === 3) return toolError(secret);
      throw new Error(`no access with ${secret}`);
    });
    const inputs = [1, 2, 3, 4].map(n => ({ n }));
    const opened = await open({
      ...{ model: saying(calling('t', ...inputs), done), tools: [t] },
      middlewares: [redact({ values: [secret] }), retry({ tools: 'all', times: 1, delayMs: 0 })],
    });
    await play(opened);
    await expectNextTurn(opened);

    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([
      'the password is [redacted]',
      { nested: [{ password: '[redacted]', note: '[redacted]' }] },
      '[redacted]',
      'no access with [redacted]',
    ]);
    expect(JSON.stringify([opened.events, opened.session.history, opened.model.requests])).not.toContain(secret);
  });

  it('leaves what JSON cannot carry to be named by the loop', async () => {
    const cycle: Record<string, unknown> = { password: 'x' };
    cycle.self = cycle;
    const returns = [cycle, new Map([['password', 'x']]), { n: 1n }, { deep: nested(700) }];
    const t = scriptedTool('t', ({ n }) => returns[n as number] as object);
    const inputs = returns.map((_, n) => ({ n }));
    const opened = await open({ model: saying(calling('t', ...inputs), done), tools: [t], middlewares: [redact()] });
    await play(opened);

    const results = resultsIn(opened.session.history).map(([, value]) => value);
    expect(results[0]).toContain('a cycle at "self"');
    expect(results[1]).toContain('a Map');
    expect(results[2]).toContain('a bigint at "n"');
    expect(results[3]).toContain('nested more than 500 levels deep');
  });
});

function nested(depth: number): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe('rateLimit', () => {
  it('spreads the calls of a parallel batch, and results stay in call order', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { returns: ({ n }) => n as number, clock });
    const middlewares = [rateLimit({ calls: 2, perMs: 1_000, clock })];
    const inputs = [0, 1, 2, 3, 4].map(n => ({ n }));
    const opened = await open({ model: saying(calling('t', ...inputs), done), tools: [t], middlewares, clock });
    await play(opened);

    expect(t.runs.map(run => run.startedAt)).toEqual([0, 0, 1_000, 1_000, 2_000]);
    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([0, 1, 2, 3, 4]);
    await expectNextTurn(opened);
  });

  it('holds for all sessions together', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { clock });
    const middlewares = [rateLimit({ calls: 1, perMs: 100, clock })];
    const model = () => scriptedModel(forever((_, index) => (index === 0 ? calling('t', {}) : done)));
    const sessions = await Promise.all([1, 2, 3].map(() => open({ model: model(), tools: [t], middlewares, clock })));
    await clock.runUntil(Promise.all(sessions.map(({ session }) => session.run('go'))));

    expect(t.runs.map(run => run.startedAt)).toEqual([0, 100, 200]);
  });

  it('says of a call that waited when the turn was interrupted that it was not run', async () => {
    const clock = manualClock();
    const t = scriptedTool('t', { clock });
    const middlewares = [rateLimit({ calls: 1, perMs: 60_000, clock })];
    const opened = await open({ model: saying(calling('t', {}, {})), tools: [t], middlewares, clock });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.completed');
    turn.interrupt();
    await turn.result;

    expect(clock.pending).toBe(0);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'ok'],
      ['c2', 'not run: the call was stopped while it waited for its turn (at most 1 call in 60000 ms)'],
    ]);
    expect(outcomes(opened.events)).toEqual([
      ['c1', 'done'],
      ['c2', 'interrupted'],
    ]);
    await expectNextTurn(opened);
    expect(t.count).toBe(1);
  });

  it('tells the model at once of a call that would wait too long', async () => {
    const clock = manualClock();
    const t = scriptedTool('t');
    const middlewares = [rateLimit({ calls: 1, perMs: 60_000, maxWaitMs: 1_000, clock })];
    const opened = await open({ model: saying(calling('t', {}, {}), done), tools: [t], middlewares, clock });
    await play(opened);

    expect(resultsIn(opened.session.history)[1]).toEqual([
      'c2',
      'not run: at most 1 call in 60000 ms. Try again in 60000 ms',
    ]);
    expect(clock.now()).toBe(0);
  });
});

describe('logCalls', () => {
  it('tells one start and one end of each call, whatever becomes of it', async () => {
    const clock = manualClock();
    const records: CallLog[] = [];
    const t = scriptedTool('t', {
      ...{ clock, sleepMs: ({ n }) => (n === 3 ? 0 : 10), hangs: false },
      returns: ({ n }) => {
        if (n === 1) return 'fine';
        if (n === 2) throw new Error('no');
        return new Promise<never>(() => {});
      },
    });
    const middlewares = [logCalls({ log: record => records.push(record), clock })];
    const inputs = [1, 2, 3].map(n => ({ n }));
    const opened = await open({
      ...{ model: saying(calling('t', ...inputs), done), tools: [t], middlewares, clock },
      limits: { callTimeoutMs: 50 },
    });
    await play(opened);

    const ends = records.flatMap(record =>
      record.type === 'ended' ? [[record.callId, record.outcome, record.durationMs]] : [],
    );
    expect(records.filter(({ type }) => type === 'started').map(({ callId }) => callId)).toEqual(['c1', 'c2', 'c3']);
    expect(ends).toEqual([
      ['c1', 'done', 10],
      ['c2', 'failed', 10],
      ['c3', 'stopped', 50],
    ]);
    expect(new Set(records.map(({ sessionId }) => sessionId))).toEqual(new Set([opened.session.id]));
  });
});

describe('together', () => {
  it('the first listed is outermost: each sees what those further in give, and a throwing one costs its own call', async () => {
    const clock = manualClock();
    const log: string[] = [];
    let runs = 0;
    const t = scriptedTool('t', ({ n }) => {
      if (n !== 1) return 'other';
      runs += 1;
      if (runs === 1) throw new Error('busy');
      return `token=${'ghp'}_${'a1'.repeat(20)}`;
    });
    const broken: ToolMiddleware = (call, next) => {
      if (call.callId === 'c3') throw new Error('a middleware broke');
      return next();
    };
    const middlewares = [
      redact(),
      logCalls({ log: (_, line) => log.push(line.replace(/ \(.*\)/, '')), clock }),
      cache({ tools: ['t'], clock }),
      retry({ tools: ['t'], clock, delayMs: 100, random: () => 0 }),
      broken,
      rateLimit({ calls: 1, perMs: 10, clock }),
    ];
    const again = { calls: [{ tool: 't', id: 'c4', input: { n: 1 } }] };
    const model = saying(calling('t', { n: 1 }, { n: 2 }, { n: 3 }), again, done);
    const opened = await open({ model, tools: [t], middlewares, clock });
    const { result } = await play(opened);

    expect(result).toMatchObject({ status: 'done', calls: 4 });
    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([
      ...['token=[redacted]', 'other', 'a middleware broke', 'token=[redacted]'],
    ]);
    expect(t.count).toBe(3); // twice for the first call, once for the second, never for the others
    expect(log.sort()).toEqual([
      't c1 done after 100 ms',
      't c1 started',
      't c2 done after 10 ms',
      't c2 started',
      't c3 failed after 300 ms', // what a middleware throws is tried again too
      't c3 started',
      't c4 done after 0 ms',
      't c4 started',
    ]);
    expectSound(opened);
    await expectNextTurn(opened);
  });

  it('one list serves any number of loops, and a definition with them stays frozen', async () => {
    const middlewares = [redact(), cache({ tools: ['t'] }), retry({ tools: ['t'] })];
    for (const text of ['one', 'two']) {
      const t = scriptedTool('t', () => toolResult(text));
      const opened = await open({ model: saying(calling('t', {}), done), tools: [t], middlewares });
      await play(opened);
      expect(resultsIn(opened.session.history)).toEqual([['c1', text]]);
    }
  });
});
