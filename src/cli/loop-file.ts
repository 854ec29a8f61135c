/** `--loop FILE`: a configuration of the user's own, found, loaded and checked. */
import { readdir, stat } from 'node:fs/promises';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LooprigConfig } from '../config/index.ts';
import { defineRig, type LoopDefinition, SessionError } from '../index.ts';
import { LoadFailure } from './load-failure.ts';
import { UsageError } from './usage-error.ts';

/** A configuration, and where it stands. */
export interface LoopFile {
  /** An absolute path. */
  readonly file: string;
  /** As people are shown it. */
  readonly shown: string;
  readonly config: LooprigConfig;
  /** The loop that is meant, if one was named or there is only one. */
  readonly loop: LoopDefinition | undefined;
  /** What `--loop` must be given to mean the same from anywhere. */
  readonly argument: string;
}

/** There is a file, and something in it is wrong: one sentence that begins with the place. */
export class LoopFileError extends UsageError {}

/** The names that a configuration may have in its folder: the first that is there is taken. */
const NAMES: readonly string[] = ['ts', 'mts', 'js', 'mjs'].map(extension => `looprig.config.${extension}`);

/**
 * Loads the configuration that `given` names: a file, or a folder with a `looprig.config.ts`, and the name of one of its loops after a `#`.
 * Throws `UsageError`, in one sentence that names the place of what is wrong.
 */
export async function loadLoopFile(given: string): Promise<LoopFile> {
  const { file, name } = await locate(given);
  const shown = shownPath(file);
  const config = checked(await load(file, shown), shown);
  const loop = pick(config.loops, name, shown);
  const folder = dirname(file);
  return Object.freeze({
    ...{ file, shown, loop },
    config: typeof config.workspace === 'string' ? { ...config, workspace: resolve(folder, config.workspace) } : config,
    argument: name === undefined ? file : `${file}#${name}`,
  });
}

/** The configuration of a folder; `undefined` where it has none. */
export async function findLoopFile(folder: string): Promise<string | undefined> {
  const there = await readdir(folder).catch((): string[] => []);
  const name = NAMES.find(known => there.includes(known));
  return name === undefined ? undefined : join(folder, name);
}

/** Whether there is a file that `given` names. */
export async function hasLoopFile(given: string): Promise<boolean> {
  return (await find(given)) !== undefined;
}

interface Located {
  readonly file: string;
  readonly name: string | undefined;
}

async function locate(given: string): Promise<Located> {
  const found = await find(given);
  if (found !== undefined) return found;
  throw new UsageError(`there is no file ${given}: give that of a configuration, or let "looprig init" write one`);
}

async function find(given: string): Promise<Located | undefined> {
  const whole = await fileAt(given);
  if (whole !== undefined) return { file: whole, name: undefined };
  const hash = given.lastIndexOf('#');
  const before = hash === -1 ? undefined : await fileAt(given.slice(0, hash) || '.');
  return before === undefined ? undefined : { file: before, name: given.slice(hash + 1) };
}

async function fileAt(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isDirectory()) return resolve(path);
  const file = await findLoopFile(resolve(path));
  if (file !== undefined) return file;
  throw new UsageError(`there is no looprig.config.ts (or .mts, .js, .mjs) in ${path}: "looprig init" writes one`);
}

async function load(file: string, shown: string): Promise<unknown> {
  if (/^\.[cm]?ts$/.test(extname(file)) && process.features.typescript === false) {
    throw new LoopFileError(
      `Node ${process.versions.node} cannot run ${shown}: install Node 22.18 or later, or write it as looprig.config.mjs`,
    );
  }
  try {
    const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
    return module.default;
  } catch (cause) {
    throw new LoopFileError(await new LoadFailure(cause, file, shown).sentence(), { cause });
  }
}

/** A configuration, one loop or a list of them: what is there becomes a configuration, or is refused. */
function checked(exported: unknown, shown: string): LooprigConfig {
  if (exported === undefined || exported === null) {
    throw new LoopFileError(`${shown} has no default export: export default defineConfig({ loops: [ … ] })`);
  }
  if (isRig(exported)) {
    throw new LoopFileError(`${shown} exports a rig: write defineConfig({ … }) in place of defineRig({ … })`);
  }
  const isOne = typeof exported === 'object' && 'policyRevision' in exported;
  const given = isOne ? { loops: [exported] } : Array.isArray(exported) ? { loops: exported } : exported;
  // `defineRig` looks at all of it: what is no configuration is refused there.
  const config = given as LooprigConfig;
  try {
    defineRig(config);
    return config;
  } catch (cause) {
    if (!SessionError.is(cause)) throw cause;
    throw new LoopFileError(`${shown}: the default export: ${cause.message}`, { cause });
  }
}

function isRig(exported: unknown): boolean {
  return typeof exported === 'object' && exported !== null && 'open' in exported && 'gateTimeoutMs' in exported;
}

function pick(loops: readonly LoopDefinition[], name: string | undefined, shown: string): LoopDefinition | undefined {
  if (name === undefined) return loops.length === 1 ? loops[0] : undefined;
  const loop = loops.find(one => one.name === name);
  if (loop !== undefined) return loop;
  throw new LoopFileError(`${shown} has no loop "${name}": it has ${loops.map(one => one.name).join(', ')}`);
}

/** The loop that a command for one loop runs. Throws `UsageError` where there are several and none was named. */
export function requireLoop({ loop, config, shown }: LoopFile): LoopDefinition {
  if (loop !== undefined) return loop;
  const names = config.loops.map(({ name }) => name);
  throw new UsageError(
    `${shown} has ${names.length} loops (${names.join(', ')}): say which with --loop ${shown}#${names[0]}`,
  );
}

/** A path as short as it can be said here. */
function shownPath(file: string): string {
  const path = relative(process.cwd(), file);
  return path.startsWith('..') ? file : path;
}
