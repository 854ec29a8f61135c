/** Sessions that are kept: listed, shown, gone on with, and taken up after their process was killed. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineLoop, defineRig } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { scriptedModel } from 'looprig/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pidsIn } from '../support/processes.ts';
import { type ServedReply, serveModel } from './model-server.ts';
import { type Ended, runProgram, type StartOptions, startProgram } from './program.ts';

let folder: string;
let workspace: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-sessions-'));
  workspace = await mkdtemp(join(tmpdir(), 'looprig-sessions-folder-'));
  await writeFile(join(workspace, 'README.md'), '# Sheep\n');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await rm(workspace, { recursive: true, force: true });
});

const storeFile = (): string => join(folder, 'sessions.db');

/** Runs the program with the store of this test. */
function looprig(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return runProgram(args, { ...options, env: { LOOPRIG_STORE: storeFile(), ...options.env } });
}

/** The arguments of a run that asks the model of a server. */
function asking(model: string, prompt = 'look'): string[] {
  return ['run', prompt, '--workspace', workspace, '--model', model];
}

interface Listed {
  readonly sessionId: string;
  readonly state: string;
  readonly turns: number;
  readonly calls: number;
  readonly title: string;
}

async function listed(): Promise<Listed[]> {
  const { stdout } = await looprig(['sessions', '--json']);
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Listed);
}

const look: ServedReply = { text: ['I look.'], calls: [{ name: 'list_files', input: {} }] };

describe('the store', () => {
  it('is a file for this user alone, in the folder of the platform for data', async () => {
    const data = process.platform === 'win32' ? { LOCALAPPDATA: folder } : { XDG_DATA_HOME: folder };
    const home = { ...data, HOME: folder, LOOPRIG_STORE: '' };
    const { status } = await looprig(['run', '--workspace', workspace, '--quiet'], { env: home });
    expect(status).toBe(0);
    const place = process.platform === 'darwin' ? join(folder, 'Library', 'Application Support') : folder;
    const modes = [join(place, 'looprig'), join(place, 'looprig', 'sessions.db')].map(async path => {
      return ((await stat(path)).mode & 0o777).toString(8);
    });
    expect(await Promise.all(modes)).toEqual(['700', '600']);
  });

  it('is the file that --store names, which what is to be typed next names too', async () => {
    const own = join(folder, "it's mine.db");
    const { stderr } = await looprig(['run', '--workspace', workspace, '--store', own]);
    expect(stderr).toContain(`--store '${folder}/it'\\''s mine.db' "…"\n`);
    expect((await looprig(['sessions', '--store', own])).stdout).toContain('done');
    expect(await listed()).toEqual([]);
  });

  it('is not made with --no-store, and nothing is said of going on', async () => {
    const { status, stderr } = await looprig(['run', '--workspace', workspace, '--no-store']);
    expect(status).toBe(0);
    expect(stderr).not.toContain('to go on');
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not made by those who only look', async () => {
    const { status, stdout, stderr } = await looprig(['sessions'], {
      env: { LOOPRIG_STORE: '', XDG_DATA_HOME: folder, HOME: folder },
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
    expect(stderr).toBe('There are no sessions yet: "looprig run" begins one.\n');
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['that is not there', ['sessions', '--store', 'no.db'], 'there is no store', 2],
    ['in no folder', ['run', '--store', 'no/such/folder.db'], 'its folder must exist and be writable', 2],
    ['that is something else', ['sessions', '--store', 'README.md'], 'is not a looprig store', 1],
  ])('%s is refused with one sentence', async (_, args, words, expected) => {
    const { status, stdout, stderr } = await looprig(args, { cwd: workspace });
    expect({ status, stdout }).toEqual({ status: expected, stdout: '' });
    expect(stderr).toMatch(/^looprig: .*\n$/);
    expect(stderr).toContain(words);
  });
});

describe('a list of sessions', () => {
  it('has the last written first, with state, turns, calls and title', async () => {
    await using server = await serveModel([look, { text: ['One file.'] }, { failure: { status: 400, body: {} } }]);
    expect((await looprig(asking(server.model, 'first'))).status).toBe(0);
    expect((await looprig(asking(server.model, 'second'))).status).toBe(1);
    expect(await listed()).toMatchObject([
      { state: 'failed', turns: 1, calls: 0, title: 'second' },
      { state: 'done', turns: 1, calls: 1, title: 'first' },
    ]);
    const { stdout, stderr } = await looprig(['sessions', '--limit', '1']);
    expect(stdout).toMatch(
      /^id {8}age {2}state {3}turns {2}calls {2}title\n[0-9a-f]{8} {2}now {2}failed {6}1 {6}0 {2}second\n$/,
    );
    expect(stderr).toBe('… and 1 more: --limit 2 shows all\n');
  });

  it.each([
    [['sessions', 'abc'], 'looprig sessions takes no "abc": "looprig show abc" shows one session'],
    [['sessions', '--limit', 'no'], '--limit must be a whole number from 1, not "no"'],
    [['show'], 'say which session: "looprig show ID", or "looprig show last" for the latest'],
    [['show', 'a', 'b'], 'looprig show takes one session, and there are 2 words: name one'],
    [['show', 'abc'], 'there are no sessions yet: "looprig run" begins one'],
    [['resume', 'last'], 'there are no sessions yet: "looprig run" begins one'],
    [['answer', 'abc'], 'looprig answer takes a session, a gate where several are open, and yes, no or always'],
    [['answer', 'abc', 'yes', '--reason', 'x'], '--reason says why a call may not do what it wants: give it with no'],
    [['run', '--session', 'abc'], 'there is no prompt: say what is to be done, in quotes'],
  ])('%j is refused with one sentence and status 2', async (args, sentence) => {
    await writeFile(storeFile(), '');
    const { status, stdout, stderr } = await looprig(args);
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: `looprig: ${sentence}\n` });
  });

  it('says which sessions there are where a name fits none, or several', async () => {
    await using server = await serveModel([{ text: ['Yes.'] }]);
    for (const prompt of ['first', 'second']) await looprig(asking(server.model, prompt));
    const shown = (await listed()).map(({ sessionId }) => sessionId.slice(-8));
    const none = await looprig(['show', 'xyz']);
    expect(none.stderr).toBe(`looprig: there is no session "xyz": there are ${shown.join(', ')}\n`);
    // The beginning of an id is the time of its making, in milliseconds: these have the first digits in common.
    const several = await looprig(['show', '01']);
    expect(several.stderr).toContain('"01" fits 2 sessions: say which of');
    expect([none.status, several.status]).toEqual([2, 2]);
    expect((await looprig(['show', shown[0]!])).stdout).toContain('second');
  });
});

