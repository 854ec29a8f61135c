/** Which session `last` means, and what a conversation leaves in which nothing was said. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineLoop, defineRig, delegate } from '../../src/index.ts';
import { sqliteStore } from '../../src/journal/sqlite/index.ts';
import { forever, scriptedModel } from '../../src/testing/index.ts';
import { type Ended, runProgram, startProgram } from './program.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-last-'));
  file = join(folder, 'sessions.db');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const looprig = (...args: readonly string[]): Promise<Ended> => runProgram([...args, '--store', file], { cwd: folder });

/** A conversation of these lines. */
async function talk(lines: string, ...args: readonly string[]): Promise<Ended> {
  const { child, ended } = startProgram(['chat', '--store', file, ...args], { cwd: folder });
  child.stdin.end(lines);
  return ended;
}

/** What there is, as `looprig sessions` tells it. */
async function sessions(): Promise<readonly { readonly sessionId: string; readonly title: string }[]> {
  const { stdout } = await looprig('sessions', '--json');
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as { sessionId: string; title: string });
}

const saying = (text: string) => scriptedModel(forever(() => ({ text })));

/** Sessions that other programs leave: one that a server began for nothing, and a turn with one of a delegate. */
async function begin(what: 'an empty session' | 'a turn of a delegate'): Promise<void> {
  const store = sqliteStore({ file });
  const helper = defineLoop({ name: 'helper', model: saying('helped') });
  const asks = scriptedModel([{ calls: [{ tool: 'helper', input: { task: 'help' } }] }, { text: 'done' }]);
  const loop = defineLoop({ name: 'run', model: asks, tools: [delegate(helper, { description: 'Helps.' })] });
  const rig = defineRig({ loops: [loop, helper], store });
  if (what === 'an empty session') await rig.begin({ loop: 'run' });
  else {
    await using session = await rig.open({ loop: 'run' });
    await session.run('delegated');
    const child = (await rig.sessions({ delegates: true })).find(({ parentId }) => parentId !== undefined);
    await using own = await rig.open({ sessionId: child!.sessionId });
    await own.run('written last');
  }
  await store.close();
}

describe('a conversation', () => {
  it.each(['', '\n\n', '/mode read-only\n/limits calls=2\n/session\n/sessions\n/show\n/help\n/quit\n'])(
    'of %j leaves no session',
    async lines => {
      const { stderr } = await talk(lines);
      if (lines.includes('/show')) expect(stderr).toContain('there is nothing to show yet: say what is to be done');
      if (lines.includes('/session\n')) expect(stderr).toContain('it is kept as soon as something is said in it');
      expect(await sessions()).toEqual([]);
      expect(await readdir(`${file}.runs`).catch(() => [])).toEqual([]);
    },
  );

  it('is kept from its first input on, with the mode and the settings that it has then', async () => {
    expect(await talk('/mode read-only\nhello\n', '--workspace', folder)).toMatchObject({ status: 0 });
    expect(await sessions()).toMatchObject([{ title: 'hello' }]);
    expect(await readdir(`${file}.runs`)).toHaveLength(1);
    const { stdout } = await looprig('show', 'last', '--json');
    expect(stdout.split('\n', 1)[0]).toContain(`"workspace":"${folder}"`);
    expect(stdout).toMatch(/"type":"turn.started".*"mode":"read-only"/);
    expect((await looprig('run', 'again', '--session', 'last')).status).toBe(0);
  });

  it('says what is wrong with its store before anything is said', async () => {
    const { status, stdout, stderr } = await talk('', '--store', folder).catch(error => error);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.split('\n')).toHaveLength(2);
  });
});

describe('what stands beside a store', () => {
  it.each([
    ['run', 'more'],
    ['run', 'more', '--session', 'last'],
    ['chat'],
    ['chat', '--session', 'last'],
    ['resume', 'last'],
    ['answer', 'last', 'yes'],
  ])('is said to be unusable with one sentence, and nothing is begun: %s %s', async (...args) => {
    await looprig('run', 'hello');
    await rm(`${file}.runs`, { recursive: true });
    await writeFile(`${file}.runs`, 'no folder');
    const { status, stdout, stderr } = await looprig(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toBe(
      `looprig: ${file}.runs, where a store has what its sessions are run with, cannot be written (EEXIST): it must be a folder of yours\n`,
    );
    expect(await sessions()).toMatchObject([{ title: 'hello', turns: 1 }]);
  });
});

describe('last', () => {
  beforeEach(async () => {
    await looprig('run', 'hello');
  });

  const spoken = async (): Promise<string> => {
    const { stdout } = await looprig('show', 'last', '--json');
    return JSON.parse(stdout.split('\n', 1)[0]!).title;
  };

  it('is the session that somebody spoke in last, not one that was left without a word', async () => {
    await talk('');
    await begin('an empty session');
    expect(await spoken()).toBe('hello');
    expect((await looprig('resume', 'last')).stderr).toContain('has nothing to resume');
    expect((await looprig('run', 'again', '--session', 'last')).status).toBe(0);
    expect((await looprig('answer', 'last', 'yes')).stderr).toContain('waits for no answer');
    expect(await talk('and again\n', '--session', 'last')).toMatchObject({ status: 0 });
    expect((await sessions()).filter(({ title }) => title !== '')).toMatchObject([{ title: 'hello' }]);
    expect(JSON.parse((await looprig('sessions', '--json')).stdout.split('\n')[0]!)).toMatchObject({ turns: 3 });
  });

  it('is no session of a delegate, and no list has one', async () => {
    await begin('a turn of a delegate');
    expect(await spoken()).toBe('delegated');
    expect((await sessions()).map(({ title }) => title)).toEqual(['delegated', 'hello']);
    expect((await looprig('sessions', '--limit', '1')).stderr).toBe('… and 1 more: --limit 2 shows all\n');
    const offered = await runProgram(['complete-sessions', '--', '--store', file]);
    expect(offered.stdout).toMatch(/^[0-9a-f]{8}\tdelegated\n[0-9a-f]{8}\thello\n$/);
  });

  it('is one in which nothing was said where there is no other', async () => {
    await rm(file);
    await begin('an empty session');
    expect((await looprig('show', 'last')).status).toBe(0);
    expect((await looprig('run', 'hello', '--session', 'last')).status).toBe(0);
  });
});
