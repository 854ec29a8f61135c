import { describe, expect, it } from 'vitest';
import { DEFAULT_TOOL_LIMITS, type ResolvedToolLimits } from '../define/limits.ts';
import type { Usage } from '../model/model.ts';
import { Budget, nearEntries, nearLine } from './budget.ts';

const budget = (limits: Partial<ResolvedToolLimits> = {}): Budget => new Budget({ ...DEFAULT_TOOL_LIMITS, ...limits });
const tokens = (totalTokens: number): Usage => {
  return { inputTokens: totalTokens, outputTokens: 0, totalTokens, cachedInputTokens: 0, reasoningTokens: 0 };
};

describe('a batch', () => {
  it('is admitted up to the limit of iterations, and not beyond it', () => {
    const used = budget({ iterations: 2 });
    expect([used.admit(1), used.admit(1)]).toEqual([undefined, undefined]);
    expect(used.admit(1)).toEqual({
      limit: 'iterations',
      ...{ iterations: 3, maxIterations: 2, calls: 3, maxCalls: 100, tokens: 0, maxTokens: Number.POSITIVE_INFINITY },
    });
  });

  it('is admitted whole up to the limit of calls, or not at all', () => {
    const used = budget({ calls: 5 });
    expect(used.admit(5)).toBeUndefined();
    expect(used.admit(1)).toMatchObject({ limit: 'calls', calls: 6, maxCalls: 5 });
    expect(budget({ calls: 5 }).admit(6)).toMatchObject({ limit: 'calls', calls: 6 });
  });

  it('is refused when the tokens used are more than the limit, and not when they reach it', () => {
    const used = budget({ tokens: 100 });
    used.addResponse(tokens(60));
    expect(used.admit(1)).toBeUndefined();
    used.addResponse(tokens(40));
    expect(used.admit(1)).toBeUndefined();
    used.addResponse(tokens(1));
    expect(used.admit(1)).toMatchObject({ limit: 'tokens', tokens: 101, maxTokens: 100 });
    expect([used.steps, used.usage.totalTokens]).toEqual([3, 101]);
  });

  it('of a budget of nothing is refused', () => {
    expect(budget({ iterations: 0 }).admit(1)).toMatchObject({ limit: 'iterations' });
    expect(budget({ calls: 0 }).admit(1)).toMatchObject({ limit: 'calls' });
  });
});

it('what is left is never negative, and without a limit without end', () => {
  const used = budget({ iterations: 3, calls: 4, tokens: 10 });
  used.addResponse(tokens(20));
  used.admit(9);
  expect(used.left()).toEqual({ iterationsLeft: 2, callsLeft: 0, tokensLeft: 0 });
  expect(budget().left().tokensLeft).toBe(Number.POSITIVE_INFINITY);
});

describe('a limit is near', () => {
  /** What is told before each step of a turn that makes `width` calls in each. */
  function told(limits: Partial<ResolvedToolLimits>, width: number, steps: number): string[] {
    const used = budget(limits);
    return Array.from({ length: steps }, () => {
      const near = used.near().map(({ limit, used: count, max }) => `${limit} ${count}/${max}`);
      used.admit(width);
      return near.join(', ');
    });
  }

  it('in the last two iterations', () => {
    expect(told({ iterations: 5 }, 1, 6)).toEqual(['', '', '', 'iterations 3/5', 'iterations 4/5', 'iterations 5/5']);
  });

  it('in the last tenth of the calls', () => {
    expect(told({ calls: 20 }, 6, 5)).toEqual(['', '', '', 'calls 18/20', 'calls 24/20']);
  });

  it('not before anything was used, nor where there is no limit', () => {
    expect(told({ iterations: 1, calls: 1 }, 1, 1)).toEqual(['']);
    expect(told({ iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY }, 1_000, 50)).toEqual(
      Array.from({ length: 50 }, () => ''),
    );
  });

  it('once for each count that it reaches', () => {
    const used = budget({ iterations: 2 });
    used.admit(1);
    expect(used.near()).toHaveLength(1);
    expect(used.near()).toEqual([]);
    used.admit(1);
    expect(used.near()).toHaveLength(1);
  });

  it('in one line for the model, and one record each', () => {
    const used = budget({ iterations: 4, calls: 10 });
    for (let step = 0; step < 3; step++) used.admit(3);
    const near = used.near();
    expect(nearLine(near)).toBe(
      'Note: 1 of 4 rounds of tool calls and 1 of 10 tool calls are left before this turn is stopped. Finish with what you have, and answer.',
    );
    expect(nearEntries(near, 't', 't.1')).toEqual([
      { type: 'limit.near', turnId: 't', stepId: 't.1', limit: 'iterations', used: 3, max: 4 },
      { type: 'limit.near', turnId: 't', stepId: 't.1', limit: 'calls', used: 9, max: 10 },
    ]);
  });
});
