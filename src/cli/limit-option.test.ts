import { expect, it } from 'vitest';
import { parseLimits } from './limit-option.ts';

it.each([
  ['calls=20,parallel=4', { calls: 20, parallel: 4 }],
  [' iterations = 3 ', { iterations: 3 }],
  ['turnTimeoutMs=60000,callTimeoutMs=1500', { turnTimeoutMs: 60_000, callTimeoutMs: 1_500 }],
  ['tokens=Infinity,resultBytes=256', { tokens: Number.POSITIVE_INFINITY, resultBytes: 256 }],
])('%j is read', (text, limits) => {
  expect(parseLimits(text)).toEqual(limits);
});

it.each([
  ['call=3', /no limit is named "call": give pairs such as calls=20,parallel=4 of iterations, calls, parallel,/],
  ['calls', /"calls" is no name=value/],
  ['calls=1=2', /"calls=1=2" is no name=value/],
  ['calls=', /"calls" must be a whole number from 1, or Infinity, not ""/],
  ['calls=0', /"calls" must be a whole number from 1/],
  ['calls=-1', /not "-1"/],
  ['calls=1.5', /not "1.5"/],
  ['calls=1e3', /not "1e3"/],
  ['callTimeoutMs=10s', /"callTimeoutMs" must be a whole number of milliseconds from 1, or Infinity, not "10s"/],
  ['resultBytes=255', /"resultBytes" must be a whole number of bytes from 256/],
  ['calls=1,calls=2', /"calls" is given twice/],
  ['toString=1', /no limit is named "toString"/],
  ['calls=3,', /"" is no name=value/],
])('%j is refused with one sentence that lists the limits or names the field', (text, message) => {
  expect(() => parseLimits(text)).toThrow(message);
});
