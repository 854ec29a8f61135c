/** `looprig serve` and `looprig worker`: processes that live until they are told to end. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../support/postgres-server.ts';
import { runWithout, sourceFile } from '../support/without-package.ts';
import { runProgram, type Started, startProgram } from './program.ts';

let folder: string;
let started: Started[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-serve-'));
  started = [];
  await writeFile(join(folder, 'README.md'), '# Sheep\n');
});

afterEach(async () => {
  for (const { child, ended } of started) {
    child.kill('SIGKILL');
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
});

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

const storeEnv = (): Record<string, string> => ({ LOOPRIG_STORE: join(folder, 'sessions.db') });

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const program = startProgram(args, { cwd: folder, env: { ...storeEnv(), ...env } });
  started.push(program);
  return program;
}

/** Serves, and gives the address. */
async function serve(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const program = start(['serve', '--port', '0', ...args], env);
  let said = '';
  program.child.stdout.on('data', (text: string) => (said += text));
  await program.said('\n');
  await program.said('http://');
  await vi.waitFor(() => expect(said).toContain('\n'));
  let told = '';
  program.child.stderr.on('data', (text: string) => (told += text));
  return { ...program, url: said.trim(), stderr: () => told };
}

async function ask(url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  if (body === undefined) return fetch(url, { headers });
  const type = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

/** Begins a session and waits until its turn is over or waits; gives how it stands. */
async function turnAt(url: string, input: string, state: string): Promise<Record<string, unknown>> {
  const { sessionId } = (await (await ask(`${url}/v1/sessions`, {})).json()) as { sessionId: string };
  expect((await ask(`${url}/v1/sessions/${sessionId}/turns`, { input })).status).toBe(202);
  return vi.waitFor(
    async () => {
      const details = (await (await ask(`${url}/v1/sessions/${sessionId}`)).json()) as Record<string, unknown>;
      expect(details).toMatchObject({ state });
      return details;
    },
    { timeout: 15_000, interval: 50 },
  );
}

const PAINTER = `
import { defineLoop, defineTool } from '${source('index.ts')}';
import { forever, scriptedModel } from '${source('testing/index.ts')}';
const paint = defineTool({
  name: 'paint', description: 'Paints.', input: { type: 'object' },
  access: () => [{ action: 'house.paint', target: 'door' }], execute: () => 'red',
});
const model = scriptedModel(forever(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'Painted.' } : { calls: [{ tool: 'paint', input: {} }] }));
const make = name => defineLoop({ name, model, tools: [paint] });
`;

describe('looprig serve', () => {
  it('with nothing set up serves the loop of looprig run, and its sessions are those of the command line', async () => {
    const { url, child, ended } = await serve(['--workspace', folder]);
    expect(await (await ask(`${url}/v1/loops`)).json()).toEqual({
      loops: [{ name: 'run', modes: ['', 'base', 'read-only'] }],
    });
    expect(await turnAt(url, 'What is here?', 'done')).toMatchObject({ title: 'What is here?', turns: 1 });
    child.kill('SIGINT');
    const { status, stderr } = await ended;
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr:
        'looprig serves the loop run · model: demo (the offline demo model: works by rule, no key, no network): Ctrl-C ends it\n',
    });
    const { stdout } = await runProgram(['sessions'], { env: storeEnv() });
    expect(stdout).toMatch(/ done +1 +\d+ {2}What is here\?\n$/);
  });

  it('serves all loops of the configuration in its folder, and asks at their gates', async () => {
    await writeFile(join(folder, 'looprig.config.ts'), `${PAINTER} export default [make('one')];`);
    const { url, child, ended } = await serve();
    const waiting = await turnAt(url, 'Paint the door', 'waiting');
    const { sessionId, gates } = waiting as { sessionId: string; gates: { gateId: string }[] };
    child.kill('SIGTERM');
    expect((await ended).status).toBe(0);
    // The question outlives the process.
    const again = await serve(['--loop', '.']);
    const answered = await ask(`${again.url}/v1/sessions/${sessionId}/gates/${gates[0]?.gateId}`, {
      decision: 'approve',
    });
    expect(answered.status).toBe(204);
    await vi.waitFor(
      async () =>
        expect(await (await ask(`${again.url}/v1/sessions/${sessionId}`)).json()).toMatchObject({ state: 'done' }),
      { timeout: 15_000 },
    );
  });

  it('asks for the token of the environment, and never says it', async () => {
    const token = 'open-sesame-open-sesame';
    const { url, child, ended } = await serve([], { LOOPRIG_TOKEN: token });
    expect((await ask(`${url}/v1/loops`)).status).toBe(401);
    expect((await ask(`${url}/v1/loops`, undefined, { authorization: `Bearer ${token}` })).status).toBe(200);
    child.kill('SIGINT');
    const { stdout, stderr } = await ended;
    expect(stderr).toContain(`its page is at ${url}/#token=TOKEN, with your token in the place of TOKEN\n`);
    expect(stdout + stderr).not.toContain(token);
  });

  it.each([
    [
      ['--host', '0.0.0.0'],
      'listening on 0.0.0.0 lets others reach the server: give it a token by LOOPRIG_TOKEN or --token, or let it listen on 127.0.0.1',
    ],
    [['--token', 'short'], '--token must be text of at least 16 visible ASCII characters, without blanks'],
    [['--port', '70000'], '--port must be a whole number from 0 to 65535, not "70000"'],
    [['--loop', 'none.ts'], 'there is no file none.ts: give that of a configuration, or let "looprig init" write one'],
    [['--engine', 'train://x'], 'an engine is written as'],
  ])('%j is refused with one sentence', async (args, sentence) => {
    const { status, stdout, stderr } = await runProgram(['serve', '--no-store', ...args], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([expect.stringContaining(sentence), '']);
  });

  it('says which packages it needs where they are missing', async () => {
    const program = `
      process.argv = ['node', 'looprig', 'serve', '--no-store', '--port', '0'];
      await import(${sourceFile('cli/main.ts')});`;
    const refused = await runWithout('@hono/node-server', program).catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(refused).toMatchObject({
      code: 2,
      stderr:
        'looprig: looprig serve needs two packages that are not installed: run "npm install hono@4 @hono/node-server@2"\n',
    });
  });

  it('says where another program listens', async () => {
    const { url } = await serve();
    const port = new URL(url).port;
    const { status, stderr } = await runProgram(['serve', '--port', port, '--no-store'], { cwd: folder });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `looprig: 127.0.0.1 port ${port} cannot be listened on: another program listens there: --port 0 takes one that is free\n`,
    });
  });
});

