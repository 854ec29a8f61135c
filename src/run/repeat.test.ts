import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, RepeatWatch } from './repeat.ts';
import type { RepeatedCall } from './resume.ts';

const RULE = { warn: 3, stop: 6 };

/** The lines that the calls of each step get; a call is a tool, its arguments and its result. */
function lines(watch: RepeatWatch, steps: readonly (readonly [string, unknown, string])[][]): (string | undefined)[][] {
  return steps.map(calls => {
    watch.nextStep();
    return calls.map(([tool, input, result]) => watch.note(tool, input, result));
  });
}

describe('a call that is made again and again', () => {
  it('is told so from the third time in a row on, and is stuck at the sixth', () => {
    const watch = new RepeatWatch(RULE);
    const times = [];
    for (let step = 1; step <= 6; step++) {
      watch.nextStep();
      const line = watch.note('look', { at: 1 }, 'nothing');
      times.push([/for the (\w+) time in a row/.exec(line ?? '')?.[1], watch.stuck]);
    }
    expect(times).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      ['3rd', undefined],
      ['4th', undefined],
      ['5th', undefined],
      ['6th', { toolName: 'look', times: 6 }],
    ]);
  });

  it.each([
    [2, '2nd'],
    [11, '11th'],
    [12, '12th'],
    [13, '13th'],
    [21, '21st'],
    [22, '22nd'],
    [111, '111th'],
  ])('%i times is the %s', (count, word) => {
    const watch = new RepeatWatch({ warn: 2, stop: Number.POSITIVE_INFINITY });
    const all = lines(
      watch,
      Array.from({ length: count }, () => [['a', {}, 'same'] as const]),
    ).flat();
    expect(all.at(-1)).toContain(`for the ${word} time`);
    expect(watch.stuck).toBeUndefined();
  });

  it('is the same call whatever the order of its keys', () => {
    const watch = new RepeatWatch(RULE);
    const told = lines(watch, [
      [['a', { x: 1, y: 2 }, 'r']],
      [['a', { y: 2, x: 1 }, 'r']],
      [['a', { x: 1, y: 2 }, 'r']],
    ]);
    expect(told[2]![0]).toContain('3rd');
  });

  it('beside others is noticed all the same', () => {
    const watch = new RepeatWatch(RULE);
    const told = lines(
      watch,
      [1, 2, 3]
        .map(
          n =>
            [
              ['fresh', { n }, 'r'],
              ['a', {}, 'r'],
            ] as const,
        )
        .map(step => [...step]),
    );
    expect(told[2]).toEqual([undefined, expect.stringContaining('3rd')]);
  });
});

describe('what is no repetition', () => {
  it.each<readonly [string, (step: number) => readonly [string, unknown, string]]>([
    ['other arguments', step => ['a', { step }, 'same']],
    ['other results', step => ['a', {}, String(step)]],
    ['another tool', step => [`tool ${step}`, {}, 'same']],
  ])('%s', (_, call) => {
    const watch = new RepeatWatch(RULE);
    const told = lines(
      watch,
      Array.from({ length: 20 }, (__, step) => [call(step)]),
    );
    expect(told.flat()).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(watch.stuck).toBeUndefined();
  });

  it('the same call many times in one step', () => {
    const watch = new RepeatWatch(RULE);
    const told = lines(watch, [Array.from({ length: 800 }, () => ['a', {}, 'same'] as const)]);
    expect(told.flat().every(line => line === undefined)).toBe(true);
    expect(watch.stuck).toBeUndefined();
  });

  it('a call that was left out of a step in between', () => {
    const watch = new RepeatWatch(RULE);
    const again = [['a', {}, 'same'] as const];
    const told = lines(watch, [again, again, [['b', {}, 'x']], again, again, [], again]);
    expect(told.flat().every(line => line === undefined)).toBe(true);
  });

  it('a call that gives two results in one step, although the first is the old one', () => {
    const watch = new RepeatWatch(RULE);
    lines(
      watch,
      Array.from({ length: 5 }, () => [['a', {}, 'same'] as const]),
    );
    lines(watch, [
      [
        ['a', {}, 'same'],
        ['a', {}, 'other'],
      ],
    ]);
    expect(watch.stuck).toBeUndefined();
  });

  it('anything where repetition is not looked for', () => {
    const watch = new RepeatWatch(false);
    expect(
      lines(
        watch,
        Array.from({ length: 50 }, () => [['a', {}, 'same'] as const]),
      ).flat(),
    ).toEqual(Array.from({ length: 50 }, () => undefined));
    expect(watch.stuck).toBeUndefined();
  });
});

it('a step stays stuck by one call where another of its calls stops being so', () => {
  const watch = new RepeatWatch({ warn: 2, stop: 2 });
  for (const last of ['r', 's']) {
    watch.nextStep();
    for (const tool of ['a', 'b']) watch.note(tool, {}, 'r');
    watch.note('b', {}, last);
  }
  expect(watch.stuck).toEqual({ toolName: 'a', times: 2 });
});

it('a watch that is given the calls of earlier steps goes on as the one that saw them', () => {
  const live = new RepeatWatch({ warn: 2, stop: 4 });
  const ran: RepeatedCall[][] = [];
  for (let step = 1; step <= 3; step++) {
    live.nextStep();
    const line = live.note('a', { n: 1 }, 'r');
    ran.push([{ toolName: 'a', asked: { n: 1 }, result: line === undefined ? 'r' : { digest: digestOf('r') } }]);
  }
  for (const [result, times] of [
    ['r', 4],
    ['s', undefined],
  ] as const) {
    const restored = new RepeatWatch({ warn: 2, stop: 4 }, ran);
    restored.nextStep();
    expect(restored.note('a', { n: 1 }, result) === undefined).toBe(times === undefined);
    expect(restored.stuck).toEqual(times && { toolName: 'a', times });
  }
});

it('a step is stuck exactly if one call of it was in each of the last steps up to the stop, always with one result', () => {
  const call = fc.tuple(fc.constantFrom('a', 'b'), fc.constantFrom({}, { x: 1 }), fc.constantFrom('r', 's'));
  fc.assert(
    fc.property(fc.array(fc.array(call, { maxLength: 3 }), { minLength: 1, maxLength: 14 }), steps => {
      const watch = new RepeatWatch({ warn: 2, stop: 3 });
      steps.forEach((calls, step) => {
        watch.nextStep();
        for (const [tool, input, result] of calls) watch.note(tool, input, result);
        const isStuck = calls.some(([tool, input, result]) =>
          [0, 1, 2].every(back => {
            const results = (steps[step - back] ?? []).flatMap(other =>
              other[0] === tool && JSON.stringify(other[1]) === JSON.stringify(input) ? [other[2]] : [],
            );
            return results.length > 0 && results.every(one => one === result);
          }),
        );
        expect(watch.stuck !== undefined).toBe(isStuck);
      });
    }),
    { numRuns: 3_000 },
  );
});
