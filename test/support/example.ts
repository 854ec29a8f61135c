/** An example as a program, started without the key of any provider: it is played by its script. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Starts an example, by its path under `examples/`, with options for Node. The package must be built. */
export function startExample(
  program: string,
  args: readonly string[] = [],
  options: readonly string[] = [],
): ChildProcessWithoutNullStreams {
  if (!existsSync(join(root, 'dist/index.js'))) throw new Error('the package is not built: run `npm run build` first');
  const { ANTHROPIC_API_KEY: _, ...env } = process.env;
  return spawn(process.execPath, [...options, join(root, 'examples', program), ...args], {
    env: { ...env, NODE_OPTIONS: '', NO_COLOR: '1' },
  });
}