/** A loop whose tool works until the file `go` is there. */
const WORKER = `
import { access } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { defineLoop, defineTool } from '${source('index.ts')}';
import { forever, scriptedModel } from '${source('testing/index.ts')}';
const work = defineTool({
  name: 'work', description: 'Works.', input: { type: 'object' },
  execute: async (_input, { signal }) => {
    for (; !(await access('go').then(() => true, () => false)); signal.throwIfAborted()) await pause(20);
    return 'worked';
  },
});
const model = scriptedModel(forever(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [{ tool: 'work', input: {} }] }));
export default defineLoop({ name: 'worker', model, tools: [work] });
`;

describe('one session at a server and at the command line at once', () => {
  const inFolder = (...args: readonly string[]) => runProgram(args, { cwd: folder, env: storeEnv() });

  it('is refused to every other command with one sentence and status 6, while its turn runs at the server', async () => {
    await writeFile(join(folder, 'looprig.config.ts'), `${PAINTER} export default [make('one')];`);
    const { url, stderr } = await serve();
    const waiting = await turnAt(url, 'Paint the door', 'waiting');
    const { sessionId, gates } = waiting as { sessionId: string; gates: { gateId: string }[] };
    const refusal = /^looprig: another process works on session [0-9a-f]{8}: wait until it has ended\n$/;
    for (const args of [
      ['run', 'more', '--session', sessionId],
      ['chat', '--session', sessionId],
      ['resume', sessionId],
      ['answer', sessionId, 'yes'],
    ]) {
      const refused = await inFolder(...args);
      expect({ args, ...refused }).toMatchObject({ status: 6, stdout: '', stderr: expect.stringMatching(refusal) });
    }
    await ask(`${url}/v1/sessions/${sessionId}/gates/${gates[0]?.gateId}`, { decision: 'approve' });
    await vi.waitFor(
      async () =>
        expect(await (await ask(`${url}/v1/sessions/${sessionId}`)).json()).toMatchObject({ state: 'done', turns: 1 }),
      { timeout: 15_000 },
    );
    await vi.waitFor(
      async () =>
        expect(await inFolder('run', 'more', '--session', sessionId, '--approve', 'all')).toMatchObject({ status: 0 }),
      { timeout: 15_000 },
    );
    expect(stderr()).not.toContain('another process');
  });

  it('waits at the server while a command works on it: the server says so once, and then runs the turn', async () => {
    await writeFile(join(folder, 'looprig.config.ts'), WORKER);
    const { url, stderr } = await serve();
    const running = start(['run', 'Work', '--loop', '.']);
    await running.said('prompt: Work');
    const [session] = await vi.waitFor(
      async () => {
        const { stdout } = await inFolder('sessions', '--json');
        expect(stdout).toContain('"state":"running"');
        return [JSON.parse(stdout) as { sessionId: string }];
      },
      { timeout: 15_000 },
    );
    const at = `${url}/v1/sessions/${session?.sessionId}`;
    expect((await ask(`${at}/turns`, { input: 'and more' })).status).toBe(202);
    await vi.waitFor(() => expect(stderr()).toContain('another process works on session'), { timeout: 15_000 });
    await writeFile(join(folder, 'go'), '');
    expect(await running.ended).toMatchObject({ status: 0, stdout: 'Done.\n' });
    await vi.waitFor(async () => expect(await (await ask(at)).json()).toMatchObject({ state: 'done', turns: 2 }), {
      timeout: 15_000,
    });
    expect(stderr().match(/another process works/g)).toHaveLength(1);
  });
});

