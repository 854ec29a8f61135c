/** What a command opens is closed when it ends, whatever it ends with. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { declareProgram } from '../../src/cli/command-line.ts';
import { sqliteStore } from '../../src/journal/sqlite/index.ts';
import { startInPipe } from './terminal.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-opened-'));
  file = join(folder, 'sessions.db');
  await writeFile(join(folder, 'there.html'), '');
  expect((await startInPipe(['run', 'hello', '--workspace', folder, '--store', file]).ended).exitStatus).toBe(0);
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** Each command with a session that is not there, or with something else that is refused while the store is open. */
const UNKNOWN = 'ffffffff';
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  run: ['go on', '--session', UNKNOWN],
  chat: ['--session', UNKNOWN],
  show: [UNKNOWN],
  resume: [UNKNOWN],
  answer: [UNKNOWN, 'yes'],
  report: [UNKNOWN, '--json'],
  delete: [UNKNOWN, '--yes'],
  serve: ['--port', '0', '--host', '0.0.0.0'],
  worker: ['--engine', 'train://x'],
};

/** Commands that know of no session, and those that take none. */
const WITHOUT_STORE = ['check', 'init', 'completion'];
const WITHOUT_SESSION = ['sessions', 'complete-sessions'];

/** The commands on a session that is there, with what they refuse about it, and with what they do. */
const OTHERS: readonly (readonly [args: readonly string[], status: number])[] = [
  [['sessions'], 0],
  [['complete-sessions', '--'], 0],
  [['show', 'last'], 0],
  [['resume', 'last'], 0],
  [['answer', 'last', 'yes'], 2],
  [['report', 'last', '--json'], 0],
  [['delete', 'last'], 2],
  [['report', 'last', '--out', 'there.html'], 2],
  [['report', 'last', '--out', 'none/x.html'], 2],
  [['run', 'on', '--session', 'last'], 0],
  [['run', 'on', '--session', 'last', '--mode', 'none'], 2],
  [['run', 'on', '--session', 'last', '--workspace', 'none'], 2],
  [['run', 'go', '--workspace', 'none'], 2],
  [['run', 'go', '--mode', 'none'], 2],
  [['chat', '--mode', 'none'], 2],
  [['chat', '--session', 'last', '--loop', 'none.ts'], 2],
];

/** SQLite leaves its log beside a file that somebody has open, and takes it away with the last who closes it. */
async function expectClosed(): Promise<void> {
  expect(['-wal', '-shm'].filter(ending => existsSync(`${file}${ending}`))).toEqual([]);
  expect((await readdir(`${file}.runs`)).filter(name => name.endsWith('.lock'))).toEqual([]);
}

describe('a command', () => {
  it('that may have a store open is known here', () => {
    const { commands } = declareProgram({ version: '0', columns: 80, print: () => {} }, () => {});
    const known = [...Object.keys(REFUSED), ...WITHOUT_STORE, ...WITHOUT_SESSION];
    expect(commands.map(command => command.name()).toSorted()).toEqual(known.toSorted());
  });

  it('can be seen to have a store open', async () => {
    const store = sqliteStore({ file });
    await store.list();
    await expect(expectClosed()).rejects.toThrow();
    await store.close();
    await expectClosed();
  });

  it.each(Object.entries(REFUSED))('%s that is refused closes its store', async (command, args) => {
    const program = startInPipe([command, ...args, '--store', file]);
    expect((await program.ended).exitStatus).toBe(2);
    if (args.includes(UNKNOWN)) expect(program.stderr()).toContain(`there is no session "${UNKNOWN}"`);
    await expectClosed();
  });

  it.each(OTHERS)('%j closes its store', async (args, status) => {
    const inFolder = args.map(arg => (/^(none|there)/.test(arg) ? join(folder, arg) : arg));
    const program = startInPipe([...inFolder, '--store', file]);
    expect((await program.ended).exitStatus).toBe(status);
    await expectClosed();
  });

  it.each([['sessions'], ['show', 'last'], ['run', 'on', '--session', 'last'], ['chat']])(
    '%s that is stopped as it begins closes its store',
    async (...args) => {
      const program = startInPipe([...args, '--store', file]);
      program.stop('SIGINT');
      expect((await program.ended).exitStatus).toBe(130);
      await expectClosed();
    },
  );
});
