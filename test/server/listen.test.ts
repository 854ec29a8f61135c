/** Where a server listens, what it refuses to begin with, and what it needs. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { listen, ServerError, createServer as serverOf } from 'looprig/server';
import { describe, expect, it } from 'vitest';
import { Client, direct, hostOf, messagesOf, serve } from './setup.ts';

const TOKEN = 'a-token-of-the-test-0123456789';

async function refusalOf(promise: Promise<unknown>): Promise<ServerError> {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!ServerError.is(error)) throw new Error(`it was not refused: ${String(error)}`);
  return error;
}

describe('a server', () => {
  it('listens on this machine alone unless it is told otherwise', async () => {
    await using served = hostOf([]);
    await using listening = await listen(served.host);
    expect(listening.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await new Client(listening.url).ask('GET', '/healthz')).status).toBe(200);
  });

  it('refuses to listen anywhere else without a token, in one sentence', async () => {
    await using served = hostOf([]);
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com']) {
      expect(await refusalOf(listen(served.host, { host }))).toMatchObject({
        kind: 'invalid_option',
        message: `listening on ${host} lets others reach the server: give it a "token", or let it listen on 127.0.0.1`,
      });
    }
    await using open = await listen(served.host, { host: '0.0.0.0', token: TOKEN });
    const client = new Client(`http://127.0.0.1:${open.port}`, { authorization: `Bearer ${TOKEN}` });
    expect((await client.ask('GET', '/v1/loops')).status).toBe(200);
    for (const host of ['localhost', '::1', '127.0.0.2'])
      await (await listen(served.host, { host })).close({ graceMs: 0 });
  });

  it('lets nobody in because a variable with its token is missing', async () => {
    await using served = hostOf([]);
    const token = process.env.LOOPRIG_NO_SUCH_TOKEN;
    const options = { token, allowedHosts: ['agent.example'] } as { readonly token: string };
    expect(await refusalOf(serverOf(served.host, options))).toMatchObject({
      kind: 'invalid_option',
      message: '"token" is given as undefined: leave it out where nobody needs one',
    });
  });

  it('refuses options that it cannot take, and never says the token', async () => {
    await using served = hostOf([]);
    const refused = [
      ...[{ token: '' }, { token: 'short' }, { token: 'has a blank in its middle' }, { token: 'ümlaut-ümlaut-ümlaut' }],
      ...[{ port: -1 }, { port: 65_536 }, { port: 1.5 }, { host: '' }, { bodyBytes: 0 }, { maxStreams: 1.5 }],
      ...[{ heartbeatMs: -1 }, { allowedOrigins: ['https://a.example/path'] }, { allowedOrigins: ['*'] }],
      ...[{ allowedHosts: ['https://a.example'] }, { allowedHosts: ['a.example:80'] }, { allowedHosts: ['a b'] }],
      ...[{ allowedHosts: 'a.example' as never }, { tokens: TOKEN } as object],
    ];
    for (const options of refused) {
      const { kind, message } = await refusalOf(listen(served.host, options));
      expect({ options, kind }).toEqual({ options, kind: 'invalid_option' });
      expect(message).not.toContain('has a blank');
      expect(message).not.toContain('\n');
    }
  });

  it('serves a rig or a host, and nothing else', async () => {
    for (const other of [undefined, null, {}, 'rig', { open() {} }]) {
      expect(await refusalOf(listen(other as never))).toMatchObject({
        kind: 'invalid_option',
        message: expect.stringMatching(/^a server needs a rig or a host of sessions, not /),
      });
    }
  });

  it('says which port is taken', async () => {
    await using served = hostOf([]);
    const other = createServer();
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    expect(await refusalOf(listen(served.host, { port }))).toMatchObject({
      kind: 'not_listening',
      message: `127.0.0.1 port ${port} cannot be listened on: another program listens there`,
    });
    await new Promise(resolve => other.close(resolve));
  });

  it('ends while streams are open, and tells their readers', async () => {
    await using served = hostOf([]);
    const server = await serve(served.host);
    const sessionId = await server.client.begin();
    const stream = messagesOf(await server.client.raw('GET', `/v1/sessions/${sessionId}/events`));
    await stream.next();
    const closed = server.listening.close({ graceMs: 60_000 });
    expect((await stream.next()).value).toEqual({ event: 'end', data: { reason: 'the server ends' } });
    await closed;
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it('is closed once, however often it is told', async () => {
    await using served = hostOf([]);
    const { listening } = await serve(served.host);
    await Promise.all([
      listening.close({ graceMs: 0 }),
      listening.close({ graceMs: 0 }),
      listening[Symbol.asyncDispose](),
    ]);
  });

  it('needs no socket', async () => {
    await using served = hostOf([]);
    const { client } = await direct(served.host, { token: TOKEN });
    expect(await client.ask('GET', '/v1/loops')).toMatchObject({ status: 200 });
  });
});

const entry = JSON.stringify(new URL('../../src/server/index.ts', import.meta.url).href);

/** Makes packages ones that are not installed, and writes down what is asked for. */
function run(program: string, missing: string): Promise<string> {
  const hooks = `
    import { registerHooks } from 'node:module';
    globalThis.asked = [];
    registerHooks({ resolve(specifier, context, next) {
      globalThis.asked.push(specifier);
      return next(specifier === ${JSON.stringify(missing)} ? specifier + '-not-installed' : specifier, context);
    } });
  `;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, '--input-type=module', '-e', program];
  const cwd = fileURLToPath(new URL('../../', import.meta.url));
  return promisify(execFile)(process.execPath, args, { cwd }).then(({ stdout }) => stdout.trim());
}

