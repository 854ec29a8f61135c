import { PassThrough } from 'node:stream';
import { type ManualClock, manualClock } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { LineInput } from './line-input.ts';

interface Asked {
  readonly stdin: PassThrough;
  readonly clock: ManualClock;
  readonly stop: AbortController;
  readonly line: Promise<string | undefined>;
  isAsked(): boolean;
}

function ask(stdin = new PassThrough(), stop = new AbortController()): Asked {
  const clock = manualClock();
  let isAsked = false;
  const line = new LineInput(stdin, clock).line(() => {
    isAsked = true;
  }, stop.signal);
  return { stdin, clock, stop, line, isAsked: () => isAsked };
}

/** Lets a stream hand on what was written to it. */
const delivered = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

describe('a line', () => {
  it('is what was typed before Enter, in pieces or not, and the stream rests after it', async () => {
    const { stdin, clock, line } = ask();
    await clock.advance(50);
    stdin.write('n not');
    await delivered();
    stdin.write(' this\nmore\n');
    expect(await line).toBe('n not this');
    expect(stdin.isPaused()).toBe(true);
    expect([stdin.listenerCount('data'), stdin.listenerCount('end')]).toEqual([0, 0]);
  });

  it('that was typed before the question is thrown away', async () => {
    const { stdin, clock, line, isAsked } = ask();
    stdin.write('y\n');
    await delivered();
    expect(isAsked()).toBe(false);
    await clock.advance(50);
    expect(isAsked()).toBe(true);
    stdin.write('n\n');
    expect(await line).toBe('n');
  });

  it('never comes after the end of the stream, or once the program is to stop', async () => {
    const ended = ask();
    ended.stdin.end();
    expect(await ended.line).toBeUndefined();
    expect(await ask(ended.stdin).line).toBeUndefined();

    const stopped = ask();
    stopped.stop.abort();
    expect(await stopped.line).toBeUndefined();
    expect(await ask(new PassThrough(), stopped.stop).line).toBeUndefined();
    expect(stopped.clock.pending).toBe(0);
  });
});
