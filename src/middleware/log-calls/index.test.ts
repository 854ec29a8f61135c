import { afterEach, describe, expect, test, vi } from 'vitest';
import { runOnce, said, testCall } from '../../../test/support/middleware-call.ts';
import { type ToolResult, toolError, toolResult } from '../../define/tool.ts';
import { manualClock } from '../../testing/index.ts';
import { type CallLog, type LogCallsOptions, logCalls } from './index.ts';

const ids = { toolName: 't', callId: 'c1', sessionId: 's1', loopId: 'l1', turnId: 't1', stepId: 'st1' };

/** What is logged, records and lines. */
function logged(options: LogCallsOptions = {}) {
  const records: CallLog[] = [];
  const lines: string[] = [];
  const clock = manualClock(1_000);
  const middleware = logCalls({
    clock,
    log: (record, line) => {
      records.push(record);
      lines.push(line);
    },
    ...options,
  });
  return { records, lines, clock, middleware };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the records of a call', () => {
  test('are one at its start and one at its end, with ids, outcome and duration', async () => {
    const { records, lines, clock, middleware } = logged();
    await runOnce(middleware, async () => {
      await clock.advance(250);
      return toolResult('secret');
    });

    expect(records).toEqual([
      { type: 'started', at: 1_000, ...ids },
      { type: 'ended', at: 1_250, ...ids, outcome: 'done', durationMs: 250 },
    ]);
    expect(lines).toEqual(['t c1 (session s1) started', 't c1 (session s1) done after 250 ms']);
    expect(records.every(record => Object.isFrozen(record))).toBe(true);
  });

  test.each<readonly [string, () => ToolResult]>([
    ['an error result', () => toolError('no')],
    ['what is no result', () => undefined as never],
    [
      'an error that is thrown',
      () => {
        throw new Error('secret');
      },
    ],
  ])('say that %s is a failure, and no more', async (_, tool) => {
    const { records, middleware } = logged();
    await runOnce(middleware, tool).catch(() => {});

    expect(records).toMatchObject([{ type: 'started' }, { type: 'ended', outcome: 'failed' }]);
    expect(JSON.stringify(records)).not.toContain('secret');
  });

  test('end when the call is aborted, whether the tool heeds that or not', async () => {
    const { records, clock, middleware } = logged();
    const { call, abort } = testCall();
    const { promise, resolve } = Promise.withResolvers<ToolResult>();
    const result = middleware(call, () => promise);
    await clock.advance(40);
    abort();
    expect(records).toMatchObject([{ type: 'started' }, { outcome: 'stopped', durationMs: 40 }]);
    resolve(toolResult('late'));

    expect(said(await result)).toBe('late');
    expect(records).toHaveLength(2);
  });

  test('hold the arguments only where that is asked for, as a copy', async () => {
    const without = logged();
    const withThem = logged({ arguments: true });
    const input = { city: 'Rome', days: [1] };
    await runOnce(without.middleware, () => toolResult('ok'), { input });
    await runOnce(withThem.middleware, () => toolResult('ok'), { input });
    input.days.push(2);

    expect(JSON.stringify([without.records, without.lines])).not.toContain('Rome');
    expect(withThem.records[0]).toMatchObject({ arguments: { city: 'Rome', days: [1] } });
    expect(withThem.lines[0]).toBe('t c1 (session s1) started with {"city":"Rome","days":[1]}');
  });

  test('leave out arguments that cannot be copied', async () => {
    const { records, middleware } = logged({ arguments: true });
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const broken = {
      get x(): never {
        throw new Error('no');
      },
    };
    for (const input of [cyclic, broken]) await runOnce(middleware, () => toolResult('ok'), { input });

    expect(records.filter(record => 'arguments' in record)).toEqual([]);
    expect(records).toHaveLength(4);
  });

  test('have a duration of at least 0, also when the clock is set back', async () => {
    let now = 1_000;
    const { records, middleware } = logged({ clock: { now: () => now, setTimer: () => 1, clearTimer: () => {} } });
    await runOnce(middleware, () => {
      now = 5;
      return toolResult('ok');
    });

    expect(records[1]).toMatchObject({ at: 5, durationMs: 0 });
  });
});

describe('a line', () => {
  test('is one line of printable text, whatever the model made up as an id or an argument', async () => {
    const { lines, middleware } = logged({ arguments: true });
    const callId = 'x\nt c2 (session s1) done\u001b[2J\u009b2J\u2028\u202e';
    await runOnce(middleware, () => toolResult('ok'), { callId, input: { a: 'b\r\n\u0085\u2029\u2066' } });

    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
    expect(lines[0]).toContain('"x\\nt c2 (session s1) done');
  });

  test('is bounded', async () => {
    const { lines, records, middleware } = logged({ arguments: true });
    const input = { text: 'x'.repeat(10_000) };
    await runOnce(middleware, () => toolResult('ok'), { callId: 'y'.repeat(10_000), input });

    expect(lines[0]!.length).toBeLessThan(800);
    expect(records[0]).toMatchObject({ arguments: input });
  });

  test('goes to console.error where nothing else is said', async () => {
    const written = vi.spyOn(console, 'error').mockImplementation(() => {});
    await runOnce(logCalls({ clock: manualClock() }), () => toolResult('ok'));

    expect(written.mock.calls).toEqual([['t c1 (session s1) started'], ['t c1 (session s1) done after 0 ms']]);
  });
});

test.each<readonly [string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('the log broke');
    },
  ],
  ['rejects', () => Promise.reject(new Error('the log broke'))],
  ['never settles', () => new Promise(() => {})],
  [
    'gives what cannot be waited for',
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: it is what is tested
      get then(): never {
        throw new Error('the log broke');
      },
    }),
  ],
])('a log that %s changes nothing', async (_, log) => {
  const middleware = logCalls({ log });

  expect(said(await runOnce(middleware, () => toolResult('ok')))).toBe('ok');
  await expect(
    runOnce(middleware, () => {
      throw new Error('the tool broke');
    }),
  ).rejects.toThrow('the tool broke');
});
