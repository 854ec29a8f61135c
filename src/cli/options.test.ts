import { describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';
import type { RunOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

const DEFAULTS: RunOptions = {
  prompt: undefined,
  loop: undefined,
  session: undefined,
  workspace: undefined,
  model: undefined,
  limits: {},
  mode: undefined,
  approve: undefined,
  allowCommands: false,
  mcp: [],
  stream: true,
  reasoning: undefined,
  hideReasoning: false,
  json: false,
  quiet: false,
  store: undefined,
  noStore: false,
};

/** What `looprig run` is asked to do with these arguments. */
function read(args: readonly string[]): unknown {
  return readCommandLine(['run', ...args], { version: '1.2.3', columns: 80 });
}

describe('arguments that are read', () => {
  it.each<[readonly string[], Partial<RunOptions>]>([
    [[], {}],
    [['what is this?'], { prompt: 'what is this?' }],
    [['--workspace', 'a', 'what?'], { workspace: 'a', prompt: 'what?' }],
    [['what?', '--workspace=a'], { workspace: 'a', prompt: 'what?' }],
    [['--model', 'anthropic/claude'], { model: 'anthropic/claude' }],
    [['--model=compatible:http://x/v1#a=b'], { model: 'compatible:http://x/v1#a=b' }],
    [['--limits', 'calls=2'], { limits: { calls: 2 } }],
    [['--mode', 'read-only'], { mode: 'read-only' }],
    [['--mode', 'base'], { mode: 'base' }],
    [['--mode', 'plan', '--loop', 'my.ts#clerk'], { mode: 'plan', loop: 'my.ts#clerk' }],
    [['--approve', 'all'], { approve: 'all' }],
    [['--approve', 'none'], { approve: 'none' }],
    [['--approve', 'ask'], { approve: 'ask' }],
    [['--session', 'last', 'and?'], { session: 'last', prompt: 'and?' }],
    [['--store', 'my.db'], { store: 'my.db' }],
    [['--no-store'], { noStore: true }],
    [
      ['--allow-commands', '--no-stream', '--json', '--quiet'],
      { allowCommands: true, stream: false, json: true, quiet: true },
    ],
    [['--reasoning', 'low', '--hide-reasoning'], { reasoning: 'low', hideReasoning: true }],
    [['--reasoning=none'], { reasoning: 'none' }],
    [['--mcp', 'npx server', '--mcp=http://x/mcp'], { mcp: ['npx server', 'http://x/mcp'] }],
    [['--debug'], {}],
    [['--', '--json'], { prompt: '--json' }],
  ])('%j', (args, options) => {
    expect(read(args)).toEqual({ command: 'run', options: { ...DEFAULTS, ...options } });
  });
});

describe('arguments that are refused with one sentence', () => {
  it.each<[readonly string[], string]>([
    [['--jsno'], 'there is no option --jsno: did you mean --json? ("looprig run --help" lists them)'],
    [['--sto', 'my.db'], 'there is no option --sto: did you mean --store? ("looprig run --help" lists them)'],
    [['--no-stre'], 'there is no option --no-stre: did you mean --no-store? ("looprig run --help" lists them)'],
    [['-x'], 'there is no option -x: "looprig run --help" lists them'],
    [['--toString'], 'there is no option --toString: "looprig run --help" lists them'],
    [['--model'], '--model needs a value: "looprig run --help" shows which'],
    [['--model', '--json'], '--model needs a value: "looprig run --help" shows which'],
    [['--model='], '--model needs a value: "looprig run --help" shows which'],
    [['--json=yes'], '--json takes no value: leave out "=yes"'],
    [['--model', '-h'], '--model needs a value: "looprig run --help" shows which'],
    [['--mcp', 'a', '--mcp='], '--mcp needs a value: "looprig run --help" shows which'],
    [['--model', 'a', '--model', 'b'], '--model is given twice: give it once'],
    [['two', 'prompts'], 'the prompt must be one argument, and there are 2: put it in quotes'],
    [[' '], 'the prompt is empty: say what is to be done'],
    [['--reasoning'], '--reasoning needs a value: "looprig run --help" shows which'],
    [['--reasoning', 'hard'], '--reasoning must be one of none, minimal, low, medium, high, not "hard"'],
    [['--approve', 'some'], '--approve must be one of ask, all, none, not "some"'],
    [['--store', 'my.db', '--no-store'], '--store and --no-store exclude each other: give one of them'],
    [['--session', 'last', '--no-store'], '--session names a session of the store: leave out --no-store'],
  ])('%j', (args, message) => {
    expect(() => read(args)).toThrow(new UsageError(message));
  });
});
