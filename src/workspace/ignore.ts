/** The rules of `.gitignore` files, as far as they say what belongs to a project. */
import { compilePath, type PathMatcher } from './glob.ts';

/** The rules of one file. Each counts for what is in the file's folder; the last one that fits decides. */
export interface IgnoreFile {
  /** The folder that the file is in, relative to the workspace; empty for the workspace itself. */
  readonly folder: string;
  readonly rules: readonly IgnoreRule[];
}

interface IgnoreRule {
  readonly isNegated: boolean;
  readonly onlyFolders: boolean;
  readonly fits: PathMatcher;
}

/** Reads the text of a `.gitignore` that is in `folder`. */
export function parseIgnoreFile(folder: string, text: string): IgnoreFile {
  return { folder, rules: text.split(/\r?\n/).flatMap(parseRule) };
}

function parseRule(line: string): IgnoreRule[] {
  let pattern = line.trimEnd();
  if (pattern.endsWith('\\') && line.length > pattern.length) pattern += ' '; // an escaped space at the end belongs to the name
  if (pattern === '' || pattern.startsWith('#')) return [];
  const isNegated = pattern.startsWith('!');
  if (isNegated) pattern = pattern.slice(1);
  const onlyFolders = pattern.endsWith('/');
  if (onlyFolders) pattern = pattern.slice(0, -1);
  if (pattern === '') return [];
  // A slash at the start or within ties the pattern to the file's own folder.
  const fits = compilePath(pattern.includes('/') ? pattern : `**/${pattern}`);
  return [{ isNegated, onlyFolders, fits }];
}

/** Whether the rules of `files`, the outermost first, leave `path` out. Folders above it are taken to be let in. */
export function isIgnored(files: readonly IgnoreFile[], path: string, isFolder: boolean): boolean {
  for (const { folder, rules } of files.toReversed()) {
    const within = folder === '' ? path : path.slice(folder.length + 1);
    const deciding = rules.findLast(rule => (isFolder || !rule.onlyFolders) && rule.fits(within));
    if (deciding !== undefined) return !deciding.isNegated;
  }
  return false;
}
