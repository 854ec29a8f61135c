/** `looprig delete`, as it is called. */
import type { Command } from 'commander';
import { type DeleteOptions, NO_LOOK_OPTIONS } from '../options.ts';
import type { Choose } from '../order.ts';
import { flag } from './option.ts';
import { debugOption, SESSION_WORDS, storeOption, withExamples } from './shared.ts';
import { sessionArgument } from './show.ts';

export function declareDelete(command: Command, choose: Choose): void {
  sessionArgument(command)
    .summary('delete a session for good')
    .description(
      `Deletes a session for good: all that was said in it, its large results, and the sessions of its delegates. A person at a terminal is asked before; elsewhere --yes has to be given. A session that another process works on is not deleted.

${SESSION_WORDS}`,
    )
    .addOption(flag('--yes', 'do not ask'))
    .addOption(debugOption())
    .addOption(storeOption())
    .action((session: string, { debug: _, ...flags }: Partial<DeleteOptions> & { debug?: true }) => {
      choose({ command: 'delete', options: Object.freeze({ ...NO_LOOK_OPTIONS, yes: false, ...flags, session }) });
    });
  withExamples(command, ['looprig delete d0b78018', 'looprig delete d0b78018 --yes']);
}
