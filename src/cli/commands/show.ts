/** `looprig show`, as it is called. */
import type { Command } from 'commander';
import { NO_LOOK_OPTIONS, type ShowOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import { debugOption, jsonOption, SESSION_WORDS, storeOption, withExamples } from './shared.ts';

export function declareShow(command: Command, choose: Choose): void {
  sessionArgument(command)
    .summary('a session from its beginning')
    .description(
      `Shows a session from its beginning: what was said, calls with the beginning of their results, usage, and what is left to do.

${SESSION_WORDS}`,
    )
    .addOption(jsonOption('the session, then every event, one a line'))
    .addOption(debugOption())
    .addOption(storeOption())
    .action((session: string, { debug: _, ...flags }: Partial<ShowOptions> & { debug?: true }) => {
      choose({ command: 'show', options: Object.freeze({ ...NO_LOOK_OPTIONS, ...flags, session }) });
    });
  withExamples(command, ['looprig show last', 'looprig show d0b78018 --json']);
}

/** The one session that a command is about. */
export function sessionArgument(command: Command): Command {
  return command
    .argument('<ID>', 'the session')
    .allowExcessArguments()
    .hook('preAction', () => {
      const { length } = command.args;
      if (length <= 1) return;
      throw new UsageError(`looprig ${command.name()} takes one session, and there are ${length} words: name one`);
    });
}
