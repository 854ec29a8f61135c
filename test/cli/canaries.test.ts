/** Secrets that a program is given come out nowhere: not on a terminal, not in a store, a report, an answer of a server, or a stack. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ServedReply, serveModel } from './model-server.ts';
import { runProgram, type Started, startProgram } from './program.ts';

const KEY = 'canary-of-a-key-0123456789';
const TOKEN = 'canary-of-a-token-0123456789';
const ENV = { LOOPRIG_API_KEY: KEY, LOOPRIG_TOKEN: TOKEN };

/** What a provider says that tells everybody the key that it was given. */
const TELLS_KEY: ServedReply = {
  failure: {
    status: 401,
    body: { error: { message: `Incorrect API key provided: ${KEY}.`, type: 'invalid_request_error', code: KEY } },
  },
};
const FINE: ServedReply = { text: ['Fine, ', 'and ', KEY.slice(0, 9), KEY.slice(9), ' it is.'] };

let folder: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-canaries-'));
  await writeFile(join(folder, 'README.md'), '# Sheep\n');
  env = { ...ENV, LOOPRIG_STORE: join(folder, 'sessions.db') };
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function requireSilent(where: string, text: string): void {
  for (const canary of [KEY, TOKEN]) expect(text.includes(canary), `${where} holds ${canary}`).toBe(false);
}

/** Runs it, and looks at all that it says. */
async function run(...args: readonly string[]) {
  const ended = await runProgram(args, { cwd: folder, env });
  requireSilent(`standard output of ${args[0]}`, ended.stdout);
  requireSilent(`standard error of ${args[0]}`, ended.stderr);
  return ended;
}

/** All that the folder holds, whatever it is: the store with its log among it. */
async function requireNothingKept(): Promise<void> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile());
  expect(entries.map(({ name }) => name)).toContain('sessions.db');
  for (const { name, parentPath } of entries) requireSilent(name, await readFile(join(parentPath, name), 'latin1'));
}

describe('a key that a provider tells in its error', () => {
  it.each([
    ['plain', []],
    ['as JSON', ['--json']],
    ['with stacks', ['--debug']],
    ['quietly', ['--quiet']],
  ])('is neither said nor kept: %s', async (_, options) => {
    await using server = await serveModel([TELLS_KEY]);
    const { status, stderr, stdout } = await run('run', 'go', '--model', server.model, ...options);
    expect(status).not.toBe(0);
    expect(stderr + stdout).toMatch(/401|Incorrect API key/);
    expect(server.requests[0]?.authorization).toBe(`Bearer ${KEY}`);
    await requireNothingKept();
  });

  it('is not in what is shown of the session later', async () => {
    await run('sessions');
    await run('sessions', '--json');
    await run('show', 'last');
    await run('show', 'last', '--json');
    await run('report', 'last', '--out', 'report.html');
    await requireNothingKept();
  });
});

describe('a key that a model says', () => {
  it('is not shown, in whatever pieces it comes', async () => {
    await using server = await serveModel([FINE]);
    for (const options of [[], ['--json'], ['--quiet']]) {
      const { status, stdout } = await run('run', 'go', '--model', server.model, '--no-store', ...options);
      expect([status, stdout.includes('it is.')]).toEqual([0, true]);
    }
  });
});

describe('a server', () => {
  it('says neither its token nor a key, whatever it is asked and whatever goes wrong', async () => {
    await using model = await serveModel([TELLS_KEY]);
    const program: Started = startProgram(['serve', '--port', '0', '--model', model.model], { cwd: folder, env });
    let said = '';
    for (const stream of [program.child.stdout, program.child.stderr])
      stream.on('data', (text: string) => (said += text));
    try {
      await program.said('http://');
      await vi.waitFor(() => expect(said).toMatch(/http:\/\/\S+\n/));
      const url = /http:\/\/[^\s/]+/.exec(said)![0];
      const ask = async (path: string, body?: object, token: string = TOKEN): Promise<string> => {
        const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
        const response = await fetch(url + path, {
          headers,
          ...(body && { method: 'POST', body: JSON.stringify(body) }),
        });
        const text = await response.text();
        requireSilent(path, JSON.stringify([...response.headers]) + text);
        return text;
      };
      const { sessionId } = JSON.parse(await ask('/v1/sessions', {})) as { sessionId: string };
      const path = `/v1/sessions/${sessionId}`;
      await ask(`${path}/turns`, { input: 'go' });
      await vi.waitFor(async () => expect(await ask(path)).toContain('"failed"'), { timeout: 10_000 });
      for (const other of ['/', '/openapi.json', '/metrics', '/healthz', '/v1/loops', '/v1/sessions', '/none'])
        await ask(other);
      await ask('/v1/loops', undefined, `${TOKEN}x`);
      const events = await fetch(`${url}${path}/events`, { headers: { authorization: `Bearer ${TOKEN}` } });
      const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
      let read = '';
      while (!read.includes('turn.failed')) read += (await reader.read()).value ?? '';
      await reader.cancel();
      requireSilent('its events', read);
    } finally {
      program.child.kill('SIGTERM');
      await program.ended;
    }
    requireSilent('what it said', said);
    await requireNothingKept();
  });
});
