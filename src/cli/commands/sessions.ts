/** `looprig sessions`, as it is called. */
import type { Command } from 'commander';
import { NO_LOOK_OPTIONS, type SessionsOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { UsageError } from '../usage-error.ts';
import { valued } from './option.ts';
import { debugOption, jsonOption, storeOption, withExamples } from './shared.ts';

/** How many sessions are listed where nobody says. */
const DEFAULT_LIMIT = 20;

export function declareSessions(command: Command, choose: Choose): void {
  command
    .summary('what was worked on, the latest first')
    .description(
      'Lists sessions, the last written first: done, failed, interrupted, unfinished (its process ended in the middle), waiting (for an answer of yours), or running elsewhere.',
    )
    .allowExcessArguments()
    .addOption(valued('--limit <N>', 'how many', readLimit).default(DEFAULT_LIMIT))
    .addOption(jsonOption('one session a line, whole'))
    .addOption(debugOption())
    .addOption(storeOption())
    .action(({ debug: _, ...flags }: Partial<SessionsOptions> & { debug?: true }) => {
      const [stranger] = command.args;
      if (stranger !== undefined) {
        throw new UsageError(`looprig sessions takes no "${stranger}": "looprig show ${stranger}" shows one session`);
      }
      const options = Object.freeze({ ...NO_LOOK_OPTIONS, limit: DEFAULT_LIMIT, ...flags });
      choose({ command: 'sessions', options });
    });
  withExamples(command, ['looprig sessions', 'looprig sessions --limit 100 --json']);
}

function readLimit(text: string): number {
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit >= 1) return limit;
  throw new UsageError(`--limit must be a whole number from 1, not "${text}"`);
}
