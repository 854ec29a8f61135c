/** What comes with an installation is counted, and told when it is too much. `npm run package` looks at this package itself. */
import { describe, expect, it } from 'vitest';
import { excesses, type Lock, neededPlaces } from '../scripts/install-size.ts';

const lock: Lock = {
  packages: {
    '': { dependencies: { a: '1', '@scope/b': '1' } },
    'node_modules/a': { dependencies: { c: '2' } },
    'node_modules/a/node_modules/c': { dependencies: { d: '1' } },
    'node_modules/@scope/b': { dependencies: { c: '1', a: '1' } },
    'node_modules/c': {},
    'node_modules/d': { dependencies: { a: '1' } },
    'node_modules/only-for-development': {},
  },
};

describe('an installation', () => {
  it('has each package that is needed at run time once a place, and no other', () => {
    expect(neededPlaces(lock)).toEqual([
      'node_modules/@scope/b',
      'node_modules/a',
      'node_modules/a/node_modules/c',
      'node_modules/c',
      'node_modules/d',
    ]);
  });

  it('of a lock that lacks a package is said to lack it', () => {
    const lacking: Lock = { packages: { ...lock.packages, '': { dependencies: { e: '1' } } } };
    expect(() => neededPlaces(lacking)).toThrow('package-lock.json has no e, which the root needs');
  });

  it('within its limits is no excess', () => {
    expect(excesses([{ name: 'looprig', bytes: 10 }], { packages: 1, bytes: 10 })).toEqual([]);
  });

  it('with a package or a byte too many is told, with what it consists of', () => {
    const installed = [
      { name: 'looprig', bytes: 1_000 },
      { name: 'a', bytes: 2_001 },
    ];
    expect(excesses(installed, { packages: 1, bytes: 3_000 })).toEqual([
      'an installation brings 2 packages, and may bring 1: looprig, a',
      'an installation has 3,001 bytes, and may have 3,000: a 2,001, looprig 1,000',
    ]);
  });
});
