/** What needs a file system, processes, sockets or SQLite: all by the built-in modules of Node, which other runtimes have too, or lack. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineLoop, defineRig, type JournalStore } from 'looprig';
import { mcpToolset } from 'looprig/mcp';
import { listen } from 'looprig/server';
import { sqliteStore } from 'looprig/sqlite';
import { journalStoreKit, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { workspaceTools } from 'looprig/workspace';
import { check, holds, type PlatformCheck, same } from './check.ts';
import { resultsIn } from './turn-checks.ts';

let made: string | undefined;

/** A place in the folder of these checks, which is gone when their process ends. */
function inFolder(name: string): string {
  if (made === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'looprig-platform-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    made = folder;
  }
  return join(made, name);
}

/** What this runtime is given before a script that is to be run. */
const RUN = 'Deno' in globalThis ? ['run', '--allow-all'] : [];

/** The program of the package, as `npx looprig` finds it. */
const program = (): string => fileURLToPath(new URL('dist/cli/main.js', import.meta.resolve('looprig/package.json')));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function looprig(cwd: string, ...args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, NO_COLOR: '1', LOOPRIG_STORE: inFolder('program.db') };
  return new Promise(resolve => {
    execFile(process.execPath, [...RUN, program(), ...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** A folder with something in it. */
async function project(name: string): Promise<string> {
  const place = inFolder(name);
  await mkdir(place);
  await writeFile(join(place, 'README.md'), '# Lamps\n\nThis project counts lamps.\n');
  return place;
}

/** What these calls of workspace tools give, in a turn that may do all. */
async function outputs(workspace: string, calls: readonly { readonly tool: string; readonly input: object }[]) {
  const model = scriptedModel([{ calls }, { text: '.' }]);
  const gate = { rules: [{ action: '*', decision: 'allow' as const }] };
  const loop = defineLoop({ name: 'l', model, tools: workspaceTools({ runCommand: { timeoutMs: 500 } }), gate });
  await using session = await defineRig({ loops: [loop], workspace }).open();
  await session.run('Go.');
  return resultsIn(session.history);
}

const FILES: readonly PlatformCheck[] = [
  check('the workspace tools list, search, read, write and edit', async () => {
    const place = await project('files');
    const [listed, found, read] = await outputs(place, [
      { tool: 'list_files', input: {} },
      { tool: 'search_text', input: { query: 'counts' } },
      { tool: 'read_file', input: { path: 'README.md' } },
      { tool: 'write_file', input: { path: 'new/notes.md', content: 'four lamps\n' } },
      { tool: 'edit_file', input: { path: 'README.md', old_text: 'lamps.', new_text: 'lamps and chairs.' } },
    ]);
    holds(listed, 'README.md');
    holds(found, 'counts lamps');
    holds(read, '# Lamps');
    same(await readFile(join(place, 'new/notes.md'), 'utf8'), 'four lamps\n');
    holds(await readFile(join(place, 'README.md'), 'utf8'), 'counts lamps and chairs.');
  }),

  check('no path and no link leads out of a workspace', async () => {
    const place = await project('confined');
    await writeFile(inFolder('secret.txt'), 'sesame');
    await symlink(inFolder('secret.txt'), join(place, 'link.txt'));
    await symlink(inFolder('.'), join(place, 'up'));
    const paths = ['../secret.txt', 'link.txt', 'up/secret.txt', inFolder('secret.txt')];
    const read = await outputs(
      place,
      paths.map(path => ({ tool: 'read_file', input: { path } })),
    );
    same(
      read.map(text => text.includes('sesame')),
      paths.map(() => false),
    );
    for (const text of read) holds(text, 'out of the workspace');
  }),

  check('a command runs in the workspace, and is ended with all that it started', async () => {
    const place = await project('commands');
    const [echo, stuck, late] = await outputs(place, [
      { tool: 'run_command', input: { command: ['cat', 'README.md'] } },
      { tool: 'run_command', input: { command: ['sh', '-c', 'sleep 60 & echo $! > child.pid; wait'] } },
      { tool: 'run_command', input: { command: ['no-such-program-anywhere'] } },
    ]);
    holds(echo, 'counts lamps');
    holds(stuck, '500 ms');
    holds(late, 'no-such-program-anywhere');
    const pid = Number(await readFile(join(place, 'child.pid'), 'utf8'));
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    same(state === '' || /\) Z /.test(state), true);
  }),

  check('the tools of an MCP server that is a program are tools of a loop', async () => {
    const server = inFolder('server.mjs');
    await writeFile(server, SERVER);
    const tools = await mcpToolset({ name: 'made', command: process.execPath, args: [...RUN, server] });
    const model = scriptedModel([{ calls: [{ tool: 'greet', input: { who: 'Ada' } }] }, { text: '.' }]);
    const gate = { rules: [{ action: 'mcp.call', decision: 'allow' as const }] };
    await using session = await defineRig({ loops: [defineLoop({ name: 'l', model, tools: [tools], gate })] }).open();
    await session.run('Go.');
    holds(resultsIn(session.history)[0], 'Good day, Ada');
  }),
];

/** A server of one tool, on its input and output. */
const SERVER = `
import { createInterface } from 'node:readline';
const tool = { name: 'greet', description: 'Greets.', inputSchema: { type: 'object', properties: { who: { type: 'string' } } } };
const answers = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'made', version: '1' } }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { who } }) => ({ content: [{ type: 'text', text: 'Good day, ' + who }] }),
};
createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line);
  const result = answers[method]?.(params);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
}).on('close', () => process.exit(0));
`;

const SQLITE: readonly PlatformCheck[] = [
  ...sqliteKit('the SQLite store', false),
  ...sqliteKit('the SQLite store in a thread of its own', true),

  check('a session in a file is gone on with after its store was closed', async () => {
    const file = inFolder('again.db');
    const first = sqliteStore({ file });
    const wait = scriptedTool('wait', { hangs: true });
    const rig = (store: JournalStore, ...replies: readonly ScriptedReply[]) =>
      defineRig({
        loops: [defineLoop({ name: 'l', model: scriptedModel(replies), tools: [wait.definition], drainTimeoutMs: 10 })],
        store,
      });
    const session = await rig(first, { calls: [{ tool: 'wait' }] }).open();
    for await (const event of session.submit('Go.')) if (event.type === 'tool.started') break;
    await session.release();
    await first.close();
    const second = sqliteStore({ file });
    await using again = await rig(second, { text: 'So it is.' }).open({ sessionId: session.id, resume: 'auto' });
    same((await again.turn?.result)?.text, 'So it is.');
    await again.close();
    await second.close();
  }),
];

function sqliteKit(title: string, thread: boolean): PlatformCheck[] {
  const open = (): JournalStore => sqliteStore({ file: inFolder(`kit-${thread}.db`), thread });
  const reopen = async (store: JournalStore): Promise<JournalStore> => {
    await store.close?.();
    return open();
  };
  const kit = journalStoreKit(open, { reopen });
  return kit.map(({ name, run }) => check(`${title}: ${name}`, run));
}

const PROGRAM: readonly PlatformCheck[] = [
  check('the command line runs a turn, and says nothing but what it is to say', async () => {
    const place = await project('program');
    const ran = await looprig(place, 'run', 'What does this project count?');
    same([ran.code, ran.stderr.match(/warning/gi)], [0, null]);
    holds(ran.stdout, 'lamps');
    holds((await looprig(place, 'sessions')).stdout, 'What does this project count?');
    holds((await looprig(place, 'show', 'last')).stdout, 'list_files');
    const on = await looprig(place, 'run', '--session', 'last', 'And what else?');
    same(on.code, 0);
  }),

  check("a loop of one's own is begun, checked and run", async () => {
    const place = await project('own');
    const begun = await looprig(place, 'init');
    same([begun.code, begun.stderr], [0, '']);
    // It finds the package as an installation would have it.
    await symlink(
      fileURLToPath(new URL('..', import.meta.resolve('looprig/package.json'))),
      join(place, 'node_modules'),
    );
    const checked = await looprig(place, 'check');
    same([checked.code, checked.stderr], [0, '']);
    const ran = await looprig(place, 'run', 'How many words?', '--loop', '.', '--no-store');
    same(ran.code, 0);
  }),

  check('"looprig serve" listens, and ends when it is told to', async () => {
    const place = await project('served');
    const args = [...RUN, program(), 'serve', '--port', '0', '--store', inFolder('served.db')];
    const child = spawn(process.execPath, args, { cwd: place, env: { ...process.env, NO_COLOR: '1' } });
    let said = '';
    const url = new Promise<string>((resolve, reject) => {
      const hear = (text: Uint8Array): void => {
        said += new TextDecoder().decode(text);
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.once('exit', () => reject(new Error(`it has ended: ${said}`)));
    });
    try {
      holds(await (await fetch(`${await url}/healthz`)).text(), 'ok');
      holds(await (await fetch(await url)).text(), '<!doctype html>');
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  }),
];

const SOCKETS: readonly PlatformCheck[] = [
  check('a server listens, tells events over HTTP, and closes with a stream open', async () => {
    const hello = defineLoop({ name: 'l', model: scriptedModel([{ text: 'Hello.', deltas: 2 }]), tools: [] });
    const server = await listen(defineRig({ loops: [hello] }), { onError: () => {} });
    const post = (path: string, body: object): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const { sessionId } = await (await post('/v1/sessions', {})).json();
    const { body } = await fetch(`${server.url}/v1/sessions/${sessionId}/events`);
    same((await post(`/v1/sessions/${sessionId}/turns`, { input: 'Hi' })).status, 202);
    let told = '';
    for await (const bytes of body ?? []) {
      told += new TextDecoder().decode(bytes);
      if (told.includes('"type":"turn.done"')) break;
    }
    holds(told, '"type":"text.delta"');
    same((await fetch(server.url)).headers.get('content-type')?.includes('text/html'), true);
    const open = await fetch(`${server.url}/v1/sessions/${sessionId}/events`);
    await server.close();
    await open.text();
  }),
];

/** What needs more than web standards. */
export const SYSTEM_CHECKS: readonly PlatformCheck[] = [...FILES, ...SQLITE, ...PROGRAM, ...SOCKETS];
