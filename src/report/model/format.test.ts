import { describe, expect, it } from 'vitest';
import { ageText, callText, counted, durationText, lineText, outputText, timeText, tokensText } from './format.ts';
import { ticksOf } from './spans.ts';
import type { CallView } from './view.ts';

const call = (input: unknown, summary?: string): CallView => ({
  ...{ callId: 'c', toolName: 't', input, waitsFor: [], isLate: false },
  ...(summary === undefined ? {} : { summary }),
});

describe('in words', () => {
  it('durations are exact where they are short, and short where they are long', () => {
    const said = [
      -1, 0, 0.4, 999.4, 999.6, 1_450, 59_949, 59_950, 125_000, 3_600_000, 11_040_000, 172_800_000, 183_600_000,
    ];
    expect(said.map(durationText)).toEqual([
      ...['0 ms', '0 ms', '0 ms', '999 ms', '1.0 s', '1.4 s', '59.9 s', '1 min', '2 min 5 s', '1 h', '3 h 4 min'],
      ...['2 d', '2 d 3 h'],
    ]);
  });

  it('ages are one unit', () => {
    expect([-5, 59_999, 60_000, 3_600_000, 172_799_999, 172_800_000].map(ageText)).toEqual([
      ...['now', 'now', '1 min', '1 h', '47 h', '2 d'],
    ]);
  });

  it('tokens are three figures and a letter', () => {
    expect([0, 999, 1_000, 99_949, 99_950, 999_949, 999_950, 12_345_678].map(tokensText)).toEqual([
      ...['0', '999', '1.0k', '99.9k', '100k', '1000k', '1.0M', '12.3M'],
    ]);
  });

  it('counts have their noun, and times their zone', () => {
    expect([counted(0, 'call'), counted(1, 'call'), counted(1_200, 'call')]).toEqual([
      '0 calls',
      '1 call',
      '1,200 calls',
    ]);
    expect(timeText(Date.UTC(2026, 10, 3, 9, 41, 7, 900))).toBe('2026-11-03 09:41:07 UTC');
  });

  it('a call is what its tool says of it, or its arguments', () => {
    expect(callText(call({ path: 'a' }, 'reads  a\nfile'))).toBe('reads a file');
    expect(callText(call({ path: 'a.txt' }))).toBe('a.txt');
    expect(callText(call({ at: 'the table', times: 3, of: ['a'] }))).toBe('at: the table, times: 3, of: ["a"]');
    expect([callText(call({})), callText(call(undefined)), callText(call(null))]).toEqual(['', '', '']);
    expect(lineText('a'.repeat(50), 10)).toBe('aaaaaaaaa…');
  });

  it('results of every kind are text', () => {
    expect(outputText({ type: 'text', value: 'a' })).toBe('a');
    expect(outputText({ type: 'json', value: { a: 1 } })).toBe('{\n  "a": 1\n}');
    expect(outputText({ type: 'json', value: { a: 1 } }, JSON.stringify)).toBe('{"a":1}');
    expect(outputText({ type: 'execution-denied' })).toBe('');
    const picture = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: '' } };
    expect(outputText({ type: 'content', value: [{ type: 'text', text: 'a' }, picture] })).toBe('a\n[file]');
  });
});

it('an axis has round marks, few enough to be read', () => {
  expect(ticksOf(0)).toEqual([]);
  expect(ticksOf(7)).toEqual([2, 4, 6]);
  expect(ticksOf(1_450)).toEqual([500, 1_000]);
  expect(ticksOf(61_000)).toEqual([20_000, 40_000, 60_000]);
  for (let ms = 1; ms < 1e12; ms *= 1.7) {
    const ticks = ticksOf(ms);
    expect(ticks.length).toBeLessThanOrEqual(5);
    expect(ticks.every(tick => tick > 0 && tick <= ms)).toBe(true);
  }
});
