/** What several commands declare in the same words. */

import type { Command, Option } from 'commander';
import { LIMIT_NAMES, parseLimits } from '../limit-option.ts';
import { APPROVALS, REASONING_LEVELS } from '../options.ts';
import { choice, flag, repeated, valued } from './option.ts';

/** The headings of options, for commands that have many. */
const GROUP = {
  work: 'What it works on:',
  model: 'Model:',
  bounds: 'What it may do:',
  shown: 'What is shown:',
  kept: 'What is kept:',
} as const;

/** The statuses that a turn can end with. */
export const EXIT_STATUS = `
Exit status:
  0 done   1 failed   2 wrong usage   3 a limit was reached
  4 calls were denied because nobody could be asked
  5 the turn waits for an answer   6 another process uses the session
  130 interrupted   143 ended by SIGTERM`;

/** What an argument that names a session takes. */
export const SESSION_WORDS = `ID is what "looprig sessions" shows, any beginning or end of a session's id that fits only one, or "last".`;

export const storeOption = (): Option =>
  valued(
    '--store <FILE>',
    'where sessions are kept: a file, or postgres://… (default: LOOPRIG_STORE, or looprig/sessions.db where this platform keeps data)',
  ).conflicts('noStore');

export function noStoreOption(): Option {
  const option = flag('--no-store', 'keep nothing').helpGroup(GROUP.kept);
  option.negate = false; // a name of its own, so that it is seen beside `--store`
  return option;
}

export const jsonOption = (description: string): Option => flag('--json', description);

/** Read before anything else is, by the program itself. */
export const debugOption = (): Option => flag('--debug', 'show where an error came from');

export const loopOption = (): Option =>
  valued(
    '--loop <FILE>',
    'a loop of your own: a looprig.config.ts (or .mts, .js, .mjs), or the folder that it is in; FILE#NAME where it has several loops',
  );

export const sessionOption = (): Option =>
  valued(
    '--session <ID>',
    'go on in this session, with its folder and its model where no others are given ("last": the latest)',
  ).helpGroup(GROUP.work);

export const limitsOption = (): Option =>
  valued('--limits <NAME=N,…>', `limits of the turn: ${LIMIT_NAMES}`, parseLimits).helpGroup(GROUP.bounds);

export const modeOption = (): Option =>
  valued(
    '--mode <MODE>',
    'how it works: base or read-only, or a mode of your own loop (default: as the loop begins, or the session was)',
  ).helpGroup(GROUP.bounds);

/** The options that say what does the work, in the order of the help. */
export function agentOptions(): readonly Option[] {
  return [
    loopOption().helpGroup(GROUP.work),
    valued('--workspace <DIR>', 'the folder to work in (default: this one, or that of the session)').helpGroup(
      GROUP.work,
    ),
    valued(
      '--model <MODEL>',
      'who answers: demo (offline, works by rule), anthropic/NAME, openai/NAME, google/NAME, compatible:URL#NAME or replay:FILE (default: demo, or that of the session or of the loop)',
    ).helpGroup(GROUP.model),
    choice(
      '--reasoning <LEVEL>',
      'how much the model is to think, and that it shows it (default: as the provider has it)',
      REASONING_LEVELS,
    ).helpGroup(GROUP.model),
    flag('--no-stream', 'ask for whole responses').helpGroup(GROUP.model),
    choice(
      '--approve <WHAT>',
      'what becomes of calls that ask for permission (with ask a person is asked, and where nobody can be, the turn waits; all allows them, none denies them; default: ask in a terminal, else none)',
      APPROVALS,
    ).helpGroup(GROUP.bounds),
    flag('--allow-commands', 'offer the tool that runs programs').helpGroup(GROUP.bounds),
    repeated(
      '--mcp <SERVER>',
      'offer the tools of an MCP server: a command in quotes, or an address; may be given again',
    ).helpGroup(GROUP.bounds),
  ];
}

/** The options of whatever runs turns before a person's eyes. */
export function turnOptions(): readonly Option[] {
  return [
    ...agentOptions(),
    flag('--hide-reasoning', 'do not show what the model thinks').helpGroup(GROUP.shown),
    jsonOption('events on standard output, one a line, then the result').helpGroup(GROUP.shown),
    flag('--quiet', 'the answer and nothing else').helpGroup(GROUP.shown),
    storeOption().helpGroup(GROUP.kept),
    debugOption(),
  ];
}

/** Examples at the end of a command's help. */
export function withExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText('after', ['', 'Examples:', ...lines.map(line => `  ${line}`)].join('\n'));
}
