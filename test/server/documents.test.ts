/** docs/server.md: its programs and its commands run as they stand there. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { UIMessage } from 'ai';
import { scriptedModel } from 'looprig/testing';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { PageChat } from '../ai/chat-server.ts';
import { Client, hostOf, look, rigOf, serve } from './setup.ts';

const root = join(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'docs/server.md'), 'utf8');
mkdirSync(join(root, 'temp'), { recursive: true });
const folder = mkdtempSync(join(root, 'temp/server-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  for (const name of ['model', 'search', 'rig']) Reflect.deleteProperty(globalThis, name);
  vi.restoreAllMocks();
});

/** The first block of a language under a heading. */
function blockOf(heading: string, language: string): string {
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const code = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(section)?.[1];
  if (code === undefined) throw new Error(`docs/server.md has no ${language} under "${heading}"`);
  return code;
}

/** Runs a program by importing it. */
async function run<Exports>(heading: string, more = ''): Promise<Exports> {
  const file = join(folder, `${heading.replace(/\W/g, '-')}.ts`);
  writeFileSync(file, `${blockOf(heading, 'ts').replace('port: 8080', 'port: 0')}${more}`);
  return import(file);
}

const writes = { calls: [{ tool: 'write', input: { path: 'a', text: 'x' } }] };

describe('the programs of docs/server.md', () => {
  it('begin a server that answers, with figures', async () => {
    Object.assign(globalThis, { model: scriptedModel([]), search: look });
    const said = vi.spyOn(console, 'log').mockImplementation(() => {});
    const { server } = await run<{ server: Awaited<ReturnType<typeof serve>>['listening'] }>(
      'Begin',
      'export { server };\n',
    );
    expect(said.mock.calls).toEqual([[server.url]]);
    const { body } = await new Client(server.url).ask('GET', '/v1/loops');
    expect(body).toEqual({ loops: [{ name: 'clerk', modes: [''] }] });
    await server.close({ graceMs: 0 });
    process.removeAllListeners('SIGTERM');
  });

  it('answer on any runtime', async () => {
    Object.assign(globalThis, rigOf([]));
    const program = await run<{ default: { fetch: (request: Request) => Promise<Response> } }>('Other runtimes');
    const headers = { authorization: 'Bearer from-your-secrets-and-long' };
    const client = new Client('https://agent.example.com', headers, program.default.fetch);
    expect(await client.ask('GET', '/v1/loops')).toMatchObject({ status: 200 });
    const bare = new Client('https://agent.example.com', {}, program.default.fetch);
    expect(await bare.ask('GET', '/v1/loops')).toMatchObject({ status: 401 });
  });

  it('give a page with useChat what it needs', async () => {
    const token = 'a-token-of-the-test-0123456789';
    await using served = hostOf([writes, { text: 'Done.' }]);
    await using server = await serve(served.host, { token });
    const { chatOf } = await run<{
      chatOf: (...given: string[]) => Promise<ConstructorParameters<typeof PageChat>[1]>;
    }>('A page with useChat');
    const page = new PageChat('unused', await chatOf(await server.client.begin(), server.url, token));
    await page.sendMessage({ text: 'Write.' });
    await page.settled();
    const again = new PageChat('unused', await chatOf(page.id, server.url, token));
    await again.resumeStream();
    await again.settled();
    await again.decide(again.openApprovals[0]!, true);
    expect(again.error).toBeUndefined();
    const last: UIMessage = again.last;
    expect(last.parts.at(-1)).toMatchObject({ type: 'text', text: 'Done.' });
  });
});

describe('the commands of docs/server.md', () => {
  it('begin a session, submit once, follow it, answer its gate, and read on', async () => {
    await using served = hostOf([writes, { text: 'Written down.' }]);
    await using server = await serve(served.host, { heartbeatMs: 100 }); // that is when curl sees that nobody listens
    const env = { ...process.env, URL: server.url };
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', blockOf('With curl', 'sh')], { env });
    const answers = [...stdout.matchAll(/\{"turnId":"([^"]+)","isNew":(true|false)\}/g)].map(([, id, isNew]) => ({
      id,
      isNew,
    }));
    expect(answers.map(({ isNew }) => isNew)).toEqual(['true', 'false']);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(stdout).toContain('"type":"gate.opened"');
    expect(stdout).toContain('wrote 3 characters to notes.md');
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/"type":"turn.done".*"text":"Written down\."/);
  });
});
