/** Interrupts, closed pipes, and a program that ends by itself. */
import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isRunning, pidsIn } from '../support/processes.ts';
import { serveModel } from './model-server.ts';
import { runProgram, startProgram } from './program.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-signals-'));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A command that sleeps with a child that sleeps, and writes down the numbers of both. */
const sleep = {
  name: 'run_command',
  input: {
    command: [
      process.execPath,
      '-e',
      `const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
       require('fs').writeFileSync('pids', process.pid + ' ' + child.pid + '.');
       setInterval(() => {}, 1e6);`,
    ],
  },
};

/** Arguments of a run that may run commands. */
function commanding(model: string): string[] {
  return ['run', 'hi', '--workspace', folder, '--model', model, '--allow-commands', '--approve', 'all', '--json'];
}

describe('Ctrl-C', () => {
  it('once interrupts a model that hangs, says so, and gives status 130', async () => {
    await using server = await serveModel([{ text: ['half an ', 'answer'], hangs: true }]);
    const { child, ended, said } = startProgram([
      'run',
      'hi',
      '--json',
      '--workspace',
      folder,
      '--model',
      server.model,
    ]);
    await said('"answer"');
    child.kill('SIGINT');
    const { status, signal, stdout, stderr } = await ended;
    expect({ status, signal }).toEqual({ status: 130, signal: null });
    expect(stderr).toContain('interrupting the turn; Ctrl-C again quits at once');
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ type: 'result', status: 'interrupted', exitStatus: 130, text: 'half an answer' });
  });

  it('once ends a command that runs, with all that it started', async () => {
    await using server = await serveModel([{ calls: [sleep] }, { text: ['never'] }]);
    const { child, ended } = startProgram(commanding(server.model));
    const pids = await pidsIn(join(folder, 'pids'));
    for (const pid of pids) expect(await isRunning(pid)).toBe(true);
    child.kill('SIGINT');
    const { status, stdout } = await ended;
    for (const pid of pids) expect(await isRunning(pid)).toBe(false);
    expect(status).toBe(130);
    expect(stdout).toContain('"outcome":"interrupted"');
    expect(stdout).not.toContain('never');
  });

  it('without a terminal prints the gauges all the same, and no half answer', async () => {
    await using server = await serveModel([{ text: ['half an ', 'answer'], hangs: true }]);
    const { child, ended, said } = startProgram(['run', 'hi', '--workspace', folder, '--model', server.model]);
    await said('prompt: hi');
    await vi.waitFor(() => expect(server.requests).toHaveLength(1), { timeout: 10_000 });
    child.kill('SIGINT');
    const { status, stdout, stderr } = await ended;
    expect({ status, stdout }).toEqual({ status: 130, stdout: '' });
    expect(stderr).toMatch(/\ninterrupted · steps 1 · iterations 0\/25 · calls 0\/100 · parallel peak 0\/8 · /);
  });

  it('twice quits at once', async () => {
    // A command that does not heed SIGTERM keeps an interrupted turn waiting for a while.
    const deaf = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6); require('fs').writeFileSync('deaf', '')`;
    const call = { name: 'run_command', input: { command: [process.execPath, '-e', deaf] } };
    await using server = await serveModel([{ calls: [call] }]);
    const { child, ended, said } = startProgram(commanding(server.model));
    await vi.waitFor(() => access(join(folder, 'deaf')), { timeout: 10_000 });
    child.kill('SIGINT');
    await said('interrupting the turn');
    child.kill('SIGINT');
    const { status, stdout } = await ended;
    expect(status).toBe(130);
    expect(stdout).not.toContain('"type":"result"');
  });

  it('is what SIGTERM is, but for the status', async () => {
    await using server = await serveModel([{ text: ['half'], hangs: true }]);
    const { child, ended, said } = startProgram([
      'run',
      'hi',
      '--json',
      '--workspace',
      folder,
      '--model',
      server.model,
    ]);
    await said('"half"');
    child.kill('SIGTERM');
    expect((await ended).status).toBe(143);
  });
});

describe('a reader that goes away', () => {
  it('ends the program quietly', async () => {
    await using server = await serveModel([
      { text: Array.from({ length: 400 }, (_, index) => `word ${index} `), delayMs: 5 },
    ]);
    const { child, ended, said } = startProgram([
      'run',
      'hi',
      '--json',
      '--workspace',
      folder,
      '--model',
      server.model,
    ]);
    await said('word 1 ');
    child.stdout.destroy();
    const { status, signal, stderr } = await ended;
    expect({ status, signal }).toEqual({ status: 0, signal: null });
    expect(stderr).toMatch(/^model: served at [\w.:]+\n$/);
  });

  it('on standard error does not keep the answer from coming', async () => {
    const { child, ended } = startProgram(['run', '--workspace', folder]);
    child.stderr.destroy();
    const { status, stdout } = await ended;
    expect(status).toBe(0);
    expect(stdout).toContain('demo model');
  });
});

it('a program whose work is done ends by itself, though the server keeps its connections', async () => {
  await using server = await serveModel([{ calls: [{ name: 'list_files', input: {} }] }, { text: ['Done.'] }]);
  const { status, stdout } = await runProgram(['run', 'hi', '--workspace', folder, '--model', server.model]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'Done.\n' });
});
