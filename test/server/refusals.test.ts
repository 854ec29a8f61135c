/** What a server refuses, over real sockets and without: in one sentence each, and without harm. */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { overlaid } from '../../src/overlaid.ts';
import { Client, direct, hostOf, type Served, serve } from './setup.ts';

const TOKEN = 'a-token-of-the-test-0123456789';

let served: Served;
let server: Awaited<ReturnType<typeof serve>>;
let guarded: Awaited<ReturnType<typeof serve>>;
let sessionId: string;

beforeAll(async () => {
  served = hostOf([]);
  server = await serve(served.host, { bodyBytes: 4_096, allowedHosts: ['looprig.test'] });
  guarded = await serve(served.host, { token: TOKEN, allowedOrigins: ['https://app.example.com'] });
  sessionId = await server.client.begin();
});

afterAll(async () => {
  await server?.listening.close({ graceMs: 0 });
  await guarded?.listening.close({ graceMs: 0 });
  await served?.host.close();
});

const error = (kind: string, status: number) => ({ status, body: { error: { kind, status } } });

/** A request with headers that `fetch` does not let through. */
function rawRequest(
  url: string,
  {
    method = 'GET',
    path = '/v1/loops',
    headers = {},
    body,
  }: { method?: string; path?: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number | undefined; body: string }> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, method, path, headers }, response => {
      let text = '';
      response.setEncoding('utf8').on('data', chunk => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, body: text }));
    });
    sent.on('error', reject).end(body);
  });
}

/** What comes back for bytes as they are. */
function rawBytes(url: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise(resolve => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.end(bytes));
    socket.setEncoding('utf8').on('data', chunk => (text += chunk));
    socket.on('close', () => resolve(text)).on('error', () => resolve(text));
  });
}

