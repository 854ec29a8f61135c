/** `looprig init`, as it is called. */
import type { Command } from 'commander';
import type { Choose } from '../order.ts';
import { debugOption, withExamples } from './shared.ts';

export function declareInit(command: Command, choose: Choose): void {
  command
    .summary('begin a loop of your own')
    .description(
      'Writes a looprig.config.ts with one tool, and a test of it, both of which run as they are: no key is needed. A package.json is written where there is none. Nothing is written over.',
    )
    .argument('[DIR]', 'the folder (default: this one); it is made if it is not there')
    .addOption(debugOption())
    .action((folder: string | undefined) => {
      choose({ command: 'init', options: Object.freeze({ folder }) });
    });
  withExamples(command, ['looprig init', 'looprig init my-loop']);
}
