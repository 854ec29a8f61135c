import { describe, expect, it } from 'vitest';
import { failureText, retryDelay } from './retry.ts';

const failed = (cause: unknown, kind = 'request_failed') => ({ kind, cause });
const wait = (cause: unknown, kind?: string): number | undefined => retryDelay(failed(cause, kind), 1, 2, 1, 0);

function cyclic(): object {
  const cause: { cause?: object } = {};
  cause.cause = cause;
  return cause;
}

/** What provider packages make of a body that cannot be read to its end: they look at the status alone. */
function lost(statusCode: number): object {
  return { isRetryable: false, statusCode, cause: new TypeError('terminated', { cause: { code: 'Z_DATA_ERROR' } }) };
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
    ['a stream that closed too early', Object.assign(new Error('x'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }), true],
    ['a lost stream of HTTP/2', Object.assign(new Error('x'), { code: 'ERR_HTTP2_STREAM_ERROR' }), true],
    ['a name that is not found', new TypeError('fetch failed', { cause: { code: 'ENOTFOUND' } }), true],
    ['a lost connection, as Bun says it', Object.assign(new Error('x'), { code: 'ConnectionClosed' }), true],
    ['a wrong argument', Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' }), false],
    ['a lost connection, as browsers say it', new TypeError('Failed to fetch'), true],
    ['a lost connection, as Safari says it', new TypeError('Load failed'), true],
    ['a cause that is its own cause', cyclic(), false],
    ['a time-out of the provider', new DOMException('late', 'TimeoutError'), true],
    ['an overloaded server, told in a stream', { type: 'overloaded_error' }, true],
    ['an invalid request, told in a stream', { type: 'invalid_request_error' }, false],
    ['an error of a stream with its status as its code', { message: 'no upstream', code: 502 }, true],
    ['an error of a stream with its status as its code, in words', { message: 'busy', code: '429' }, true],
    ['an error of a stream with the status of a bad request', { message: 'too long', code: 400 }, false],
    ['a rate limit told by its code, beside a type of its own', { type: 'tokens', code: 'rate_limit_exceeded' }, true],
    ['a rate limit told by a code further down', { error: { type: 'requests', code: 'rate_limit_exceeded' } }, true],
    ['a quota that is used up', { type: 'insufficient_quota', code: 'insufficient_quota' }, false],
    ['a response lost on its way, which the provider calls final by its status', lost(200), true],
    ['a lost error response, which the provider calls final', lost(400), false],
    [
      'a response that the provider could not read',
      { isRetryable: false, statusCode: 200, cause: new Error('x') },
      false,
    ],
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

  it.each([
    ['by its code', { message: 'too long', code: 400 }, false],
    ['by its type', { type: 'invalid_request_error', code: null }, false],
    ['by its code in words', { message: 'x', code: 'context_length_exceeded' }, false],
    ['with neither', { message: 'x', code: null }, true],
    ['with a code that is no status', { message: 'x', code: 7 }, true],
  ])('an error in the middle of a stream, %s', (_, cause, again) => {
    expect(wait(cause, 'stream_broken') !== undefined).toBe(again);
  });

  it.each([
    ['is not tried again', { type: 'mcp_tool_use', id: 'x' }, false],
    ['is not tried again where it is an error that stays', { error: { type: 'invalid_request_error' } }, false],
    ['is tried again where it is an error that passes', { error: { type: 'overloaded_error' } }, true],
    ['is tried again where it is an error with a status that passes', { error: { code: 503 } }, true],
    ['is tried again where it is no part, but garbage', 7, true],
  ])('a part of a stream that the package cannot read %s', (_, value, again) => {
    const cause = Object.assign(new Error('Type validation failed'), { name: 'AI_TypeValidationError', value });
    expect(wait(cause, 'stream_broken') !== undefined).toBe(again);
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
    [{ 'retry-after': '1970-01-01T00:00:09Z' }, 9_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': 'soon' }, 1_000],
    [{ 'retry-after': 'in 5' }, 1_000],
    [{ 'retry-after': '1,5' }, 1_000],
    [{ 'retry-after': '0x10' }, 1_000],
    [{ 'retry-after': 'Infinity' }, 1_000],
    [{ 'retry-after': '99999999999999999999' }, undefined],
    [{ 'retry-after-ms': '300001' }, undefined],
    [{ 'retry-after-ms': 'NaN', 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '-5' }, 1_000],
    [{ 'retry-after': '' }, 1_000],
    [{ 'retry-after-ms': ' ', 'retry-after': '2' }, 2_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': 'Wed, 31 Dec 1969 23:59:00 GMT' }, 0],
  ])('heeds %j', (responseHeaders, delay) => {
    expect(wait({ isRetryable: true, responseHeaders })).toBe(delay);
  });
});

describe('what is said of a failure', () => {
  const parsing = new Error('incorrect header check');
  it.each([
    ['the provider’s sentence', { message: 'slow down', statusCode: 429 }, 'slow down'],
    ['the status, where there is no sentence', { message: '', statusCode: 502 }, 'HTTP status 502'],
    ['the status, where the sentence is blank', { message: ' ', statusCode: 400 }, 'HTTP status 400'],
    [
      'why a response could not be read',
      {
        message: 'Failed to process successful response',
        statusCode: 200,
        cause: new TypeError('terminated', { cause: parsing }),
      },
      'HTTP status 200, the response could not be read (incorrect header check)',
    ],
    ['nothing, where nothing is known', { message: '' }, 'it failed without a message'],
    ['a word', 'no', 'no'],
  ])('is %s', (_, cause, text) => {
    expect(failureText(cause)).toBe(text);
  });
});
