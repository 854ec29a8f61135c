import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCommandLine } from './command-line.ts';
import type { RunOptions } from './options.ts';
import { keepSettings, type RunSettings, readSettings, runsFolder, settle } from './run-settings.ts';
import type { StorePlace } from './store-place.ts';

let place: StorePlace;

beforeEach(async () => {
  place = { file: join(await mkdtemp(join(tmpdir(), 'looprig-settings-')), 'sessions.db'), isDefault: false };
});

afterEach(() => rm(join(place.file, '..'), { recursive: true, force: true }));

const SETTINGS: RunSettings = {
  ...{
    loop: undefined,
    model: 'replay:a.json',
    workspace: 'folder',
    allowCommands: true,
    reasoning: 'low',
    asks: true,
    mcp: ['npx server'],
  },
};

function optionsOf(args: readonly string[]): RunOptions {
  const order = readCommandLine(['run', ...args], { version: '1.2.3', columns: 80 });
  if (order.command === 'run') return order.options;
  throw new Error('these are no arguments of a run');
}

it('what is kept comes back with absolute paths, is for this user alone, and leaves no draft', async () => {
  await keepSettings(place, 'id', SETTINGS);
  expect(await readSettings(place, 'id')).toEqual({
    ...SETTINGS,
    model: `replay:${resolve('a.json')}`,
    workspace: resolve('folder'),
  });
  expect(await readdir(runsFolder(place))).toEqual(['id.json']);
  const modes = [runsFolder(place), join(runsFolder(place), 'id.json')].map(
    async path => (await stat(path)).mode & 0o777,
  );
  expect(await Promise.all(modes)).toEqual([0o700, 0o600]);
});

it.each(['', 'no JSON', 'null', '[]', '{"model":1,"workspace":null,"allowCommands":"yes"}'])(
  'what cannot be read (%j) is nothing',
  async text => {
    await keepSettings(place, 'id', SETTINGS);
    await writeFile(join(runsFolder(place), 'id.json'), text);
    expect(await readSettings(place, 'id')).toEqual({});
    expect(await readSettings(place, 'other')).toEqual({});
  },
);

describe('settings', () => {
  it.each([
    [
      'are the defaults where nothing is said',
      [],
      {},
      { loop: undefined, model: undefined, workspace: undefined, allowCommands: false, asks: false, mcp: [] },
    ],
    ['are those of the session', [], SETTINGS, SETTINGS],
    ['are what is said now, before those of the session', ['--workspace', 'b'], SETTINGS, { workspace: 'b' }],
    [
      'take reasoning from a model that was left along with it',
      ['--model', 'demo'],
      SETTINGS,
      { reasoning: undefined },
    ],
    ['ask no more where something else is said', ['--approve', 'none'], SETTINGS, { asks: false }],
    ['keep the loop of the session', [], { loop: '/a/looprig.config.ts' }, { loop: '/a/looprig.config.ts' }],
    ['ask where it is said', ['--approve', 'ask'], {}, { asks: true }],
  ])('%s', (_, args, kept, settings) => {
    expect(settle(optionsOf(args), kept)).toMatchObject(settings);
  });
});
