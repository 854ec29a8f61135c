import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { guardedController } from './guarded-signal.ts';

const broken = new Error('the listener broke');
const breaks = (): never => {
  throw broken;
};

describe('a listener of a guarded signal', () => {
  it.each<readonly [string, (signal: AbortSignal) => void]>([
    ['a function', signal => signal.addEventListener('abort', breaks)],
    ['an object', signal => signal.addEventListener('abort', { handleEvent: breaks })],
    ['async', signal => signal.addEventListener('abort', async () => breaks())],
    ['an async object', signal => signal.addEventListener('abort', { handleEvent: async () => breaks() })],
    [
      'onabort',
      signal => {
        signal.onabort = breaks;
      },
    ],
  ])('that throws (%s) is told, and others hear of the end', async (_, listen) => {
    const told: unknown[] = [];
    const controller = guardedController(error => told.push(error));
    const { signal } = controller;
    let heard: unknown;
    listen(signal);
    signal.addEventListener('abort', () => {
      heard = signal.reason;
    });
    const reason = new Error('enough');
    controller.abort(reason);
    await sleep(0);
    expect([heard, told]).toEqual([reason, [broken]]);
  });

  it('is called with the signal and the event, once, however often it was added', () => {
    const controller = guardedController(() => {});
    const seen: unknown[] = [];
    function listener(this: unknown, event: Event): void {
      seen.push(this, event.type);
    }
    controller.signal.addEventListener('abort', listener);
    controller.signal.addEventListener('abort', listener, { once: true });
    controller.abort();
    expect(seen).toEqual([controller.signal, 'abort']);
  });

  it('is taken back as it was added, also on two signals', () => {
    const [one, other] = [guardedController(() => {}), guardedController(() => {})];
    const heard: unknown[] = [];
    const listener = (event: Event): number => heard.push(event.target);
    for (const { signal } of [one, other]) {
      signal.addEventListener('abort', listener);
      signal.onabort = listener;
    }
    one.signal.removeEventListener('abort', listener);
    one.signal.onabort = null;
    one.abort();
    other.abort();
    expect(heard).toEqual([other.signal, other.signal]);
  });
});

describe('a guarded signal', () => {
  it('is a signal to the platform: to waiting, to emitters, to requests, and to signals made of it', async () => {
    const controller = guardedController(() => {});
    const { signal } = controller;
    const reason = new Error('enough');
    const waiting = [
      sleep(60_000, undefined, { signal }),
      EventEmitter.once(new EventEmitter(), 'never', { signal }),
      new ReadableStream().pipeTo(new WritableStream(), { signal }),
    ];
    const both = AbortSignal.any([signal, new AbortController().signal]);
    const request = new Request('http://127.0.0.1/', { signal });
    controller.abort(reason);
    for (const promise of waiting)
      await expect(promise).rejects.toSatisfy(error => [error, error.cause].includes(reason));
    expect([signal instanceof AbortSignal, both.reason, request.signal.aborted]).toEqual([true, reason, true]);
    expect(() => signal.throwIfAborted()).toThrow(reason);
  });

  it('leaves what is no listener to the platform', () => {
    const { signal } = guardedController(() => {});
    expect(() => signal.addEventListener('abort', null as never)).not.toThrow();
    expect(() => signal.addEventListener('abort', 'listener' as never)).toThrow(TypeError);
  });
});
