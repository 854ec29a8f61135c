import { describe, expect, test } from 'vitest';
import { manualClock } from './manual-clock.ts';

test('time stands still until it is moved', async () => {
  const clock = manualClock(1_000);
  expect(clock.now()).toBe(1_000);
  await clock.advance(250);
  expect(clock.now()).toBe(1_250);
});

test('timers fire in the order of their time, and those of one time in the order they were set', async () => {
  const clock = manualClock();
  const fired: string[] = [];
  const set = (name: string, ms: number) => clock.setTimer(() => fired.push(`${name} at ${clock.now()}`), ms);
  set('late', 30);
  set('first', 10);
  set('second', 10);
  set('beyond', 31);
  await clock.advance(30);
  expect(fired).toEqual(['first at 10', 'second at 10', 'late at 30']);
  expect(clock.pending).toBe(1);
});

test('a cleared timer does not fire', async () => {
  const clock = manualClock();
  const fired: string[] = [];
  const timer = clock.setTimer(() => fired.push('cleared'), 10);
  clock.setTimer(() => fired.push('kept'), 10);
  clock.clearTimer(timer);
  clock.clearTimer(timer);
  await clock.advance(10);
  expect(fired).toEqual(['kept']);
});

test('what a timer sets off runs before the next one fires, and timers that it sets are due in the same advance', async () => {
  const clock = manualClock();
  const fired: string[] = [];
  clock.setTimer(() => {
    fired.push('one');
    Promise.resolve()
      .then(() => Promise.resolve())
      .then(() => fired.push('after one'))
      .catch(() => {});
  }, 10);
  clock.setTimer(() => {
    fired.push('two');
    clock.setTimer(() => fired.push(`three at ${clock.now()}`), 5);
  }, 20);
  await clock.advance(25);
  expect(fired).toEqual(['one', 'after one', 'two', 'three at 25']);
});

test('promises that wait when the clock is moved get to set their timers first', async () => {
  const clock = manualClock();
  let slept = false;
  const sleep = async (): Promise<void> => {
    await null;
    await null;
    await new Promise<void>(resolve => clock.setTimer(resolve, 5));
    slept = true;
  };
  const sleeping = sleep();
  await clock.advance(5);
  expect(slept).toBe(true);
  await sleeping;
});

test('an endless timer never fires, and a negative or senseless one fires at once', async () => {
  const clock = manualClock();
  const fired: string[] = [];
  clock.setTimer(() => fired.push('endless'), Number.POSITIVE_INFINITY);
  clock.setTimer(() => fired.push('negative'), -5);
  clock.setTimer(() => fired.push('senseless'), Number.NaN);
  await clock.advance(0);
  expect(fired).toEqual(['negative', 'senseless']);
  expect(await clock.advanceToNext()).toBe(false);
  expect(clock.now()).toBe(0);
});

test('the clock refuses to go back, or on for ever', async () => {
  const clock = manualClock();
  await expect(clock.advance(-1)).rejects.toThrow(TypeError);
  await expect(clock.advance(Number.NaN)).rejects.toThrow(TypeError);
  await expect(clock.advance(Number.POSITIVE_INFINITY)).rejects.toThrow(TypeError);
});

test('advanceToNext fires all timers of the next time, and no other', async () => {
  const clock = manualClock();
  const fired: number[] = [];
  for (const ms of [20, 10, 10]) clock.setTimer(() => fired.push(ms), ms);
  expect(await clock.advanceToNext()).toBe(true);
  expect(fired).toEqual([10, 10]);
  expect(clock.now()).toBe(10);
  expect(await clock.advanceToNext()).toBe(true);
  expect(await clock.advanceToNext()).toBe(false);
});

describe('runUntil', () => {
  const sleep = (clock: ReturnType<typeof manualClock>, ms: number): Promise<void> =>
    new Promise(resolve => clock.setTimer(resolve, ms));

  test('moves on until the promise settles, and gives its value', async () => {
    const clock = manualClock();
    const work = async (): Promise<string> => {
      for (let hour = 0; hour < 3; hour++) await sleep(clock, 3_600_000);
      return 'done';
    };
    expect(await clock.runUntil(work())).toBe('done');
    expect(clock.now()).toBe(3 * 3_600_000);
  });

  test('rejects as the promise does', async () => {
    const clock = manualClock();
    const work = async (): Promise<void> => {
      await sleep(clock, 5);
      throw new Error('no luck');
    };
    await expect(clock.runUntil(work())).rejects.toThrow('no luck');
  });

  test('does not fire a timer once the promise has settled', async () => {
    const clock = manualClock();
    const later = sleep(clock, 10);
    await clock.runUntil(Promise.resolve());
    expect(clock.now()).toBe(0);
    await clock.runUntil(later);
  });

  test('rejects when the time would go beyond maxMs', async () => {
    const clock = manualClock();
    await expect(clock.runUntil(sleep(clock, 101), { maxMs: 100 })).rejects.toThrow('within 100 ms');
    expect(clock.now()).toBe(0);
  });

  test('waits for what really takes time, while no timer of the clock is set', async () => {
    const clock = manualClock();
    expect(await clock.runUntil(new Promise(resolve => setTimeout(resolve, 5, 'real')))).toBe('real');
  });

  test('rejects when nothing is left that could settle the promise', async () => {
    await expect(manualClock().runUntil(new Promise(() => {}))).rejects.toThrow('no timer waits');
  });
});
