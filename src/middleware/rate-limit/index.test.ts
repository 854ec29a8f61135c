import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runOnce, said, testCall } from '../../../test/support/middleware-call.ts';
import { systemClock } from '../../clock.ts';
import { toolResult } from '../../define/tool.ts';
import { type ManualClock, manualClock } from '../../testing/index.ts';
import { type RateLimitOptions, rateLimit } from './index.ts';

/** A limit on a manual clock, and when calls started under it. */
function limited(options: Omit<RateLimitOptions, 'clock'>, clock: ManualClock = manualClock()) {
  const middleware = rateLimit({ ...options, clock });
  const starts: (readonly [name: string, at: number])[] = [];
  const come = (name: string, changes: Parameters<typeof testCall>[0] = {}) => {
    const { call, abort } = testCall({ callId: name, ...changes });
    const result = middleware(call, async () => {
      starts.push([name, clock.now()]);
      return toolResult('ok');
    });
    return { result, abort };
  };
  return { clock, starts, come };
}

describe('calls that may start', () => {
  test('are at most so many in any stretch of the time; the others wait in order', async () => {
    const { clock, starts, come } = limited({ calls: 2, perMs: 1_000 });
    const first = come('a');
    await clock.advance(600);
    for (const name of ['b', 'c', 'd', 'e']) come(name);
    await first.result;
    await clock.advance(10_000);

    expect(starts).toEqual([
      ['a', 0],
      ['b', 600],
      ['c', 1_000],
      ['d', 1_600],
      ['e', 2_000],
    ]);
    expect(clock.pending).toBe(0);
  });

  test('are counted over all sessions and tools, or over the tools that are named', async () => {
    const all = limited({ calls: 1, perMs: 100 });
    all.come('a', { sessionId: 's1', toolName: 't' });
    all.come('b', { sessionId: 's2', toolName: 'u' });
    const named = limited({ calls: 1, perMs: 100, tools: ['t'] });
    for (const toolName of ['t', 'u', 'u', 't']) named.come(toolName, { toolName });
    await all.clock.advance(100);
    await named.clock.advance(100);

    expect(all.starts.map(([, at]) => at)).toEqual([0, 100]);
    expect(named.starts).toEqual([
      ['t', 0],
      ['u', 0],
      ['u', 0],
      ['t', 100],
    ]);
  });

  test('are never more than allowed in any stretch, whenever calls come and are aborted', async () => {
    const arrivals = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 60 }), abortAfter: fc.option(fc.integer({ min: 0, max: 90 })) }),
      { maxLength: 25 },
    );
    await fc.assert(
      fc.asyncProperty(arrivals, fc.integer({ min: 1, max: 4 }), async (plan, calls) => {
        const { clock, starts, come } = limited({ calls, perMs: 100 });
        const results: Promise<unknown>[] = [];
        const aborted: string[] = [];
        for (const [index, { after, abortAfter }] of plan.entries()) {
          await clock.advance(after);
          const { result, abort } = come(String(index));
          results.push(result);
          if (abortAfter === null) continue;
          clock.setTimer(() => {
            if (!starts.some(([name]) => name === String(index))) aborted.push(String(index));
            abort();
          }, abortAfter);
        }
        await clock.runUntil(Promise.all(results));
        const times = starts.map(([, at]) => at);
        times.forEach((at, index) => {
          expect(at - (times[index - calls] ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(100);
        });
        const names = starts.map(([name]) => Number(name));
        expect(names).toEqual([...names].sort((one, other) => one - other));
        expect([...names.map(String), ...aborted].sort()).toEqual(plan.map((_, index) => String(index)).sort());
      }),
      { numRuns: 60 },
    );
  });

  test('wait no longer than the time itself once the clock is set back', async () => {
    let now = 1e12;
    const timers: (() => void)[] = [];
    const clock = { ...systemClock, now: () => now, setTimer: (callback: () => void) => timers.push(callback) };
    const middleware = rateLimit({ calls: 1, perMs: 100, clock });
    await runOnce(middleware, () => toolResult('first'));
    now = 0;
    const second = runOnce(middleware, () => toolResult('second'));
    timers.shift()?.();
    now = 100;
    timers.shift()?.();

    expect(said(await second)).toBe('second');
  });
});

