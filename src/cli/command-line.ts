/** The command line: all commands in one place, from which it is read, explained and completed. */
import { Command, CommanderError } from 'commander';
import { declareAnswer } from './commands/answer.ts';
import { declareChat } from './commands/chat.ts';
import { declareCheck } from './commands/check.ts';
import { declareCompleteSessions, declareCompletion } from './commands/completion.ts';
import { declareDelete } from './commands/delete.ts';
import { declareInit } from './commands/init.ts';
import { declareReport } from './commands/report.ts';
import { declareResume } from './commands/resume.ts';
import { declareRun } from './commands/run.ts';
import { declareServe, declareWorker } from './commands/serve.ts';
import { declareSessions } from './commands/sessions.ts';
import { SESSION_WORDS, withExamples } from './commands/shared.ts';
import { declareShow } from './commands/show.ts';
import { HELP_LAYOUT } from './help-layout.ts';
import type { Choose, Order } from './order.ts';
import { UsageError } from './usage-error.ts';

/** What the words of a command line cannot say themselves. */
export interface Surroundings {
  readonly version: string;
  /** How wide help may be. */
  readonly columns: number;
}

/** The commands, in the order of the help. */
const COMMANDS: readonly (readonly [name: string, declare: (command: Command, choose: Choose) => void])[] = [
  ['run', declareRun],
  ['chat', declareChat],
  ['sessions', declareSessions],
  ['show', declareShow],
  ['resume', declareResume],
  ['answer', declareAnswer],
  ['report', declareReport],
  ['delete', declareDelete],
  ['serve', declareServe],
  ['worker', declareWorker],
  ['check', declareCheck],
  ['init', declareInit],
  ['completion', declareCompletion],
];

/** Reads a command line. Throws `UsageError` for what it cannot take, in one sentence. */
export function readCommandLine(args: readonly string[], surroundings: Surroundings): Order {
  let printed = '';
  let order: Order | undefined;
  const program = declareProgram({ ...surroundings, print: text => (printed += text) }, chosen => (order = chosen));
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    // That is how help and version end.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
    return { command: 'print', text: printed };
  }
  if (order === undefined) throw new Error('a command was read that does nothing');
  return order;
}

/** All commands. What is chosen is told to `choose`; help and version are given to `print`. */
export function declareProgram(
  { version, columns, print }: Surroundings & { print(text: string): void },
  choose: Choose,
): Command {
  const program = new Command('looprig');
  program
    .description(`An agent loop whose tool use is bounded, honest and durable.\n\n${SESSION_WORDS}`)
    .usage('COMMAND [options]')
    .version(version, '-v, --version', 'tell the version')
    .helpOption('-h, --help', 'tell how it is used')
    .helpCommand('help [COMMAND]', 'all options of a command')
    .enablePositionalOptions()
    .configureHelp(HELP_LAYOUT)
    .configureOutput({ writeOut: print, writeErr: () => {}, getOutHelpWidth: () => columns });
  explainErrors(program);
  for (const [name, declare] of COMMANDS) {
    const command = program.command(name);
    explainErrors(command);
    declare(command, choose);
  }
  const hidden = program.command('complete-sessions', { hidden: true });
  explainErrors(hidden);
  declareCompleteSessions(hidden, choose);
  withExamples(program, [
    'looprig run                        the offline demo model looks at this folder',
    'looprig run "Where are the tests?" --workspace ./project',
    'looprig chat                       the same, turn after turn',
    'looprig show last',
    'looprig run --help                 all options of a command',
  ]);
  return program;
}

/** What commander refuses is said in sentences of our own. */
function explainErrors(command: Command): void {
  command.exitOverride(error => {
    if (error.exitCode !== 0) throw new UsageError(explain(error, command), { cause: error });
    throw error;
  });
}

function explain({ code, message }: CommanderError, command: Command): string {
  const help = `looprig ${command.parent === null ? '' : `${command.name()} `}--help`;
  const [named = '', other = ''] = [...message.matchAll(/'([^']*)'/g)].map(([, text = '']) => text);
  const similar = /\(Did you mean (?:one of )?(.*)\?\)/.exec(message)?.[1]?.replace(/, (?=[^,]*$)/, ' or ');
  const advice = similar === undefined ? `"${help}" lists them` : `did you mean ${similar}? ("${help}" lists them)`;
  switch (code) {
    case 'commander.help':
      if (command.args[1] !== undefined) return `there is no command "${command.args[1]}": ${advice}`;
      return 'there is no command: "looprig run" works on a folder, "looprig --help" says more';
    case 'commander.unknownCommand':
      return `there is no command "${named}": ${advice}`;
    case 'commander.unknownOption':
      return explainOption(named, command) ?? `there is no option ${named}: ${advice}`;
    case 'commander.optionMissingArgument':
    case 'commander.invalidArgument':
      return `${withoutValue(named)} needs a value: "${help}" shows which`;
    case 'commander.conflictingOption':
      return `${withoutValue(named)} and ${withoutValue(other)} exclude each other: give one of them`;
    case 'commander.missingArgument':
      return named === 'ID'
        ? `say which session: "looprig ${command.name()} ID", or "looprig ${command.name()} last" for the latest`
        : `looprig ${command.name()} needs ${named}: "${help}" says more`;
    case 'commander.missingMandatoryOptionValue':
      return `looprig ${command.name()} needs ${withoutValue(named)}: "${help}" says more`;
    case 'commander.excessArguments':
      return `looprig ${command.name()} takes fewer words: "${help}" says which`;
    default:
      return `${message.replace(/^error: /, '')}: "${help}" says more`;
  }
}

/** A flag that was given a value is called unknown, since no such option has one. */
function explainOption(given: string, { options }: Command): string | undefined {
  const equals = given.indexOf('=');
  const name = given.slice(0, equals);
  if (equals === -1 || !options.some(({ long }) => long === name)) return undefined;
  return `${name} takes no value: leave out "${given.slice(equals)}"`;
}

function withoutValue(flags: string): string {
  return flags.split(' ', 1)[0] ?? flags;
}