describe('the sessions that a server lists', () => {
  const titles = async (url: string): Promise<readonly string[]> => {
    const { sessions } = (await (await ask(`${url}/v1/sessions`)).json()) as { sessions: { title: string }[] };
    return sessions.map(({ title }) => title).toSorted();
  };

  it('are those of its own folder, and with --all those of the whole store', async () => {
    const elsewhere = join(folder, 'elsewhere');
    await mkdir(elsewhere);
    expect((await runProgram(['run', 'here'], { cwd: folder, env: storeEnv() })).status).toBe(0);
    expect((await runProgram(['run', 'there'], { cwd: elsewhere, env: storeEnv() })).status).toBe(0);
    const { url } = await serve();
    await turnAt(url, 'at the server', 'done');
    expect(await titles(url)).toEqual(['at the server', 'here']);
    const all = await serve(['--all']);
    expect(await titles(all.url)).toEqual(['at the server', 'here', 'there']);
  });

  it('are those of its own loops, which other commands go on with from anywhere', async () => {
    await writeFile(join(folder, 'looprig.config.ts'), `${PAINTER} export default [make('one'), make('two')];`);
    expect((await runProgram(['run', 'of looprig itself'], { cwd: folder, env: storeEnv() })).status).toBe(0);
    const { url, child, ended } = await serve(['--approve', 'all']);
    const { sessionId } = (await (await ask(`${url}/v1/sessions`, { loop: 'two' })).json()) as { sessionId: string };
    await ask(`${url}/v1/sessions/${sessionId}/turns`, { input: 'at the server' });
    await vi.waitFor(
      async () => expect(await (await ask(`${url}/v1/sessions/${sessionId}`)).json()).toMatchObject({ state: 'done' }),
      { timeout: 15_000 },
    );
    expect(await titles(url)).toEqual(['at the server']);
    child.kill('SIGINT');
    await ended;
    const again = await runProgram(['run', 'again', '--session', sessionId, '--approve', 'all'], {
      ...{ cwd: tmpdir(), env: storeEnv() },
    });
    expect(again).toMatchObject({ status: 0, stdout: 'Painted.\n' });
  });
});

describe('looprig worker', () => {
  it('needs an engine', async () => {
    expect(await runProgram(['worker'])).toMatchObject({
      status: 2,
      stderr: 'looprig: looprig worker needs --engine: "looprig worker --help" says more\n',
    });
  });

  it('is needed by a server that runs no turns itself', async () => {
    expect(await runProgram(['serve', '--no-turns'])).toMatchObject({
      status: 2,
      stderr: 'looprig: --no-turns leaves turns to workers: say with --engine where they are\n',
    });
  });

  it.runIf(HAS_POSTGRES)(
    `runs the turns that a server takes and leaves to it, on one database${POSTGRES_LEFT_OUT}`,
    async () => {
      const server = await PostgresServer.start();
      try {
        const store = await server.createDatabase();
        const engine = store.replace('postgres:', 'pg-boss:');
        await writeFile(join(folder, 'looprig.config.ts'), `${PAINTER} export default [make('one')];`);
        const shared = ['--store', store, '--engine', engine, '--approve', 'all'];
        const worker = start(['worker', ...shared]);
        await worker.said('looprig works on the loop one');
        const { url, child, ended } = await serve([...shared, '--no-turns']);
        expect(await turnAt(url, 'Paint the door', 'done')).toMatchObject({ turns: 1, calls: 1 });
        for (const program of [child, worker.child]) program.kill('SIGTERM');
        const [atServer, atWorker] = await Promise.all([ended, worker.ended]);
        expect([atServer.status, atWorker.status]).toEqual([0, 0]);
        expect(atServer.stderr + atWorker.stderr).not.toContain('open-sesame');
      } finally {
        await server.stop();
      }
    },
  );
});
