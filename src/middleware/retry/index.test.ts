import { describe, expect, test } from 'vitest';
import { runOnce, said, testCall } from '../../../test/support/middleware-call.ts';
import { type ToolResult, toolError, toolResult } from '../../define/tool.ts';
import { manualClock } from '../../testing/index.ts';
import { type FailedAttempt, retry } from './index.ts';

const busy = new Error('busy');

/** A tool that throws so many times, then answers with its input. */
function failing(times: number): { runs: number; tool(input: unknown): ToolResult } {
  const failing = {
    runs: 0,
    tool(input: unknown): ToolResult {
      failing.runs += 1;
      if (failing.runs <= times) throw busy;
      return toolResult([{ type: 'json', value: input }]);
    },
  };
  return failing;
}

describe('what is tried again', () => {
  test('a call that throws is run again until it gives a result', async () => {
    const { tool } = failing(2);
    const clock = manualClock();

    const result = await clock.runUntil(runOnce(retry({ tools: ['t'], clock }), tool, { input: { n: 1 } }));

    expect(said(result)).toEqual({ n: 1 });
  });

  test('a call has two more attempts by default, and its last error stands', async () => {
    const clock = manualClock();
    let runs = 0;
    const call = runOnce(retry({ tools: ['t'], clock }), () => {
      runs += 1;
      throw new Error(`attempt ${runs} failed`);
    });

    await expect(clock.runUntil(call)).rejects.toThrow('attempt 3 failed');
    expect(runs).toBe(3);
  });

  test('a tool that is not named runs once, and any tool is run again for "all"', async () => {
    const clock = manualClock();
    const once = failing(1);
    const twice = failing(1);

    await expect(runOnce(retry({ tools: ['other'], clock }), once.tool)).rejects.toBe(busy);
    await clock.runUntil(runOnce(retry({ tools: 'all', clock }), twice.tool));

    expect([once.runs, twice.runs]).toEqual([1, 2]);
  });

  test('an error result stands, unless "when" says otherwise', async () => {
    const clock = manualClock();
    const when = ({ kind }: FailedAttempt): boolean => kind === 'result';
    let runs = 0;
    const tool = (): ToolResult => toolError(`no ${++runs}`);

    expect(said(await runOnce(retry({ tools: ['t'], clock }), tool))).toBe('no 1');
    expect(said(await clock.runUntil(runOnce(retry({ tools: ['t'], clock, when, times: 1 }), tool)))).toBe('no 3');
    await expect(runOnce(retry({ tools: ['t'], clock, when }), failing(9).tool)).rejects.toBe(busy);
  });

  test('"when" is told the failure, the attempt and the call, and may take its time', async () => {
    const clock = manualClock();
    const seen: unknown[] = [];
    const when = async (
      failed: FailedAttempt,
      attempt: number,
      call: { readonly callId: string },
    ): Promise<boolean> => {
      seen.push([failed, attempt, call.callId]);
      return attempt < 2;
    };

    await expect(clock.runUntil(runOnce(retry({ tools: ['t'], times: 5, clock, when }), failing(9).tool))).rejects.toBe(
      busy,
    );

    const failed = { kind: 'thrown', error: busy };
    expect(seen).toEqual([
      [failed, 1, 'c1'],
      [failed, 2, 'c1'],
    ]);
  });

  test('only true is a yes, and what "when" throws is the error of the call', async () => {
    const refused = failing(1);
    const broken = (): boolean => {
      throw new Error('the rule is broken');
    };

    await expect(runOnce(retry({ tools: ['t'], when: () => 1 as never }), refused.tool)).rejects.toBe(busy);
    await expect(runOnce(retry({ tools: ['t'], when: broken }), failing(1).tool)).rejects.toThrow('the rule is broken');
    expect(refused.runs).toBe(1);
  });

  test('what is no result at all is handed on as it is', async () => {
    expect(await runOnce(retry({ tools: ['t'] }), () => undefined as never)).toBeUndefined();
  });

  test('each attempt gets the arguments as they came, whatever the one before did to them', async () => {
    const clock = manualClock();
    const input = { items: [1, 2], __proto__: null };
    let runs = 0;
    const result = await clock.runUntil(
      runOnce(
        retry({ tools: ['t'], clock }),
        given => {
          const { items } = given as { items: number[] };
          const seen = [...items];
          items.splice(0);
          runs += 1;
          if (runs < 3) throw busy;
          return toolResult([{ type: 'json', value: seen }]);
        },
        { input },
      ),
    );

    expect(said(result)).toEqual([1, 2]);
  });

  test('arguments that are more than plain data are handed on as they are', async () => {
    const clock = manualClock();
    const input = { at: new Date(0) };
    const seen: unknown[] = [];
    const call = runOnce(
      retry({ tools: ['t'], times: 1, clock }),
      given => {
        seen.push(given);
        throw busy;
      },
      { input },
    );

    await expect(clock.runUntil(call)).rejects.toBe(busy);
    expect(seen.every(given => given === input)).toBe(true);
    expect(seen).toHaveLength(2);
  });
});

