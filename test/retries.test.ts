/** What becomes of requests that fail, asked through the real provider packages of a server on this machine. */
import { describe, expect, it } from 'vitest';
import { ask, errorOf, finish, openAt, START } from './recordings/broken-asking.ts';
import { type Answer, closing, failing, serveAnswers, whole } from './recordings/broken-server.ts';
import { answering, WIRES } from './recordings/broken-wire.ts';

const wires = WIRES.map(wire => [wire.name, wire] as const);
const bothWays = WIRES.flatMap(wire => [true, false].map(stream => [wire.name, stream, wire] as const));

const PASSING = [408, 409, 429, 500, 502, 503, 504, 529];
const FINAL = [400, 401, 403, 404, 413, 422];

describe('an HTTP status', () => {
  it.each(bothWays)(
    'that passes is tried again twice, and its sentence told: %s (stream: %s)',
    async (_, stream, wire) => {
      for (const status of PASSING) {
        const asked = await ask(wire, [failing(status, { body: wire.error('the sentence') })], { stream });
        const error = errorOf(asked);
        expect(asked.requests, String(status)).toHaveLength(3);
        expect(error).toMatchObject({ kind: 'request_failed', attempts: 3, cause: { statusCode: status } });
        expect(error.message).toBe('the model request failed 3 times: the sentence');
        expect(asked.requests[2]!.body).toEqual(asked.requests[0]!.body);
      }
    },
  );

  it.each(bothWays)('that is final ends the turn at once: %s (stream: %s)', async (_, stream, wire) => {
    for (const status of FINAL) {
      const asked = await ask(wire, [failing(status, { body: wire.error('the sentence') })], { stream });
      const error = errorOf(asked);
      expect(asked.requests, String(status)).toHaveLength(1);
      expect(error).toMatchObject({ kind: 'request_failed', attempts: 1, cause: { statusCode: status } });
      expect(error.message).toBe('the model request failed: the sentence');
      expect(asked.waits).toEqual([]);
    }
  });

  it.each(bothWays)('that passes once is forgotten: %s (stream: %s)', async (_, stream, wire) => {
    const answers = [failing(503), failing(429), whole(answering(wire, 'hello', stream))];
    const asked = await ask(wire, answers, { stream });
    expect(asked.result).toMatchObject({ status: 'done', text: 'hello', steps: 1 });
    expect(asked.waits).toHaveLength(2);
  });

  it.each(wires)('of a body that is no error of the provider is told all the same: %s', async (_, wire) => {
    const bodies = [
      '<html>\n<b>Bad gateway</b>\n</html>',
      '',
      'no upstream',
      '{"half": ',
      { detail: 'no upstream' },
      null,
      [],
      7,
    ];
    for (const body of bodies) {
      for (const [status, requests] of [
        [502, 3],
        [403, 1],
      ] as const) {
        const asked = await ask(wire, [failing(status, { body })]);
        expect(errorOf(asked).cause).toMatchObject({ statusCode: status });
        expect(asked.requests, JSON.stringify(body)).toHaveLength(requests);
      }
    }
  });

  it.each(wires)('without a text, as HTTP/2 has none, is told by its number: %s', async (_, wire) => {
    const blank: Answer = response => {
      response.writeHead(502, ' ');
      response.end();
    };
    expect(errorOf(await ask(wire, [blank])).message).toBe('the model request failed 3 times: HTTP status 502');
  });
});

