/**
 * What a `looprig.config.ts` gives to the command line: the loops that it runs, and what their sessions are given.
 *
 * @packageDocumentation
 */
import { defineRig, type LoopDefinition, type RigOptions } from '../index.ts';

/**
 * The default export of a `looprig.config.ts`: what `defineRig` takes, but for the clock. A `workspace` that is a relative path is taken from
 * the folder of the file. What the command line says (`--store`, `--workspace`, `--approve`, `--model`) comes before what stands here.
 */
export type LooprigConfig<Loops extends readonly LoopDefinition[] = readonly LoopDefinition[]> = Omit<
  RigOptions<Loops>,
  'clock'
>;

/**
 * Checks and freezes a configuration, for the default export of a `looprig.config.ts`. Throws `SessionError` `invalid_option`, so that
 * the place of a mistake is a line of that file.
 */
export function defineConfig<const Loops extends readonly LoopDefinition[]>(
  config: LooprigConfig<Loops>,
): LooprigConfig<Loops> {
  defineRig(config);
  return Object.freeze({ ...config });
}
