/**
 * The workspace binding: a folder that tools work in and cannot leave.
 *
 * The core loads on runtimes without Node built-ins, so they are imported only when a workspace is really opened.
 *
 * A path is walked part by part, and a symbolic link is followed by hand: a link that leads out is refused before
 * anything outside is looked at, so that a refusal tells nothing about what is there. The folder may change while a path is
 * being walked, and after; a tool that must be sure opens the last part with `O_NOFOLLOW`.
 */
import type { Workspace } from '../define/bindings.ts';
import { WorkspaceError } from '../errors.ts';
import { reasonOf } from '../reason.ts';
import { show } from '../show.ts';

/** The platform's file system and path syntax, imported when needed. */
interface Platform {
  readonly files: typeof import('node:fs/promises');
  readonly paths: typeof import('node:path');
}

/** As many links as Linux follows in one path. */
const MOST_LINKS = 40;

/**
 * Opens the folder `root` as a workspace. Throws `WorkspaceError` `invalid_root` if it is no existing folder that can be
 * read.
 */
export async function openWorkspace(root: string): Promise<Workspace> {
  if (typeof root !== 'string' || root.trim() === '' || root.includes('\0')) {
    throw new WorkspaceError(
      'invalid_root',
      String(root),
      `the workspace root must be the path of a folder, not ${show(root)}`,
    );
  }
  const platform = await loadPlatform(root);
  const asGiven = platform.paths.resolve(root);
  return Object.freeze(new FolderWorkspace(platform, await realRoot(platform, root), asGiven));
}

async function loadPlatform(root: string): Promise<Platform> {
  try {
    return { files: await import('node:fs/promises'), paths: await import('node:path') };
  } catch (cause) {
    const reason = reasonOf(cause, 'it cannot be loaded');
    const what = `a folder as workspace needs Node's file system, which is not here: give a workspace of your own (${reason})`;
    throw new WorkspaceError('invalid_root', root, what, { cause });
  }
}

async function realRoot({ files }: Platform, root: string): Promise<string> {
  const refuse = (why: string, cause?: unknown): WorkspaceError =>
    new WorkspaceError('invalid_root', root, `the workspace root ${show(root)} ${why}`, { cause });
  let isFolder: boolean;
  let real: string;
  try {
    real = await files.realpath(root);
    isFolder = (await files.stat(real)).isDirectory();
  } catch (cause) {
    const isAbsent = codeOf(cause) === 'ENOENT' || codeOf(cause) === 'ENOTDIR';
    throw refuse(
      isAbsent ? 'does not exist: give an existing folder' : 'cannot be reached: give a readable folder',
      cause,
    );
  }
  if (!isFolder) throw refuse('is no folder: give an existing folder');
  try {
    await files.access(real, files.constants.R_OK | files.constants.X_OK);
  } catch (cause) {
    throw refuse('cannot be read: give a folder that this program may read', cause);
  }
  return real;
}

class FolderWorkspace implements Workspace {
  readonly root: string;
  readonly #asGiven: string;
  readonly #platform: Platform;

  constructor(platform: Platform, root: string, asGiven: string) {
    this.#platform = platform;
    this.root = root;
    this.#asGiven = asGiven;
  }

  async resolve(path: string): Promise<string> {
    const target = this.#placed(path);
    const real = await this.#walk(path, this.#parts(target));
    await this.#confirm(path, real);
    return real;
  }

