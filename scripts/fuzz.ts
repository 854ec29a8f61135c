/**
 * Tries the properties of `test/fuzz/` for so many minutes a file: `npm run fuzz -- [--minutes 5] [--only paths]`. What fails tells a seed and a path; with
 * them it is played alone: `npm run fuzz -- --only paths --property "the title" --seed 1 --path 2:0`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    only: { type: 'string' },
    property: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
});

const minutes = Number(values.minutes);
if (!(minutes > 0)) refuse(`--minutes must be a number above 0, not "${values.minutes}"`);
const root = fileURLToPath(new URL('..', import.meta.url));
const files = values.only === undefined ? 'test/fuzz' : `test/fuzz/${values.only}.test.ts`;
if (!existsSync(`${root}${files}`)) refuse(`there is no ${files}`);

// One seed is one run: it is played, and not gone on from.
const isReplay = values.seed !== undefined;
const { status } = spawnSync(
  'vitest',
  ['run', files, ...(values.property === undefined ? [] : ['-t', values.property])],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(isReplay ? { LOOPRIG_FUZZ_SEED: values.seed } : { LOOPRIG_FUZZ_SECONDS: String(minutes * 60) }),
      ...(values.path === undefined ? {} : { LOOPRIG_FUZZ_PATH: values.path }),
    },
  },
);
process.exitCode = status ?? 1;

function refuse(why: string): never {
  console.error(why);
  process.exit(1);
}
