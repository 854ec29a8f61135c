import { DefinitionError } from 'looprig';
import { manualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import type { Engine, RunOutcome, RunSignals, TurnRef } from './engine.ts';
import { localEngine } from './local.ts';

const ref = (sessionId: string, turnId: string): TurnRef => ({ sessionId, turnId });
const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** A worker whose runs a test ends. */
async function worker(engine: Engine) {
  const runs: { readonly ref: TurnRef; readonly signals: RunSignals; end: PromiseWithResolvers<RunOutcome> }[] = [];
  const serving = await engine.serve((turn, signals) => {
    const end = Promise.withResolvers<RunOutcome>();
    runs.push({ ref: turn, signals, end });
    return end.promise;
  });
  const names = (): string[] => runs.map(({ ref: { sessionId, turnId } }) => `${sessionId}/${turnId}`);
  const end = async (index: number, outcome: RunOutcome | Error): Promise<void> => {
    if (outcome instanceof Error) runs[index]!.end.reject(outcome);
    else runs[index]!.end.resolve(outcome);
    await settle();
  };
  return { serving, runs, names, end };
}

const done = { status: 'done' } as const;
const waiting = { status: 'waiting', gateIds: ['g'] } as const;

describe('the local engine', () => {
  it('runs the turns of a session one at a time, in the order of their start, and sessions beside each other', async () => {
    const engine = localEngine();
    const { names, end } = await worker(engine);
    for (const turn of ['1', '2', '1', '3']) await engine.start(ref('a', turn));
    await engine.start(ref('b', '1'));
    expect(names()).toEqual(['a/1', 'b/1']);
    await end(0, done);
    expect(names()).toEqual(['a/1', 'b/1', 'a/2']);
    await end(1, done);
    await end(2, done);
    expect(names()).toEqual(['a/1', 'b/1', 'a/2', 'a/3']);
  });

  it('runs a turn that waits again when it is woken, and those behind it after it', async () => {
    const engine = localEngine();
    const { names, end } = await worker(engine);
    await engine.start(ref('a', '1'));
    await engine.start(ref('a', '2'));
    await end(0, waiting);
    await engine.wake(ref('a', '2'));
    expect(names()).toEqual(['a/1']);
    await engine.wake(ref('a', '1'));
    expect(names()).toEqual(['a/1', 'a/1']);
    await end(1, done);
    expect(names()).toEqual(['a/1', 'a/1', 'a/2']);
  });

  it('loses no wake that comes while the turn runs', async () => {
    const engine = localEngine();
    const { names, end } = await worker(engine);
    await engine.start(ref('a', '1'));
    await engine.wake(ref('a', '1'));
    await end(0, waiting);
    expect(names()).toEqual(['a/1', 'a/1']);
    await end(1, waiting);
    expect(names()).toEqual(['a/1', 'a/1']);
  });

  it('runs a turn that waits again at its time', async () => {
    const clock = manualClock(1_000);
    const engine = localEngine({ clock });
    const { names, end } = await worker(engine);
    await engine.start(ref('a', '1'));
    await end(0, { ...waiting, until: 1_500 });
    await clock.advance(499);
    expect(names()).toHaveLength(1);
    await clock.advance(1);
    expect(names()).toHaveLength(2);
  });

  it('tells a run that its turn is cancelled, and a later run of it too', async () => {
    const engine = localEngine();
    const { runs, end } = await worker(engine);
    await engine.start(ref('a', '1'));
    await engine.start(ref('a', '2'));
    await engine.cancel(ref('a', '2'));
    await engine.cancel(ref('a', '1'));
    expect(runs[0]!.signals.cancelled.aborted).toBe(true);
    await end(0, done);
    expect(runs[1]!.signals.cancelled.aborted).toBe(true);
    await end(1, done);
    await engine.start(ref('a', '3'));
    await end(2, waiting);
    await engine.cancel(ref('a', '3'));
    expect(runs[3]!.signals.cancelled.aborted).toBe(true);
    await engine.cancel(ref('b', '1'));
  });

  it('tries a run that failed again, later and later, in order', async () => {
    const clock = manualClock();
    const engine = localEngine({ clock });
    const { names, end } = await worker(engine);
    await engine.start(ref('a', '1'));
    await engine.start(ref('a', '2'));
    for (const [index, ms] of [500, 1_000, 2_000].entries()) {
      await end(index, new Error('no store'));
      await clock.advance(ms - 1);
      expect(names()).toHaveLength(index + 1);
      await clock.advance(1);
      expect(names()).toHaveLength(index + 2);
    }
    expect(new Set(names())).toEqual(new Set(['a/1']));
  });

  it('gives a turn that was released to another worker, and keeps what nobody serves', async () => {
    const engine = localEngine();
    await engine.start(ref('a', '1'));
    const one = await worker(engine);
    expect(one.names()).toEqual(['a/1']);
    const closing = one.serving.close();
    await engine.start(ref('b', '1'));
    expect(one.names()).toEqual(['a/1']);
    await one.end(0, { status: 'released' });
    await closing;
    expect(await engine.has!(ref('a', '1'))).toBe(true);
    const other = await worker(engine);
    expect(other.names()).toEqual(['a/1', 'b/1']);
    await other.end(0, done);
    expect(await engine.has!(ref('a', '1'))).toBe(false);
  });

  it('runs no more turns at a time than it may', async () => {
    const engine = localEngine({ parallel: 2 });
    const { names, end } = await worker(engine);
    for (const session of ['a', 'b', 'c', 'd']) await engine.start(ref(session, '1'));
    expect(names()).toEqual(['a/1', 'b/1']);
    await end(0, waiting);
    expect(names()).toEqual(['a/1', 'b/1', 'c/1']);
    await end(1, done);
    expect(names()).toEqual(['a/1', 'b/1', 'c/1', 'd/1']);
  });

  it('refuses options that it cannot take', () => {
    expect(() => localEngine({ parallel: 0 })).toThrow('"parallel" must be a positive integer, not 0');
    expect(() => localEngine({ threads: 2 } as never)).toThrow(DefinitionError);
  });
});
