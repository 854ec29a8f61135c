/** `looprig delete`: who is asked, what goes, and what another process keeps. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockSession } from '../../src/cli/session-lock.ts';
import { startInPipe, startInTerminal } from './terminal.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-delete-'));
  file = join(folder, 'sessions.db');
  for (const prompt of ['the first', 'the second']) {
    const { exitStatus } = await startInPipe(['run', prompt, '--workspace', folder, '--store', file]).ended;
    expect(exitStatus).toBe(0);
  }
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs the program without a terminal. */
async function looprig(...args: string[]): Promise<{ status: number; stdout: string; stderr: string }> {
  const running = startInPipe([...args, '--store', file]);
  const { exitStatus: status } = await running.ended;
  return { status, stdout: running.stdout(), stderr: running.stderr() };
}

async function listed(): Promise<{ readonly sessionId: string; readonly title: string }[]> {
  const { stdout } = await looprig('sessions', '--json');
  return stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]));
}

describe('looprig delete', () => {
  it('with --yes deletes one session, with what stands beside the store about it', async () => {
    const { sessionId } = (await listed())[0]!;
    const shown = sessionId.slice(-8);
    const deleted = await looprig('delete', shown, '--yes');
    expect(deleted).toEqual({ status: 0, stdout: '', stderr: `Session ${shown} is deleted.\n` });
    expect(await listed()).toMatchObject([{ title: 'the first' }]);
    expect((await readdir(`${file}.runs`)).filter(name => name.includes(sessionId))).toEqual([]);
    expect(await looprig('delete', shown, '--yes')).toMatchObject({ status: 2 });
  });

  it('asks a person at the terminal, and takes nothing but a yes for one', async () => {
    for (const [word, count] of [
      ['', 2],
      ['no', 2],
      ['yes please', 2],
      ['Y', 1],
    ] as const) {
      const running = startInTerminal(['delete', 'last', '--store', file]);
      await running.sees('"the second" (done, 1 turn) for good? [y/N]');
      running.type(word);
      expect((await running.ended).exitStatus).toBe(0);
      expect(running.screen.text).toContain(count === 1 ? 'is deleted.' : 'Nothing was deleted.');
      expect(await listed()).toHaveLength(count);
    }
  });

  it('deletes nothing where the question is left unanswered', async () => {
    const ended = startInTerminal(['delete', 'last', '--store', file]);
    await ended.sees('[y/N]');
    ended.endInput();
    expect((await ended.ended).exitStatus).toBe(0);
    const stopped = startInTerminal(['delete', 'last', '--store', file]);
    await stopped.sees('[y/N]');
    stopped.stop('SIGINT');
    await stopped.ended;
    expect(await listed()).toHaveLength(2);
  });

  it('where nobody can be asked, wants --yes', async () => {
    const { status, stderr } = await looprig('delete', 'last');
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^looprig: nobody can be asked whether session \w{8} is to be deleted: say so with --yes\n$/,
    );
    expect(await listed()).toHaveLength(2);
  });

  it('refuses a session that another process works on', async () => {
    const { sessionId } = (await listed())[0]!;
    const lock = await lockSession({ file, isDefault: false }, sessionId, 'it');
    const refused = await looprig('delete', 'last', '--yes');
    expect(refused).toMatchObject({ status: 6, stdout: '' });
    expect(refused.stderr).toContain('another process works on session');
    await lock.release();
    expect(await looprig('delete', 'last', '--yes')).toMatchObject({ status: 0 });
    expect(await listed()).toHaveLength(1);
  });
});
