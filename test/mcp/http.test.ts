/** Servers over Streamable HTTP that lose sessions, break off, send too much, or ask elsewhere. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type McpUrlOptions, mcpToolset } from 'looprig/mcp';
import { collect } from 'looprig/testing';
import { afterEach, expect, it } from 'vitest';
import { open, outputsIn, outputsOf } from './setup.ts';

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly requestId?: number };
}

interface Seen extends Message {
  readonly headers: IncomingHttpHeaders;
}

/** Answers one request, or leaves it to what a server usually does by giving `false`. */
type Handler = (message: Message, response: ServerResponse, headers: IncomingHttpHeaders) => boolean | undefined;

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A server with one read-only tool `x`, on loopback. */
async function serve(handle: Handler = () => false) {
  const seen: Seen[] = [];
  let sessions = 0;
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      seen.push({ method: request.method ?? '', headers: request.headers });
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
    seen.push({ ...message, headers: request.headers });
    if (handle(message, response, request.headers) !== false) return;
    const { id, method } = message;
    if (id === undefined) return void response.writeHead(202).end();
    const serverInfo = { name: 'http', version: '1' };
    const results: Readonly<Record<string, object>> = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true } }, serverInfo },
      'tools/list': { tools: [{ name: 'x', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }] },
      'tools/call': { content: [{ type: 'text', text: 'fine' }] },
    };
    const session = method === 'initialize' ? { 'mcp-session-id': `session-${++sessions}` } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...session });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  closers.push(close);
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { seen, url: `http://127.0.0.1:${port}/mcp`, options: { name: 'web', url: `http://127.0.0.1:${port}/mcp` } };
}

const calls = [{ tool: 'x' }];

it('headers go with each request, and the session is ended with the last', async () => {
  const { seen, options } = await serve();
  const toolset = await mcpToolset({ ...options, headers: { Authorization: 'Bearer tok-123456' } });
  expect(await outputsOf([toolset], calls)).toEqual([{ type: 'text', value: 'fine' }]);
  expect(seen.every(({ headers }) => headers.authorization === 'Bearer tok-123456')).toBe(true);
  expect(seen.filter(({ method }) => method === 'DELETE').map(({ headers }) => headers['mcp-session-id'])).toEqual([
    'session-1',
    'session-2',
  ]);
});

it('a server that is not there, or refuses, is named with its address and no secret of it', async () => {
  const refusal = (options: McpUrlOptions) => mcpToolset(options).then(String, (error: unknown) => error);
  const gone = await serve();
  await closers.pop()?.();
  const url = `${gone.url.replace('//', '//user:pass-123456@')}?key=key-123456`;
  const missing = await refusal({ name: 'web', url: gone.url, headers: { 'x-key': 'tok-123456' } });
  expect(missing).toMatchObject({
    kind: 'not_connected',
    message: expect.stringMatching(
      new RegExp(`^MCP server "web" \\(${gone.url}\\) could not be used: fetch failed.*ECONNREFUSED`),
    ),
  });
  expect(String(await refusal({ name: 'web', url }))).not.toMatch(/123456/);
  const strict = await serve((_message, response, headers) => {
    response
      .writeHead(401, { 'content-type': 'text/plain' })
      .end(`no such token: ${headers['x-key']}${' no'.repeat(9_999)}`);
    return true;
  });
  const refused = await refusal({ ...strict.options, headers: { 'x-key': 'tok-123456' } });
  expect(refused).toMatchObject({ kind: 'not_connected', message: expect.stringContaining('HTTP status 401') });
  expect(String(refused)).toContain('[hidden]');
  expect(String(refused)).not.toContain('tok-123456');
  expect(String(refused).length).toBeLessThan(500);
});

it('a server that leaves a part of the handshake unanswered is given up after its time', async () => {
  const { options } = await serve(({ method }) => (method === 'notifications/initialized' ? undefined : false));
  await expect(mcpToolset({ ...options, connectTimeoutMs: 100 })).rejects.toMatchObject({
    kind: 'not_connected',
    message: expect.stringContaining('did not finish its handshake within 100 ms'),
  });
});

