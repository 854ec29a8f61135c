import { expect, it } from 'vitest';
import { showAge } from './ages.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

it.each([
  [-5, 'now'],
  [MINUTE - 1, 'now'],
  [MINUTE, '1 min'],
  [HOUR - 1, '59 min'],
  [HOUR, '1 h'],
  [48 * HOUR - 1, '47 h'],
  [48 * HOUR, '2 d'],
  [400 * 24 * HOUR, '400 d'],
])('%d milliseconds ago is %s', (ms, age) => {
  expect(showAge(ms)).toBe(age);
});
