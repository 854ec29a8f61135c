/** Whatever is asked of a server: it answers as it says of itself, never with a fault of its own, and goes on answering. */
import { connect } from 'node:net';
import fc from 'fast-check';
import { forever } from 'looprig/testing';
import { expect } from 'vitest';
import { ROUTES } from '../../src/server/server.ts';
import { requireDescribed } from '../server/conform.ts';
import { direct, hostOf, serve } from '../server/setup.ts';
import { altered, damaged, deepTexts, json, texts } from './drawn.ts';
import { fuzz, shared } from './fuzz.ts';

const GATED = { calls: [{ tool: 'write', input: { path: 'a', text: 'b' } }] };

/** A server with a session that has had a turn, and one that waits at a gate. */
const asked = shared(async () => {
  const served = hostOf([
    forever(({ prompt }: { readonly prompt: readonly unknown[] }) =>
      JSON.stringify(prompt.at(-1)).includes('gate') ? GATED : { text: 'Done.' },
    ),
  ]);
  const failures: unknown[] = [];
  const { server, client } = await direct(served.host, {
    onError: error => failures.push(error),
    bodyBytes: 65_536,
    maxStreams: 4,
  });
  const sessions = [await client.begin(), await client.begin()];
  await client.ask('POST', `/v1/sessions/${sessions[0]}/turns`, { input: 'Hello.' });
  await client.ask('POST', `/v1/sessions/${sessions[1]}/turns`, { input: 'To the gate.' });
  const value = { server, failures, sessions };
  return {
    value,
    async end() {
      await server.close();
      await served[Symbol.asyncDispose]();
    },
  };
});

const INPUTS = [
  { loop: 'clerk', mode: 'careful' },
  { input: 'Hello.', limits: { calls: 3, tokens: 100 } },
  {
    input: [
      { type: 'text', text: 'a' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
    ],
  },
  { input: [{ type: 'file', mediaType: 'text/plain', data: { type: 'url', url: 'https://a.example/' } }] },
  { mode: 'quick' },
  { turnId: 't', reason: 'enough' },
  { decision: 'approveAlways', rules: [{ action: 'fs.write', target: '**', decision: 'allow' }] },
  { decision: 'edit', input: { path: 'a', text: 'b' } },
  {
    id: 'chat',
    messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
    trigger: 'submit-message',
  },
  {},
];
const sound = fc.constantFrom<unknown>(...INPUTS);
const bodies = fc.oneof(
  sound.map(written),
  altered(sound).map(written),
  altered(sound).map(written),
  damaged(sound.map(written)),
  json.map(written),
  texts,
  deepTexts,
  fc.constantFrom('x'.repeat(70_000), '1e999', '{"input":1e400}', '{"input":"a","input":"b"}', '\ufeff{}'),
);

function written(value: unknown): string {
  return JSON.stringify(value) ?? '';
}

/** Of what a header may hold at all. */
const headerTexts = texts.map(text => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').trim());
const headers = fc.dictionary(
  fc.constantFrom(
    'content-type',
    'accept',
    'idempotency-key',
    'last-event-id',
    'origin',
    'authorization',
    'content-encoding',
    'content-length',
    'x-forwarded-host',
    'if-none-match',
    'range',
  ),
  fc.oneof(
    headerTexts,
    fc.constantFrom(
      'application/json',
      'application/json; charset=utf-16',
      'text/plain',
      '*/*',
      'application/*;q=0',
      'text/event-stream',
      '-1',
      '1e3',
      'null',
      'http://localhost',
      'gzip',
      '999999999999999999999',
    ),
  ),
  { maxKeys: 4 },
);
const queries = fc.oneof(
  fc.constant(''),
  fc
    .array(
      fc.tuple(
        fc.oneof(fc.constantFrom('after', 'limit', 'delegates', 'until', '__proto__'), texts),
        fc.oneof(fc.constantFrom('0', '1', '-1', 'true', '1e3', '9007199254740993', '0x10'), texts),
      ),
      { maxLength: 3 },
    )
    .map(query),
);

function query(pairs: readonly (readonly [string, string])[]): string {
  return `?${new URLSearchParams(pairs.map(([name, value]) => [name, value]))}`;
}

const ids = fc.oneof(
  fc.constantFrom('SESSION', 'GATED', '..', '%2e%2e', '__proto__', 'constructor', 'a'.repeat(257), '%00', '%ff', '~'),
  texts.map(text => encodeURIComponent(text.toWellFormed()).replaceAll('.', '%2E')),
);
const requests = fc.record({
  route: fc.nat(ROUTES.length - 1),
  method: fc.option(fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'), { freq: 6 }),
  ids: fc.array(ids, { minLength: 3, maxLength: 3 }),
  query: queries,
  headers,
  isJson: fc.boolean(),
  body: bodies,
});

fuzz(
  'any request is answered as the server says, and never by a fault of its own',
  { runs: 1_000, input: requests },
  async drawn => {
    const { server, failures, sessions } = asked();
    const route = ROUTES[drawn.route]!;
    const method = drawn.method ?? route.method;
    let place = 0;
    const path = route.path.replace(/\{\w+\}/g, () =>
      drawn.ids[place++ % 3]!.replace('SESSION', sessions[0]!).replace('GATED', sessions[1]!),
    );
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const request = new Request(`http://localhost${path}${drawn.query}`, {
      ...{ method, headers: { ...(drawn.isJson ? { 'content-type': 'application/json' } : {}), ...drawn.headers } },
      ...(hasBody ? { body: drawn.body } : {}),
    });
    const response = await server.fetch(request);
    const type = response.headers.get('content-type') ?? '';
    // What stays open is let go of.
    const text = type.startsWith('text/event-stream') ? '' : await response.text();
    if (text === '') await response.body?.cancel();
    expect(failures, `${method} ${path}`).toEqual([]);
    // 503: as many streams are open as may be.
    expect(response.status < 500 || response.status === 503, `${response.status} ${text}`).toBe(true);
    if (response.status >= 400 && method !== 'HEAD') {
      expect(type).toMatch(/^application\/json/);
      expect(Object.keys(JSON.parse(text))).toContain('error');
    }
    const isPreflight = method === 'OPTIONS';
    if (!isPreflight)
      requireDescribed(
        method,
        new URL(request.url).pathname,
        response,
        type.startsWith('application/json') && text !== '' ? JSON.parse(text) : text,
      );
  },
);

/** A server on a socket. */
const listening = shared(async () => {
  const served = hostOf([forever({ text: 'Done.' })]);
  const server = await serve(served.host);
  return {
    value: new URL(server.url),
    async end() {
      await server[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
    },
  };
});
const lines = damaged(
  fc.constantFrom(
    'GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n',
    'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  ),
);

fuzz(
  'whatever bytes come over a socket, the next request is answered',
  { runs: 60, input: fc.oneof(lines, texts) },
  async bytes => {
    const { hostname, port, origin } = listening();
    await new Promise<void>(resolve => {
      const socket = connect({ host: hostname.replace(/[[\]]/g, ''), port: Number(port) }, () => socket.end(bytes));
      socket.on('error', () => resolve());
      socket.on('close', () => resolve());
      socket.resume();
    });
    expect((await fetch(`${origin}/v1/loops`)).status).toBe(200);
  },
);