it('a server that knows no handshake is spoken to as it wants', async () => {
  const { seen, options } = await serve(({ method, id }, response) => {
    if (method === 'initialize') {
      response.writeHead(400).end('no handshake here');
      return true;
    }
    const results: Readonly<Record<string, object>> = {
      'server/discover': {
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: 'private',
      },
      'tools/list': { tools: [{ name: 'x', inputSchema: { type: 'object' } }], ttlMs: 0, cacheScope: 'private' },
      'tools/call': { content: [{ type: 'text', text: 'as it wants' }] },
    };
    const result = { resultType: 'complete', ...results[method] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  });
  const toolset = await mcpToolset(options);
  expect(await outputsOf([toolset], calls)).toEqual([{ type: 'text', value: 'as it wants' }]);
  const call = seen.find(({ method }) => method === 'tools/call');
  expect(call?.headers).toMatchObject({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'x',
  });
});

it('a list that never comes is given up after its time', async () => {
  const { options } = await serve(({ method }) => (method === 'tools/list' ? undefined : false));
  await expect(mcpToolset({ ...options, connectTimeoutMs: 500 })).rejects.toMatchObject({
    kind: 'not_listed',
    message: 'MCP server "web" did not list its tools: it took longer than 500 ms',
  });
});

it('a redirect to another host is not followed: what is secret would go there', async () => {
  const other = await serve();
  const { options } = await serve((_message, response) => {
    response.writeHead(307, { location: other.url }).end();
    return true;
  });
  await expect(mcpToolset({ ...options, headers: { 'x-key': 'tok-123456' } })).rejects.toMatchObject({
    kind: 'not_connected',
  });
  expect(other.seen).toEqual([]);
});

it('a session that the server has forgotten is begun anew, and the call made once', async () => {
  let forgotten = 0;
  const { seen, options } = await serve(({ method }, response, headers) => {
    if (method !== 'tools/call' || headers['mcp-session-id'] !== 'session-2') return false;
    forgotten++;
    response.writeHead(404).end('no such session');
    return true;
  });
  const toolset = await mcpToolset(options);
  expect(await outputsOf([toolset], calls)).toEqual([{ type: 'text', value: 'fine' }]);
  expect(forgotten).toBe(1);
  expect(seen.filter(({ method }) => method === 'tools/call')).toHaveLength(2);
});

it('an answer that breaks off is an error, and the server is asked again by the next call', async () => {
  let broken = 0;
  const { options } = await serve(({ method, id }, response) => {
    if (method !== 'tools/call' || ++broken > 2) return false;
    response.writeHead(200, { 'content-type': broken === 1 ? 'text/event-stream' : 'application/json' });
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: id, progress: 1 } };
    response.write(broken === 1 ? `data: ${JSON.stringify(progress)}\n\n` : '{"jsonrpc":');
    setTimeout(() => (broken === 1 ? response.end() : response.destroy()), 20);
    return true;
  });
  const toolset = await mcpToolset(options);
  await using opened = await open([toolset], [{ calls }, { calls }, { calls }, { text: 'done' }]);
  expect((await collect(opened.session.submit('go'))).result.status).toBe('done');
  const [first, second, third] = outputsIn(opened.events);
  expect(first).toEqual({
    type: 'error-text',
    value: 'MCP server "web", tool "x": the connection ended before the answer; it may or may not have taken effect',
  });
  expect(second).toMatchObject({
    type: 'error-text',
    value: expect.stringContaining('may or may not have taken effect'),
  });
  expect(third).toEqual({ type: 'text', value: 'fine' });
});

it('an answer that is too large is an error, whole or as an event', async () => {
  let kind = 'application/json';
  const { options } = await serve(({ method, id }, response) => {
    if (method !== 'tools/call') return false;
    response.writeHead(200, { 'content-type': kind });
    const text = 'x'.repeat(200_000);
    const whole = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });
    response.end(kind === 'application/json' ? whole : `data: ${whole}\n\n`);
    return true;
  });
  const toolset = await mcpToolset({ ...options, maxMessageBytes: 100_000 });
  const [json] = await outputsOf([toolset], calls);
  expect(json).toMatchObject({
    type: 'error-text',
    value: expect.stringContaining('a message of more than 100000 bytes'),
  });
  kind = 'text/event-stream';
  const [event] = await outputsOf([toolset], calls);
  expect(event).toMatchObject({
    type: 'error-text',
    value: expect.stringContaining('the connection ended before the answer'),
  });
});

it('many small events are more than a message may be together', async () => {
  const { options } = await serve(({ method, id }, response) => {
    if (method !== 'tools/call') return false;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let index = 0; index < 3_000; index++) {
      const params = { progressToken: id, progress: index };
      const end = ['\n\n', '\r\n\r\n', '\r\r'][index % 3];
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}${end}`);
    }
    const result = { content: [{ type: 'text', text: 'after them' }] };
    response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    return true;
  });
  const toolset = await mcpToolset({ ...options, maxMessageBytes: 100_000 });
  expect(await outputsOf([toolset], calls)).toEqual([{ type: 'text', value: 'after them' }]);
});

it.each([
  [500, /HTTP status 500/],
  [200, /Unexpected content type/],
])('status %i without a message is an error', async (status, expected) => {
  const { options } = await serve(({ method }, response) => {
    if (method !== 'tools/call') return false;
    response.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
    return true;
  });
  const [output] = await outputsOf([await mcpToolset(options)], calls);
  expect(output).toMatchObject({ type: 'error-text', value: expect.stringMatching(expected) });
});

it('an interrupted call is cancelled at the server', async () => {
  const { seen, options } = await serve(({ method }) => (method === 'tools/call' ? undefined : false));
  const toolset = await mcpToolset(options);
  await using opened = await open([toolset], [{ calls }]);
  const turn = opened.session.submit('go');
  for await (const event of turn) if (event.type === 'tool.started') break;
  while (!seen.some(({ method }) => method === 'tools/call')) await new Promise(resolve => setTimeout(resolve, 5));
  turn.interrupt('enough');
  expect((await turn.result).status).toBe('interrupted');
  while (!seen.some(({ method }) => method === 'notifications/cancelled')) {
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  const call = seen.find(({ method }) => method === 'tools/call');
  expect(seen.find(({ method }) => method === 'notifications/cancelled')?.params?.requestId).toBe(call?.id);
});
