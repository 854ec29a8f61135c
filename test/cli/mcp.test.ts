/** `--mcp`: tools of servers beside those of the folder. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveModel } from './model-server.ts';
import { runProgram } from './program.ts';

const ODD = `"${process.execPath}" "${fileURLToPath(new URL('../support/odd-mcp-server.mjs', import.meta.url))}"`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-mcp-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A run in the folder with these servers. */
const running = (servers: readonly string[], ...options: readonly string[]): readonly string[] => [
  ...['run', 'go', '--workspace', folder],
  ...servers.flatMap(server => ['--mcp', server]),
  ...options,
];

describe('a server of tools', () => {
  it('is started, its tools are offered, and a call of one asks for permission', async () => {
    await using server = await serveModel([{ calls: [{ name: 'ansi_and_controls', input: {} }] }, { text: ['Done.'] }]);
    const args = running([ODD], '--model', server.model, '--no-store');
    const allowed = await runProgram([...args, '--approve', 'all']);
    expect({ status: allowed.status, stdout: allowed.stdout }).toEqual({ status: 0, stdout: 'Done.\n' });
    const offered = (server.requests[0]!.body as { tools: { function: { name: string } }[] }).tools;
    expect(offered.map(tool => tool.function.name)).toEqual(expect.arrayContaining(['read_file', 'ansi_and_controls']));
    expect(allowed.stderr).toContain('✓ ansi_and_controls');
  });

  it('that is kept with a session is there when the session goes on', async () => {
    await using server = await serveModel([{ text: ['One.'] }, { text: ['Two.'] }]);
    const store = ['--store', join(folder, 'sessions.db')];
    const first = await runProgram(running([ODD], '--model', server.model, ...store));
    expect(first.status).toBe(0);
    const second = await runProgram(['run', 'on', '--session', 'last', ...store]);
    expect({ status: second.status, stdout: second.stdout }).toEqual({ status: 0, stdout: 'Two.\n' });
    const offered = (server.requests[1]!.body as { tools: { function: { name: string } }[] }).tools;
    expect(offered.map(tool => tool.function.name)).toContain('ansi_and_controls');
  });

  it('given twice has its name before its tools, so that they can be told apart', async () => {
    await using server = await serveModel([{ text: ['Done.'] }]);
    const args = running([ODD, ODD], '--model', server.model, '--no-store');
    expect((await runProgram(args)).status).toBe(0);
    const offered = (server.requests[0]!.body as { tools: { function: { name: string } }[] }).tools;
    const names = offered.map(tool => tool.function.name).filter(name => name.endsWith('_ansi_and_controls'));
    expect(names).toHaveLength(2);
    expect(new Set(names).size).toBe(2);
  });

  it.each([
    [`"${process.execPath}" -e "console.error('no licence'); process.exit(3)"`, /^looprig: --mcp: .*no licence/s],
    ['no-such-program-at-all', /^looprig: --mcp: .*no-such-program-at-all/],
    ['http://127.0.0.1:1/mcp', /^looprig: --mcp: /],
    ['http://', /^looprig: --mcp: .*is no address/],
  ])('that does not start is one sentence and status 2: %s', async (line, sentence) => {
    const { status, stdout, stderr } = await runProgram(running([line], '--no-store'));
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(sentence);
  });
});
