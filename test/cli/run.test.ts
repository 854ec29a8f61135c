/** `looprig run` as a child process: what it writes where, and its exit status. */
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveModel } from './model-server.ts';
import { runProgram } from './program.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-cli-'));
  await writeFile(join(folder, 'README.md'), '# A small thing\n\nIt counts sheep.\n');
  await writeFile(join(folder, 'package.json'), '{ "name": "sheep", "version": "1.0.0" }\n');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the program', () => {
  it('tells its version and how it is used', async () => {
    const [version, help, runHelp] = await Promise.all([
      runProgram(['--version']),
      runProgram(['--help']),
      runProgram(['run', '--help']),
    ]);
    expect(version).toMatchObject({ status: 0, stderr: '' });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(help).toMatchObject({ status: 0, stderr: '' });
    expect(help.stdout).toContain('looprig run');
    expect(runHelp).toMatchObject({ status: 0, stderr: '' });
    for (const option of [
      'workspace',
      'model',
      'limits',
      'mode',
      'approve',
      'allow-commands',
      'no-stream',
      'reasoning',
      'hide-reasoning',
      'json',
      'quiet',
      'debug',
    ]) {
      expect(runHelp.stdout).toContain(`--${option}`);
    }
    for (const line of `${help.stdout}${runHelp.stdout}`.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  it.each([
    [[], 'there is no command: "looprig run" works on a folder, "looprig --help" says more'],
    [['paint'], 'there is no command "paint": "looprig --help" lists them'],
    [['sesions'], 'there is no command "sesions": did you mean sessions? ("looprig --help" lists them)'],
    [['--verbos'], 'there is no option --verbos: did you mean --version? ("looprig --help" lists them)'],
    [['--xyz', 'run'], 'there is no option --xyz: "looprig --help" lists them'],
    [['run', '--jsno'], 'there is no option --jsno: did you mean --json? ("looprig run --help" lists them)'],
    [['run', '--limits', 'calls=none'], '--limits: "calls" must be a whole number from 1, or Infinity, not "none"'],
    [['run', '--mode', 'fast'], 'there is no mode "fast": give base or read-only'],
    [
      ['run', '--workspace', 'no/such/folder'],
      '--workspace: the workspace root "no/such/folder" does not exist: give an existing folder',
    ],
    [
      ['run', '--workspace', 'package.json'],
      '--workspace: the workspace root "package.json" is no folder: give an existing folder',
    ],
  ])('refuses %j with one sentence and status 2', async (args, sentence) => {
    const { status, stdout, stderr } = await runProgram(args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`looprig: ${sentence}`);
  });

  it('refuses a folder that it may not read', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'looprig-closed-'));
    await chmod(closed, 0);
    try {
      // An administrator may read everything, so the program runs as somebody else then.
      const isRoot = process.getuid?.() === 0;
      const { status, stderr } = await runProgram(
        ['run', '--no-store', '--workspace', closed],
        isRoot ? { uid: 65_534 } : {},
      );
      expect(status).toBe(2);
      expect(stderr).toBe(
        `looprig: --workspace: the workspace root ${JSON.stringify(closed)} cannot be read: give a folder that this program may read\n`,
      );
    } finally {
      await rm(closed, { recursive: true, force: true });
    }
  });

  it('shows where an error came from with --debug alone', async () => {
    const args = ['run', '--workspace', 'no/such/folder'];
    const [plain, debug] = await Promise.all([runProgram(args), runProgram([...args, '--debug'])]);
    expect(plain.stderr).not.toContain(' at ');
    expect(debug.stderr).toMatch(/UsageError: .*\n\s+at [\s\S]*caused by: WorkspaceError/);
  });
});