describe('a session', () => {
  it('goes on with its folder and its model, and its history', async () => {
    await using server = await serveModel([look, { text: ['One file.'] }, look, { text: ['Still one.'] }]);
    await looprig(asking(server.model, 'how many?'));
    const { status, stdout, stderr } = await looprig(['run', '--session', 'last', 'and now?'], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Still one.\n' });
    expect(stderr).toContain(`folder: ${workspace} · session `);
    const { messages } = server.requests[2]!.body as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(await listed()).toMatchObject([{ state: 'done', turns: 2, calls: 2, title: 'how many?' }]);
  });

  it('goes on elsewhere where another folder is given, and stays there', async () => {
    await using server = await serveModel([{ text: ['Yes.'] }]);
    await looprig(asking(server.model));
    await looprig(['run', '--session', 'last', 'there?', '--workspace', folder]);
    const { stderr } = await looprig(['run', '--session', 'last', 'where?']);
    expect(stderr).toContain(`folder: ${folder} `);
  });

  it('keeps what tools may do to one command', async () => {
    const write = { calls: [{ name: 'write_file', input: { path: 'new.txt', content: '' } }] };
    await using server = await serveModel([{ text: ['Yes.'] }, write, { text: ['No.'] }]);
    await looprig([...asking(server.model), '--approve', 'all']);
    expect((await looprig(['run', '--session', 'last', 'write'])).status).toBe(4);
    expect(await readdir(workspace)).toEqual(['README.md']);
  });

  it('is shown from its beginning: what was said, calls with their results, how each turn ended', async () => {
    await using server = await serveModel([look, { text: ['One file.'] }, { failure: { status: 400, body: {} } }]);
    await looprig(asking(server.model, 'how many?'));
    await looprig(['run', '--session', 'last', 'and now?']);
    const { status, stdout, stderr } = await looprig(['show', 'last']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^session [0-9a-f-]{36} · failed · 2 turns · 1 call · now · compatible:.*#served · \//);
    expect(stdout).toMatch(
      /\nprompt: how many\?\nI look\.\n✓ list_files \. \(\d+ ms\): README\.md .*\nOne file\.\ndone · steps 2 · .*\n\nprompt: and now\?\nlooprig: .*\nfailed · steps 0 · .*\n\nto go on: looprig run --session [0-9a-f]{8} "…"\n$/,
    );
  });

  it('is shown as events for programs', async () => {
    await using server = await serveModel([look, { text: ['One file.'] }]);
    const ran = await looprig([...asking(server.model), '--json']);
    const shown = await looprig(['show', 'last', '--json']);
    const enduring = (text: string): unknown[] =>
      text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as { type: string })
        .filter(({ type }) => !/delta|^result$|^session$/.test(type));
    expect(enduring(shown.stdout)).toEqual(enduring(ran.stdout));
    expect(JSON.parse(shown.stdout.split('\n', 1)[0]!)).toMatchObject({ type: 'session', state: 'done', workspace });
  });

  it('cannot drive the terminal of whoever lists or shows it, nor give a key away', async () => {
    const key = 'sk-test-1234567890';
    const hostile = `\u001b[2J\u001b]0;t\u0007\u009b1A\u202e ${key}`;
    await using server = await serveModel([
      { text: [hostile], calls: [{ name: `x${hostile}`, input: { [hostile]: hostile } }] },
      { text: [hostile, ' end'] },
    ]);
    const env = { LOOPRIG_API_KEY: key };
    await looprig(asking(server.model, hostile), { env });
    for (const args of [['sessions'], ['sessions', '--json'], ['show', 'last'], ['show', 'last', '--json']]) {
      const { status, stdout } = await looprig(args, { env });
      expect(status).toBe(0);
      expect(stdout).toContain('[redacted]');
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]|sk-test/);
    }
  });

  it('of another program is shown, and not gone on with', async () => {
    const store = sqliteStore({ file: storeFile() });
    const other = defineLoop({ name: 'other', model: scriptedModel([{ text: 'Moo.' }]) });
    await using session = await defineRig({ loops: [other], store }).open();
    await session.run('what does the cow say?');
    await store.close();
    expect((await looprig(['show', 'last'])).stdout).toContain('Moo.\n');
    const { status, stderr } = await looprig(['run', '--session', 'last', 'again']);
    expect(status).toBe(2);
    expect(stderr).toMatch(/^looprig: session [0-9a-f]{8} was made by another program, .*\n$/);
  });
});

