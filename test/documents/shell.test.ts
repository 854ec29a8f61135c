/** What the documents tell to type is taken by the command line itself and by `npm`, and data that they show can be read. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describe, expect, it } from 'vitest';
import { LIBRARIES, WORKLOAD_GROUPS } from '../../bench/peers/workloads.ts';
import { declareProgram, readCommandLine } from '../../src/cli/command-line.ts';
import { blocksIn, type CodeBlock, codeBlocks, ROOT, read, WRITTEN } from './blocks.ts';
import { type ShellCommand, shellCommands } from './shell-words.ts';

const { scripts, peerDependencies, name } = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly name: string;
};

/** The one block that is no list of commands: test/server/documents.test.ts runs it as a whole. */
const CURL = 'docs/server.md: With curl';

const surroundings = { version: '0.0.0', columns: 80 };

/** Throws what is wrong with a command of a document. */
function check({ words, line }: ShellCommand): void {
  const [program = '', ...args] = words;
  if (program === 'npx') check({ words: args, line });
  else if (program === 'looprig') readCommandLine(args, surroundings);
  else if (program === 'npm') checkNpm(args);
  else if (program === 'echo') for (const command of withinText(args.join(' '))) check(command);
  else if (program === 'node' && args[0] !== '--test') expect(existsSync(join(ROOT, args[0] ?? '')), line).toBe(true);
  else if (program !== 'node') throw new Error(`nothing is known of "${program}"`);
}

/** The commands in `$(…)`. */
function withinText(text: string): ShellCommand[] {
  return [...text.matchAll(/\$\(([^)]*)\)/g)].flatMap(([, code = '']) => shellCommands(code));
}

function checkNpm([command = '', ...args]: readonly string[]): void {
  if (command === 'run') checkScript(args);
  else if (command === 'start' || command === 'test') checkScript([command]);
  else if (command === 'install') for (const word of args.filter(one => !one.startsWith('-'))) checkPackage(word);
  else if (command !== 'ci' && command !== 'init') throw new Error(`nothing is known of "npm ${command}"`);
}

function checkScript([script = '', ...args]: readonly string[]): void {
  if (!(script in scripts)) throw new Error(`package.json has no script "${script}"`);
  if (script === 'bench:peers') checkMeasuring(args.filter(word => word !== '--'));
}

function checkMeasuring(args: string[]): void {
  const text = { type: 'string' } as const;
  const options = {
    rounds: text,
    minutes: text,
    only: text,
    workloads: text,
    out: text,
    try: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ args, options });
  for (const library of values.only?.split(',') ?? []) expect(LIBRARIES).toContain(library);
  for (const group of values.workloads?.split(',') ?? []) expect(WORKLOAD_GROUPS).toContain(group);
}

/** What is installed beside looprig is an optional peer, in the version that looprig takes, or what the examples say their schemas with. */
function checkPackage(word: string): void {
  const [, wanted = '', version] = /^(@?[^@]+)(?:@(.+))?$/.exec(word) ?? [];
  if (wanted === name || wanted === 'zod') return;
  const range = peerDependencies[wanted];
  if (range === undefined) throw new Error(`${wanted} is no peer of looprig`);
  if (version !== undefined && !range.startsWith(`^${version}`)) throw new Error(`${word} is not ${range}`);
}

describe('what is to be typed', () => {
  const blocks = blocksIn('sh').filter(({ place }) => place !== CURL);

  it.each(blocks)('in $place, line $line: each command is taken', ({ code }) => {
    const commands = shellCommands(code);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      expect(() => check(command), command.line).not.toThrow();
    }
  });

  it('within sentences, names commands and options that there are', () => {
    const program = declareProgram({ ...surroundings, print: () => {} }, () => {});
    const wrong = WRITTEN.flatMap(document =>
      [...read(document).matchAll(/`looprig ([^`]+)`/g)].flatMap(([code, text = '']) => {
        const [first, ...words] = text.split(' ');
        const command = program.commands.find(one => one.name() === first);
        const options = words.filter(word => word.startsWith('--'));
        const known = command?.options.map(({ long }) => long) ?? [];
        return command !== undefined && options.every(option => known.includes(option)) ? [] : [`${document}: ${code}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('within sentences and tables, names scripts of npm that there are, and what they take', () => {
    const named = WRITTEN.flatMap(document => [...read(document).matchAll(/`(npm run [^`]+)`/g)].map(([, one]) => one));
    expect(named.length).toBeGreaterThan(20);
    for (const code of new Set(named)) {
      for (const command of shellCommands(code ?? '')) expect(() => check(command), code).not.toThrow();
    }
  });

  it('is found wrong where it is wrong', () => {
    for (const line of ['npx looprig rum', 'looprig run --limit 3', 'npm run fly', 'npm install express', 'make'])
      expect(() => check(shellCommands(line)[0]!), line).toThrow();
  });
});

describe('every block', () => {
  const blocks = WRITTEN.flatMap(codeBlocks);
  const inLanguage = (language: string): CodeBlock[] => blocks.filter(block => block.language === language);

  it('is of a language that a test knows', () => {
    const strangers = blocks.filter(
      ({ language }) => !['', 'ts', 'tsx', 'typescript', 'sh', 'json', 'sql'].includes(language),
    );
    expect(strangers.map(({ place }) => place)).toEqual([]);
  });

  it('of JSON can be read', () => {
    for (const { code } of inLanguage('json')) {
      const values = code.startsWith('{\n') ? [code] : code.trim().split('\n');
      for (const value of values) JSON.parse(value);
    }
  });

  it('of other libraries stands in the pages for those who come from them', () => {
    const strangers = inLanguage('typescript').filter(({ place }) => !/^docs\/migrate\/from-\S+: Before/.test(place));
    expect(strangers.map(({ place }) => place)).toEqual([]);
  });
});
