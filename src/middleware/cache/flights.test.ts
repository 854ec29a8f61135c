import { describe, expect, test } from 'vitest';
import { said, testCall } from '../../../test/support/middleware-call.ts';
import { type ToolResult, toolResult } from '../../define/tool.ts';
import { cache } from './index.ts';

describe('calls that are the same and run at the same time', () => {
  /** A tool whose runs are ended by hand, in the order of their starts. */
  function held(): { readonly runs: PromiseWithResolvers<ToolResult>[]; next(): Promise<ToolResult> } {
    const runs: PromiseWithResolvers<ToolResult>[] = [];
    return {
      runs,
      next: () => {
        const run = Promise.withResolvers<ToolResult>();
        runs.push(run);
        return run.promise;
      },
    };
  }
  const calls = (count: number) => Array.from({ length: count }, (_, n) => testCall({ callId: `c${n}` }));
  const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

  test('share one run', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const results = calls(3).map(({ call }) => middleware(call, next));
    runs[0]?.resolve(toolResult('once'));

    expect((await Promise.all(results)).map(said)).toEqual(['once', 'once', 'once']);
    expect(runs).toHaveLength(1);
  });

  test('share its error, which nobody later gets', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const results = calls(2).map(({ call }) => middleware(call, next));
    runs[0]?.reject(new Error('no'));
    for (const result of results) await expect(result).rejects.toThrow('no');
    const later = middleware(testCall({ callId: 'later' }).call, next);
    runs[1]?.resolve(toolResult('yes'));

    expect(said(await later)).toBe('yes');
  });

  test('do not fail with the first when it is aborted: the next of them runs, once for all that wait', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const [first, ...others] = calls(3);
    const failing = middleware(first!.call, next);
    const results = others.map(({ call }) => middleware(call, next));
    first?.abort();
    runs[0]?.reject(new Error('aborted'));
    await expect(failing).rejects.toThrow('aborted');
    await tick();
    runs[1]?.resolve(toolResult('second'));

    expect((await Promise.all(results)).map(said)).toEqual(['second', 'second']);
    expect(runs).toHaveLength(2);
  });

  test('do not wait for a first that was aborted and never settles, and what it still gives is not kept', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const [first, second] = calls(2);
    const stuck = middleware(first!.call, next);
    const result = middleware(second!.call, next);
    first?.abort();
    await tick();
    runs[1]?.resolve(toolResult('second'));
    expect(said(await result)).toBe('second');
    runs[0]?.resolve(toolResult('half'));
    expect(said(await stuck)).toBe('half');

    expect(said(await middleware(testCall({ callId: 'later' }).call, next))).toBe('second');
  });

  test('stop waiting when they are aborted themselves, and the first goes on', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const [first, second] = calls(2);
    const result = middleware(first!.call, next);
    const waiting = middleware(second!.call, next);
    second?.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    runs[0]?.resolve(toolResult('first'));

    expect(said(await result)).toBe('first');
  });

  test('do not wait at all when they are aborted before they come', async () => {
    const middleware = cache({ tools: ['t'] });
    const { next } = held();
    void middleware(testCall({ callId: 'c1' }).call, next);
    const signal = AbortSignal.abort(new Error('stopped'));

    await expect(middleware(testCall({ callId: 'c2', signal }).call, next)).rejects.toThrow('stopped');
  });

  test('run one by one where the first was aborted before the second came', async () => {
    const middleware = cache({ tools: ['t'] });
    const { runs, next } = held();
    const [first, second] = calls(2);
    void middleware(first!.call, next);
    first?.abort();
    const result = middleware(second!.call, next);
    await tick();
    runs[1]?.resolve(toolResult('second'));

    expect(said(await result)).toBe('second');
  });

  test('are not the call itself: a cache that stands twice in a list runs it', async () => {
    const middleware = cache({ tools: ['t'] });
    const { call } = testCall();
    const result = await middleware(call, async () => {
      await tick();
      return middleware(call, async () => toolResult('once'));
    });

    expect(said(result)).toBe('once');
  });
});