describe('a call that waits', () => {
  test('never runs and takes no place once it is aborted', async () => {
    const { clock, starts, come } = limited({ calls: 1, perMs: 100 });
    come('a');
    const left = come('b');
    come('c');
    await clock.advance(50);
    left.abort();

    expect(await left.result).toMatchObject({ isError: true });
    expect(said(await left.result)).toBe(
      'not run: the call was stopped while it waited for its turn (at most 1 call in 100 ms)',
    );
    await clock.advance(1_000);
    expect(starts).toEqual([
      ['a', 0],
      ['c', 100],
    ]);
  });

  test('leaves no timer when it was the last', async () => {
    const { clock, come } = limited({ calls: 1, perMs: 100 });
    come('a');
    const left = come('b');
    expect(clock.pending).toBe(1);
    left.abort();

    await left.result;
    expect(clock.pending).toBe(0);
  });

  test('that is aborted already does not run and is not counted', async () => {
    const { starts, come } = limited({ calls: 1, perMs: 100 });
    const signal = AbortSignal.abort();
    const refused = come('a', { signal });
    come('b');

    expect(said(await refused.result)).toBe(
      'not run: the call was stopped before its turn came (at most 1 call in 100 ms)',
    );
    expect(starts).toEqual([['b', 0]]);
  });

  test('is answered at once if it would wait longer than it may, and is not counted', async () => {
    const { clock, starts, come } = limited({ calls: 2, perMs: 100, maxWaitMs: 120 });
    come('a');
    await clock.advance(30);
    const results = ['b', 'c', 'd', 'e'].map(name => come(name).result);

    expect(said((await results[3])!)).toBe('not run: at most 2 calls in 100 ms. Try again in 170 ms');
    await clock.advance(1_000);
    expect(starts).toEqual([
      ['a', 0],
      ['b', 30],
      ['c', 100],
      ['d', 130],
    ]);
  });

  test('may not wait at all with maxWaitMs 0', async () => {
    const { come } = limited({ calls: 1, perMs: 100, maxWaitMs: 0 });

    expect(said(await come('a').result)).toBe('ok');
    expect(said(await come('b').result)).toBe('not run: at most 1 call in 100 ms. Try again in 100 ms');
  });

  test('waits as long as it was told it would', async () => {
    const plan = fc.array(fc.integer({ min: 0, max: 80 }), { minLength: 1, maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 1, max: 3 }), async (gaps, calls) => {
        // Those that would wait longer than this are told how long: exactly as long as they wait where nothing is refused.
        const told = limited({ calls, perMs: 100, maxWaitMs: 0 });
        const waiting = limited({ calls, perMs: 100 });
        for (const [index, gap] of gaps.entries()) {
          for (const { clock } of [told, waiting]) await clock.advance(gap);
          const name = String(index);
          const came = waiting.clock.now();
          const answer = said(await told.come(name).result);
          const isFirstRefused = answer !== 'ok';
          waiting.come(name);
          await waiting.clock.advance(0);
          if (!isFirstRefused) continue;
          await waiting.clock.advance(10_000);
          const started = waiting.starts.find(([started]) => started === name)?.[1] ?? Number.NaN;
          expect(answer).toContain(`Try again in ${started - came} ms`);
          return;
        }
      }),
      { numRuns: 60 },
    );
  });
});

test('what a middleware further in gives is handed on, and what it throws is thrown', async () => {
  const { clock } = limited({ calls: 1, perMs: 100 });
  const middleware = rateLimit({ calls: 5, perMs: 100, clock });
  const broken = runOnce(middleware, () => {
    throw new Error('broken');
  });

  await expect(broken).rejects.toThrow('broken');
  expect(await runOnce(middleware, () => undefined as never)).toBeUndefined();
});
