/** The guard against slips finds one, and says what has grown. `npm run guard` compares the built package with its baseline. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Baseline, countIn, slipsOf } from '../bench/guard-figures.ts';

const SOURCE = new URL('../src/index.ts', import.meta.url).href;
const margins = { count: 1.33, time: 1.75 };

describe('the guard', () => {
  it('counts the same of two processes, and finds a store that copies what was written before', async () => {
    const task = { count: 'work', entry: SOURCE, work: 'a step' } as const;
    const counts = await countIn(task);
    const figures = { 'bytes of a step': counts.bytes ?? 0, 'promises of a step': counts.promises ?? 0 };
    expect(figures['bytes of a step']).toBeGreaterThan(1_000);

    const again = await countIn(task);
    expect(again.promises).toBe(counts.promises);
    expect((again.bytes ?? 0) / figures['bytes of a step']).toBeCloseTo(1, 1);
    expect(
      slipsOf({ margins, figures }, { 'bytes of a step': again.bytes ?? 0, 'promises of a step': again.promises ?? 0 }),
    ).toEqual([]);

    const slipped = await countIn({ ...task, slip: true });
    const found = slipsOf(
      { margins, figures },
      { 'bytes of a step': slipped.bytes ?? 0, 'promises of a step': slipped.promises ?? 0 },
    );
    expect(found).toEqual([
      expect.stringMatching(/^bytes of a step: from [\d,]+ to [\d,]+, \d+ % more; 33 % is allowed$/),
    ]);
  }, 60_000);

  it('lets a count grow by a third, a ratio of times by more, and says what it was and is', () => {
    const figures = { 'bytes of a step': 3_000, 'time of a step, in times the bare loop’s': 10 };
    const baseline: Baseline = { margins, figures };
    expect(slipsOf(baseline, { 'bytes of a step': 3_990, 'time of a step, in times the bare loop’s': 17.5 })).toEqual(
      [],
    );
    expect(slipsOf(baseline, { 'bytes of a step': 100, 'time of a step, in times the bare loop’s': 1 })).toEqual([]);
    expect(slipsOf(baseline, { 'bytes of a step': 3_991, 'time of a step, in times the bare loop’s': 17.6 })).toEqual([
      'bytes of a step: from 3,000 to 3,991, 33 % more; 33 % is allowed',
      'time of a step, in times the bare loop’s: from 10 to 17.6, 76 % more; 75 % is allowed',
    ]);
  });

  it('has no figure without a baseline, and no baseline without a figure', () => {
    const baseline: Baseline = { margins, figures: { 'bytes of a step': 1 } };
    expect(slipsOf(baseline, { 'bytes of a call': 1 })).toEqual([
      '"bytes of a step" is not measured any more: npm run guard:renew writes what is measured now',
      '"bytes of a call" has no baseline: npm run guard:renew writes what is measured now',
    ]);
  });

  it('has a baseline of what it allows: a third more of a count', () => {
    const file = new URL('../bench/guard.json', import.meta.url);
    const { margins: committed, figures } = JSON.parse(readFileSync(file, 'utf8')) as Baseline;
    expect(committed.count).toBeLessThanOrEqual(1.34);
    expect(Object.values(figures).every(value => value > 0)).toBe(true);
  });

  it('is told when a process that counts ends without a figure', async () => {
    await expect(countIn({ count: 'import', entry: './no-such-file.js' })).rejects.toThrow(
      /the guard counted nothing of .*no-such-file.*: Error.*Cannot find module/,
    );
  });
});
