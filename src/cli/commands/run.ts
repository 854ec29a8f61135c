/** `looprig run`, as it is called. */
import type { Command } from 'commander';
import { NO_TURN_OPTIONS, type RunOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import {
  EXIT_STATUS,
  limitsOption,
  modeOption,
  noStoreOption,
  sessionOption,
  turnOptions,
  withExamples,
} from './shared.ts';

const NOTES = `
The answer goes to standard output, everything else to standard error.
Keys: ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, and
LOOPRIG_API_KEY for compatible:URL#NAME. Other addresses: ANTHROPIC_BASE_URL,
OPENAI_BASE_URL, GOOGLE_GENERATIVE_AI_BASE_URL. Ctrl-C interrupts, twice quits.`;

export function declareRun(command: Command, choose: Choose): void {
  command
    .summary('work on a folder, once')
    .description('Runs one turn on a folder, with tools that list, search, read, write and edit its files.')
    .argument('[PROMPT]', 'what is to be done, in quotes', requireWords)
    .allowExcessArguments()
    .action((prompt: string | undefined, { debug: _, ...flags }: Partial<RunOptions> & { debug?: true }) => {
      if (command.args.length > 1) {
        throw new UsageError(`the prompt must be one argument, and there are ${command.args.length}: put it in quotes`);
      }
      if (flags.noStore === true && flags.session !== undefined) {
        throw new UsageError('--session names a session of the store: leave out --no-store');
      }
      const options = Object.freeze({ ...NO_TURN_OPTIONS, session: undefined, ...flags, prompt });
      choose({ command: 'run', options });
    });
  for (const option of [sessionOption(), ...turnOptions(), noStoreOption(), modeOption(), limitsOption()]) {
    command.addOption(option);
  }
  withExamples(command.addHelpText('after', NOTES).addHelpText('after', EXIT_STATUS), [
    'looprig run',
    'looprig run "What does this project do?" --workspace ./project > answer.txt',
    'looprig run "Fix the typo in README.md" --model anthropic/claude-sonnet-4-5',
    'looprig run --session last "And where is that tested?"',
    'looprig run "List the tests" --limits calls=20,parallel=4 --json',
  ]);
}

function requireWords(prompt: string): string {
  if (prompt.trim() === '') throw new UsageError('the prompt is empty: say what is to be done');
  return prompt;
}
