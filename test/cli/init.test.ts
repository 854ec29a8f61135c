/** `looprig init`: what it writes runs, is tested and compiles as it stands, and nothing of the user's is touched. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from './program.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** Below the checkout, so that `looprig` is found from there: it is the built package. */
let folder: string;

beforeAll(async () => {
  if (!existsSync(join(root, 'dist/config/index.js')))
    throw new Error('the package is not built: run `npm run build` first');
  await mkdir(join(root, 'temp'), { recursive: true });
  folder = await mkdtemp(join(root, 'temp', 'init-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function packageIn(name: string, text: string): Promise<string> {
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, 'package.json'), text);
  return join(folder, name);
}

describe('looprig init', () => {
  it('in a new folder writes a package, a loop and a test, and says what comes next', async () => {
    const { status, stdout, stderr } = await runProgram(['init', 'My Loop'], { cwd: folder });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect((await readdir(join(folder, 'My Loop'))).sort()).toEqual([
      'looprig.config.test.ts',
      'looprig.config.ts',
      'package.json',
    ]);
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(JSON.parse(await readFile(join(folder, 'My Loop', 'package.json'), 'utf8'))).toEqual({
      name: 'my-loop',
      private: true,
      type: 'module',
      scripts: { test: 'node --test' },
      dependencies: { looprig: `^${version}` },
    });
    expect(stdout).toBe(
      [
        'written: My Loop/looprig.config.ts',
        'written: My Loop/looprig.config.test.ts',
        'written: My Loop/package.json',
        '',
        'Next:',
        '  cd "My Loop"',
        '  npm install looprig',
        '  npx looprig check',
        '  npx looprig run "How many words?" --loop .',
        '  node --test',
        '  npm install hono @hono/node-server && npx looprig serve',
        '',
      ].join('\n'),
    );
  });

  it.each([
    ['what npm init writes', '{ "name": "mine", "type": "commonjs" }', 'mts'],
    ['a package that does not say what it is', '{ "name": "mine" }', 'mts'],
    ['a package of modules', '{ "name": "mine", "type": "module" }', 'ts'],
    ['a package that is broken', '{', 'mts'],
  ])('beside %s leaves it as it is, and writes files that run there', async (name, text, ending) => {
    const place = await packageIn(name, text);
    const { status, stdout } = await runProgram(['init'], { cwd: place });
    expect(status).toBe(0);
    expect(stdout).not.toContain('package.json');
    expect(await readFile(join(place, 'package.json'), 'utf8')).toBe(text);
    expect((await readdir(place)).sort()).toEqual(
      [`looprig.config.${ending}`, `looprig.config.test.${ending}`, 'package.json'].sort(),
    );
  });

  it('on a Node that runs no TypeScript writes JavaScript', async () => {
    const main = join(root, 'dist/cli/main.js');
    const env = { NODE_OPTIONS: '--no-experimental-strip-types' };
    const { stdout } = await runProgram(['init', 'plain'], { cwd: folder, main, env });
    expect(stdout).toContain('written: plain/looprig.config.mjs\nwritten: plain/looprig.config.test.mjs\n');
    await writeFile(join(folder, 'plain', 'other.ts'), 'export default {};');
    const refused = await runProgram(['check', 'plain/other.ts'], { cwd: folder, main, env });
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^looprig: Node [\d.]+ cannot run plain\/other\.ts: install Node 22\.18 or later, or write it as looprig\.config\.mjs\n$/,
    );
  });

  it('writes over nothing', async () => {
    const place = await packageIn('taken', '{ "type": "module" }');
    await writeFile(join(place, 'looprig.config.test.ts'), 'mine');
    const first = await runProgram(['init'], { cwd: place });
    expect(first.stdout).toContain('left as it is: looprig.config.test.ts\n');
    expect(await readFile(join(place, 'looprig.config.test.ts'), 'utf8')).toBe('mine');
    const second = await runProgram(['init', '.'], { cwd: place });
    expect(second).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'looprig: looprig.config.ts is there already: "looprig check ." tells what is in it\n',
    });
  });

  it('where there can be no folder is refused with one sentence', async () => {
    const { status, stderr } = await runProgram(['init', 'taken/package.json/x'], { cwd: folder });
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'looprig: the folder taken/package.json/x cannot be made (ENOTDIR): name another\n',
    });
  });
});

describe('what it writes', () => {
  let place: string;

  // Without a package of its own, looprig is found as the package that this folder is in.
  beforeAll(async () => {
    place = join(folder, 'bare');
    await runProgram(['init', place]);
    await rm(join(place, 'package.json'));
  });

  it('passes its own test', async () => {
    const { stdout } = await run(process.execPath, ['--test'], {
      cwd: place,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    expect(stdout).toMatch(/^(ℹ|#) pass 1$/m);
    expect(stdout).toMatch(/^(ℹ|#) fail 0$/m);
  });

  it('can be run', async () => {
    const { status, stdout, stderr } = await runProgram(['run', 'How many words?', '--loop', '.', '--no-store'], {
      cwd: place,
    });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: 'That is what the tool counted. I am only a stand-in: give me a real model.\n',
    });
    expect(stderr).toMatch(/✓ count_words /);
  });

  it('compiles under the strictest options', async () => {
    await writeFile(
      join(place, 'tsconfig.json'),
      JSON.stringify({ extends: '../../../tsconfig.json', include: ['*.ts'] }),
    );
    const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '-p', place]).catch(error => error);
    expect(stdout).toBe('');
  });
});
