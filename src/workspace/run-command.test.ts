import { spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defineRunCommand } from 'looprig/workspace';
import { afterEach, describe, expect, it } from 'vitest';
import { isRunning, pidsIn } from '../../test/support/processes.ts';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';
import type { RunCommandOptions } from './options.ts';

let bench: WorkspaceBench;
afterEach(async () => {
  delete process.env.LOOPRIG_TEST_SECRET;
  await bench.remove();
});

async function benchOf(options: RunCommandOptions = {}): Promise<void> {
  bench = await workspaceBench({}, [defineRunCommand({ graceMs: 100, ...options })]);
}

const node = process.execPath;

const run = (command: readonly string[] | string, input: object = {}, signal?: AbortSignal) =>
  bench.run('run_command', { command, ...input }, signal === undefined ? {} : { signal });

/** Runs a program given as the text of a script. */
const script = (source: string, input: object = {}, signal?: AbortSignal) => run([node, '-e', source], input, signal);

/** Ignores gentle signals, has a child that does so too, and writes down the pids of both. */
const STUBBORN = `
  process.on('SIGTERM', () => {});
  process.on('SIGINT', () => {});
  if (process.argv[1] === 'child') {
    require('node:fs').writeFileSync('pids', process.ppid + ' ' + process.pid + '.');
  } else {
    require('node:child_process').spawn(process.execPath, ['-e', process.env.SOURCE, 'child'], { stdio: 'inherit' });
  }
  console.log('started');
  setInterval(() => {}, 1000);
`;

