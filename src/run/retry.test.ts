import { describe, expect, it } from 'vitest';
import { retryDelay } from './retry.ts';

const failed = (cause: unknown, kind = 'request_failed') => ({ kind, cause });
const wait = (cause: unknown, kind?: string): number | undefined => retryDelay(failed(cause, kind), 1, 2, 1, 0);

function cyclic(): object {
  const cause: { cause?: object } = {};
  cause.cause = cause;
  return cause;
}

describe('whether to try again', () => {
  it.each([
    ['what the provider calls retryable', { isRetryable: true }, true],
    ['what the provider calls final', { isRetryable: false, statusCode: 503 }, false],
    ['too many requests', { statusCode: 429 }, true],
    ['a server fault', { statusCode: 529 }, true],
    ['a bad request', { statusCode: 400 }, false],
    ['a lost connection', Object.assign(new Error('x'), { code: 'ECONNRESET' }), true],
    ['a lost connection, further down', new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } }), true],
    ['a lost connection, as browsers say it', new TypeError('Failed to fetch'), true],
    ['a lost connection, as Safari says it', new TypeError('Load failed'), true],
    ['a cause that is its own cause', cyclic(), false],
    ['a time-out of the provider', new DOMException('late', 'TimeoutError'), true],
    ['an overloaded server, told in a stream', { type: 'overloaded_error' }, true],
    ['an invalid request, told in a stream', { type: 'invalid_request_error' }, false],
    ['a program error', new TypeError('x is not a function'), false],
    [
      'nothing readable',
      new Proxy(
        {},
        {
          get() {
            throw new Error('no');
          },
        },
      ),
      false,
    ],
  ])('%s', (_, cause, again) => {
    expect(wait(cause) !== undefined).toBe(again);
  });

  it('a stream that broke without a word is a lost connection', () => {
    expect(wait(new Error('ended'), 'stream_broken')).toBe(1_000);
    expect(wait(new Error('ended'))).toBeUndefined();
  });

  it('ends after the retries that are allowed', () => {
    const cause = { isRetryable: true };
    expect(retryDelay(failed(cause), 2, 2, 1, 0)).toBe(2_000);
    expect(retryDelay(failed(cause), 3, 2, 1, 0)).toBeUndefined();
    expect(retryDelay(failed(cause), 1, 0, 1, 0)).toBeUndefined();
  });
});

describe('how long to wait', () => {
  it('doubles up to thirty seconds, between half and all of it', () => {
    const delays = [1, 2, 3, 4, 5, 6, 7].map(attempt => retryDelay(failed({ isRetryable: true }), attempt, 9, 1, 0));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(retryDelay(failed({ isRetryable: true }), 1, 9, 0, 0)).toBe(500);
  });

  it.each([
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, 9_000],
    [{ 'retry-after': '301' }, undefined],
    [{ 'retry-after': 'soon' }, 1_000],
    [{ 'retry-after': '-5' }, 1_000],
    [{ 'retry-after': '' }, 1_000],
    [{ 'retry-after-ms': ' ', 'retry-after': '2' }, 2_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': 'Wed, 31 Dec 1969 23:59:00 GMT' }, 0],
  ])('heeds %j', (responseHeaders, delay) => {
    expect(wait({ isRetryable: true, responseHeaders })).toBe(delay);
  });
});
