import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { dataFolder, storeAgain, storePlace } from './store-place.ts';

it.each<[NodeJS.Platform, Record<string, string>, string, string]>([
  ['linux', {}, '/home/ada', '/home/ada/.local/share/looprig'],
  ['linux', { XDG_DATA_HOME: '/data' }, '/home/ada', '/data/looprig'],
  ['linux', { XDG_DATA_HOME: 'relative' }, '/home/ada', '/home/ada/.local/share/looprig'],
  ['linux', { XDG_DATA_HOME: '' }, '/home/ada', '/home/ada/.local/share/looprig'],
  ['darwin', { XDG_DATA_HOME: '/data' }, '/Users/ada', '/Users/ada/Library/Application Support/looprig'],
  [
    'win32',
    { LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local' },
    'C:\\Users\\ada',
    'C:\\Users\\ada\\AppData\\Local\\looprig',
  ],
  ['win32', {}, 'C:\\Users\\ada', 'C:\\Users\\ada\\AppData\\Local\\looprig'],
])('on %s with %j and home %s data is kept in %s', (platform, env, home, folder) => {
  expect(dataFolder(env, platform, home)).toBe(folder);
});

it('an option names the store before the variable, and both before the platform', () => {
  expect(storePlace({ store: 'a.db' }, { LOOPRIG_STORE: 'b.db' })).toEqual({ file: resolve('a.db'), isDefault: false });
  expect(storePlace({ store: undefined }, { LOOPRIG_STORE: 'b.db' })).toEqual({
    file: resolve('b.db'),
    isDefault: false,
  });
  expect(storePlace({ store: undefined }, { LOOPRIG_STORE: ' ' }).isDefault).toBe(true);
});

it.each([
  [
    'postgres://me:secret@db.example.com:5433/work?sslmode=require',
    'postgres://me@db.example.com:5433/work?sslmode=require',
  ],
  ['postgresql://db.example.com/work', 'postgresql://db.example.com/work'],
  ['/tmp/a.db', '/tmp/a.db'],
])('the store %s is told again as %s', (named, told) => {
  expect(storeAgain(named)).toBe(told);
});
