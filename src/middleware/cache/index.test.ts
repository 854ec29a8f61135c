import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runOnce, said } from '../../../test/support/middleware-call.ts';
import { systemClock } from '../../clock.ts';
import type { MiddlewareCall, ToolMiddleware } from '../../define/middleware.ts';
import { type ToolResult, toolError, toolResult } from '../../define/tool.ts';
import { manualClock } from '../../testing/index.ts';
import { cache } from './index.ts';

/** A tool that counts its runs, and says which one it was. */
function counting(): { runs: number; tool(): ToolResult } {
  const counting = { runs: 0, tool: (): ToolResult => toolResult(`run ${++counting.runs}`) };
  return counting;
}

/** Whether two calls, one after the other, share one run. */
async function areOne(
  one: Partial<MiddlewareCall>,
  other: Partial<MiddlewareCall>,
  middleware: ToolMiddleware = cache({ tools: ['t', 'u'] }),
): Promise<boolean> {
  const counted = counting();
  await runOnce(middleware, counted.tool, one);
  await runOnce(middleware, counted.tool, { callId: 'c2', ...other });
  return counted.runs === 1;
}

describe('which calls are the same', () => {
  test('those of one tool with the same arguments, in whatever order their keys stand', async () => {
    expect(await areOne({ input: { a: 1, b: [2, { c: 3, d: 4 }] } }, { input: { b: [2, { d: 4, c: 3 }], a: 1 } })).toBe(
      true,
    );
    expect(await areOne({ input: { a: 1 } }, { input: { a: '1' } })).toBe(false);
    expect(await areOne({ input: [1, 2] }, { input: [2, 1] })).toBe(false);
  });

  test('not those of other tools, sessions and loops', async () => {
    expect(await areOne({}, { toolName: 'u' })).toBe(false);
    expect(await areOne({}, { sessionId: 's2' })).toBe(false);
    expect(await areOne({}, { loopId: 'l2' })).toBe(false);
    expect(await areOne({ sessionId: 'a","b', loopId: 'c' }, { sessionId: 'a', loopId: 'b","c' })).toBe(false);
  });

  test('not those of a tool that is not named', async () => {
    expect(await areOne({}, {}, cache({ tools: ['other'] }))).toBe(false);
  });

  test('not those whose arguments JSON does not tell apart', async () => {
    for (const input of [
      ...[new Map([[1, 2]]), { at: new Date(0) }, { n: 1n }, [undefined], { n: Number.NaN }, { f: () => 1 }],
      ...[{ toJSON: () => 1 }, new (class Point {})(), { re: /a/ }],
    ]) {
      expect(await areOne({ input }, { input })).toBe(false);
    }
  });

  test('that cannot be read are not the same as any other', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;

    expect(await areOne({ input: proxy }, { input: proxy })).toBe(false);
    expect(await areOne({ input: cycle }, { input: cycle })).toBe(false);
  });

  test('by a key of the program’s own, where it gives one', async () => {
    const byCity = cache({ tools: ['t'], key: ({ input }) => (input as { city?: string }).city?.toLowerCase() });

    expect(await areOne({ input: { city: 'Rome', at: 1 } }, { input: { city: 'rome', at: 2 } }, byCity)).toBe(true);
    expect(await areOne({ input: { city: 'Oslo' } }, { input: { city: 'Oslo' }, sessionId: 's2' }, byCity)).toBe(false);
    expect(await areOne({ input: {} }, { input: {} }, byCity)).toBe(false);
  });

  test('never by a key that is no text', async () => {
    const call = runOnce(cache({ tools: ['t'], key: () => 7 as never }), counting().tool);

    await expect(call).rejects.toThrow('the "key" function of cache must give a text or undefined for a call of "t"');
  });

  test('exactly when their arguments are the same JSON', async () => {
    const small = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom('a', '"', '1') });
    await fc.assert(
      fc.asyncProperty(small, small, async (one, other) => {
        const same = sortedText(one) === sortedText(other);
        expect(await areOne({ input: one }, { input: other })).toBe(same);
        expect(await areOne({ input: one }, { input: structuredClone(one) })).toBe(true);
      }),
    );
  });
});

/** JSON with sorted keys, by another way than the cache's. */
function sortedText(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return ['object', ...Object.entries(item).sort(([one], [other]) => (one < other ? -1 : 1))];
  });
}

