/** Where sessions are kept: a file that was named, or one in the folder that the platform has for data. */
import { chmod, mkdir, open, stat } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { homedir } from 'node:os';
import { posix, resolve, win32 } from 'node:path';
import { DefinitionError, type JournalStore } from '../index.ts';
import { codeOf } from './error-code.ts';
import type { Host } from './host.ts';
import type { StoreOptions } from './options.ts';
import { UsageError } from './usage-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The file of a store, and who chose it. */
export interface StorePlace {
  /** An absolute path. */
  readonly file: string;
  /** Nobody named it: it is where the platform keeps data. */
  readonly isDefault: boolean;
}

/** A store that is open, until its command ends. */
export interface OpenStore {
  readonly store: JournalStore;
  /** Its file; `undefined` for a store of the user's own, beside which nothing can be kept. */
  readonly place: StorePlace | undefined;
}

/** A store that is a server, and no file. */
const SERVER = /^postgres(ql)?:\/\//;

/** What names the store; `undefined` where nobody said. */
function namedStore({ store }: Pick<StoreOptions, 'store'>, env: Environment): string | undefined {
  return store ?? (env.LOOPRIG_STORE?.trim() || undefined);
}

/** What `--store` has to be given again: the absolute path of a file, or the address of a server, of which nobody is shown the password. */
export function storeAgain(named: string): string {
  if (!SERVER.test(named) || !URL.canParse(named)) return resolve(named);
  const url = new URL(named);
  url.password = '';
  return url.href;
}

/** The file of the store. Throws `UsageError` for a variable that cannot be used. */
export function storePlace(options: Pick<StoreOptions, 'store'>, env: Environment): StorePlace {
  const named = namedStore(options, env);
  if (named !== undefined) return { file: resolve(named), isDefault: false };
  const join = process.platform === 'win32' ? win32.join : posix.join;
  return { file: join(dataFolder(env, process.platform, homedir()), 'sessions.db'), isDefault: true };
}

/** The program's own folder for data, by the customs of the platform. */
export function dataFolder(env: Environment, platform: NodeJS.Platform, home: string): string {
  const named = (name: string, isAbsolute: (path: string) => boolean): string | undefined => {
    const path = env[name] ?? '';
    return isAbsolute(path) ? path : undefined; // a relative one is to be ignored, says the custom
  };
  switch (platform) {
    case 'win32':
      return win32.join(named('LOCALAPPDATA', win32.isAbsolute) ?? win32.join(home, 'AppData', 'Local'), 'looprig');
    case 'darwin':
      return posix.join(home, 'Library', 'Application Support', 'looprig');
    default:
      return posix.join(named('XDG_DATA_HOME', posix.isAbsolute) ?? posix.join(home, '.local', 'share'), 'looprig');
  }
}

/**
 * The store to write to: the one that `--store` names, else `own`, else where the environment or the platform says. What is missing is made,
 * for this user's eyes alone. Throws `UsageError` where that cannot be.
 */
export async function openStore(
  options: Pick<StoreOptions, 'store'>,
  { env, opened }: Pick<Host, 'env' | 'opened'>,
  own?: JournalStore,
): Promise<OpenStore> {
  const elsewhere = await storeElsewhere(options, env, own);
  if (elsewhere !== undefined) return closedWith(opened, elsewhere);
  const place = storePlace(options, env);
  await makeFile(place);
  return closedWith(opened, { store: await storeAt(place), place });
}

/** The store to read from; `undefined` where there never was one. Throws `UsageError` for a file that was named and is not there. */
export async function findStore(
  options: Pick<StoreOptions, 'store'>,
  { env, opened }: Pick<Host, 'env' | 'opened'>,
  own?: JournalStore,
): Promise<OpenStore | undefined> {
  const elsewhere = await storeElsewhere(options, env, own);
  if (elsewhere !== undefined) return closedWith(opened, elsewhere);
  const place = storePlace(options, env);
  if (await isThere(place.file)) return closedWith(opened, { store: await storeAt(place), place });
  if (place.isDefault) return undefined;
  throw new UsageError(`there is no store ${place.file}: name the file that sessions were kept in`);
}

function closedWith(opened: Host['opened'], found: OpenStore): OpenStore {
  opened.add(() => found.store.close?.());
  return found;
}

/** A store that is no file of this program: the user's own, or one of a server. */
async function storeElsewhere(
  options: Pick<StoreOptions, 'store'>,
  env: Environment,
  own: JournalStore | undefined,
): Promise<OpenStore | undefined> {
  if (own !== undefined && options.store === undefined) return { store: own, place: undefined };
  const named = namedStore(options, env);
  if (named === undefined || !SERVER.test(named)) return undefined;
  const { postgresStore } = await import('../journal/postgres/index.ts');
  try {
    return { store: postgresStore({ url: named }), place: undefined };
  } catch (cause) {
    if (!DefinitionError.is(cause)) throw cause;
    throw new UsageError(`the store cannot be used: ${cause.message}`, { cause });
  }
}

async function storeAt({ file }: StorePlace): Promise<JournalStore> {
  if (!isBuiltin('node:sqlite')) {
    throw new UsageError('sessions are kept by node:sqlite, which this Node has not: install Node 22.13 or later');
  }
  const { sqliteStore } = await import('../journal/sqlite/index.ts');
  return sqliteStore({ file });
}

/** A folder that the program makes, and a file that it makes, are for this user alone; what is there stays as it is. */
async function makeFile({ file, isDefault }: StorePlace): Promise<void> {
  if (await isThere(file)) return;
  try {
    if (isDefault) {
      const folder = resolve(file, '..');
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      if (made !== undefined) await chmod(folder, 0o700);
    }
    await (await open(file, 'a', 0o600)).close();
  } catch (cause) {
    const advice = isDefault
      ? 'name a file with --store FILE, or keep nothing with --no-store'
      : 'its folder must exist and be writable';
    throw new UsageError(`the store ${file} cannot be made (${codeOf(cause)}): ${advice}`, { cause });
  }
}

async function isThere(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined;
}