  relative(absolute: string): string {
    const { paths } = this.#platform;
    if (!this.#holds(absolute)) throw outside(absolute);
    return this.#parts(paths.resolve(absolute)).join('/') || '.';
  }

  /** The path as an absolute one within the root by its letters alone, links not looked at. */
  #placed(path: string): string {
    const { paths } = this.#platform;
    if (typeof path !== 'string' || path === '') {
      throw new WorkspaceError('invalid_path', String(path), 'the path is empty: use "." for the workspace itself');
    }
    if (path.includes('\0')) throw invalid(path, 'holds a NUL character: give a path without it');
    const target = paths.resolve(this.root, path);
    if (this.#holds(target)) {
      // On Windows a colon after the drive letter names a stream of a file, or a device.
      if (paths.sep === '\\' && paths.relative(this.root, target).includes(':')) throw invalid(path, 'holds a colon');
      return target;
    }
    // A root that was given through a link (the temporary folder of macOS is one) is known by that name too.
    if (!paths.isAbsolute(path) || !isWithin(paths, this.#asGiven, target)) throw outside(path);
    return paths.join(this.root, paths.relative(this.#asGiven, target));
  }

  async #walk(path: string, parts: readonly string[]): Promise<string> {
    const { paths } = this.#platform;
    const pending = [...parts].reverse();
    let current = this.root;
    let links = 0;
    for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
      current = paths.join(current, part);
      if (!this.#holds(current)) throw outside(path);
      const link = part === '..' ? undefined : await this.#readLink(path, current);
      if (link === undefined) continue;
      links += 1;
      if (links > MOST_LINKS) throw invalid(path, 'leads through too many symbolic links, or a loop of them');
      if (paths.isAbsolute(link)) {
        pending.push(...this.#absoluteLink(path, link).reverse());
        current = this.root;
      } else {
        // Not normalised: `..` goes up from where a link before it really leads.
        pending.push(
          ...link
            .split(paths.sep === '\\' ? /[\\/]/ : '/')
            .filter(isStep)
            .reverse(),
        );
        current = paths.dirname(current);
      }
    }
    return current;
  }

  #absoluteLink(path: string, link: string): string[] {
    const { paths } = this.#platform;
    // `relative` would normalise a `..` that has to be walked, so the root is taken off by its letters.
    const base = [this.root, this.#asGiven].find(root => link === root || link.startsWith(withSeparator(paths, root)));
    if (base === undefined) throw outside(path);
    return link.slice(base.length).split(paths.sep).filter(isStep);
  }

  /** Where the link at `place` leads, or `undefined` for what is no link, or is not there. */
  async #readLink(path: string, place: string): Promise<string | undefined> {
    const { files } = this.#platform;
    try {
      const entry = await files.lstat(place);
      return entry.isSymbolicLink() ? await files.readlink(place) : undefined;
    } catch (cause) {
      if (codeOf(cause) === 'ENOENT') return undefined;
      throw unreachable(path, cause);
    }
  }

  /** The walk decides; this catches a link that was put there meanwhile. */
  async #confirm(path: string, real: string): Promise<void> {
    const { files, paths } = this.#platform;
    for (let place = real; ; place = paths.dirname(place)) {
      try {
        if (!this.#holds(await files.realpath(place))) throw outside(path);
        return;
      } catch (cause) {
        if (WorkspaceError.is(cause)) throw cause;
        if (codeOf(cause) !== 'ENOENT' || place === this.root) throw unreachable(path, cause);
      }
    }
  }

  #holds(absolute: string): boolean {
    return isWithin(this.#platform.paths, this.root, absolute);
  }

  #parts(absolute: string): string[] {
    const { paths } = this.#platform;
    return paths.relative(this.root, absolute).split(paths.sep).filter(isStep);
  }
}

function isWithin(paths: Platform['paths'], root: string, absolute: string): boolean {
  const relative = paths.relative(root, absolute);
  return relative !== '..' && !relative.startsWith(`..${paths.sep}`) && !paths.isAbsolute(relative);
}

function withSeparator(paths: Platform['paths'], folder: string): string {
  return folder.endsWith(paths.sep) ? folder : `${folder}${paths.sep}`;
}

function isStep(part: string): boolean {
  return part !== '' && part !== '.';
}

function outside(path: string): WorkspaceError {
  return new WorkspaceError(
    'outside_workspace',
    path,
    `${show(path)} leads out of the workspace: give a path within it`,
  );
}

function invalid(path: string, why: string): WorkspaceError {
  return new WorkspaceError('invalid_path', path, `the path ${show(path)} ${why}`);
}

/** The platform's own message is not passed on: it may name what a link leads to. */
function unreachable(path: string, cause: unknown): WorkspaceError {
  switch (codeOf(cause)) {
    case 'ENOTDIR':
      return invalid(path, 'goes through a file as if it were a folder');
    case 'ENAMETOOLONG':
      return invalid(path, 'is longer than a path may be');
    case 'EACCES':
    case 'EPERM':
      return invalid(path, 'goes through a folder that may not be read');
    default:
      return invalid(path, `cannot be reached (${codeOf(cause) ?? 'the file system failed'})`);
  }
}

function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}