describe('a token', () => {
  it('is asked for on every route but the signs of life', async () => {
    const bare = new Client(guarded.url);
    for (const path of [
      '/v1/loops',
      `/v1/sessions/${sessionId}`,
      '/metrics',
      '/openapi.json',
      '/nowhere',
      '/v1/sessions/x/events',
    ]) {
      const refused = await bare.ask('GET', path);
      expect(refused).toMatchObject(error('unauthorized', 401));
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect(await bare.ask('POST', '/v1/sessions', {})).toMatchObject(error('unauthorized', 401));
    expect(await bare.ask('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await bare.ask('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('is refused where it is another, part of it, more than it, or said otherwise', async () => {
    const wrong = ['x', TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), ''].map(token => `Bearer ${token}`);
    for (const authorization of [...wrong, TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN} ${TOKEN}`]) {
      expect(await new Client(guarded.url).ask('GET', '/v1/loops', undefined, { authorization })).toMatchObject(
        error('unauthorized', 401),
      );
    }
    expect(await guarded.client.ask('GET', '/v1/loops')).toMatchObject({ status: 200 });
    const lower = { authorization: `bearer ${TOKEN}` };
    expect(await new Client(guarded.url).ask('GET', '/v1/loops', undefined, lower)).toMatchObject({ status: 200 });
  });

  it('is in no answer', async () => {
    const all = await Promise.all(
      ['/metrics', '/openapi.json', '/v1/sessions', '/nowhere'].map(path => guarded.client.raw('GET', path)),
    );
    const texts = await Promise.all(
      all.map(async response => JSON.stringify([...response.headers]) + (await response.text())),
    );
    expect(texts.filter(text => text.includes(TOKEN))).toEqual([]);
  });
});

describe('names of the server', () => {
  it('are its own and no others', async () => {
    for (const host of [
      'localhost',
      '127.0.0.1',
      'localhost:1',
      '[::1]:80',
      'looprig.test',
      'LOOPRIG.test:8080',
      '127.9.9.9',
    ]) {
      expect({ host, ...(await rawRequest(server.url, { headers: { host } })) }).toMatchObject({ host, status: 200 });
    }
    for (const host of [
      'evil.test',
      'localhost.evil.test',
      '10.0.0.1',
      '127.0.0.1.evil.test',
      'evil.test:80',
      'xlooprig.test',
    ]) {
      expect({ host, ...(await rawRequest(server.url, { headers: { host } })) }).toMatchObject({
        ...{ host, status: 403 },
        body: expect.stringContaining('"kind":"foreign_host"'),
      });
    }
  });

  it('are addresses in numbers too where there is a token', async () => {
    const authorization = `Bearer ${TOKEN}`;
    expect(await rawRequest(guarded.url, { headers: { host: '10.0.0.1:80', authorization } })).toMatchObject({
      status: 200,
    });
    expect(await rawRequest(guarded.url, { headers: { host: 'evil.test', authorization } })).toMatchObject({
      status: 403,
    });
  });

  it('are looked at in the header and in the address of the request', async () => {
    const { client } = await direct(served.host);
    expect(await client.ask('GET', '/v1/loops')).toMatchObject({ status: 200 });
    const evil = new Client('http://evil.test', {}, (await direct(served.host)).server.fetch);
    expect(await evil.ask('GET', '/v1/loops')).toMatchObject(error('foreign_host', 403));
    expect(await evil.ask('GET', '/v1/loops', undefined, { host: 'localhost' })).toMatchObject(
      error('foreign_host', 403),
    );
    const absolute = await rawRequest(server.url, {
      path: 'http://evil.test/v1/loops',
      headers: { host: 'localhost' },
    });
    expect(absolute).toMatchObject({ status: 403 });
  });
});

describe('pages of other origins', () => {
  it('may read nothing and change nothing', async () => {
    const origins = ['https://evil.test', 'null', 'http://localhost:1', 'http://127.0.0.1', 'not an origin'];
    for (const origin of origins) {
      expect(await server.client.ask('GET', '/v1/loops', undefined, { origin })).toMatchObject(
        error('foreign_origin', 403),
      );
      expect(await server.client.ask('POST', '/v1/sessions', {}, { origin })).toMatchObject(
        error('foreign_origin', 403),
      );
      const preflight = await server.client.raw('OPTIONS', '/v1/sessions', undefined, { origin });
      expect(preflight.status).toBe(403);
      expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    }
    const before = (await server.client.ask('GET', '/v1/sessions')).body.sessions.length;
    await server.client.ask('POST', '/v1/sessions', {}, { origin: 'https://evil.test' });
    expect((await server.client.ask('GET', '/v1/sessions')).body.sessions).toHaveLength(before);
  });

  it('may not even lead a browser here without saying who they are', async () => {
    const { client } = await direct(served.host);
    const site = (value: string) => client.ask('GET', '/v1/loops', undefined, { 'sec-fetch-site': value });
    expect(await site('cross-site')).toMatchObject(error('foreign_origin', 403));
    expect(await site('same-site')).toMatchObject(error('foreign_origin', 403));
    expect(await site('same-origin')).toMatchObject({ status: 200 });
    expect(await site('none')).toMatchObject({ status: 200 });
  });

  it('may where they are allowed by name, with the token', async () => {
    const origin = 'https://app.example.com';
    const allowed = await guarded.client.ask('GET', '/v1/loops', undefined, { origin });
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull();
    const preflight = await new Client(guarded.url).raw('OPTIONS', '/v1/sessions', undefined, { origin });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    expect((await new Client(guarded.url).ask('GET', '/v1/loops', undefined, { origin })).status).toBe(401);
    const other = await guarded.client.ask('GET', '/v1/loops', undefined, {
      origin: 'https://app.example.com.evil.test',
    });
    expect(other).toMatchObject(error('foreign_origin', 403));
  });

  it('are no others than the server’s own page, which may', async () => {
    expect(await server.client.ask('GET', '/v1/loops', undefined, { origin: server.url })).toMatchObject({
      status: 200,
    });
  });
});

describe('a body', () => {
  const begin = (body: string | undefined, headers: Record<string, string>) =>
    server.client.ask('POST', '/v1/sessions', body, headers);

  it('says that it is JSON, in UTF-8, and as it is', async () => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp', ''];
    for (const type of [...types, 'application/json; charset=utf-16', 'text/plain; application/json']) {
      expect(await begin('{}', { 'content-type': type })).toMatchObject(error('unsupported_media_type', 415));
    }
    expect(await begin('{}', { 'content-encoding': 'gzip' })).toMatchObject(error('unsupported_media_type', 415));
    for (const type of ['application/json', 'Application/JSON;charset=UTF-8', 'application/json; charset="utf-8"']) {
      expect(await begin('{}', { 'content-type': type })).toMatchObject({ status: 201 });
    }
  });

  it('is JSON', async () => {
    for (const body of ['', '{', '{"a":1,}', 'undefined', '{"a":NaN}', '\ufeff{}x', '{} {}']) {
      expect(await begin(body, {})).toMatchObject(error('invalid_json', 400));
    }
  });

  it('is UTF-8', async () => {
    const bytes = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}/v1/sessions`, { method: 'POST', headers, body: bytes });
    expect(response.status).toBe(400);
  });

  it('fits, field by field', async () => {
    for (const body of ['1', 'null', '[]', '"text"', '{"loop":1}', '{"loops":"clerk"}']) {
      expect(await begin(body, {})).toMatchObject(error('invalid_body', 422));
    }
    const { body } = await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: [{ type: 'text' }] });
    expect(body.error.issues.length).toBeGreaterThan(0);
    expect(body.error.issues.every((issue: { path: string }) => issue.path.startsWith('input'))).toBe(true);
    expect(await begin('{"loop":"another"}', {})).toMatchObject(error('unknown_loop', 422));
    expect(await begin('{"mode":"another"}', {})).toMatchObject(error('unknown_mode', 422));
  });

  it('may have so many bytes and no more, whatever is said of its length', async () => {
    const fits = JSON.stringify({ input: 'x'.repeat(4_000) });
    const path = `/v1/sessions/${sessionId}/turns`;
    const input = JSON.stringify({ input: 'x'.repeat(5_000) });
    expect(await server.client.ask('POST', path, input)).toMatchObject(error('body_too_large', 413));
    const body = new Blob(Array.from({ length: 50 }, () => ' '.repeat(200))).stream();
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body, duplex: 'half' }; // sent in chunks, without a length
    const response = await fetch(`${server.url}${path}`, init);
    expect(response.status).toBe(413);
    expect(await server.client.ask('POST', '/v1/sessions/none/turns', fits)).toMatchObject(
      error('unknown_session', 404),
    );
  });

  it('that never ends is not read further than that', async () => {
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(1_024).fill(32));
      },
    });
    const { server: unbound } = await direct(served.host, { bodyBytes: 8_192 });
    const request = new Request('http://localhost/v1/sessions', {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      ...{ body: endless, duplex: 'half' },
    } as RequestInit);
    expect((await unbound.fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(15);
  });

  it('names its members by text: half of a character is none', async () => {
    for (const half of ['\\ud83d', '\\ude42']) {
      expect(await begin(`{"${half}":1}`, {})).toMatchObject(error('invalid_body', 422));
      expect(await begin(`{"loop":"clerk","${half}":{}}`, {})).toMatchObject(error('invalid_body', 422));
    }
  });

  it('is nested no deeper than can be handled, and names no prototype', async () => {
    const deep = `${'['.repeat(1_500)}${']'.repeat(1_500)}`;
    expect(await begin(deep, {})).toMatchObject(error('invalid_body', 422));
    expect(await begin(`{"a":${deep}}`, {})).toMatchObject(error('invalid_body', 422));
    const path = `/v1/sessions/${sessionId}/gates/none`;
    const named = '{"decision":"edit","input":{"__proto__":{"isAdmin":true}}}';
    expect(await server.client.ask('POST', path, named)).toMatchObject(error('invalid_body', 422));
    expect(Reflect.get({}, 'isAdmin')).toBeUndefined();
  });
});

