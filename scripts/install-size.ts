/**
 * What comes with `npm install looprig`: how many packages and how many bytes, without optional ones. Read from the lock file, from
 * `node_modules`, and from what `npm pack` would put into the package; needs a build.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What an installation may come to, looprig itself included. */
export const MOST: InstallLimits = { packages: 8, bytes: 5_000_000 };

export interface InstallLimits {
  readonly packages: number;
  readonly bytes: number;
}

export interface InstalledPackage {
  readonly name: string;
  readonly bytes: number;
}

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Lock {
  /** By place: `''` is the root, `node_modules/a/node_modules/b` a package within another. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The places of all packages that a lock's root needs when it runs, sorted. */
export function neededPlaces({ packages }: Lock): readonly string[] {
  const places = new Set<string>();
  const visit = (place: string): void => {
    for (const name of Object.keys(packages[place]?.dependencies ?? {})) {
      const found = placeOf(name, place, packages);
      if (places.has(found)) continue;
      places.add(found);
      visit(found);
    }
  };
  visit('');
  return [...places].sort();
}

/** Where a package finds another: beside itself, or further out. */
function placeOf(name: string, from: string, packages: Lock['packages']): string {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    const place = base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (base === '') throw new Error(`package-lock.json has no ${name}, which ${from || 'the root'} needs`);
  }
}

/** The bytes of the files in a folder; a package within it counts for itself. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? sum : sum + bytesOf(path);
    return sum + statSync(path).size;
  }, 0);
}

/** The bytes of this package, unpacked. */
function ownBytes(): number {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // One package: a list of one, or an object of one by its name.
  const [packed] = Object.values(JSON.parse(output) as Record<string, { readonly unpackedSize: number }>);
  if (packed === undefined) throw new Error('npm pack told of no package');
  return packed.unpackedSize;
}

/** Everything that an installation of this package brings, this package first. */
export function installedPackages(): readonly InstalledPackage[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const needed = neededPlaces(lock).map(place => ({
    name: place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
    bytes: bytesOf(join(ROOT, place)),
  }));
  return [{ name: 'looprig', bytes: ownBytes() }, ...needed];
}

/** What is too much, as a sentence each; none where all is within the limits. */
export function excesses(installed: readonly InstalledPackage[], most: InstallLimits): readonly string[] {
  const bytes = installed.reduce((sum, one) => sum + one.bytes, 0);
  const found: string[] = [];
  if (installed.length > most.packages) {
    const names = installed.map(({ name }) => name).join(', ');
    found.push(`an installation brings ${installed.length} packages, and may bring ${most.packages}: ${names}`);
  }
  if (bytes > most.bytes) {
    const sizes = installed.toSorted((a, b) => b.bytes - a.bytes).map(one => `${one.name} ${whole(one.bytes)}`);
    found.push(`an installation has ${whole(bytes)} bytes, and may have ${whole(most.bytes)}: ${sizes.join(', ')}`);
  }
  return found;
}

const whole = (value: number): string => value.toLocaleString('en-US');

if (import.meta.main) {
  const installed = installedPackages();
  const found = excesses(installed, MOST);
  for (const sentence of found) console.error(sentence);
  if (found.length > 0) process.exitCode = 1;
  else {
    const bytes = installed.reduce((sum, one) => sum + one.bytes, 0);
    console.log(`an installation brings ${installed.length} packages and ${whole(bytes)} bytes`);
  }
}
