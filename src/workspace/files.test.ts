import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Workspace } from '../define/bindings.ts';
import { openWorkspace } from '../session/workspace.ts';
import { openFile, replaceFile, standing } from './files.ts';

let base: string;
let root: string;
let workspace: Workspace;
const { signal } = new AbortController();

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'looprig-files-')));
  root = join(base, 'root');
  await mkdir(join(root, 'src'), { recursive: true });
  await mkdir(join(base, 'outside'));
  await writeFile(join(base, 'outside', 'a.ts'), 'outside');
  await writeFile(join(root, 'src', 'a.ts'), 'old');
  workspace = await openWorkspace(root);
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** Reads a file for changing it, lets `meanwhile` happen, and then replaces it. */
async function replaceAfter(path: string, meanwhile: () => Promise<unknown>): Promise<void> {
  const absolute = await workspace.resolve(path);
  const expected = await standing(absolute, path);
  await meanwhile();
  await replaceFile({ workspace, path, absolute, content: 'new', expected, signal });
}

describe('replacing a file', () => {
  it('is refused when its text was changed meanwhile', async () => {
    const file = join(root, 'src', 'a.ts');
    await expect(replaceAfter('src/a.ts', () => writeFile(file, 'other'))).rejects.toThrow('changed by something else');
    expect(await readFile(file, 'utf8')).toBe('other');
  });

  it('is refused when another file took its place meanwhile', async () => {
    await writeFile(join(root, 'b.ts'), 'old');
    const swap = () => rename(join(root, 'b.ts'), join(root, 'src', 'a.ts'));
    await expect(replaceAfter('src/a.ts', swap)).rejects.toThrow('changed by something else');
    expect(await readFile(join(root, 'src', 'a.ts'), 'utf8')).toBe('old');
  });

  it('is refused when it became a folder or a link meanwhile', async () => {
    const file = join(root, 'src', 'a.ts');
    const asFolder = async () => {
      await rm(file);
      await mkdir(file);
    };
    await expect(replaceAfter('src/a.ts', asFolder)).rejects.toThrow('it is a folder');
    await rm(file, { recursive: true });
    await writeFile(file, 'old');
    const asLink = async () => {
      await rm(file);
      await symlink('../../outside/a.ts', file);
    };
    await expect(replaceAfter('src/a.ts', asLink)).rejects.toThrow('leads out of the workspace');
    expect(await readFile(join(base, 'outside', 'a.ts'), 'utf8')).toBe('outside');
    expect(await readdir(join(root, 'src'))).toEqual(['a.ts']);
  });

  it('is refused when a file came to be where there was none', async () => {
    const file = join(root, 'src', 'new.ts');
    await expect(replaceAfter('src/new.ts', () => writeFile(file, 'theirs'))).rejects.toThrow('changed by something');
    expect(await readFile(file, 'utf8')).toBe('theirs');
  });

  it('is refused when a folder on its way became a link out', async () => {
    const swap = async () => {
      await rm(join(root, 'src'), { recursive: true });
      await symlink('../outside', join(root, 'src'));
    };
    await expect(replaceAfter('src/a.ts', swap)).rejects.toThrow();
    expect(await readFile(join(base, 'outside', 'a.ts'), 'utf8')).toBe('outside');
    expect(await readdir(join(base, 'outside'))).toEqual(['a.ts']);
  });
});

describe('opening a file', () => {
  it('does not follow a link that took its place after it was resolved', async () => {
    const sly: Workspace = {
      root,
      relative: absolute => workspace.relative(absolute),
      async resolve(path) {
        const absolute = await workspace.resolve(path);
        await rm(absolute);
        await symlink('../../outside/a.ts', absolute);
        return absolute;
      },
    };
    await expect(openFile(sly, 'src/a.ts')).rejects.toThrow('src/a.ts: it became a symbolic link meanwhile: ask again');
  });
});
