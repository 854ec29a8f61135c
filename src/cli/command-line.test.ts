import { describe, expect, it } from 'vitest';
import { declareProgram, readCommandLine } from './command-line.ts';
import { UsageError } from './usage-error.ts';

const read = (...args: string[]): unknown => readCommandLine(args, { version: '1.2.3', columns: 80 });

function printed(...args: string[]): string {
  const order = readCommandLine(args, { version: '1.2.3', columns: 80 });
  if (order.command === 'print') return order.text;
  throw new Error(`${args.join(' ')} prints nothing`);
}

const program = declareProgram({ version: '1.2.3', columns: 80, print: () => {} }, () => {});

/** All commands that people are told of, but for the one that tells of them. */
const names = program
  .createHelp()
  .visibleCommands(program)
  .map(command => command.name())
  .filter(name => name !== 'help');

describe('help', () => {
  it.each(names)('of %s says how it is called, and gives examples that can be read', name => {
    const help = printed(name, '--help');
    expect(help).toMatch(new RegExp(`^Usage: looprig ${name} `));
    const [, examples = ''] = help.split('\nExamples:\n');
    const lines = examples.trimEnd().split('\n');
    for (const line of lines) {
      const [program, ...args] = wordsOf(line);
      expect(program).toBe('looprig');
      expect(read(...args)).toMatchObject({ command: name });
    }
  });

  it.each(names)('of %s fits a window of 80 columns', name => {
    for (const line of printed(name, '--help').split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it.each(['', ...names])(
    'of %j fits a window of 40 columns, but for what is typed as it stands, and the notes below',
    name => {
      const order = readCommandLine(name === '' ? ['--help'] : [name, '--help'], { version: '1.2.3', columns: 40 });
      const [, list = ''] = (order.command === 'print' ? order.text : '').split(/^(?=Arguments:|Options:|What it)/m);
      expect(list).not.toBe('');
      const rows = list.split(/\n\n(?=The answer|In it|Exit status|Examples)/, 1)[0]?.split('\n') ?? [];
      for (const row of rows.filter(row => row.trim().includes(' ') && !row.startsWith('  answer '))) {
        expect(row.length, row).toBeLessThanOrEqual(40);
      }
    },
  );

  it('is the same by each of its names', () => {
    expect(printed('help', 'run')).toBe(printed('run', '--help'));
    expect(printed('run', '-h')).toBe(printed('run', '--help'));
    expect(printed('help')).toBe(printed('--help'));
  });

  it('does not ask for what the command would need', () => {
    expect(printed('show', '--help')).toContain('Usage: looprig show ID [options]');
    expect(printed('answer', 'abc', '--help')).toContain('Usage: looprig answer ID [GATE] yes|no|always [options]');
  });
});

it('the version stands alone', () => {
  expect(printed('--version')).toBe('1.2.3\n');
  expect(printed('-v')).toBe('1.2.3\n');
});

describe('commands', () => {
  it.each([
    [['sessions'], { limit: 20, json: false, store: undefined }],
    [['sessions', '--limit', '3', '--json', '--store=a.db'], { limit: 3, json: true, store: 'a.db' }],
    [['show', 'last'], { session: 'last', json: false }],
    [['resume', 'abc', '--approve', 'all'], { session: 'abc', approve: 'all', stream: true }],
    [['answer', 'abc', 'yes'], { session: 'abc', gate: undefined, word: 'yes', reason: undefined }],
    [['answer', 'abc', 'all', 'no', '--reason', '-1'], { gate: 'all', word: 'no', reason: '-1' }],
  ])('%j is read', (args, options) => {
    expect(read(...args)).toMatchObject({ command: args[0], options });
  });

  it.each([
    [['resume', 'abc', '--limits', 'calls=2'], 'there is no option --limits: "looprig resume --help" lists them'],
    [['show', '--jsno', 'abc'], 'there is no option --jsno: did you mean --json? ("looprig show --help" lists them)'],
    [['resume'], 'say which session: "looprig resume ID", or "looprig resume last" for the latest'],
    [['resume', 'a', 'b'], 'looprig resume takes one session, and there are 2 words: name one'],
    [['sessions', '--limit', '0'], '--limit must be a whole number from 1, not "0"'],
    [['sessions', '--limit', '1', '--limit', '2'], '--limit is given twice: give it once'],
    [['help', 'shwo'], 'there is no command "shwo": "looprig --help" lists them'],
    [['shwo'], 'there is no command "shwo": did you mean show? ("looprig --help" lists them)'],
    [
      ['answer', 'a', 'b', 'c', 'yes'],
      'looprig answer takes a session, a gate where several are open, and yes, no or always',
    ],
  ])('%j is refused with one sentence', (args, sentence) => {
    expect(() => read(...args)).toThrow(new UsageError(sentence));
  });
});

/** The words of a command line as a shell would give them, up to where its output is led. */
function wordsOf(line: string): string[] {
  const command = line.trim().split(/ [>&|]+ | {2,}/, 1)[0] ?? '';
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
}
