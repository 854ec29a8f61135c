/** What single blocks need beside their surroundings, by their place: files to read, servers to speak to, a turn that waits or was left. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { defineLoop, defineRig, type LoopDefinition, memoryStore, type ToolDefinition } from 'looprig';
import { localEngine } from 'looprig/engines';
import { sqliteStore } from 'looprig/sqlite';
import { forever, scriptedModel, scriptedTool } from 'looprig/testing';
import { serviceProgram } from '../mcp/services.ts';
import { PostgresServer } from '../support/postgres-server.ts';
import { RestateServer } from '../support/restate-server.ts';
import { freePort } from '../support/server-guard.ts';

/** What is prepared for one block, and taken away after it. */
export interface Prepared extends AsyncDisposable {
  /** Takes the place of what the surroundings have. */
  readonly globals?: Readonly<Record<string, unknown>>;
}

const nothingLeft = async (): Promise<void> => {};

const withGlobals = (globals: Prepared['globals']): Prepared => ({
  ...(globals && { globals }),
  [Symbol.asyncDispose]: nothingLeft,
});

/** A loop that calls one tool once, and then answers. */
const callsOnce = (tool: ToolDefinition, input: object): LoopDefinition =>
  defineLoop({
    name: 'agent',
    model: scriptedModel([{ calls: [{ tool: tool.name, input }] }, forever({ text: 'That is all.' })]),
    tools: [tool],
  });

/** A session in which one call asks a person. */
async function asking(name: string, action: string, target: string) {
  const { definition } = scriptedTool(name, {
    returns: 'as you wish',
    access: () => [{ action, target }],
    summary: () => `${name} ${target}`,
  });
  return defineRig({ loops: [callsOnce(definition, {})], gate: { ask: true } }).open();
}

async function fileOfSessions(): Promise<Prepared> {
  const store = sqliteStore({ file: 'sessions.db' });
  const { definition } = scriptedTool('look', { returns: 'nothing new' });
  await using session = await defineRig({ loops: [callsOnce(definition, {})], store }).open();
  await session.run('What is new?');
  await session.close();
  await store.close?.();
  return withGlobals({});
}

/** A rig whose only session was left by its process while a call ran. */
async function leftInTheMiddle(): Promise<Prepared> {
  const stuck = scriptedTool('pay', { hangs: true });
  const loop = callsOnce(stuck.definition, {});
  const store = memoryStore();
  const session = await defineRig({ loops: [loop], store }).open();
  for await (const event of session.submit('Pay.')) {
    if (event.type === 'tool.started') void session.release();
  }
  return withGlobals({ rig: defineRig({ loops: [loop], store }) });
}

/** A session whose model asks for more than its limits allow. */
async function goingTooFar(): Promise<Prepared> {
  const { definition } = scriptedTool('compare', input => JSON.stringify(input));
  const calls = [
    { tool: 'compare', input: { supplier: 1 } },
    { tool: 'compare', input: { supplier: 2 } },
  ];
  const model = scriptedModel([{ calls }, forever({ text: 'That is all.' })]);
  const loop = defineLoop({ name: 'agent', model, tools: [definition], limits: { calls: 1 } });
  const session = await defineRig({ loops: [loop] }).open();
  return withGlobals({ session });
}

/** Servers of MCP where the page says that they are: a package that npx has, and an address on the web. */
async function serversOfMcp(): Promise<Prepared> {
  mkdirSync('bin');
  const program = `#!/bin/sh\nexec "${process.execPath}" "${serviceProgram('server-filesystem')}" "$3"\n`;
  writeFileSync('bin/npx', program);
  chmodSync('bin/npx', 0o755);
  const { PATH, TOKEN } = process.env;
  Object.assign(process.env, { PATH: `${resolve('bin')}${delimiter}${PATH}`, TOKEN: 'secret' });
  const port = await freePort();
  const server = spawn(process.execPath, [serviceProgram('server-everything'), 'streamableHttp'], {
    env: { PATH: PATH ?? '', PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await once(server.stderr, 'data');
  server.stderr.resume();
  const web = globalThis.fetch;
  globalThis.fetch = (input, init) =>
    web(String(input).replace('https://example.com', `http://127.0.0.1:${port}`), init);
  return {
    [Symbol.asyncDispose]: async () => {
      globalThis.fetch = web;
      Object.assign(process.env, { PATH, TOKEN });
      await killed(server);
    },
  };
}

async function killed(server: ChildProcess): Promise<void> {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** A PostgreSQL server with a database of its own. */
async function postgres(): Promise<Prepared> {
  const server = await PostgresServer.start();
  return { globals: { postgresUrl: await server.createDatabase() }, [Symbol.asyncDispose]: () => server.stop() };
}

async function restate(): Promise<Prepared> {
  const server = await RestateServer.start();
  const globals = { restateIngress: server.ingressUrl, restateAdmin: server.adminUrl };
  return { globals, [Symbol.asyncDispose]: () => server.stop() };
}

/** A recorded exchange: one request, one answer. */
const RECORDING = {
  name: 'hello',
  provider: 'openai',
  api: 'openai-chat',
  model: 'gpt-4o-mini',
  exchanges: [
    {
      request: null,
      response: {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: {
          id: 'chatcmpl-1',
          object: 'chat.completion',
          created: 1_764_500_000,
          model: 'gpt-4o-mini',
          choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
        },
      },
    },
  ],
};

async function file(name: string, content: string | Uint8Array): Promise<Prepared> {
  writeFileSync(name, content);
  return withGlobals({});
}

export const PREPARATIONS: Readonly<Record<string, () => Promise<Prepared>>> = {
  'docs/approvals.md: Gates': async () =>
    withGlobals({ session: await asking('fetch_page', 'net.fetch', 'news.example.com') }),
  'docs/approvals.md: Answers': async () => {
    const session = await asking('write_file', 'fs.write', 'src/a.ts');
    const turn = session.submit('Write it.');
    for await (const event of turn) if (event.type === 'gate.opened') break;
    return withGlobals({ session, turn });
  },
  'docs/engines.md: Several processes': async () => withGlobals({ engine: localEngine() }),
  'docs/engines.md: On PostgreSQL alone: pg-boss': postgres,
  'docs/engines.md: On Restate': restate,
  'docs/limits.md: At a limit': goingTooFar,
  'docs/limits.md: Going on after a limit': goingTooFar,
  'docs/mcp.md: MCP servers': serversOfMcp,
  'docs/models.md: Replay': () => file('exchange.json', JSON.stringify(RECORDING)),
  'docs/postgres.md: Sessions in PostgreSQL': postgres,
  'docs/postgres.md: Permissions and migration': postgres,
  'docs/recovery.md: When the process ends': leftInTheMiddle,
  'docs/report.md: Reports': fileOfSessions,
  'docs/sessions.md: The session': () => file('picture.png', new Uint8Array([137, 80, 78, 71])),
};
