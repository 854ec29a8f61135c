/** `looprig report`: a session as a file, or as data. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Ended, runProgram } from './program.ts';

let folder: string;

beforeAll(async () => {
  if (!existsSync(main)) throw new Error('the package is not built: run `npm run build` first');
  folder = await mkdtemp(join(tmpdir(), 'looprig-report-'));
  await writeFile(join(folder, 'README.md'), '# A small thing\n\nIt counts <sheep>, with the key sk-0123456789.\n');
  await report(['run', 'What is <this>?', '--workspace', folder]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The built program: Node does not run the sources of the page as they are. */
const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

const report = (args: readonly string[]): Promise<Ended> =>
  runProgram(args, {
    main,
    cwd: folder,
    env: { LOOPRIG_STORE: join(folder, 'sessions.db'), OPENAI_API_KEY: 'sk-0123456789' },
  });

describe('looprig report', () => {
  it('writes one file for this user alone, without a key that the program knows', async () => {
    const { status, stdout, stderr } = await report(['report', 'last', '--out', 'a.html', '--title', 'Sheep & co.']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toMatch(/^written: a\.html \(\d+ KiB\)\n$/);
    const html = await readFile(join(folder, 'a.html'), 'utf8');
    expect(html).toMatch(/^<!doctype html>/i);
    expect(html).toContain('Sheep &amp; co.');
    expect(html).toContain('read_file');
    expect(html).not.toContain('sk-0123456789');
    expect((await stat(join(folder, 'a.html'))).mode & 0o777).toBe(0o600);
  });

  it('writes over a file only when it is told to', async () => {
    await writeFile(join(folder, 'mine.html'), 'mine');
    expect(await report(['report', 'last', '--out', 'mine.html'])).toMatchObject({
      status: 2,
      stderr: 'looprig: mine.html is there already: name another, or write over it with --force\n',
    });
    expect(await readFile(join(folder, 'mine.html'), 'utf8')).toBe('mine');
    expect((await report(['report', 'last', '--out', 'mine.html', '--force'])).status).toBe(0);
    expect(await readFile(join(folder, 'mine.html'), 'utf8')).toContain('<html');
  });

  it('goes to standard output for -, and as data for --json', async () => {
    const html = await report(['report', 'last', '--out=-']);
    expect(html.stdout).toMatch(/^<!doctype html>/i);
    expect(html.stderr).toBe('');
    const { status, stdout } = await report(['report', 'last', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ loop: 'run', turns: [{}] });
    expect(stdout).not.toContain('sk-0123456789');
  });

  it.each([
    [['report', 'last'], 'say where it is to be written: looprig report last --out FILE.html, or --json'],
    [['report', 'zzz', '--json'], /^there is no session "zzz": there is [0-9a-f]{8}$/],
    [
      ['report', 'last', '--out', 'no/such/folder.html'],
      'no/such/folder.html cannot be written (ENOENT): its folder must exist and be writable',
    ],
    [['report'], 'say which session: "looprig report ID", or "looprig report last" for the latest'],
  ])('%j is refused with one sentence', async (args, sentence) => {
    const { status, stdout, stderr } = await report(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    const [, said] = /^looprig: (.*)\n$/.exec(stderr) ?? [];
    if (typeof sentence === 'string') expect(said).toBe(sentence);
    else expect(said).toMatch(sentence);
  });
});
