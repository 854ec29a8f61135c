import { expect, it } from 'vitest';
import { resolveLimits } from '../define/limits.ts';
import { effectiveLimits, readTurnLimits } from './turn-limits.ts';

const base = resolveLimits({ iterations: 10, calls: 20, parallel: 3 }, 'limits');
const left = { iterationsLeft: 4, callsLeft: 0, tokensLeft: 500 };

it('a turn that was given nothing has the limits of its mode', () => {
  expect(effectiveLimits(base, readTurnLimits({}))).toBe(base);
});

it('limits of its own stand over the mode’s, field by field, where they are positive', () => {
  const limits = effectiveLimits(base, readTurnLimits({ limits: { calls: 50, iterations: 0 } }));
  expect(limits).toEqual({ ...base, calls: 50 });
});

it('no limit is larger than the budget, and nothing left is nothing', () => {
  const limits = effectiveLimits(base, readTurnLimits({ limits: { calls: 50, iterations: 2 }, budget: left }));
  expect(limits).toEqual({ ...base, iterations: 2, calls: 0, tokens: 500 });
});

it.each([{ iterationsLeft: -1 }, { callsLeft: Number.NaN }, { tokensLeft: '5' }])('refuses the budget %j', wrong => {
  const [name] = Object.keys(wrong);
  expect(() => readTurnLimits({ budget: { ...left, ...wrong } as never })).toThrow(`"budget.${name}" must be a number`);
});
