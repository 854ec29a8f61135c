/** `looprig report`, as it is called. */
import type { Command } from 'commander';
import { NO_LOOK_OPTIONS, type ReportOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { flag, valued } from './option.ts';
import { debugOption, jsonOption, SESSION_WORDS, storeOption, withExamples } from './shared.ts';
import { sessionArgument } from './show.ts';

export function declareReport(command: Command, choose: Choose): void {
  sessionArgument(command)
    .summary('a session as one HTML file')
    .description(
      `Writes a session as one HTML file that needs nothing else: each turn with the timeline of its calls, its gauges and its tokens. It holds what the session holds.

${SESSION_WORDS}`,
    )
    .addOption(valued('--out <FILE>', 'where to write it; - is standard output'))
    .addOption(flag('--force', 'write over a file that is there'))
    .addOption(valued('--title <TEXT>', 'the title of the file (default: the first words of the session)'))
    .addOption(jsonOption('the same as data, to standard output where no file is named'))
    .addOption(debugOption())
    .addOption(storeOption())
    .action((session: string, { debug: _, ...flags }: Partial<ReportOptions> & { debug?: true }) => {
      const options = { ...NO_LOOK_OPTIONS, out: undefined, force: false, title: undefined, ...flags, session };
      choose({ command: 'report', options: Object.freeze(options) });
    });
  withExamples(command, ['looprig report last --out session.html', 'looprig report d0b78018 --json > session.json']);
}