describe('a package that is not installed', () => {
  it('is named, with how to install it', async () => {
    const say = `error => console.log(error.name, error.kind, error.message)`;
    const create = `const { createServer, listen } = await import(${entry});`;
    expect(await run(`${create} await createServer({}).catch(${say});`, 'hono')).toBe(
      'ServerError missing_package a server needs the package hono, which is not installed: npm install hono@4',
    );
    expect(await run(`${create} await listen({}).catch(${say});`, '@hono/node-server')).toBe(
      'ServerError missing_package a server on Node needs the package @hono/node-server, which is not installed: npm install @hono/node-server@2',
    );
  });

  it('of AI SDK is missed by one route alone', async () => {
    const told = await run(
      `
      const { createServer } = await import(${entry});
      const host = { submit() {}, loops: [], find: async () => ({ turns: 0, state: 'new' }), events: async function* () {} };
      const { fetch } = await createServer(host, { onError() {} });
      for (const path of ['/v1/loops', '/v1/chat/x']) {
        const response = await fetch(new Request('http://localhost' + path));
        console.log(response.status, await response.text());
      }
    `,
      'ai',
    );
    expect(told.split('\n')).toEqual([
      '200 {"loops":[]}',
      '501 {"error":{"kind":"missing_package","message":"a page that begins with its messages needs the package ai, which is not installed: npm install ai@7","status":501}}',
    ]);
  });

  it('is not asked for by the core, and nothing of Node by a server that does not listen', async () => {
    const asked = await run(
      `
      const { createServer } = await import(${entry});
      await createServer({ submit() {}, events() {} });
      console.log(globalThis.asked.filter(specifier => specifier.startsWith('node:')).join(' '));
    `,
      'none',
    );
    expect(asked).toBe('');
    const core = JSON.stringify(new URL('../../src/index.ts', import.meta.url).href);
    const ofCore = await run(`await import(${core}); console.log(globalThis.asked.slice(1).join(' '));`, 'none');
    expect(ofCore).toContain('./define/loop.ts');
    expect(ofCore).not.toMatch(/hono|server/);
  });
});
