/** A folder with a loop that works on a house, for programs in a terminal: its tools wait until they are let go on, and ask. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach } from 'vitest';
import { Tmux, type TmuxOptions } from './tmux.ts';

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

/** The beginning of a configuration: `measure` waits until the file `go` is there, `paint` asks. The part that is `tooHigh` cannot be measured. */
export function houseTools({ tooHigh = '' }: { readonly tooHigh?: string } = {}): string {
  return `
import { access } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { defineLoop, defineTool } from '${source('index.ts')}';
import { forever, scriptedModel } from '${source('testing/index.ts')}';
const isThere = path => access(path).then(() => true, () => false);
const input = { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] };
const measure = defineTool({
  name: 'measure', description: 'Measures a part.', input,
  summary: ({ part }) => 'the ' + part + ' of the house',
  execute: async ({ part }, { signal }) => {
    for (; !(await isThere('go')); signal.throwIfAborted()) await pause(20);
    if (part === '${tooHigh}') throw new Error('the ${tooHigh} is too high');
    return part + ': 4 m';
  },
});
const paint = defineTool({
  name: 'paint', description: 'Paints a part.', input,
  access: ({ part }) => [{ action: 'house.paint', target: part, description: 'paint the ' + part + ' red' }],
  summary: ({ part }) => 'the ' + part + ', red',
  execute: ({ part }) => part + ' is red',
});
`;
}

/** The folder of the test that runs. */
export interface House {
  readonly folder: string;
  /** Where its sessions are kept. */
  readonly store: string;
  /** A window in it that runs a line of shell; `looprig` is the program of this checkout. */
  open(line: string, options?: Partial<TmuxOptions>): Promise<Tmux>;
  /** Lets the tools that wait go on. */
  go(): Promise<void>;
}

/** Makes a folder with this configuration for each test of the file. */
export function useHouse(config: string): House {
  let folder = '';
  const store = (): string => join(folder, 'sessions.db');
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'looprig-house-'));
    await writeFile(join(folder, 'looprig.config.ts'), config);
    await writeFile(join(folder, 'looprig'), `#!/bin/sh\nexec '${process.execPath}' '${source('cli/main.ts')}' "$@"\n`);
    await chmod(join(folder, 'looprig'), 0o755);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  return {
    get folder() {
      return folder;
    },
    get store() {
      return store();
    },
    open: (line, { env, ...size } = {}) =>
      Tmux.open(line, {
        ...size,
        cwd: folder,
        env: { LOOPRIG_STORE: store(), PATH: `${folder}:${process.env.PATH}`, ...env },
      }),
    go: () => writeFile(join(folder, 'go'), ''),
  };
}

/** A screen without what differs from run to run. */
export function steady(screen: string): readonly string[] {
  return screen
    .replace(/\d+(\.\d+)? m?s\b/g, 'TIME')
    .replace(/[⠀-⣿]/g, '*')
    .replace(/\b[0-9a-f]{8}\b/g, 'SESSION')
    .split('\n');
}