describe('what is kept', () => {
  test('is used for as long as ttlMs says, from its coming', async () => {
    const clock = manualClock(1_000);
    const middleware = cache({ tools: ['t'], ttlMs: 100, clock });
    const { tool } = counting();
    const texts: unknown[] = [];
    for (const ms of [0, 99, 1, 99, 1]) {
      await clock.advance(ms);
      texts.push(said(await runOnce(middleware, tool)));
    }

    expect(texts).toEqual(['run 1', 'run 1', 'run 2', 'run 2', 'run 3']);
  });

  test('is used for ever with Infinity, and not at all once the clock is set back', async () => {
    let now = 1_000;
    const clock = { ...systemClock, now: () => now };
    const middleware = cache({ tools: ['t'], ttlMs: Number.POSITIVE_INFINITY, clock });
    const { tool } = counting();
    await runOnce(middleware, tool);
    now = 1e15;
    expect(said(await runOnce(middleware, tool))).toBe('run 1');
    now = 0;
    expect(said(await runOnce(middleware, tool))).toBe('run 2');
  });

  test('is at most so many results: the one unused for longest goes', async () => {
    const middleware = cache({ tools: ['t'], max: 2 });
    const { tool } = counting();
    const texts: unknown[] = [];
    for (const input of ['a', 'b', 'a', 'c', 'a', 'b']) texts.push(said(await runOnce(middleware, tool, { input })));

    expect(texts).toEqual(['run 1', 'run 2', 'run 1', 'run 3', 'run 1', 'run 4']);
  });

  test.each<readonly [string, () => ToolResult]>([
    ['an error', () => toolError('no')],
    ['nothing', () => toolResult([])],
    ['an empty text', () => toolResult('')],
    ['what is no result', () => 'text' as never],
    ['a cycle', () => toolResult([{ type: 'json', value: cyclic() }])],
    ['a Map', () => toolResult([{ type: 'json', value: { inside: new Map() } }])],
    ['a function', () => toolResult([{ type: 'json', value: () => 1 }])],
    ['what cannot be read', () => toolResult([{ type: 'json', value: unreadable() }])],
    ['a part of another kind', () => toolResult([{ type: 'video' } as never])],
    ['a text that is none', () => toolResult([{ type: 'text', text: 7 } as never])],
    ['data that are none', () => toolResult([{ type: 'image', mediaType: 'image/png', data: 7 as never }])],
  ])('is never %s', async (_, give) => {
    let runs = 0;
    const tool = (): ToolResult => {
      runs += 1;
      return give();
    };
    const middleware = cache({ tools: ['t'] });
    await runOnce(middleware, tool);
    await runOnce(middleware, tool);

    expect(runs).toBe(2);
  });

  test('is never what was thrown', async () => {
    const middleware = cache({ tools: ['t'] });
    let runs = 0;
    const tool = (): ToolResult => {
      runs += 1;
      if (runs === 1) throw new Error('no');
      return toolResult('ok');
    };

    await expect(runOnce(middleware, tool)).rejects.toThrow('no');
    expect(said(await runOnce(middleware, tool))).toBe('ok');
  });

  test('is what the tool gave, whatever happens to that later', async () => {
    const rows = [{ id: 1 }];
    const bytes = new Uint8Array([1, 2, 3]);
    const tool = (): ToolResult =>
      toolResult(
        [
          { type: 'json', value: { rows, at: new Date(0) } },
          { type: 'image', mediaType: 'image/png', data: bytes },
          { type: 'file', mediaType: 'text/plain', data: 'aGk=', filename: 'hi.txt' },
        ],
        { endTurn: true },
      );
    const middleware = cache({ tools: ['t'] });
    const first = await runOnce(middleware, tool);
    rows[0]!.id = 9;
    rows.push({ id: 10 });
    bytes.fill(0);
    const [json] = first.content;
    if (json?.type === 'json') expect(Reflect.set((json.value as { rows: object[] }).rows[0]!, 'id', 7)).toBe(false);
    if (json?.type === 'json') expect(Object.isFrozen((json.value as { rows: object[] }).rows)).toBe(true);
    const second = await runOnce(middleware, tool);

    expect(said(second)).toEqual([
      { rows: [{ id: 1 }], at: '1970-01-01T00:00:00.000Z' },
      { type: 'image', mediaType: 'image/png', data: 'AQID' },
      { type: 'file', mediaType: 'text/plain', data: 'aGk=', filename: 'hi.txt' },
    ]);
    expect(second.endTurn).toBe(true);
    expect(second.content.every(part => Object.isFrozen(part))).toBe(true);
  });

  test('keeps keys such as __proto__ as data', async () => {
    const middleware = cache({ tools: ['t'] });
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":1}');
    const result = await runOnce(middleware, () => toolResult([{ type: 'json', value }]));

    expect(JSON.stringify(said(result))).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });
});

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

function unreadable(): unknown {
  return {
    get broken(): never {
      throw new Error('no');
    },
  };
}
