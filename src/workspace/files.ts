/** Opening, reading and replacing files of a workspace, with errors that a model can act on. */
import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { access, constants, type FileHandle, lstat, mkdir, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Workspace } from '../define/bindings.ts';
import { WorkspaceError } from '../errors.ts';

/** A file that is open for reading. Whoever opened it closes `handle`. */
export interface OpenedFile {
  readonly handle: FileHandle;
  /** In bytes, when it was opened. */
  readonly size: number;
  /** The opened file itself, to know it again. */
  readonly standing: Standing;
  readonly absolute: string;
  /** The path for showing: relative to the workspace. */
  readonly name: string;
}

/** Opens a regular file of the workspace. A link that took its place after it was resolved is not followed; pipes and devices are refused. */
export async function openFile(workspace: Workspace, path: string): Promise<OpenedFile> {
  const absolute = await workspace.resolve(path);
  const name = workspace.relative(absolute);
  const handle = await orExplain(name, open(absolute, constants.O_RDONLY | NO_FOLLOW | NO_BLOCK));
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) throw notAFile(name, stats.isDirectory());
    return { handle, size: Number(stats.size), standing: standingOf(stats), absolute, name };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

// Windows has neither: its links need a right of their own, and its pipes have names of their own.
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const NO_BLOCK = constants.O_NONBLOCK ?? 0;

/** How much of a file is looked at to tell whether it is text. */
const PROBE_BYTES = 8_192;

/** Whether the file begins like something that is no text: a NUL byte is never in UTF-8 text, and always in UTF-16. */
export async function isBinary(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, 0);
  return buffer.subarray(0, bytesRead).includes(0);
}

/** What stands at the place of a file, to know it again. */
export interface Standing {
  readonly isPresent: boolean;
  readonly mode: number;
  readonly identity: string;
}

/** What stands at `absolute` now. Refuses what a file cannot take the place of. */
export async function standing(absolute: string, name: string): Promise<Standing> {
  let stats: BigIntStats;
  try {
    stats = await lstat(absolute, { bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { isPresent: false, mode: 0o666, identity: 'absent' };
    throw explained(name, error);
  }
  if (stats.isSymbolicLink()) throw new Error(`${name} became a symbolic link meanwhile: ask again`);
  if (!stats.isFile()) throw notAFile(name, stats.isDirectory());
  return standingOf(stats);
}

function standingOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): Standing {
  const identity = [dev, ino, size, mtimeNs, ctimeNs].join(':');
  return { isPresent: true, mode: Number(mode & 0o7777n), identity };
}

/** What a file is replaced by, and under which conditions. */
export interface Replacement {
  readonly workspace: Workspace;
  /** The path as it was asked for. */
  readonly path: string;
  /** The path that it resolved to. */
  readonly absolute: string;
  readonly content: string;
  /** What stood there when the content was decided; if something else stands there now, nothing is written. */
  readonly expected: Standing;
  readonly signal: AbortSignal;
}

/**
 * Puts a file in place as a whole: readers see the old one or the new one. Creates missing folders and keeps the mode of
 * a file that was there. Nothing changes if it fails or is aborted.
 */
export async function replaceFile(replacement: Replacement): Promise<void> {
  const { workspace, absolute, expected } = replacement;
  const name = workspace.relative(absolute);
  await requireUnchanged(replacement, name);
  if (expected.isPresent) await orExplain(name, access(absolute, constants.W_OK));
  await orExplain(name, mkdir(dirname(absolute), { recursive: true }));
  const temporary = join(dirname(absolute), `.${basename(absolute).slice(0, 100)}.${randomUUID()}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW;
  const handle = await orExplain(name, open(temporary, flags, 0o666));
  try {
    try {
      await handle.writeFile(replacement.content, 'utf8');
      if (expected.isPresent) await handle.chmod(expected.mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await requireUnchanged(replacement, name);
    await rename(temporary, absolute);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw explained(name, error);
  }
}

async function requireUnchanged(
  { workspace, path, absolute, expected, signal }: Replacement,
  name: string,
): Promise<void> {
  signal.throwIfAborted();
  if ((await workspace.resolve(path)) !== absolute || (await standing(absolute, name)).identity !== expected.identity) {
    throw new Error(`${name} was changed by something else meanwhile, nothing was written: read it again`);
  }
}

/** The outcome of a file operation, its error in words that name the file by its path in the workspace. */
export async function orExplain<T>(name: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw explained(name, error);
  }
}

/** A platform error in words; any other error as it is. The platform's own message would show absolute paths. */
function explained(name: string, error: unknown): unknown {
  const code = codeOf(error);
  if (code === undefined || WorkspaceError.is(error)) return error;
  if (code === 'ENOENT') return new WorkspaceError('not_found', name, `there is no file or folder ${name}`);
  return new Error(`${name}: ${REASONS[code] ?? `the file system failed (${code})`}`);
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied by the file system',
  EPERM: 'permission denied by the file system',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EEXIST: 'a part of the path is a file, not a folder',
  ELOOP: 'it became a symbolic link meanwhile: ask again',
  ENXIO: 'it is neither a file nor a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENAMETOOLONG: 'the name is too long',
};

function notAFile(name: string, isFolder: boolean): Error {
  return new Error(isFolder ? `${name}: ${REASONS.EISDIR}` : `${name}: ${REASONS.ENXIO}`);
}

/** The code of a platform error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : undefined;
}
