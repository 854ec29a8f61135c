import { expect, it } from 'vitest';
import { showDuration } from './durations.ts';

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_951, '1 min 0 s'],
  [125_000, '2 min 5 s'],
])('%i milliseconds are %j', (ms, shown) => {
  expect(showDuration(ms)).toBe(shown);
});