describe('a session whose journal is damaged', () => {
  it('is listed among the others, and shown up to where it is, with one sentence', async () => {
    await using server = await serveModel([{ text: ['Yes.'] }]);
    for (const prompt of ['first', 'second']) await looprig(asking(server.model, prompt));
    const database = new DatabaseSync(storeFile());
    database.exec("UPDATE batch SET records = replace(records, 'second', 'forged') WHERE records LIKE '%second%'");
    database.close();
    expect(await listed()).toMatchObject([{ state: 'damaged' }, { state: 'done', title: 'first' }]);
    for (const args of [
      ['show', 'last'],
      ['run', '--session', 'last', 'and?'],
      ['resume', 'last'],
    ]) {
      const { status, stderr } = await looprig(args);
      expect({ args, status }).toEqual({ args, status: 1 });
      expect(stderr).toMatch(/^looprig: .*damaged.*\n$/);
    }
    expect(await listed()).toMatchObject([{ state: 'damaged' }, { state: 'done', title: 'first' }]);
  });
});

describe('a process that was killed in a turn', () => {
  /** A command that says that it runs, and never ends. */
  const hang = {
    name: 'run_command',
    input: {
      command: [
        process.execPath,
        '-e',
        "require('fs').writeFileSync('pids', process.pid + '.'); setInterval(() => {}, 1e6);",
      ],
    },
  };

  async function kill(model: string): Promise<void> {
    const args = [...asking(model, 'run it'), '--allow-commands', '--approve', 'all'];
    const { child, ended } = startProgram(args, { env: { LOOPRIG_STORE: storeFile() } });
    const [pid] = await pidsIn(join(workspace, 'pids'));
    child.kill('SIGKILL');
    await ended;
    process.kill(pid!, 'SIGKILL');
    await rm(join(workspace, 'pids'));
  }

  it('leaves it unfinished; it is taken up, says what is known and what is not, and ends', async () => {
    const served = { calls: [{ name: 'list_files', input: {} }, hang] };
    await using server = await serveModel([served, { text: ['It may have run.'] }]);
    await kill(server.model);
    expect(await listed()).toMatchObject([{ state: 'unfinished', turns: 1, calls: 2 }]);
    const shown = await looprig(['show', 'last']);
    expect(shown.stdout).toMatch(
      /\nunfinished: .*1 call had started, and may or may not have taken effect\nto go on: looprig resume [0-9a-f]{8}\n$/,
    );

    // From elsewhere: the folder is that of the session.
    const { status, stdout, stderr } = await looprig(['resume', 'last'], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'It may have run.\n' });
    expect(stderr).toContain('taking up an unfinished turn: ');
    expect(stderr).toContain('1 call had started, and may or may not have taken effect\n');
    expect(stderr).toMatch(/✗ run_command .*\(interrupted\): .*may or may not have taken effect/);
    expect(stderr).toMatch(/\ndone · steps 2 · iterations 1\/25 · calls 2\/100 · /);
    expect(await readdir(workspace)).toEqual(['README.md']); // the command did not run again
    expect(await listed()).toMatchObject([{ state: 'done', turns: 1, calls: 2 }]);

    const again = await looprig(['resume', 'last']);
    expect(again).toMatchObject({ status: 0, stdout: '' });
    expect(again.stderr).toMatch(
      /^Session [0-9a-f]{8} has nothing to resume: looprig run --session [0-9a-f]{8} "…" goes on\n$/,
    );
  });

  it('leaves a turn that another prompt ends', async () => {
    await using server = await serveModel([{ calls: [hang] }, { text: ['Very well.'] }]);
    await kill(server.model);
    const { status, stderr } = await looprig(['run', '--session', 'last', 'never mind']);
    expect(status).toBe(0);
    expect(stderr).toContain('the turn before was unfinished: it ends here');
    expect(await listed()).toMatchObject([{ state: 'done', turns: 2, calls: 1 }]);
    expect((await looprig(['show', 'last'])).stdout).toContain(
      'interrupted: the process ended during the turn · steps 1',
    );
  });

  it('before the model answered leaves a turn that asks it again', async () => {
    await using server = await serveModel([{ text: ['half an ', 'answer'], hangs: true }, { text: ['All of it.'] }]);
    const { child, ended, said } = startProgram([...asking(server.model), '--json'], {
      env: { LOOPRIG_STORE: storeFile() },
    });
    await said('"answer"');
    child.kill('SIGKILL');
    await ended;
    const { status, stdout, stderr } = await looprig(['resume', 'last']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'All of it.\n' });
    expect(stderr).toContain('taking up an unfinished turn: the model is asked again\n');
  });
});

describe('a session that another process works on', () => {
  it('is listed as running, and refused with one sentence and status 6', async () => {
    await using server = await serveModel([{ text: ['half an ', 'answer'], hangs: true }]);
    const { child, ended, said } = startProgram([...asking(server.model), '--json'], {
      env: { LOOPRIG_STORE: storeFile() },
    });
    await said('"answer"');
    expect(await listed()).toMatchObject([{ state: 'running' }]);
    expect((await looprig(['show', 'last'])).stdout).toMatch(/\nanother process works on it\n$/);
    for (const args of [
      ['run', '--session', 'last', 'and?'],
      ['resume', 'last'],
      ['answer', 'last', 'yes'],
    ]) {
      const { status, stderr } = await looprig(args);
      expect({ args, status }).toEqual({ args, status: 6 });
      expect(stderr).toMatch(/^looprig: another process works on session [0-9a-f]{8}: wait until it has ended\n$/);
    }
    child.kill('SIGINT');
    expect((await ended).status).toBe(130);
    expect(await listed()).toMatchObject([{ state: 'interrupted' }]);
  });
});
