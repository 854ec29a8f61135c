/** `looprig resume`, as it is called. */
import type { Command } from 'commander';
import { NO_TURN_OPTIONS, type ResumeOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { EXIT_STATUS, SESSION_WORDS, turnOptions, withExamples } from './shared.ts';
import { sessionArgument } from './show.ts';

export function declareResume(command: Command, choose: Choose): void {
  sessionArgument(command)
    .summary('take up a turn that was cut short')
    .description(
      `Takes up the turn that a process left unfinished. Results that are known are used; a call that had started does not run again, unless its tool says that it may, and is told to the model as unknown. The folder and the model are those of the session, where no others are given. --approve all and --approve none also answer the questions that are open. With nothing to resume the status is 0.

${SESSION_WORDS}`,
    )
    .action((session: string, { debug: _, ...flags }: Partial<ResumeOptions> & { debug?: true }) => {
      choose({ command: 'resume', options: Object.freeze({ ...NO_TURN_OPTIONS, ...flags, session }) });
    });
  for (const option of turnOptions()) command.addOption(option);
  withExamples(command.addHelpText('after', EXIT_STATUS), [
    'looprig resume last',
    'looprig resume d0b78018 --approve all',
  ]);
}
