/**
 * Whether what an installation brings is what was meant, read from lock files alone: `npm run audit:lock`, a part of `npm run check`. Every package has a
 * digest and comes from one place, none runs a script at installation but those that `allowScripts` names, what `package.json` asks for is what is locked, and
 * what users get has a licence that lets them use it. It asks nobody; `npm run audit` asks the registry for known weaknesses.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Lock as Needed, neededPlaces } from './install-size.ts';

/** A package as a lock file has it. */
export interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** A lock file, as far as it is looked at. */
export interface AuditedLock {
  readonly lockfileVersion: number;
  /** By place; `''` is the root. */
  readonly packages: Readonly<Record<string, LockedPackage & Manifest>>;
}

/** A `package.json`, as far as it is looked at. */
export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly allowScripts?: Readonly<Record<string, boolean>>;
}

/** Licences under which everybody may use, change and give away what comes with looprig. */
const FREE: ReadonlySet<string> = new Set([
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
]);

/** Kinds of dependencies that an installation of the folder itself follows. */
const KINDS = ['dependencies', 'devDependencies'] as const;

/** What is wrong with a lock file, a sentence each. */
export function problemsOf(lock: AuditedLock, manifest: Manifest): readonly string[] {
  if (lock.lockfileVersion !== 3) return [`the lock file has version ${lock.lockfileVersion}, not 3`];
  const places = Object.entries(lock.packages).filter(([place]) => place !== '');
  return [
    ...places.flatMap(([place, found]) => problemsWithSource(place, found)),
    ...problemsWithOrigins(places.map(([, found]) => found)),
    ...places.flatMap(([place, found]) => problemsWithScript(place, found, manifest)),
    ...problemsWithManifest(lock, manifest),
  ];
}

/** What users may not simply use of that which the root needs when it runs, a sentence each. */
export function problemsWithLicences(lock: AuditedLock): readonly string[] {
  return neededPlaces(lock as Needed).flatMap(place => {
    const { license = 'none' } = lock.packages[place] ?? {};
    return isFree(license) ? [] : [`${place} has the licence ${license}`];
  });
}

/** A choice is free where one of it is; what has to be kept together is free where all of it is. */
function isFree(license: string): boolean {
  const bare = license.replace(/^\((.*)\)$/, '$1');
  if (bare.includes(' OR ')) return bare.split(' OR ').some(isFree);
  return bare.split(' AND ').every(part => FREE.has(part));
}

function problemsWithSource(place: string, { version, resolved, integrity, link, inBundle }: LockedPackage): string[] {
  if (link === true) return [`${place} is a link to a folder, not a package of the registry`];
  const problems: string[] = [];
  if (version === undefined) problems.push(`${place} has no version`);
  // What lies within another package is covered by the digest of that one.
  if (inBundle !== true && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''))
    problems.push(`${place} has no SHA-512 digest`);
  if (resolved !== undefined && !resolved.startsWith('https://')) {
    problems.push(`${place} comes by "${resolved.split(':')[0]}:", not by https`);
  }
  return problems;
}

/** Where packages come from is not said at all, or is one place. */
function problemsWithOrigins(found: readonly LockedPackage[]): string[] {
  const urls = found.flatMap(({ resolved }) =>
    resolved !== undefined && URL.canParse(resolved) ? [new URL(resolved)] : [],
  );
  const origins = new Set(urls.map(({ origin }) => origin));
  return origins.size > 1 ? [`packages come from ${origins.size} places: ${[...origins].join(', ')}`] : [];
}

function problemsWithScript(
  place: string,
  { hasInstallScript }: LockedPackage,
  { allowScripts = {} }: Manifest,
): string[] {
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
  if (hasInstallScript !== true || Object.hasOwn(allowScripts, name)) return [];
  return [`${place} runs a script when it is installed: look at it, and say in "allowScripts" whether it may`];
}

/** What the lock file says of the root is what its `package.json` says, and each of that is locked. */
function problemsWithManifest({ packages }: AuditedLock, manifest: Manifest): string[] {
  return KINDS.flatMap(kind => {
    const asked = manifest[kind] ?? {};
    const locked = packages['']?.[kind] ?? {};
    return [...new Set([...Object.keys(asked), ...Object.keys(locked)])].flatMap(name => {
      if (asked[name] !== locked[name]) {
        return [
          `"${name}" is ${asked[name] ?? 'absent'} in package.json, and ${locked[name] ?? 'absent'} in its lock file`,
        ];
      }
      const version = packages[`node_modules/${name}`]?.version;
      if (version === undefined) return [`"${name}" is not locked`];
      return fits(version, asked[name] ?? '') ? [] : [`"${name}" is locked at ${version}, which is not ${asked[name]}`];
    });
  });
}

/** Whether a version is within a range of the forms that this project writes: `1.2.3`, `~1.2.3`, `^1.2.3`, and `npm:name@` before one of them. */
export function fits(version: string, range: string): boolean {
  const [, sign = '', least = ''] = /^(?:npm:.+@)?([~^]?)(\d.*)$/.exec(range) ?? [];
  if (sign === '') return version === least;
  const [have, want] = [partsOf(version), partsOf(least)];
  if (have === undefined || want === undefined) return false;
  const kept =
    sign === '~'
      ? 2
      : 1 +
        Math.max(
          0,
          want.findIndex(part => part > 0),
        );
  if (have.slice(0, kept).join() !== want.slice(0, kept).join()) return false;
  // A version before a release is one step within it.
  if (least.includes('-') && version !== least && have.join() === want.join())
    return isLaterBeforeRelease(version, least);
  const place = have.findIndex((part, at) => part !== want[at]);
  return place === -1 || (have[place] ?? 0) > (want[place] ?? 0);
}

function partsOf(version: string): readonly number[] | undefined {
  const found = /^(\d+)(?:\.(\d+))?(?:\.(\d+))?/.exec(version);
  return found === null ? undefined : found.slice(1).map(part => Number(part ?? 0));
}

function isLaterBeforeRelease(version: string, least: string): boolean {
  if (!version.includes('-')) return true;
  return version.localeCompare(least, 'en', { numeric: true }) > 0;
}

/** The folders of this project that have a lock file of their own. */
export const FOLDERS: readonly string[] = ['', 'test/services', 'bench/peers'];

/** The lock file and the `package.json` of one of them. */
export function readFolder(folder: string): { readonly lock: AuditedLock; readonly manifest: Manifest } {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const read = (name: string): unknown => JSON.parse(readFileSync(join(root, folder, name), 'utf8'));
  return { lock: read('package-lock.json') as AuditedLock, manifest: read('package.json') as Manifest };
}

if (import.meta.main) {
  for (const folder of FOLDERS) {
    const { lock, manifest } = readFolder(folder);
    const problems = [...problemsOf(lock, manifest), ...(folder === '' ? problemsWithLicences(lock) : [])];
    for (const problem of problems) console.error(`${folder === '' ? '.' : folder}: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
    else
      console.log(
        `${join(folder, 'package-lock.json')}: ${Object.keys(lock.packages).length - 1} packages are as they were meant`,
      );
  }
}
