/** `looprig check`, as it is called. */
import type { Command } from 'commander';
import type { CheckOptions } from '../options.ts';
import type { Choose } from '../order.ts';
import { debugOption, jsonOption, withExamples } from './shared.ts';

export function declareCheck(command: Command, choose: Choose): void {
  command
    .summary('what is in a configuration, or wrong with it')
    .description(
      'Defines and binds the loops of a looprig.config.ts without asking a model, and tells their tools, modes and limits, or each problem with its place. The status is 1 where there is one.',
    )
    .argument('[FILE]', 'the file, or its folder (default: this one); FILE#NAME for one loop of it')
    .addOption(jsonOption('what was found, as one line'))
    .addOption(debugOption())
    .action((file: string | undefined, { json = false }: Partial<CheckOptions>) => {
      choose({ command: 'check', options: Object.freeze({ file, json }) });
    });
  withExamples(command, ['looprig check', 'looprig check shop/looprig.config.ts#clerk --json']);
}