describe('a request', () => {
  it('asks for a path that there is, with a method that it takes', async () => {
    for (const path of [
      '/v1',
      '/v1/',
      '/v2/sessions',
      '/v1/sessions/',
      `/v1/sessions/${sessionId}/`,
      '/index.php',
      '/V1/loops',
    ]) {
      expect(await server.client.ask('GET', path)).toMatchObject(error('unknown_route', 404));
    }
    const refused = await server.client.ask('DELETE', '/v1/sessions');
    expect(refused).toMatchObject(error('method_not_allowed', 405));
    expect(refused.headers.get('allow')).toBe('GET, POST');
    expect(await server.client.ask('GET', `/v1/sessions/${sessionId}/turns`)).toMatchObject(
      error('method_not_allowed', 405),
    );
    expect((await server.client.raw('HEAD', `/v1/sessions/${sessionId}/events`)).status).toBe(405);
    expect((await server.client.raw('HEAD', '/v1/loops')).status).toBe(200);
  });

  it('has ids that are ids, and a query that the route knows', async () => {
    for (const id of ['%00', 'a%2Fb', '%2e%2e%2fpasswd', 'a b', 'x'.repeat(300), 'ü', '%7B%7D']) {
      expect(await server.client.ask('GET', `/v1/sessions/${id}`)).toMatchObject(error('invalid_request', 400));
    }
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=1e3',
      'limit=',
      'limit=1&limit=2',
      'delegates=yes',
      'x=1',
      '__proto__=1',
    ]) {
      expect(await server.client.ask('GET', `/v1/sessions?${query}`)).toMatchObject(error('invalid_request', 400));
    }
    for (const after of ['-1', '1.5', 'x', '99999999999999999999']) {
      expect(await server.client.ask('GET', `/v1/sessions/${sessionId}/events?after=${after}`)).toMatchObject(
        error('invalid_request', 400),
      );
      const headers = { 'last-event-id': after };
      expect(await server.client.ask('GET', `/v1/sessions/${sessionId}/events`, undefined, headers)).toMatchObject(
        error('invalid_request', 400),
      );
    }
    const key = { 'idempotency-key': 'x'.repeat(257) };
    expect(await server.client.ask('POST', `/v1/sessions/${sessionId}/turns`, { input: 'x' }, key)).toMatchObject(
      error('invalid_request', 400),
    );
  });

  it('accepts what the route gives', async () => {
    for (const accept of ['text/html', 'text/event-stream', 'application/json;q=0', 'text/*']) {
      expect(await server.client.ask('GET', '/v1/loops', undefined, { accept })).toMatchObject(
        error('not_acceptable', 406),
      );
    }
    for (const accept of ['*/*', 'application/*', 'text/html, application/json;q=0.5', 'APPLICATION/JSON']) {
      expect(await server.client.ask('GET', '/v1/loops', undefined, { accept })).toMatchObject({ status: 200 });
    }
    const headers = { accept: 'application/json' };
    expect(await server.client.ask('GET', `/v1/sessions/${sessionId}/events`, undefined, headers)).toMatchObject(
      error('not_acceptable', 406),
    );
  });

  it('is about a session, a gate and a result that there are', async () => {
    const none = '/v1/sessions/none';
    expect(await server.client.ask('GET', none)).toMatchObject(error('unknown_session', 404));
    expect(await server.client.ask('GET', `${none}/events`)).toMatchObject(error('unknown_session', 404));
    expect(await server.client.ask('POST', `${none}/turns`, { input: 'x' })).toMatchObject(
      error('unknown_session', 404),
    );
    expect(await server.client.ask('POST', `${none}/steer`, { input: 'x' })).toMatchObject(
      error('unknown_session', 404),
    );
    expect(await server.client.ask('POST', `${none}/interrupt`, {})).toMatchObject(error('unknown_session', 404));
    expect(await server.client.ask('POST', `${none}/resume`, {})).toMatchObject(error('unknown_session', 404));
    expect(await server.client.ask('PUT', `${none}/mode`, { mode: '' })).toMatchObject(error('unknown_session', 404));
    const own = `/v1/sessions/${sessionId}`;
    expect(await server.client.ask('POST', `${own}/gates/none`, { decision: 'approve' })).toMatchObject(
      error('unknown_gate', 404),
    );
    expect(await server.client.ask('GET', `${own}/captures/${'0'.repeat(64)}`)).toMatchObject(
      error('unknown_capture', 404),
    );
    expect(await server.client.ask('POST', `${own}/resume`, {})).toMatchObject(error('nothing_to_resume', 409));
    expect(await server.client.ask('PUT', `${own}/mode`, { mode: 'wild' })).toMatchObject(error('unknown_mode', 422));
    expect(await server.client.ask('POST', `${own}/turns`, { input: ' ' })).toMatchObject(error('invalid_input', 422));
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'file:///etc/hosts' } };
    expect(await server.client.ask('POST', `${own}/turns`, { input: [file] })).toMatchObject(
      error('invalid_input', 422),
    );
    const limits = { resultBytes: 1 };
    expect(await server.client.ask('POST', `${own}/turns`, { input: 'x', limits })).toMatchObject(
      error('invalid_tool_limits', 422),
    );
  });

  it('that is no HTTP ends with its connection, and the server lives', async () => {
    expect(await rawBytes(server.url, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await rawBytes(server.url, 'GET /v1/loops HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(
      await rawBytes(server.url, 'GET /v1\\loops HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    ).toMatch(/^HTTP\/1\.1 (400|404) /);
    expect(await rawBytes(server.url, 'GET /v1/loops HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400 .*invalid_request/s,
    );
    expect(await server.client.ask('GET', '/healthz')).toMatchObject({ status: 200 });
  });
});

describe('what fails inside', () => {
  it('is told by its kind alone to whoever asked, and wholly to the one who runs the server', async () => {
    const told: unknown[] = [];
    const broken = new Error('a secret of the machine');
    const host = overlaid(served.host, { list: () => Promise.reject(broken) });
    const { client } = await direct(host, { onError: error => void told.push(error) });
    const refused = await client.ask('GET', '/v1/sessions');
    expect(refused).toMatchObject(error('internal', 500));
    expect(JSON.stringify(refused.body)).not.toMatch(/secret|stack|\.ts/);
    expect(told).toEqual([broken]);
    expect(await client.ask('GET', '/readyz')).toMatchObject({ status: 503, body: { status: 'unavailable' } });
  });

  it('changes nothing where whoever is told fails too', async () => {
    const host = overlaid(served.host, { list: () => Promise.reject(new Error('broken')) });
    const onError = () => {
      throw new Error('broken too');
    };
    const { client } = await direct(host, { onError });
    expect(await client.ask('GET', '/v1/sessions')).toMatchObject(error('internal', 500));
  });
});

describe('a server that ends', () => {
  it('takes nothing more, and says so', async () => {
    const { server: ending, client } = await direct(served.host);
    await ending.close();
    const refused = await client.ask('POST', '/v1/sessions', {});
    expect(refused).toMatchObject(error('closed', 503));
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await client.ask('GET', '/readyz')).toMatchObject({ status: 503 });
    expect(await client.ask('GET', '/healthz')).toMatchObject({ status: 200 });
  });
});

it('every answer of data forbids a browser to guess, run, keep or embed it', async () => {
  const answers = await Promise.all([
    server.client.raw('GET', '/v1/loops'),
    server.client.raw('GET', '/nowhere'),
    server.client.raw('GET', '/metrics'),
    server.client.raw('POST', '/v1/sessions', 'x'),
  ]);
  for (const { headers } of answers) {
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
  }
});
