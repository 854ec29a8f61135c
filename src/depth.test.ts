import { expect, it } from 'vitest';
import { isDeeperThan } from './depth.ts';

it('lists and objects in one another are counted, however many there are', () => {
  expect([isDeeperThan(1, 0), isDeeperThan([], 0), isDeeperThan([[]], 0)]).toEqual([false, false, true]);
  expect(isDeeperThan({ a: [{ b: null }] }, 2)).toBe(false);
  expect(isDeeperThan({ a: [{ b: null }] }, 1)).toBe(true);
  expect(isDeeperThan(JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`), 500)).toBe(true);
});
