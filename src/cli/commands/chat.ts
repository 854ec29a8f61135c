/** `looprig chat`, as it is called. */
import type { Command } from 'commander';
import { type ChatOptions, NO_TURN_OPTIONS } from '../options.ts';
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
In it: /help lists commands; Enter says something to a turn that runs; a line
that ends in a backslash goes on in the next one. Ctrl-C interrupts the turn,
twice quits; Ctrl-D quits. Input that is no terminal: one turn a line.`;

export function declareChat(command: Command, choose: Choose): void {
  command
    .summary('work on a folder, turn after turn')
    .description('A conversation in the terminal: turns on a folder, with the tools and the options of "looprig run".')
    .action((flags: Partial<ChatOptions> & { debug?: true }) => {
      const { debug: _, ...given } = flags;
      if (given.noStore === true && given.session !== undefined) {
        throw new UsageError('--session names a session of the store: leave out --no-store');
      }
      const options = Object.freeze({ ...NO_TURN_OPTIONS, session: undefined, ...given });
      choose({ command: 'chat', options });
    });
  for (const option of [sessionOption(), ...turnOptions(), noStoreOption(), modeOption(), limitsOption()]) {
    command.addOption(option);
  }
  withExamples(command.addHelpText('after', NOTES).addHelpText('after', EXIT_STATUS), [
    'looprig chat',
    'looprig chat --session last',
    'looprig chat --model anthropic/claude-sonnet-4-5 --mode read-only',
    'looprig chat --quiet > answers.txt',
  ]);
}
