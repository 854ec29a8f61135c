/** The longer examples run as they stand, on the built package, without a key: what they print, what they ask, and what they leave behind. */
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from 'looprig/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startExample } from './support/example.ts';

const examples = join(import.meta.dirname, '../examples');
const programs = readdirSync(examples, { withFileTypes: true }).filter(entry => entry.isDirectory());

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-examples-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(program: string, args: readonly string[] = [], typed = ''): Promise<Ended> {
  const child = startExample(program, args);
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  child.stdin.end(typed);
  const [code] = await once(child, 'close');
  return { code, ...said };
}

describe('the repository assistant', () => {
  it('asks before it changes or runs anything, does what is allowed, and heeds a reason', async () => {
    const { code, stdout, stderr } = await run('repository-assistant/main.ts', [], 'y\na\nnot the old files\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.filter(line => line.startsWith('? '))).toEqual([
      '? edit mean.js  [y]es, [a]lways, or why not: y',
      '? run node check.js  [y]es, [a]lways, or why not: a',
      '? run rm -r old  [y]es, [a]lways, or why not: not the old files',
    ]);
    expect(lines).toContain('  run_command: denied (permission denied: not the old files)');
    expect(lines).toContain('  run_command: done');
  });

  it('lets no script loose on a folder that is not its own', async () => {
    const { code, stdout, stderr } = await run('repository-assistant/main.ts', ['.'], 'y\ny\ny\n');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('leave yours out');
  });

  it('does nothing that asks where nobody answers', async () => {
    const { code, stdout } = await run('repository-assistant/main.ts');
    expect(code).toBe(0);
    expect(stdout.match(/denied \(permission denied: nobody is there\)/g)).toHaveLength(3);
    expect(stdout).not.toContain('run_command: done');
  });
});

it('the research reads side by side from its MCP server, and a source that was not read is found out', async () => {
  const { code, stdout, stderr } = await run('research/main.ts');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.split('\n');
  expect(lines[0]).toBe('offered: papers_search, papers_read');
  expect(lines).toContain('- Hedges near fields double the visits of wild bees. [p1]');
  expect(lines).toContain('- not shown: "Wild bees prefer the morning." names p7, which was not read');
});

describe('the nightly job', () => {
  it('stops at its limit with an answer, and leaves a report and a session', async () => {
    const nights = join(folder, 'nights');
    const { code, stdout, stderr } = await run('nightly/main.ts', [nights]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('It stopped at its limit of calls.');
    const [, report = ''] = /report: (.*)/.exec(stdout) ?? [];
    expect(readFileSync(report, 'utf8')).toContain('The builds of tonight');
    const store = sqliteStore({ file: join(nights, 'nights.db') });
    expect(await store.list()).toHaveLength(1);
    await store.close();
  });

  it('that was killed is taken up by the next night', async () => {
    const nights = join(folder, 'cut');
    const killer = new URL('./support/kill-in-turn.ts', import.meta.url).href;
    const child = startExample('nightly/main.ts', [nights], ['--import', killer]);
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
    const { code, stdout } = await run('nightly/main.ts', [nights]);
    expect(code).toBe(0);
    expect(stdout).toContain('taking up the night that was cut short');
  });
});

it('the team works on one budget, and the events of each are seen within those of its caller', async () => {
  const { code, stdout, stderr } = await run('team/main.ts');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const lines = stdout.split('\n');
  expect(lines).toContain('  look_up → 12 km, 9 stops');
  expect(lines).toContain('  review → {"isGood":true,"why":"it has the figures"}');
  expect(lines).toContain('Take the tram: fewer stops, and a shorter way.');
  expect(lines).toContain('together: 150 tokens');
});

describe('the page of examples', () => {
  const page = readFileSync(join(examples, 'README.md'), 'utf8');
  const named = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path);

  it('names every example, and nothing that is not there', () => {
    const files = readdirSync(examples).filter(name => name.endsWith('.ts'));
    expect(named.filter(path => !existsSync(join(examples, path)))).toEqual([]);
    expect(named).toEqual(expect.arrayContaining(files));
    for (const { name } of programs) expect(named.some(path => path.startsWith(`${name}/`))).toBe(true);
  });

  it('is of programs of less than 120 lines', () => {
    const files = programs.flatMap(({ name }) => readdirSync(join(examples, name)).map(file => join(name, file)));
    const long = files.filter(file => readFileSync(join(examples, file), 'utf8').split('\n').length > 120);
    expect(long).toEqual([]);
  });
});
