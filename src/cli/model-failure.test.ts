import { ModelError, type ModelErrorKind } from 'looprig';
import { describe, expect, it } from 'vitest';
import { explainModelFailure, plainReason } from './model-failure.ts';
import type { Remote } from './models.ts';

const REMOTE: Remote = { provider: 'openai', name: 'gpt-9', keyVariable: 'OPENAI_API_KEY' };
const ELSEWHERE: Remote = { ...REMOTE, addressFrom: 'OPENAI_BASE_URL' };

function failure(cause: unknown, attempts = 1, kind: ModelErrorKind = 'request_failed'): ModelError {
  return new ModelError(kind, 'the model request failed: no', { attempts, cause });
}

/** An error as provider packages throw it. */
function answered(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode, url: 'https://api.example.com/v1/responses' });
}

/** An error as provider packages throw it where the network fails: the platform's own is inside. */
function unreachable(code: string, message: string): Error {
  const inner = Object.assign(new Error(message), { code });
  const error = new Error(`Cannot connect to API: ${message}`, {
    cause: new TypeError('fetch failed', { cause: inner }),
  });
  return Object.assign(error, { url: 'https://api.example.com/v1/responses' });
}

describe('a model that gave no answer is one sentence with advice', () => {
  it.each([
    [answered(401, 'Bad key.'), 'openai refused the request (401: Bad key): check the key in OPENAI_API_KEY'],
    [answered(403, 'no'), 'openai refused the request (403: no): check the key in OPENAI_API_KEY'],
    [answered(404, 'no'), 'openai found nothing (404: no): check the name of the model, gpt-9'],
    [
      answered(429, 'slow down'),
      'openai takes no more requests now (429: slow down): wait a while, or see what the account of the key allows',
    ],
    [answered(529, 'Overloaded'), 'openai has a fault of its own (529: Overloaded): try again later'],
    [
      answered(400, 'API key not valid.'),
      'openai refused the request (400: API key not valid): check the key in OPENAI_API_KEY',
    ],
    [answered(400, 'too long'), 'openai refused the request (400: too long)'],
    [
      unreachable('ECONNREFUSED', 'refused'),
      'nothing answers at https://api.example.com: check the network, or start what should answer there',
    ],
    [
      unreachable('ENOTFOUND', 'not found'),
      'the host of https://api.example.com is not to be found: check the network',
    ],
    [unreachable('ECERT', 'expired'), 'https://api.example.com cannot be reached (expired): check the network'],
    [
      answered(200, 'Invalid JSON response'),
      'the response from https://api.example.com could not be read (Invalid JSON response): try again',
    ],
    [{}, 'openai gave no answer (no reason was given): try again later'],
    ['just words', 'openai gave no answer (just words): try again later'],
  ])('%s', (cause, sentence) => {
    expect(explainModelFailure(failure(cause), REMOTE)).toBe(sentence);
  });

  it('says how often it was tried', () => {
    expect(explainModelFailure(failure(answered(500, 'oh'), 3), REMOTE)).toBe(
      'openai has a fault of its own, in 3 tries (500: oh): try again later',
    );
  });

  it('names what gave the address, where it is not the provider’s own', () => {
    expect(explainModelFailure(failure(answered(404, 'no')), ELSEWHERE)).toMatch(
      /gpt-9, and the address in OPENAI_BASE_URL$/,
    );
    expect(explainModelFailure(failure(unreachable('ENOTFOUND', '')), ELSEWHERE)).toMatch(
      /check the address in OPENAI_BASE_URL$/,
    );
  });

  it('tells a response that broke off, by the words of the provider inside it', () => {
    const overloaded = { error: { type: 'overloaded_error', message: 'Overloaded' } };
    expect(explainModelFailure(failure(overloaded, 3, 'stream_broken'), REMOTE)).toBe(
      'the response of openai broke off, in 3 tries (Overloaded): try again',
    );
  });

  it('names the address too where a response made no sense and the address was given', () => {
    const look = 'or check the address in OPENAI_BASE_URL';
    expect(explainModelFailure(failure(answered(200, 'Invalid JSON response')), ELSEWHERE)).toMatch(
      `: try again, ${look}`,
    );
    expect(explainModelFailure(failure('it ended', 3, 'stream_broken'), ELSEWHERE)).toMatch(`: try again, ${look}`);
    expect(explainModelFailure(failure(undefined, 1, 'empty_response'), ELSEWHERE)).toMatch(
      `or another model, ${look}`,
    );
  });

  it('is the message of the error where the model answers here', () => {
    expect(explainModelFailure(failure(answered(401, 'x')), undefined)).toBe('the model request failed: no');
  });

  it('is cut where the provider sent a page', () => {
    expect(explainModelFailure(failure(answered(400, 'x'.repeat(5_000))), REMOTE).length).toBeLessThan(400);
  });
});

it.each([
  ['Failed to process successful response', 'the response broke off'],
  ['terminated', 'the connection broke off'],
  ['Cannot connect to API: other side closed', 'other side closed'],
  ['Overloaded.', 'Overloaded'],
])('%s is told as: %s', (reason, words) => {
  expect(plainReason(reason)).toBe(words);
});