describe('run_command', () => {
  it('gives the exit code and both streams', async () => {
    await benchOf();
    expect(await script(`console.log('out'); console.error('err'); process.exit(3)`)).toEqual({
      text: 'exit code 3\n--- stdout ---\nout\n--- stderr ---\nerr',
      isError: true,
    });
    expect(await script('')).toEqual({ text: 'exit code 0\nno output', isError: false });
  });

  it('runs in the workspace, or in a folder of it', async () => {
    await benchOf();
    await mkdir(join(bench.root, 'sub'));
    const where = 'process.stdout.write(process.cwd())';
    expect((await script(where)).text).toBe(`exit code 0\n--- stdout ---\n${bench.root}`);
    expect((await script(where, { cwd: 'sub' })).text).toBe(`exit code 0\n--- stdout ---\n${bench.root}/sub`);
    await symlink(bench.base, join(bench.root, 'out'));
    for (const cwd of ['..', '/', 'out']) expect((await script(where, { cwd })).text).toContain('leads out');
    expect((await script(where, { cwd: 'absent' })).text).toBe('there is no file or folder absent');
    await writeFile(join(bench.root, 'file'), '');
    expect((await script(where, { cwd: 'file' })).text).toBe('cwd file is no folder');
  });

  it('hands arguments on as they are, without a shell', async () => {
    await benchOf();
    const args = ['$HOME', '; echo x', '*', "it's", '`id`', ''];
    const { text } = await run([node, '-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--', ...args]);
    expect(text).toBe(`exit code 0\n--- stdout ---\n${JSON.stringify(args)}`);
    expect((await run('echo x')).text).toContain('invalid');
  });

  it('says that there is no such program, or that it is none', async () => {
    await benchOf();
    await writeFile(join(bench.root, 'plain.txt'), '');
    expect(await run(['looprig-absent-program'])).toEqual({
      text: 'there is no program "looprig-absent-program" here',
      isError: true,
    });
    expect((await run(['./plain.txt'])).text).toBe('"./plain.txt" may not be run as a program');
    expect((await run([''])).isError).toBe(true);
    expect((await run([])).text).toContain('invalid');
    expect((await run(['echo', 'a\0b'])).text).toBe('the command holds a NUL character');
  });

  it('gives a command a few variables of the environment, and no secrets', async () => {
    process.env.LOOPRIG_TEST_SECRET = 'hidden';
    await benchOf({ environment: { GIVEN: 'yes' } });
    const { text } = await script('console.log(JSON.stringify(process.env))');
    const seen = JSON.parse(text.split('\n')[2] ?? '');
    expect(seen).toMatchObject({ PATH: process.env.PATH, NO_COLOR: '1', GIVEN: 'yes' });
    expect(text).not.toContain('hidden');
    expect(Object.keys(seen).filter(name => /key|token|secret|vitest/i.test(name))).toEqual([]);
  });

  it('gives it a variable that the definition names', async () => {
    process.env.LOOPRIG_TEST_SECRET = 'shared';
    await benchOf({ inheritEnvironment: ['LOOPRIG_TEST_SECRET', 'LOOPRIG_TEST_ABSENT'] });
    expect((await script('console.log(process.env.LOOPRIG_TEST_SECRET)')).text).toContain('shared');
  });

  it('gives it no input to wait for', async () => {
    await benchOf();
    const { text } = await script(`process.stdin.on('end', () => console.log('ended')).resume()`);
    expect(text).toContain('ended');
  });

  it('keeps the beginning and the end of long output', async () => {
    await benchOf({ outputBytes: 400 });
    const { text } = await script(`console.log('first' + 'x'.repeat(100000) + 'last'); console.error('short')`);
    expect(text).toMatch(
      /^exit code 0\n--- stdout ---\nfirstx+\n\[... 99,610 bytes left out here ...\]\nx+last\n--- stderr ---\nshort$/,
    );
  });

  it('takes colours and other terminal signs out', async () => {
    await benchOf();
    expect((await script(`console.log('\\x1b[31mred\\x1b[0m')`)).text).toBe('exit code 0\n--- stdout ---\nred');
  });

  it('says which signal ended a command', async () => {
    await benchOf();
    expect(await script(`process.kill(process.pid, 'SIGKILL')`)).toEqual({
      text: 'ended by SIGKILL\nno output',
      isError: true,
    });
  });

  it('ends a stubborn command and its children when its time is over, and gives what it wrote', async () => {
    await benchOf({ environment: { SOURCE: STUBBORN } });
    const result = script(STUBBORN, { timeout_ms: 3_000 });
    const pids = await pidsIn(join(bench.root, 'pids'));
    expect(pids).toHaveLength(2);
    expect(await result).toEqual({
      text: 'timed out after 3000 ms, and was ended\n--- stdout ---\nstarted\nstarted',
      isError: true,
    });
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
  });

  it('ends a stubborn command and its children when it is aborted', async () => {
    await benchOf({ environment: { SOURCE: STUBBORN } });
    const controller = new AbortController();
    const result = script(STUBBORN, {}, controller.signal);
    const pids = await pidsIn(join(bench.root, 'pids'));
    for (const pid of pids) expect(await isRunning(pid)).toBe(true);
    controller.abort();
    expect((await result).text).toMatch(/^interrupted, and was ended\n/);
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
  });

  it('lets a command end in its own way first', async () => {
    await benchOf({ graceMs: 10_000 });
    const polite = `process.on('SIGTERM', () => { console.log('tidied'); process.exit(0) });
      require('node:fs').writeFileSync('pids', process.pid + '.'); setInterval(() => {}, 1000)`;
    const controller = new AbortController();
    const result = script(polite, {}, controller.signal);
    await pidsIn(join(bench.root, 'pids'));
    controller.abort();
    expect(await result).toEqual({ text: 'interrupted, and was ended\n--- stdout ---\ntidied', isError: true });
  });

  it('starts nothing when it is aborted already', async () => {
    await benchOf();
    const signal = AbortSignal.abort(new Error('stopped by the test'));
    const result = await script(`require('node:fs').writeFileSync('ran', '')`, {}, signal);
    expect(result).toEqual({ text: 'stopped by the test', isError: true });
    await expect(bench.text('ran')).rejects.toThrow();
  });

  it('ends what a command leaves running in its group, and says so', async () => {
    await benchOf();
    const { text } = await script(`
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      require('node:fs').writeFileSync('pids', child.pid + '.');
      child.unref();
    `);
    expect(text).toBe('exit code 0\n[processes that it had left running were ended]\nno output');
    for (const pid of await pidsIn(join(bench.root, 'pids'))) expect(await isRunning(pid)).toBe(false);
  });

  it('does not wait for what has left the group and holds the output', async () => {
    await benchOf();
    const { text } = await script(`
      const child = require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'inherit', detached: true });
      require('node:fs').writeFileSync('pids', child.pid + '.');
      child.unref();
    `);
    expect(text).toBe('exit code 0\nno output');
    for (const pid of await pidsIn(join(bench.root, 'pids'))) process.kill(pid, 'SIGKILL'); // the test's own
  });

  it('ends a running command when the program itself exits', async () => {
    await benchOf();
    const source = fileURLToPath(new URL('./run-process.ts', import.meta.url));
    const host = `
      import { existsSync } from 'node:fs';
      import { runProcess } from ${JSON.stringify(source)};
      const child = "require('node:fs').writeFileSync('pids', process.pid + '.'); setInterval(() => {}, 1000)";
      const { signal } = new AbortController();
      void runProcess({ file: process.execPath, args: ['-e', child], cwd: ${JSON.stringify(bench.root)}, env: {},
        timeoutMs: 60000, graceMs: 1000, outputBytes: 100, signal });
      setInterval(() => { if (existsSync(${JSON.stringify(join(bench.root, 'pids'))})) process.exit(0) }, 20);
    `;
    const program = spawn(node, ['--input-type=module', '-e', host], { stdio: 'inherit' });
    await new Promise(resolve => program.once('exit', resolve));
    const [pid = 0] = await pidsIn(join(bench.root, 'pids'));
    for (let looks = 0; (await isRunning(pid)) && looks < 100; looks++) await sleep(20);
    expect(await isRunning(pid)).toBe(false);
  });

  it('asks to run the command, as a line that can be read in one way, beside nothing else', async () => {
    await benchOf();
    const live = bench.live('run_command');
    const input = { command: ['git', 'commit', '-m', "it's; done"] };
    expect(await live.access?.(input)).toEqual([
      {
        action: 'process.run',
        target: `git commit -m 'it'\\''s; done'`,
        description: `run git commit -m 'it'\\''s; done' in .`,
      },
    ]);
    expect(live.sequential).toBe(true);
    expect(live.idempotent).toBeUndefined();
    expect(await live.summary?.({ command: ['npm', 'test'] })).toBe('run npm test');
    await expect(Promise.resolve(live.access?.({ ...input, cwd: '..' }))).rejects.toThrow('leads out');
  });
});

describe('run_command with a shell', () => {
  it('takes one line for the shell', async () => {
    await benchOf({ shell: true });
    expect((await run('echo one | tr a-z A-Z; echo "$((1 + 1))"')).text).toBe('exit code 0\n--- stdout ---\nONE\n2');
    expect((await run(['echo', 'x'])).text).toContain('invalid');
  });

  it('asks for the shell by its name, so that a rule for a program does not let a line through', async () => {
    await benchOf({ shell: true });
    const [request] = (await bench.live('run_command').access?.({ command: 'npm test; id' })) ?? [];
    expect(request).toMatchObject({ action: 'process.run', target: `/bin/sh -c 'npm test; id'` });
  });

  it('ends what the line has left in the background', async () => {
    await benchOf({ shell: true });
    const { text } = await run('sleep 600 & printf "%s." $! > pids');
    expect(text).toContain('[processes that it had left running were ended]');
    for (const pid of await pidsIn(join(bench.root, 'pids'))) expect(await isRunning(pid)).toBe(false);
  });
});
