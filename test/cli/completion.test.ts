/** `looprig completion`: what bash makes of its script, in a real bash. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sqliteStore } from 'looprig/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { opened } from '../../src/testing/journal-store-records.ts';
import { OWN_STORE } from './own-store.ts';
import { runProgram } from './program.ts';

const run = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

let folder: string;

/** Sources the script, and completes the line whose words are given as bash cuts them. */
const DRIVER = `
source "$1"; shift
compopt() { :; }
COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
_looprig
printf '%s\\n' "\${COMPREPLY[@]}"
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-completion-'));
  const { stdout } = await runProgram(['completion', 'bash']);
  await writeFile(join(folder, 'script'), stdout);
  await writeFile(join(folder, 'looprig'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(join(folder, 'looprig'), 0o755);
  await mkdir(join(folder, 'here', 'inner folder'), { recursive: true });
  await writeFile(join(folder, 'here', 'inner.ts'), '');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function completed(...words: string[]): Promise<readonly string[]> {
  const { stdout, stderr } = await run(
    'bash',
    ['--norc', '--noprofile', '-c', DRIVER, 'bash', join(folder, 'script'), ...words],
    {
      cwd: join(folder, 'here'),
      env: { PATH: process.env.PATH, ...OWN_STORE },
    },
  );
  expect(stderr).toBe('');
  return stdout
    .trimEnd()
    .split('\n')
    .filter(word => word !== '');
}

describe('bash completes', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['commands', ['looprig', 's'], ['sessions', 'show', 'serve']],
    ['no command that is hidden', ['looprig', 'compl'], ['completion']],
    ['options of the program', ['looprig', '--v'], ['--version']],
    ['options of a command', ['looprig', 'run', '--mo'], ['--model', '--mode']],
    ['options after a prompt', ['looprig', 'run', 'two words', '--re'], ['--reasoning']],
    ['words that an option takes', ['looprig', 'run', '--approve', 'a'], ['ask', 'all']],
    ['words after an equals sign', ['looprig', 'run', '--approve', '=', 'n'], ['none']],
    ['words right at an equals sign', ['looprig', 'run', '--approve', '='], ['ask', 'all', 'none']],
    ['models', ['looprig', 'run', '--model', 'a'], ['anthropic/']],
    ['limits', ['looprig', 'run', '--limits', 'ca'], ['calls=', 'captureBytes=', 'callTimeoutMs=']],
    ['folders', ['looprig', 'run', '--workspace', 'in'], ['inner folder']],
    ['files', ['looprig', 'run', '--loop', 'in'], ['inner folder', 'inner.ts']],
    ['the file of a recording', ['looprig', 'run', '--model', 'replay', ':', 'inner.'], ['inner.ts']],
    ['the file of an argument', ['looprig', 'check', 'inner.'], ['inner.ts']],
    ['the folder of an argument', ['looprig', 'init', ''], ['inner folder']],
    ['shells', ['looprig', 'completion', 'f'], ['fish']],
    ['answers', ['looprig', 'answer', 'last', 'a'], ['always', 'all']],
    ['answers after a gate', ['looprig', 'answer', 'last', 'abc', ''], ['yes', 'no', 'always']],
    ['commands that have help', ['looprig', 'help', 'res'], ['resume']],
    ['nothing for a prompt', ['looprig', 'run', 'w'], []],
  ])('%s', async (_, words, expected) => {
    expect(await completed(...words)).toEqual(expected);
  });

  it('sessions, of the store that the line names', async () => {
    const other = join(folder, 'other.db');
    const ids: string[] = [];
    for (const store of [OWN_STORE.LOOPRIG_STORE, other]) {
      const { stderr } = await runProgram(['run', '--workspace', folder, '--store', store]);
      ids.push(/--session ([0-9a-f]{8})/.exec(stderr)?.[1] ?? '');
    }
    const looprig = join(folder, 'looprig');
    expect(await completed(looprig, 'show', '')).toEqual(['last', ids[0]]);
    expect(await completed(looprig, 'run', '--session', ids[0]!.slice(0, 3))).toEqual([ids[0]]);
    expect(await completed(looprig, 'resume', '--store', other, '')).toEqual(['last', ids[1]]);
    expect(await completed(looprig, 'resume', '--store', '=', join(folder, 'none.db'), '')).toEqual(['last']);
  });

  it("no session of a stranger's store whose id is more to a shell than a word", async () => {
    const file = join(folder, 'strange.db');
    const store = sqliteStore({ file });
    for (const sessionId of ['plain_1.a', '$(>made)', '`>made`', '*', 'two words']) {
      await store.append(sessionId, 0, [opened(1)]);
    }
    await store.close();
    expect(await completed(join(folder, 'looprig'), 'show', '--store', file, '')).toEqual(['last', 'lain_1.a']);
    expect((await readdir(join(folder, 'here'))).sort()).toEqual(['inner folder', 'inner.ts']);
  });
});

it.each(['zsh', 'fish'])('there is a script for %s with each command and its options', async shell => {
  const { status, stdout } = await runProgram(['completion', shell]);
  expect(status).toBe(0);
  for (const word of ['sessions', 'resume', 'approve', 'reasoning', 'anthropic/', 'complete-sessions']) {
    expect(stdout).toContain(word);
  }
});

it('another shell is refused with one sentence', async () => {
  expect(await runProgram(['completion', 'tcsh'])).toMatchObject({
    status: 2,
    stderr: 'looprig: there is no completion for "tcsh": give bash, zsh or fish\n',
  });
});
