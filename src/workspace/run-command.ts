import { stat } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import type { FactoryBindings, Workspace } from '../define/bindings.ts';
import { defineTool, type LiveTool, type ToolDefinition, toolResult } from '../define/tool.ts';
import { codeOf, orExplain } from './files.ts';
import type { HeadAndTail } from './head-and-tail.ts';
import { type RunCommandOptions, resolveRunCommand } from './options.ts';
import { type ProcessOutcome, runProcess } from './run-process.ts';
import { oneLine } from './text.ts';

/** `run_command`: runs a program in the workspace. Throws `DefinitionError` `invalid_option`. */
export function defineRunCommand(options: RunCommandOptions = {}): ToolDefinition {
  const resolved = resolveRunCommand(options);
  return resolved.shell ? defineShellCommand(resolved) : defineArgumentsCommand(resolved);
}

const CWD = {
  type: 'string',
  minLength: 1,
  maxLength: 4096,
  description: 'The folder to run it in, relative to the workspace. Default ".", the workspace itself.',
} as const;

function timeoutProperty(timeoutMs: number): {
  type: 'integer';
  minimum: number;
  maximum: number;
  description: string;
} {
  const description = `The longest it may run, in milliseconds. Default and most ${timeoutMs}.`;
  return { type: 'integer', minimum: 1, maximum: timeoutMs, description };
}

const ANSWER =
  'Gives the exit code and what it wrote to stdout and stderr, from long output the beginning and the end. It gets no input, ' +
  'and is ended with all that it started when its time is over; nothing keeps running after it.';

function defineArgumentsCommand(options: Required<RunCommandOptions>): ToolDefinition {
  return defineTool({
    name: 'run_command',
    description: `Runs a program in the workspace, without a shell: no pipes, no redirection, no globs, no variables. ${ANSWER}`,
    input: {
      type: 'object',
      properties: {
        command: {
          type: 'array',
          items: { type: 'string', maxLength: 100_000 },
          minItems: 1,
          maxItems: 1_000,
          description: 'The program and its arguments, each an item of its own: ["npm", "test"].',
        },
        cwd: CWD,
        timeout_ms: timeoutProperty(options.timeoutMs),
      },
      required: ['command'],
      additionalProperties: false,
    },
    requires: ['workspace'],
    create: bindings =>
      commandTool(bindings, options, ({ command }) => {
        const [file = '', ...args] = command;
        return { file, args, shown: command.map(quoted).join(' ') };
      }),
  });
}

function defineShellCommand(options: Required<RunCommandOptions>): ToolDefinition {
  const [file, ...flags] = process.platform === 'win32' ? ['cmd.exe', '/d', '/s', '/c'] : ['/bin/sh', '-c'];
  return defineTool({
    name: 'run_command',
    description: `Runs a command line in the workspace with ${file}: pipes, redirection and globs work. ${ANSWER}`,
    input: {
      type: 'object',
      properties: {
        command: {
          type: 'string',
          minLength: 1,
          maxLength: 100_000,
          description: 'The command line: "npm test | tail -20".',
        },
        cwd: CWD,
        timeout_ms: timeoutProperty(options.timeoutMs),
      },
      required: ['command'],
      additionalProperties: false,
    },
    requires: ['workspace'],
    create: bindings =>
      // Named as what it is, so that a rule that allows a program never allows a line that only begins with its name.
      commandTool(bindings, options, ({ command }) => ({
        file: file as string,
        args: [...flags, command],
        shown: [file as string, ...flags, command].map(quoted).join(' '),
      })),
  });
}

interface CommandInput {
  readonly cwd?: string;
  readonly timeout_ms?: number;
}

/** A program, its arguments, and both as one line for people and rules. */
interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  readonly shown: string;
}

function commandTool<Input extends CommandInput>(
  { workspace }: FactoryBindings<'workspace'>,
  options: Required<RunCommandOptions>,
  commandLine: (input: Input) => CommandLine,
): LiveTool<Input> {
  return {
    sequential: true,
    summary: input => oneLine(`run ${commandLine(input).shown}`, 120),
    async access(input) {
      const folder = workspace.relative(await workspace.resolve(input.cwd ?? '.'));
      const target = commandLine(input).shown;
      return [{ action: 'process.run', target, description: `run ${oneLine(target, 200)} in ${folder}` }];
    },
    async execute(input, { signal }) {
      const { file, args } = commandLine(input);
      if ([file, ...args].some(part => part.includes('\0'))) throw new Error('the command holds a NUL character');
      const timeoutMs = input.timeout_ms ?? options.timeoutMs;
      const outcome = await runProcess({
        file,
        args,
        cwd: await requireFolder(workspace, input.cwd ?? '.'),
        env: commandEnvironment(options),
        timeoutMs,
        graceMs: options.graceMs,
        outputBytes: options.outputBytes,
        signal,
      }).catch(error => {
        throw startProblem(error, file);
      });
      const isError = outcome.endedBy !== 'itself' || outcome.exitCode !== 0;
      return toolResult(report(outcome, timeoutMs), { isError });
    },
  };
}

async function requireFolder(workspace: Workspace, path: string): Promise<string> {
  const absolute = await workspace.resolve(path);
  const name = workspace.relative(absolute);
  if (!(await orExplain(name, stat(absolute))).isDirectory()) throw new Error(`cwd ${name} is no folder`);
  return absolute;
}

function startProblem(error: unknown, file: string): unknown {
  switch (codeOf(error)) {
    case 'ENOENT':
      return new Error(`there is no program ${JSON.stringify(file)} here`);
    case 'EACCES':
      return new Error(`${JSON.stringify(file)} may not be run as a program`);
    case 'E2BIG':
      return new Error('the command is too long for the system');
    default:
      return error;
  }
}

/** What programs need to run at all. Anything else of this program's environment may be a secret. */
const INHERITED: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  ...[
    'SystemRoot',
    'SystemDrive',
    'ComSpec',
    'PATHEXT',
    'windir',
    'USERPROFILE',
    'APPDATA',
    'LOCALAPPDATA',
    'ProgramFiles',
  ],
];

function commandEnvironment({ inheritEnvironment, environment }: Required<RunCommandOptions>): Record<string, string> {
  const inherited = [...INHERITED, ...inheritEnvironment].flatMap(name => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(inherited), NO_COLOR: '1', TERM: 'dumb', ...environment };
}

function report(outcome: ProcessOutcome, timeoutMs: number): string {
  const others = outcome.leftOthers ? ['[processes that it had left running were ended]'] : [];
  const output = [...stream('stdout', outcome.stdout), ...stream('stderr', outcome.stderr)];
  return [ending(outcome, timeoutMs), ...others, ...(output.length === 0 ? ['no output'] : output)].join('\n');
}

function ending({ endedBy, exitCode, exitSignal }: ProcessOutcome, timeoutMs: number): string {
  if (endedBy === 'timeout') return `timed out after ${timeoutMs} ms, and was ended`;
  if (endedBy === 'abort') return 'interrupted, and was ended';
  return exitCode === null ? `ended by ${exitSignal}` : `exit code ${exitCode}`;
}

function stream(name: string, output: HeadAndTail): string[] {
  if (output.total === 0) return [];
  return [`--- ${name} ---`, stripVTControlCharacters(output.text()).replace(/\n$/, '')];
}

/** An argument as a shell would need it, so that a line can only be read in one way. */
function quoted(argument: string): string {
  return /^[\w./:=@%+,-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