describe('the wait before a retry', () => {
  const wire = WIRES[0]!;
  const second = whole(answering(wire, 'hello'));
  const asked = (headers: Readonly<Record<string, string>>, status = 429) =>
    ask(wire, [failing(status, { headers }), second]);

  it.each([
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['no seconds at all', { 'retry-after': '0' }, 0],
    ['milliseconds', { 'retry-after-ms': '1234', 'retry-after': '9' }, 1_234],
    ['a date', { 'retry-after': new Date(START + 9_000).toUTCString() }, 9_000],
    ['a date that is past', { 'retry-after': new Date(START - 9_000).toUTCString() }, 0],
    ['five minutes', { 'retry-after': '300' }, 300_000],
  ])('is what the server asks for: %s', async (_, headers, delayMs) => {
    for (const status of [429, 503]) {
      const { result, waits } = await asked(headers, status);
      expect(result).toMatchObject({ status: 'done', text: 'hello' });
      expect(waits).toEqual([delayMs]);
    }
  });

  it.each([
    ['more than five minutes', { 'retry-after': '301' }],
    ['a year', { 'retry-after': new Date(START + 365 * 86_400_000).toUTCString() }],
    ['more than there is', { 'retry-after': '9'.repeat(400) }],
  ])('that a server asks for is too long: %s ends the turn', async (_, headers) => {
    const { requests, result } = await asked(headers);
    expect(requests).toHaveLength(1);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'request_failed', attempts: 1 } });
  });

  it.each(['soon', '-5', '1,5', 'in 5', 'NaN', '0x10', ' '])(
    'is our own where the server says %j',
    async retryAfter => {
      const { result, waits } = await asked({ 'retry-after': retryAfter });
      expect(result).toMatchObject({ status: 'done', text: 'hello' });
      expect(waits).toHaveLength(1);
      expect(waits[0]).toBeGreaterThanOrEqual(500);
      expect(waits[0]).toBeLessThanOrEqual(1_000);
    },
  );

  it('doubles from try to try, with jitter, up to half a minute', async () => {
    const { waits } = await ask(wire, [failing(500)], { modelRetries: 8 });
    const longest = [1, 2, 4, 8, 16, 30, 30, 30].map(seconds => seconds * 1_000);
    expect(waits).toHaveLength(8);
    for (const [index, ms] of waits.entries()) {
      expect(ms).toBeGreaterThanOrEqual(longest[index]! / 2);
      expect(ms).toBeLessThanOrEqual(longest[index]!);
    }
    expect(waits.some((ms, index) => ms !== longest[index])).toBe(true);
  });

  it('is told before it begins, and after it the next request is made, not sooner', async () => {
    await using server = await serveAnswers(index => (index === 0 ? failing(503) : second));
    const { session, clock } = await openAt(wire, server.url);
    await using _closed = session;
    const turn = session.submit('go');
    let waitMs = 0;
    for await (const event of turn) {
      if (event.type !== 'step.retrying') continue;
      waitMs = event.delayMs;
      break;
    }
    expect(waitMs).toBeGreaterThan(0);
    while (clock.pending === 0) await new Promise(setImmediate);
    await clock.advance(waitMs - 1);
    expect(server.received).toHaveLength(1);
    await clock.advance(1);
    expect(await turn.result).toMatchObject({ status: 'done', text: 'hello' });
    expect(server.received).toHaveLength(2);
  });
});

describe('a connection', () => {
  it.each(bothWays)('that closes before a word is tried again: %s (stream: %s)', async (_, stream, wire) => {
    const good = await ask(wire, [closing, closing, whole(answering(wire, 'hello', stream))], { stream });
    expect(good.result).toMatchObject({ status: 'done', text: 'hello' });
    const bad = await ask(wire, [closing], { stream });
    expect(bad.requests).toHaveLength(3);
    expect(errorOf(bad)).toMatchObject({ kind: 'request_failed', attempts: 3 });
    expect(errorOf(bad).message).toMatch(/Cannot connect to API: /);
  });

  it.each(bothWays)('that nobody takes is tried again: %s (stream: %s)', async (_, stream, wire) => {
    const server = await serveAnswers(() => closing);
    await server[Symbol.asyncDispose]();
    const { session, clock } = await openAt(wire, server.url, { stream });
    await using _closed = session;
    const { result, events } = await finish(session.submit('go'), clock);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'request_failed', attempts: 3 } });
    expect(events.filter(({ type }) => type === 'step.retrying')).toHaveLength(2);
  });
});