it('the document of the command line says what the help says: commands, options, variables, exit statuses', async () => {
  const document = await readFile(new URL('../../docs/command-line.md', import.meta.url), 'utf8');
  const commands = [
    'run',
    'sessions',
    'show',
    'resume',
    'answer',
    'report',
    'delete',
    'serve',
    'worker',
    'check',
    'init',
    'completion',
    'chat',
  ];
  const helps = await Promise.all(
    [[], ...commands.map(command => [command])].map(args => runProgram([...args, '--help'])),
  );
  for (const help of helps) {
    expect(help).toMatchObject({ status: 0, stderr: '' });
    for (const line of help.stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  }
  const help = helps.map(({ stdout }) => stdout).join('');
  const named = (text: string, pattern: RegExp): string[] => [...new Set(text.match(pattern))].sort();
  expect(named(document, /(?<=^\| `looprig )[a-z]+(?=` \|)/gm)).toEqual(commands.toSorted());
  expect(named(helps[0]!.stdout.split('Commands:')[1]!, /(?<=^ {2})(?!help|looprig)[a-z]+(?= )/gm)).toEqual(
    commands.toSorted(),
  );
  for (const option of named(document, /--[a-z][a-z-]+/g)) expect(help).toContain(option);
  for (const variable of named(help, /[A-Z]+(?:_[A-Z]+)+/g)) expect(document).toContain(`\`${variable}\``);
  const statuses = named(document, /(?<=^\| )\d+(?= \|)/gm);
  for (const { stdout } of [helps[1]!, helps[4]!]) {
    const [, section = ''] = stdout.split('Exit status:\n');
    expect(named(section.split('\n\n')[0]!, /\b\d+(?= [a-z])/g)).toEqual(statuses);
  }
});

describe('the demo model', () => {
  it('answers from what it read in the folder, and says what it is', async () => {
    const { status, stdout, stderr } = await runProgram(['run', '--workspace', folder]);
    expect(status).toBe(0);
    expect(stdout).toContain('README.md');
    expect(stdout).not.toContain('✓');
    expect(stderr).toContain('offline demo model');
    expect(stderr).toContain('no key, no network');
    expect(stderr).toMatch(/✓ read_file README\.md/);
    expect(stderr).toMatch(
      /\ndone · steps \d+ · iterations \d+\/25 · calls \d+\/100 · parallel peak \d+\/8 · [\d,]+ tokens: [\d,]+ in, [\d,]+ out \([\d,]+ reasoning\) · \d+ ms\nto go on: looprig run --session [0-9a-f]{8} "…"\n$/,
    );
  });

  it('works in the current folder where none is named', async () => {
    const { status, stderr } = await runProgram(['run'], { cwd: folder });
    expect(status).toBe(0);
    expect(stderr).toMatch(/✓ read_file package\.json/);
  });

  it('says nothing but the answer when quiet', async () => {
    const [quiet, loud] = await Promise.all([
      runProgram(['run', '--workspace', folder, '--quiet']),
      runProgram(['run', '--workspace', folder]),
    ]);
    expect(quiet).toEqual({ ...loud, stderr: '' });
  });

  it('gives the same answer in whole responses', async () => {
    const [whole, streamed] = await Promise.all([
      runProgram(['run', '--workspace', folder, '--no-stream']),
      runProgram(['run', '--workspace', folder]),
    ]);
    expect(whole.status).toBe(0);
    expect(whole.stdout).toBe(streamed.stdout);
  });

  it('answers at a limit with status 3, and says which and how to allow more', async () => {
    const { status, stderr } = await runProgram(['run', '--workspace', folder, '--limits', 'calls=1']);
    expect(status).toBe(3);
    expect(stderr).toMatch(
      /looprig: turn stopped at a limit: the model asked for \d+ tool calls, 1 is allowed in one turn: allow more with --limits calls=\d+\n/,
    );
  });
});

describe('--json', () => {
  it('writes each event as a line on standard output, then the result, and nothing else there', async () => {
    const { status, stdout, stderr } = await runProgram(['run', '--workspace', folder, '--json']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { type: string; seq?: number });
    expect(status).toBe(0);
    expect(lines[0]).toMatchObject({ type: 'turn.started' });
    expect(lines.at(-2)).toMatchObject({ type: 'turn.done' });
    expect(lines.at(-1)).toMatchObject({ type: 'result', status: 'done', exitStatus: 0 });
    expect(lines.filter(({ type }) => type === 'result')).toHaveLength(1);
    const numbers = lines.slice(0, -1).map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.toSorted((a = 0, b = 0) => a - b));
    expect(stderr).toMatch(/^model: demo .*offline demo model.*\n$/);
  });

  it('writes no result line for wrong usage', async () => {
    const { status, stdout } = await runProgram(['run', '--json', '--mode', 'fast']);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });
});

