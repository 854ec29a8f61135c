import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock, TimerHandle } from '../clock.ts';
import { manualClock } from '../testing/manual-clock.ts';
import { Deadlines } from './deadlines.ts';

/** A clock whose timers and time are moved apart, as a platform's are when its clock is set. */
function looseClock() {
  let now = 1_000;
  const timers: { callback: () => void; ms: number }[] = [];
  const clock: Clock = {
    now: () => now,
    setTimer: (callback, ms) => {
      const timer = { callback, ms };
      timers.push(timer);
      return timer;
    },
    clearTimer: (handle: TimerHandle) => void timers.splice(timers.indexOf(handle as (typeof timers)[number]), 1),
  };
  const fire = (at: number): void => {
    now = at;
    timers.shift()?.callback();
  };
  return { clock, timers, fire };
}

describe('deadlines', () => {
  it('come once, at their time, unless they are cleared', async () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    const reached: string[] = [];
    deadlines.set(20, () => reached.push(`b ${clock.now()}`));
    deadlines.set(10, () => reached.push(`a ${clock.now()}`));
    const cleared = deadlines.set(15, () => reached.push('cleared'));
    deadlines.set(0, () => reached.push(`now ${clock.now()}`));
    deadlines.clear(cleared);
    expect(reached).toEqual([]);
    await clock.advance(100);
    expect(reached).toEqual(['now 0', 'a 10', 'b 20']);
    expect(clock.pending).toBe(0);
  });

  it('have one timer of the clock among them, and none where none can come', () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    deadlines.set(Number.POSITIVE_INFINITY, () => {});
    expect(clock.pending).toBe(0);
    for (let ms = 100; ms > 0; ms--) deadlines.set(ms, () => {});
    expect(clock.pending).toBe(1);
    deadlines.end();
    expect(clock.pending).toBe(0);
  });

  it('never come after the end, also those that are set after it', async () => {
    const clock = manualClock();
    const deadlines = new Deadlines(clock);
    const reached: string[] = [];
    deadlines.set(10, () => {
      reached.push('first');
      deadlines.end();
    });
    deadlines.set(10, () => reached.push('second'));
    await clock.advance(10);
    deadlines.set(10, () => reached.push('late'));
    expect(clock.pending).toBe(0);
    await clock.advance(100);
    expect(reached).toEqual(['first']);
  });

  it('that come together come in the order of their time, and one may clear the next', () => {
    const { clock, fire } = looseClock();
    const deadlines = new Deadlines(clock);
    const reached: string[] = [];
    deadlines.set(300, () => reached.push('c'));
    deadlines.set(200, () => {
      reached.push('b');
      deadlines.clear(next);
    });
    deadlines.set(100, () => reached.push('a'));
    const next = deadlines.set(250, () => reached.push('cleared'));
    fire(5_000); // the process slept
    expect(reached).toEqual(['a', 'b', 'c']);
  });

  it('come in time where the clock is set back', () => {
    const { clock, timers, fire } = looseClock();
    const deadlines = new Deadlines(clock);
    let reached = 0;
    deadlines.set(2_000, () => reached++);
    expect(timers).toMatchObject([{ ms: 2_000 }]);
    fire(-3_600_000);
    expect([reached, timers]).toEqual([1, []]);
  });

  it('that are far away are waited for in pieces that a platform timer can wait', async () => {
    const { clock, timers } = looseClock();
    new Deadlines(clock).set(2 ** 40, () => {});
    expect(timers[0]!.ms).toBeLessThan(2 ** 31);
    const manual = manualClock();
    const at = new Promise(resolve => new Deadlines(manual).set(2 ** 31, () => resolve(manual.now())));
    expect(await manual.runUntil(at, { maxMs: 2 ** 32 })).toBe(2 ** 31);
  });

  it('set and cleared in any order come when they should', async () => {
    const steps = fc.array(
      fc.record({
        wait: fc.integer({ min: 0, max: 20 }),
        set: fc.integer({ min: 0, max: 50 }),
        clear: fc.option(fc.nat(20)),
      }),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async actions => {
        const clock = manualClock();
        const deadlines = new Deadlines(clock);
        const all: { due: number; reachedAt?: number; cleared: boolean; handle: ReturnType<Deadlines['set']> }[] = [];
        for (const { wait, set, clear } of actions) {
          await clock.advance(wait);
          const one = {
            due: clock.now() + set,
            cleared: false,
            handle: deadlines.set(set, () => Object.assign(one, { reachedAt: clock.now() })),
          };
          all.push(one);
          const gone = clear === null ? undefined : all[clear];
          if (gone !== undefined && !('reachedAt' in gone)) {
            deadlines.clear(gone.handle);
            gone.cleared = true;
          }
        }
        await clock.advance(100);
        for (const one of all) expect(one.reachedAt).toBe(one.cleared ? undefined : one.due);
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a deadline that can be paused', () => {
  it('does not count the time in which it stands still', async () => {
    const clock = manualClock();
    let reachedAt: number | undefined;
    const deadlines = new Deadlines(clock);
    const deadline = deadlines.set(100, () => {
      reachedAt = clock.now();
    });
    await clock.advance(40);
    const resume = deadlines.pause(deadline);
    await clock.advance(10_000);
    resume();
    await clock.advance(59);
    expect(reachedAt).toBeUndefined();
    await clock.advance(1);
    expect(reachedAt).toBe(10_100);
  });

  it('goes on once, however often it is told to, and can be paused again', async () => {
    const clock = manualClock();
    const reached: number[] = [];
    const deadlines = new Deadlines(clock);
    const deadline = deadlines.set(100, () => reached.push(clock.now()));
    const resume = deadlines.pause(deadline);
    await clock.advance(10);
    resume();
    resume();
    const again = deadlines.pause(deadline);
    await clock.advance(1_000);
    expect(reached).toEqual([]);
    again();
    await clock.advance(1_000);
    expect(reached).toEqual([1_110]);
  });

  it('that was reached, or never comes, has nothing to pause', async () => {
    const clock = manualClock();
    const reached: number[] = [];
    const deadlines = new Deadlines(clock);
    const soon = deadlines.set(10, () => reached.push(clock.now()));
    const never = deadlines.set(Number.POSITIVE_INFINITY, () => reached.push(-1));
    await clock.advance(10);
    deadlines.pause(soon)();
    deadlines.pause(never)();
    await clock.advance(1_000);
    expect(reached).toEqual([10]);
    expect(clock.pending).toBe(0);
  });

  it('goes on when all who stopped it let it, with the time that was left at first', async () => {
    const clock = manualClock();
    const reached: number[] = [];
    const deadlines = new Deadlines(clock);
    const deadline = deadlines.set(100, () => reached.push(clock.now()));
    const first = deadlines.pause(deadline);
    await clock.advance(50);
    const second = deadlines.pause(deadline);
    await clock.advance(50);
    first();
    await clock.advance(1_000);
    expect(reached).toEqual([]);
    second();
    await clock.advance(100);
    expect(reached).toEqual([1_200]);
  });

  it('never comes if it is cleared, or all deadlines end, while it stands still', async () => {
    const clock = manualClock();
    const reached: number[] = [];
    const deadlines = new Deadlines(clock);
    const [cleared, ended] = [10, 20].map(ms => deadlines.set(ms, () => reached.push(ms)));
    const resume = [cleared!, ended!].map(deadline => deadlines.pause(deadline));
    deadlines.clear(cleared!);
    deadlines.end();
    for (const goOn of resume) goOn();
    await clock.advance(1_000);
    expect([reached, clock.pending]).toEqual([[], 0]);
  });
});