describe('the wait', () => {
  /** The waits before each attempt. */
  async function waits(options: { delayMs?: number; maxDelayMs?: number; random: () => number }): Promise<unknown> {
    const clock = manualClock();
    const { call, updates } = testCall();
    const starts: number[] = [];
    const middleware = retry({ tools: ['t'], times: 4, clock, ...options });
    const failed = middleware(call, async () => {
      starts.push(clock.now());
      throw busy;
    });
    await expect(clock.runUntil(failed)).rejects.toBe(busy);
    const between = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(updates).toEqual(between.map((delayMs, index) => ({ retrying: index + 1, delayMs })));
    return between;
  }

  test('doubles from 500 ms, is bounded, and is told by progress', async () => {
    expect(await waits({ random: () => 0 })).toEqual([500, 1_000, 2_000, 4_000]);
    expect(await waits({ random: () => 0, delayMs: 100, maxDelayMs: 250 })).toEqual([100, 200, 250, 250]);
    expect(await waits({ random: () => 0, delayMs: 0 })).toEqual([0, 0, 0, 0]);
  });

  test('is shortened at random by up to half', async () => {
    expect(await waits({ random: () => 0.5 })).toEqual([375, 750, 1_500, 3_000]);
    expect(await waits({ random: () => 1 })).toEqual([250, 500, 1_000, 2_000]);
  });

  test('ends at once when the call is aborted: the last failure stands, and nothing waits any more', async () => {
    const clock = manualClock();
    const { call, abort } = testCall();
    const { tool } = failing(9);
    let runs = 0;
    const failed = retry({ tools: ['t'], clock })(call, async () => {
      runs += 1;
      return tool({});
    });
    await clock.advance(10);
    expect(clock.pending).toBe(1);
    abort();

    await expect(failed).rejects.toBe(busy);
    expect([runs, clock.pending, clock.now()]).toEqual([1, 0, 10]);
  });

  test('an attempt that fails after the call is aborted is the last, and "when" is not asked', async () => {
    let asked = 0;
    const { call, abort } = testCall();
    const when = (): boolean => {
      asked += 1;
      return true;
    };
    const failed = retry({ tools: ['t'], when })(call, async () => {
      abort();
      throw busy;
    });

    await expect(failed).rejects.toBe(busy);
    expect(asked).toBe(0);
  });

  test('a call that is aborted while "when" decides is not tried again', async () => {
    const { call, abort, updates } = testCall();
    const when = (): boolean => {
      abort();
      return true;
    };

    await expect(
      retry({ tools: ['t'], when })(call, async () => {
        throw busy;
      }),
    ).rejects.toBe(busy);
    expect(updates).toEqual([]);
  });
});