describe('permission', () => {
  const write = { name: 'write_file', input: { path: 'new.txt', content: 'hello\n' } };

  it('is refused for want of an answer: status 4, and nothing was written', async () => {
    await using server = await serveModel([{ calls: [write] }, { text: ['I could not write.'] }]);
    const { status, stdout, stderr } = await runProgram([
      'run',
      'write',
      '--workspace',
      folder,
      '--model',
      server.model,
    ]);
    expect(status).toBe(4);
    expect(stdout).toBe('I could not write.\n');
    expect((await readdir(folder)).sort()).toEqual(['README.md', 'package.json']);
    expect(stderr).toMatch(/✗ write_file .*new\.txt.* \(denied\)/);
    expect(stderr).toMatch(/looprig: 1 call was denied, .* --approve all\n/);
    expect(stderr).toMatch(/\ndone, with calls denied · /);
  });

  it('is given to all with --approve all', async () => {
    const target = await mkdtemp(join(tmpdir(), 'looprig-write-'));
    await using server = await serveModel([{ calls: [write] }, { text: ['Written.'] }]);
    const args = ['run', 'write', '--workspace', target, '--model', server.model, '--approve', 'all'];
    const { status, stdout } = await runProgram(args);
    const written = await readFile(join(target, 'new.txt'), 'utf8');
    await rm(target, { recursive: true });
    expect({ status, stdout, written }).toEqual({ status: 0, stdout: 'Written.\n', written: 'hello\n' });
  });

  it.each([
    [[], ['edit_file', 'list_files', 'read_file', 'search_text', 'write_file']],
    [['--allow-commands'], ['edit_file', 'list_files', 'read_file', 'run_command', 'search_text', 'write_file']],
    [
      ['--mode', 'read-only', '--allow-commands'],
      ['list_files', 'read_file', 'search_text'],
    ],
  ])('with %j the model is offered %j', async (options, names) => {
    await using server = await serveModel([{ text: ['Hello.'] }]);
    const { status } = await runProgram(['run', 'hello', '--workspace', folder, '--model', server.model, ...options]);
    const { tools } = server.requests[0]!.body as { tools: { function: { name: string } }[] };
    expect(status).toBe(0);
    expect(tools.map(tool => tool.function.name).sort()).toEqual(names);
  });
});

describe('what models and tools say', () => {
  it('cannot drive the terminal of whoever looks', async () => {
    const hostile = '\u001b[2J\u001b]0;t\u0007\u009b1A\r\b\u202e';
    await using server = await serveModel([
      {
        text: [hostile],
        calls: [
          { name: `x${hostile}`, input: { [hostile]: hostile } },
          { name: 'read_file', input: { path: hostile } },
        ],
      },
      { text: [...hostile, ' done'] },
    ]);
    const args = ['run', hostile, '--workspace', folder, '--model', server.model];
    for (const options of [[], ['--quiet'], ['--json']]) {
      const { stdout, stderr } = await runProgram([...args, ...options]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(stdout + stderr).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
      expect(stdout).toContain('done');
    }
  });

  it('is one answer also where the model talked before it called tools', async () => {
    await using server = await serveModel([
      { text: ['I look ', 'first.'], calls: [{ name: 'list_files', input: {} }] },
      { text: ['Two ', 'files.'] },
    ]);
    const { status, stdout, stderr } = await runProgram([
      'run',
      'look',
      '--workspace',
      folder,
      '--model',
      server.model,
    ]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'Two files.\n' });
    expect(stderr).toContain('I look first.\n');
  });
});
