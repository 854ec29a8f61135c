/** What is in a folder and its folders, sorted by path, without what does not belong to the project. Links are named, not followed. */
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../define/bindings.ts';
import { codeOf, openFile, orExplain } from './files.ts';
import { type IgnoreFile, isIgnored, parseIgnoreFile } from './ignore.ts';

/** A file, or a symbolic link, whatever it leads to. */
export interface WalkEntry {
  /** Relative to the workspace, with `/` between its parts. */
  readonly path: string;
  readonly isLink: boolean;
}

/** What a walk left out; grows while it goes on. */
export interface WalkReport {
  ignored: number;
  unreadable: number;
  /** The walk ended before it had seen everything. */
  isCutOff: boolean;
}

/** Folders that hold no work of the project's own. */
const SKIPPED_FOLDERS: readonly string[] = ['.git', 'node_modules'];

/** A walk ends after so many entries: a workspace may be the root of a disk. */
const MOST_ENTRIES = 100_000;

/** A `.gitignore` larger than this is no list of rules. */
const IGNORE_FILE_BYTES = 1_048_576;

/** How to walk. */
export interface WalkOptions {
  /** Also what `.gitignore` files, and the list of skipped folders, leave out. */
  readonly includeIgnored: boolean;
  readonly signal: AbortSignal;
  readonly report: WalkReport;
}

/** Walks the folder at `path`, or gives the one file that is there. */
export async function* walk(workspace: Workspace, path: string, options: WalkOptions): AsyncGenerator<WalkEntry> {
  const absolute = await workspace.resolve(path);
  const name = workspace.relative(absolute);
  const start = name === '.' ? '' : name;
  const stats = await orExplain(name, lstat(absolute));
  if (stats.isFile()) yield { path: name, isLink: false };
  else if (stats.isDirectory())
    yield* new FolderWalk(workspace, options).folder(start, await rulesAbove(workspace, start));
  else throw new Error(`${name}: it is neither a file nor a folder`);
}

/** A report of nothing left out. */
export function emptyReport(): WalkReport {
  return { ignored: 0, unreadable: 0, isCutOff: false };
}

class FolderWalk {
  readonly #workspace: Workspace;
  readonly #options: WalkOptions;
  #seen = 0;

  constructor(workspace: Workspace, options: WalkOptions) {
    this.#workspace = workspace;
    this.#options = options;
  }

  async *folder(folder: string, rulesAbove: readonly IgnoreFile[]): AsyncGenerator<WalkEntry> {
    const { signal, report } = this.#options;
    signal.throwIfAborted();
    const entries = await this.#entries(folder);
    if (entries === undefined) return;
    const hasRules = entries.some(entry => entry.name === '.gitignore' && entry.isFile());
    const rules = hasRules ? [...rulesAbove, ...(await ignoreFile(this.#workspace, folder))] : rulesAbove;
    for (const entry of entries) {
      this.#seen += 1;
      if (this.#seen > MOST_ENTRIES) report.isCutOff = true;
      if (report.isCutOff) return;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (this.#isLeftOut(entry, path, rules)) report.ignored += 1;
      else if (entry.isDirectory()) yield* this.folder(path, rules);
      else if (entry.isFile() || entry.isSymbolicLink()) yield { path, isLink: entry.isSymbolicLink() };
    }
  }

  async #entries(folder: string): Promise<Dirent[] | undefined> {
    try {
      const entries = await readdir(join(this.#workspace.root, folder), { withFileTypes: true });
      return entries.sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      this.#options.report.unreadable += 1; // gone meanwhile, or not for us
      return undefined;
    }
  }

  #isLeftOut(entry: Dirent, path: string, rules: readonly IgnoreFile[]): boolean {
    if (this.#options.includeIgnored) return false;
    if (entry.isDirectory() && SKIPPED_FOLDERS.includes(entry.name)) return true;
    return isIgnored(rules, path, entry.isDirectory());
  }
}

/** A folder sorts as its contents will: with the slash after its name. */
function sortKey(entry: Dirent): string {
  return entry.isDirectory() ? `${entry.name}/` : entry.name;
}

async function rulesAbove(workspace: Workspace, folder: string): Promise<IgnoreFile[]> {
  if (folder === '') return [];
  const parts = folder.split('/');
  const rules: IgnoreFile[] = [];
  for (let depth = 0; depth < parts.length; depth++) {
    rules.push(...(await ignoreFile(workspace, parts.slice(0, depth).join('/'))));
  }
  return rules;
}

/** The rules of a folder's `.gitignore`; none if it has none that can be read. */
async function ignoreFile(workspace: Workspace, folder: string): Promise<IgnoreFile[]> {
  let file: Awaited<ReturnType<typeof openFile>>;
  try {
    file = await openFile(workspace, folder === '' ? '.gitignore' : `${folder}/.gitignore`);
  } catch {
    return []; // absent, a link that leads out, a folder: there are no rules then
  }
  try {
    return file.size > IGNORE_FILE_BYTES ? [] : [parseIgnoreFile(folder, await file.handle.readFile('utf8'))];
  } finally {
    await file.handle.close();
  }
}
