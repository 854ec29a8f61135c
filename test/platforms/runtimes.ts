/** The runtimes that are there for these tests. Other systems than Linux on x64 have the Node that runs the tests. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { folderOf } from '../browser/services.ts';
import type { Checked } from './check.ts';
import type { Installation } from './installation.ts';

const run = promisify(execFile);

export interface Runtime {
  readonly name: string;
  /** What its version begins with. */
  readonly version: RegExp;
  /** The program, and what it is given before a script. */
  command(): readonly [program: string, ...args: string[]];
}

const HAS_OTHERS = process.platform === 'linux' && process.arch === 'x64';

/** For a title: says that the others are left out, where they are. */
export const OTHERS_LEFT_OUT: string = HAS_OTHERS
  ? ''
  : ' (other runtimes are left out: they are there for Linux on x64 only)';

const inServices = (folder: string, program: string): string => join(folderOf(folder), program);

const OWN: Runtime = { name: 'Node 24', version: /^v24\./, command: () => [process.execPath] };

const OTHERS: readonly Runtime[] = [
  {
    name: 'Node 22.13, the oldest that is promised',
    version: /^v22\.13\.0/,
    command: () => [inServices('node-22.13', 'bin/node')],
  },
  { name: 'Node 26', version: /^v26\./, command: () => [inServices('node-26', 'bin/node')] },
  {
    name: 'Deno',
    version: /^deno 2\./,
    command: () => [inServices('deno', 'deno'), 'run', '--allow-all'],
  },
  { name: 'Bun', version: /^1\./, command: () => [inServices('bun', 'bin/bun'), 'run'] },
];

export const RUNTIMES: readonly Runtime[] = HAS_OTHERS ? [OWN, ...OTHERS] : [OWN];

/** What it says of its version. */
export async function versionOf({ command }: Runtime): Promise<string> {
  const [program] = command();
  return (await run(program, ['--version'])).stdout;
}

/** Runs a script that stands in a folder, and gives what it printed. Rejects if it fails. */
export async function runOn({ command }: Runtime, folder: string, script: string, ...more: string[]): Promise<string> {
  const [program, ...args] = command();
  const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
  return (await run(program, [...args, script, ...more], { cwd: folder, env })).stdout;
}

/** Plays the checks on a runtime. Rejects if it does not get to their end, with what it said. */
export async function playOn(runtime: Runtime, { folder, script }: Installation): Promise<readonly Checked[]> {
  const file = join(folder, `${runtime.name.replace(/\W/g, '-')}.json`);
  await runOn(runtime, folder, script, file);
  return JSON.parse(await readFile(file, 'utf8'));
}
