import { expectTypeOf, test } from 'vitest';
import type { MiddlewareCall, ToolMiddleware } from '../define/middleware.ts';
import { type CallLog, cache, type FailedAttempt, logCalls, rateLimit, redact, retry } from './index.ts';

test('each gives a middleware of its options', () => {
  expectTypeOf([
    retry({
      tools: 'all',
      when: async (failed, attempt, call) => {
        expectTypeOf(failed).toEqualTypeOf<FailedAttempt>();
        expectTypeOf(attempt).toEqualTypeOf<number>();
        expectTypeOf(call).toEqualTypeOf<MiddlewareCall>();
        return failed.kind === 'result' ? failed.result.isError : failed.error instanceof TypeError;
      },
    }),
    cache({ tools: ['search'], ttlMs: Infinity, key: ({ callId }) => (callId === '' ? undefined : callId) }),
    redact(),
    rateLimit({ calls: 1, perMs: 1 }),
    logCalls({ log: record => (record.type === 'ended' ? record.durationMs : record.at) }),
  ]).toEqualTypeOf<ToolMiddleware[]>();
  expectTypeOf<CallLog['type']>().toEqualTypeOf<'started' | 'ended'>();
});

test('the tools that may run twice, and those whose results may be used twice, must be named', () => {
  // @ts-expect-error no tools
  retry({});
  // @ts-expect-error no options
  retry();
  // @ts-expect-error one name instead of a list
  retry({ tools: 'search' });
  // @ts-expect-error every tool is too much for a cache
  cache({ tools: 'all' });
  // @ts-expect-error no tools
  cache({ ttlMs: 1 });
});

test('options of other types and other names do not compile', () => {
  // @ts-expect-error a text is no number
  retry({ tools: ['a'], times: '2' });
  // @ts-expect-error a failure is not decided by a text
  retry({ tools: ['a'], when: () => 'yes' });
  // @ts-expect-error a misspelt option
  retry({ tools: ['a'], delay: 5 });
  // @ts-expect-error a key is a text
  cache({ tools: ['a'], key: () => 1 });
  // @ts-expect-error a text is no pattern
  redact({ patterns: ['sk-'] });
  // @ts-expect-error a pattern is no value
  redact({ values: [/sk-/] });
  // @ts-expect-error a limit needs both numbers
  rateLimit({ calls: 1 });
  // @ts-expect-error a clock has timers
  rateLimit({ calls: 1, perMs: 1, clock: { now: () => 0 } });
  // @ts-expect-error a record has no result
  logCalls({ log: record => record.result });
});
