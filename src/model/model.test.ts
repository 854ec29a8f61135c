import { expect, it } from 'vitest';
import { addUsage, type ModelUsage, NO_USAGE, usageOf } from './model.ts';

/** What a provider sends, whatever the types say. */
const sent = (usage: unknown) => usageOf(usage as ModelUsage);

it('usage is counted as the provider tells it', () => {
  const usage = { inputTokens: { total: 5, cacheRead: 2 }, outputTokens: { total: 4, reasoning: 1 } };
  expect(sent(usage)).toEqual({
    ...{ inputTokens: 5, outputTokens: 4, totalTokens: 9 },
    ...{ cachedInputTokens: 2, reasoningTokens: 1 },
  });
  expect(sent({ inputTokens: 5, outputTokens: 4 })).toMatchObject({ inputTokens: 5, outputTokens: 4, totalTokens: 9 });
});

it.each<readonly [unknown]>([
  [undefined],
  [null],
  ['many'],
  [{ inputTokens: null, outputTokens: [] }],
  [{ inputTokens: { total: '5' }, outputTokens: { total: -4 } }],
  [{ inputTokens: { total: Number.NaN }, outputTokens: { total: Number.POSITIVE_INFINITY } }],
  [{ inputTokens: { total: 1e308 }, outputTokens: { total: 1e308 } }],
  [{ inputTokens: { total: 5n }, outputTokens: { total: Symbol('s') } }],
  [
    {
      get inputTokens(): never {
        throw new Error('hostile');
      },
    },
  ],
])('usage that is no count counts as nothing (%#)', usage => {
  expect(sent(usage)).toEqual(NO_USAGE);
});

it('a sum of counts is a count that JSON can say', () => {
  const most = sent({ inputTokens: Number.MAX_SAFE_INTEGER, outputTokens: Number.MAX_SAFE_INTEGER });
  expect(JSON.stringify(addUsage(most, most))).not.toContain('null');
});