const raw =
  (text: string): Answer =>
  response =>
    void response.socket!.end(text);

describe('a response that cannot be read', () => {
  const gzip = { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' };

  it.each(bothWays)('for its compression or its framing is tried again: %s (stream: %s)', async (_, stream, wire) => {
    const answers: readonly Answer[] = [
      failing(200, { body: 'this was never compressed', headers: gzip }),
      raw('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
      raw('220 a server of mail\r\n'),
    ];
    for (const answer of answers) {
      const bad = await ask(wire, [answer], { stream });
      expect(bad.requests).toHaveLength(3);
      expect(errorOf(bad)).toMatchObject({ kind: 'request_failed', attempts: 3 });
      const good = await ask(wire, [answer, whole(answering(wire, 'hello', stream))], { stream });
      expect(good.result).toMatchObject({ status: 'done', text: 'hello' });
    }
  });

  it.each(wires)('as it is no stream, though one was asked for, breaks off: %s', async (_, wire) => {
    const answers: readonly Answer[] = [
      failing(200, { body: '<html>\n<b>Log in</b>\n</html>' }),
      failing(200, { body: '' }),
      failing(200, { body: '{"half": ', headers: { 'content-type': 'application/json' } }),
      whole(answering(wire, 'hello', false)),
    ];
    for (const answer of answers) {
      const asked = await ask(wire, [answer]);
      expect(asked.requests).toHaveLength(3);
      expect(errorOf(asked)).toMatchObject({ kind: 'stream_broken', attempts: 3 });
    }
  });

  it.each(wires)('as it is no JSON ends the turn at once: %s', async (_, wire) => {
    const answers: readonly Answer[] = [
      failing(200, { body: '<html>\n<b>Log in</b>\n</html>' }),
      failing(200, { body: '' }),
      failing(200, { body: '{"half": ', headers: { 'content-type': 'application/json' } }),
      whole(answering(wire, 'hello', true)),
    ];
    for (const answer of answers) {
      const asked = await ask(wire, [answer], { stream: false });
      expect(asked.requests).toHaveLength(1);
      expect(errorOf(asked)).toMatchObject({ kind: 'request_failed', attempts: 1 });
    }
  });

  it.each(bothWays)('for its type alone is read all the same: %s (stream: %s)', async (_, stream, wire) => {
    const recorded = { ...answering(wire, 'hello', stream), headers: { 'content-type': 'text/html' } };
    const asked = await ask(wire, [whole(recorded)], { stream });
    expect(asked.result).toMatchObject({ status: 'done', text: 'hello' });
  });
});

describe('a redirect', () => {
  const to = (status: number, location: string): Answer => failing(status, { headers: { location } });

  it.each(bothWays)('that keeps the method is followed: %s (stream: %s)', async (_, stream, wire) => {
    const asked = await ask(wire, [to(307, '/elsewhere'), whole(answering(wire, 'hello', stream))], { stream });
    expect(asked.result).toMatchObject({ status: 'done', text: 'hello' });
    expect(asked.requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(asked.requests[1]!.path).toBe('/elsewhere');
    expect(asked.waits).toEqual([]);
  });

  it.each(wires)('without end ends the turn after its retries: %s', async (_, wire) => {
    const asked = await ask(wire, [to(308, '/again')]);
    expect(errorOf(asked)).toMatchObject({ kind: 'request_failed', attempts: 3 });
    expect(asked.waits).toHaveLength(2);
  });

  it.each(wires)('to nowhere ends the turn at once: %s', async (_, wire) => {
    const asked = await ask(wire, [failing(302)]);
    expect(asked.requests).toHaveLength(1);
    expect(errorOf(asked)).toMatchObject({ kind: 'request_failed', attempts: 1 });
  });
});
