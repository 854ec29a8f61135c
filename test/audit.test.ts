/** What an installation brings is looked at before it is brought. `npm run audit:lock` looks at this project's own lock files. */
import { describe, expect, it } from 'vitest';
import {
  type AuditedLock,
  FOLDERS,
  fits,
  type LockedPackage,
  problemsOf,
  problemsWithLicences,
  readFolder,
} from '../scripts/audit.ts';

const DIGEST = `sha512-${'A'.repeat(86)}==`;
const sound: LockedPackage = { version: '1.2.3', integrity: DIGEST, license: 'MIT' };

/** A lock file with one package, and the `package.json` that asks for it. */
function lockOf(found: LockedPackage, more: AuditedLock['packages'] = {}): AuditedLock {
  return { lockfileVersion: 3, packages: { '': { dependencies: { a: '^1.2.0' } }, 'node_modules/a': found, ...more } };
}

const manifest = { dependencies: { a: '^1.2.0' } };

it.each(FOLDERS)('the lock file in "%s" is as it was meant', folder => {
  const { lock, manifest } = readFolder(folder);
  expect(problemsOf(lock, manifest)).toEqual([]);
  if (folder === '') expect(problemsWithLicences(lock)).toEqual([]);
});

describe('a lock file', () => {
  it('with a digest for each package, from one place by https, is sound', () => {
    expect(problemsOf(lockOf(sound), manifest)).toEqual([]);
    const at = { ...sound, resolved: 'https://packages.example/a.tgz' };
    expect(
      problemsOf(lockOf(at, { 'node_modules/b': { ...at, resolved: 'https://packages.example/b.tgz' } }), manifest),
    ).toEqual([]);
  });

  it.each<[string, LockedPackage, RegExp]>([
    ['without a digest', { version: '1.2.3' }, /^node_modules\/a has no SHA-512 digest$/],
    ['with a weak one', { ...sound, integrity: 'sha1-AAAA' }, /no SHA-512 digest/],
    [
      'from a repository',
      { ...sound, resolved: 'git+ssh://git@host.example/a.git#abc' },
      /comes by "git\+ssh:", not by https$/,
    ],
    ['from a folder', { ...sound, resolved: 'file:../a' }, /comes by "file:"/],
    ['in the clear', { ...sound, resolved: 'http://packages.example/a.tgz' }, /comes by "http:"/],
    ['that is a link', { link: true, resolved: '../a' }, /is a link to a folder/],
    [
      'that runs a script',
      { ...sound, hasInstallScript: true },
      /runs a script when it is installed: .*"allowScripts"/,
    ],
    [
      'of another version than is asked for',
      { ...sound, version: '2.0.0' },
      /"a" is locked at 2\.0\.0, which is not \^1\.2\.0$/,
    ],
  ])('with a package %s is told', (_, found, problem) => {
    const problems = problemsOf(lockOf(found), manifest);
    expect(
      problems.some(sentence => problem.test(sentence)),
      problems.join('\n'),
    ).toBe(true);
  });

  it('that brings packages from two places is told', () => {
    const from = (host: string): LockedPackage => ({ ...sound, resolved: `https://${host}/x.tgz` });
    const lock = lockOf(from('one.example'), { 'node_modules/b': from('two.example') });
    expect(problemsOf(lock, manifest)).toEqual([
      'packages come from 2 places: https://one.example, https://two.example',
    ]);
  });

  it('that speaks of another package.json is told, both ways', () => {
    const asks = { dependencies: { a: '^1.3.0', b: '1.0.0' } };
    expect(problemsOf(lockOf(sound), asks)).toEqual([
      '"a" is ^1.3.0 in package.json, and ^1.2.0 in its lock file',
      '"b" is 1.0.0 in package.json, and absent in its lock file',
    ]);
    expect(problemsOf(lockOf(sound), {})).toEqual(['"a" is absent in package.json, and ^1.2.0 in its lock file']);
  });

  it('may have scripts that were looked at', () => {
    const lock = lockOf({ ...sound, hasInstallScript: true });
    for (const a of [true, false]) expect(problemsOf(lock, { ...manifest, allowScripts: { a } })).toEqual([]);
  });
});

it.each([
  ['MIT', []],
  ['(AFL-2.1 OR BSD-3-Clause)', []],
  ['MIT AND ISC', []],
  ['GPL-3.0-only', ['node_modules/a has the licence GPL-3.0-only']],
  ['MIT AND GPL-3.0-only', ['node_modules/a has the licence MIT AND GPL-3.0-only']],
  [undefined, ['node_modules/a has the licence none']],
])('what users get may have the licence %s: %j', (license, problems) => {
  expect(problemsWithLicences(lockOf({ version: '1.2.3', ...(license === undefined ? {} : { license }) }))).toEqual(
    problems,
  );
});

it.each<[string, string, boolean]>([
  ['1.2.3', '1.2.3', true],
  ['1.2.4', '1.2.3', false],
  ['1.9.0', '^1.2.3', true],
  ['1.2.2', '^1.2.3', false],
  ['2.0.0', '^1.2.3', false],
  ['4.9.9', '^4', true],
  ['0.28.9', '^0.28.2', true],
  ['0.29.0', '^0.28.2', false],
  ['8.3.9', '~8.3.8', true],
  ['8.4.0', '~8.3.8', false],
  ['2.0.112', 'npm:@a/b@^2.0.112', true],
  ['18.4.0-beta.17', '^18.4.0-beta.17', true],
  ['18.4.0-beta.16', '^18.4.0-beta.17', false],
  ['18.4.0', '^18.4.0-beta.17', true],
  ['next', '^1.0.0', false],
])('whether %s is %s: %s', (version, range, expected) => {
  expect(fits(version, range)).toBe(expected);
});
