import { describe, expect, it } from 'vitest';
import { abortReason, Interruption, STOPPED } from './interruption.ts';

const CAUSE = { kind: 'interrupted', reason: 'enough' } as const;

describe('stop', () => {
  it('tells each listener once, then the signal, and the first cause stands', () => {
    const interruption = new Interruption();
    const told: unknown[] = [];
    interruption.onStop(cause => told.push(cause, interruption.signal.aborted));
    interruption.stop(CAUSE);
    interruption.stop({ kind: 'timed_out', timeoutMs: 5 });
    expect(told).toEqual([CAUSE, false]);
    expect(interruption.cause).toBe(CAUSE);
    expect(interruption.signal.reason).toMatchObject({
      name: 'AbortError',
      message: 'the turn was interrupted: enough',
    });
  });

  it('tells who listens later at once, and not who has taken it back', () => {
    const interruption = new Interruption();
    const told: string[] = [];
    interruption.onStop(() => told.push('early'))();
    interruption.stop(CAUSE);
    interruption.onStop(() => told.push('late'));
    expect(told).toEqual(['late']);
  });

  it('from within a listener does nothing', () => {
    const interruption = new Interruption();
    let told = 0;
    interruption.onStop(() => {
      told += 1;
      interruption.stop({ kind: 'timed_out', timeoutMs: 1 });
    });
    interruption.stop(CAUSE);
    expect([told, interruption.cause]).toEqual([1, CAUSE]);
  });
});

describe('race', () => {
  it('gives what the promise gives, or what it rejects with', async () => {
    const interruption = new Interruption();
    expect(await interruption.race(Promise.resolve(7))).toBe(7);
    await expect(interruption.race(Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('gives STOPPED as soon as the turn is stopped, and at once where it was; later rejections are nobody’s', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    const interruption = new Interruption();
    const late = Promise.withResolvers<number>();
    const racing = interruption.race(late.promise);
    interruption.stop(CAUSE);
    expect(await racing).toBe(STOPPED);
    expect(await interruption.race(new Promise<number>(() => {}))).toBe(STOPPED);
    expect(await interruption.race(Promise.reject(new Error('ignored')))).toBe(STOPPED);
    late.reject(new Error('late'));
    await new Promise(resolve => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('takes what is no promise, a thenable of its own, and one that throws', async () => {
    const interruption = new Interruption();
    // biome-ignore-start lint/suspicious/noThenProperty: what a provider may give
    const own = { then: (resolve: (value: number) => void) => resolve(8) };
    const broken = {
      get then(): never {
        throw new Error('broken');
      },
    };
    // biome-ignore-end lint/suspicious/noThenProperty: what a provider may give
    expect(await interruption.race(7 as never)).toBe(7);
    expect(await interruption.race(own as never)).toBe(8);
    await expect(interruption.race(broken as never)).rejects.toThrow('broken');
  });
});

it('the reason of a signal says who stopped', () => {
  expect(abortReason({ kind: 'timed_out', timeoutMs: 5 })).toMatchObject({
    name: 'TimeoutError',
    message: 'the turn ran longer than 5 ms',
  });
  expect(abortReason({ kind: 'interrupted', reason: undefined })).toMatchObject({
    name: 'AbortError',
    message: 'the turn was interrupted',
  });
});

it('a listener that throws keeps no other from being told, nor the signal from being aborted', () => {
  const interruption = new Interruption();
  const told: string[] = [];
  interruption.onStop(() => void told.push('first'));
  interruption.onStop(() => {
    throw new Error('hostile');
  });
  interruption.onStop(() => void told.push('last'));
  expect(() => interruption.stop({ kind: 'interrupted', reason: undefined })).toThrow('hostile');
  expect(told).toEqual(['first', 'last']);
  expect(interruption.signal.aborted).toBe(true);
});
