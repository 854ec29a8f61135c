import { chmod, mkdir, mkdtemp, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, sep } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Workspace } from '../define/bindings.ts';
import { WorkspaceError } from '../errors.ts';
import { openWorkspace } from './workspace.ts';

let base: string;
let root: string;
let workspace: Workspace;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'looprig-workspace-')));
  root = join(base, 'root');
  await mkdir(join(root, 'src'), { recursive: true });
  await mkdir(join(base, 'secret'));
  await writeFile(join(base, 'secret', 'key.txt'), 'hidden');
  await writeFile(join(root, 'src', 'a.ts'), 'a');
  workspace = await openWorkspace(root);
});

afterEach(() => rm(base, { recursive: true, force: true }));

async function refusal(promise: Promise<unknown>): Promise<WorkspaceError> {
  const error = await promise.then(
    value => expect.fail(`was not refused, but gave ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  if (!WorkspaceError.is(error)) throw error;
  return error;
}

describe('opening a workspace', () => {
  it('gives the real path of a root that is reached by a link', async () => {
    await symlink(root, join(base, 'link'));
    expect((await openWorkspace(join(base, 'link'))).root).toBe(root);
  });

  it('refuses a root that is absent, is a file, or is blank, in one sentence', async () => {
    await writeFile(join(base, 'file'), '');
    const absent = await refusal(openWorkspace(join(base, 'absent')));
    expect(absent).toMatchObject({ kind: 'invalid_root', path: join(base, 'absent') });
    expect(absent.message).toContain('does not exist: give an existing folder');
    expect((await refusal(openWorkspace(join(base, 'file')))).message).toContain('is no folder');
    expect((await refusal(openWorkspace(join(base, 'file', 'x')))).kind).toBe('invalid_root');
    for (const blank of ['', '  ', 'a\0b', undefined as never, 7 as never]) {
      expect((await refusal(openWorkspace(blank))).kind).toBe('invalid_root');
    }
  });

  it.skipIf(process.getuid?.() === 0)('refuses a root that may not be read', async () => {
    await chmod(root, 0o000);
    expect((await refusal(openWorkspace(root))).message).toContain('cannot be read');
    await chmod(root, 0o700);
  });

  it('gives a frozen workspace', () => {
    expect(Object.isFrozen(workspace)).toBe(true);
  });
});

describe('resolving a path', () => {
  it('takes paths relative to the root, and absolute ones within it', async () => {
    const file = join(root, 'src', 'a.ts');
    for (const path of ['src/a.ts', './src/a.ts', 'src//a.ts', 'src/./../src/a.ts', file]) {
      expect(await workspace.resolve(path)).toBe(file);
    }
    expect(await workspace.resolve('.')).toBe(root);
    expect(await workspace.resolve(root)).toBe(root);
  });

  it('takes an absolute path by the name that the root was given', async () => {
    await symlink(root, join(base, 'link'));
    const linked = await openWorkspace(join(base, 'link'));
    expect(await linked.resolve(join(base, 'link', 'src', 'a.ts'))).toBe(join(root, 'src', 'a.ts'));
  });

  it('places what does not exist under its nearest existing folder, links followed', async () => {
    await symlink('src', join(root, 'code'));
    expect(await workspace.resolve('new/deep/file.ts')).toBe(join(root, 'new', 'deep', 'file.ts'));
    expect(await workspace.resolve('code/new.ts')).toBe(join(root, 'src', 'new.ts'));
  });

  it('gives one path for one file, however it is reached', async () => {
    await symlink('src', join(root, 'code'));
    await symlink(join(root, 'src'), join(root, 'absolute'));
    await symlink('code/a.ts', join(root, 'chain'));
    const file = join(root, 'src', 'a.ts');
    for (const path of ['code/a.ts', 'absolute/a.ts', 'chain']) expect(await workspace.resolve(path)).toBe(file);
  });

  it('walks up from where a link really leads', async () => {
    await mkdir(join(root, 'deep', 'inner'), { recursive: true });
    await symlink('deep/inner', join(root, 'inner'));
    await symlink('inner/../x', join(root, 'up'));
    expect(await workspace.resolve('up')).toBe(join(root, 'deep', 'x'));
  });

  it.each(['..', '../secret/key.txt', 'src/../../secret', '/etc/passwd', '/', '../root-of-another', 'src/../../..'])(
    'refuses %s, which leads out',
    async path => {
      const error = await refusal(workspace.resolve(path));
      expect(error).toMatchObject({ kind: 'outside_workspace', path });
      expect(error.message).toBe(`"${path}" leads out of the workspace: give a path within it`);
    },
  );

  it('refuses a folder beside the root whose name begins with the name of the root', async () => {
    await mkdir(join(base, 'root2'));
    expect((await refusal(workspace.resolve(join(base, 'root2')))).kind).toBe('outside_workspace');
    await symlink(join(base, 'root2'), join(root, 'two'));
    expect((await refusal(workspace.resolve('two'))).kind).toBe('outside_workspace');
  });

  it('accepts names that only begin with dots', async () => {
    expect(await workspace.resolve('..name/...')).toBe(join(root, '..name', '...'));
  });

  it.each([
    ['a file outside', '../secret/key.txt'],
    ['a folder outside', '../secret'],
    ['nothing that exists', '../secret/absent'],
    ['the folder above', '..'],
    ['an absolute path', '/etc/passwd'],
    ['the outside by way of the inside', 'src/../../secret'],
    ['the outside by way of what does not exist', 'absent/../../secret'],
  ])('refuses a link to %s, by the path that was asked for alone', async (_, target) => {
    await symlink(target, join(root, 'link'));
    for (const path of ['link', 'link/key.txt', 'src/../link']) {
      const error = await refusal(workspace.resolve(path));
      expect(error.kind).toBe('outside_workspace');
      expect(error.message).not.toContain('secret');
      expect(error.message).not.toContain('passwd');
      expect(error.cause).toBeUndefined();
    }
  });

  it('refuses a chain of links whose last one leads out', async () => {
    await symlink('second', join(root, 'first'));
    await symlink('src/third', join(root, 'second'));
    await symlink('../../secret/key.txt', join(root, 'src', 'third'));
    expect((await refusal(workspace.resolve('first'))).kind).toBe('outside_workspace');
  });

  it('follows a dangling link to its place within the root, and refuses one that dangles into a link out', async () => {
    await symlink('src/later.ts', join(root, 'dangling'));
    expect(await workspace.resolve('dangling')).toBe(join(root, 'src', 'later.ts'));
    await symlink('../secret', join(root, 'out'));
    await symlink('absent/../out/x', join(root, 'sly'));
    expect((await refusal(workspace.resolve('sly'))).kind).toBe('outside_workspace');
  });

  it('sees links that are made after opening', async () => {
    expect(await workspace.resolve('src/later')).toBe(join(root, 'src', 'later'));
    await symlink(join(base, 'secret'), join(root, 'src', 'later'));
    expect((await refusal(workspace.resolve('src/later/key.txt'))).kind).toBe('outside_workspace');
  });

  it('refuses loops of links', async () => {
    await symlink('b', join(root, 'a'));
    await symlink('a', join(root, 'b'));
    await symlink('self/x', join(root, 'self'));
    for (const path of ['a', 'b/c', 'self']) {
      expect(await refusal(workspace.resolve(path))).toMatchObject({ kind: 'invalid_path', path });
    }
  });

  it('refuses an empty path, NUL characters, a path through a file and one that is too long', async () => {
    const cases = ['', 'a\0b', 'src/a.ts/x', 'x'.repeat(5_000), 7 as never];
    for (const path of cases) expect((await refusal(workspace.resolve(path))).kind).toBe('invalid_path');
    expect((await refusal(workspace.resolve('src/a.ts/x'))).message).toContain('as if it were a folder');
  });

  it.skipIf(sep === '\\')('takes backslashes and drive letters as part of a name where the platform does', async () => {
    expect(await workspace.resolve('..\\..\\etc')).toBe(join(root, '..\\..\\etc'));
    expect(await workspace.resolve('C:\\Windows')).toBe(join(root, 'C:\\Windows'));
  });

  it('does not leave the root of the file system, and takes all of it as its own', async () => {
    const all = await openWorkspace('/');
    expect(await all.resolve('../..')).toBe('/');
    expect(await all.resolve(join(root, 'src', 'a.ts'))).toBe(join(root, 'src', 'a.ts'));
    await symlink(root, join(base, 'link'));
    expect(await all.resolve(join(base, 'link', 'src'))).toBe(join(root, 'src'));
  });
});

describe('showing a path', () => {
  it('is relative to the root, with slashes, and a dot for the root', () => {
    expect(workspace.relative(join(root, 'src', 'a.ts'))).toBe('src/a.ts');
    expect(workspace.relative(root)).toBe('.');
  });

  it('is refused for a path outside', () => {
    expect(() => workspace.relative(join(base, 'secret'))).toThrow(WorkspaceError);
  });
});

describe('whatever the path and whatever the links', () => {
  const part = fc.constantFrom('a', 'b', 'c', 'l1', 'l2', 'l3', '..', '.', '', 'root', 'secret', 'x\\y', 'ü');
  const relativePath = fc.array(part, { minLength: 1, maxLength: 7 }).map(parts => parts.join('/'));
  const target = fc.record({ path: relativePath, from: fc.constantFrom('relative', 'root', 'base', 'top') });
  const link = fc.record({ at: relativePath, target });

  function written({ path, from }: { path: string; from: string }): string {
    if (from === 'relative') return path || '.';
    if (from === 'root') return `${root}/${path}`;
    return from === 'base' ? `${base}/${path}` : `/${path}`;
  }

  /** The real path of the nearest thing that exists, links followed by the platform itself. */
  async function nearestReal(place: string): Promise<string> {
    try {
      return await realpath(place);
    } catch {
      const dangling = await readlink(place).catch(() => undefined);
      if (dangling !== undefined) throw new Error(`${place} is a link that leads nowhere`);
      return nearestReal(dirname(place));
    }
  }

  it('what is resolved really lies within the root, and every refusal is a WorkspaceError', async () => {
    let resolved = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(link, { maxLength: 6 }),
        fc.array(fc.oneof(target.map(written), fc.string(), relativePath), { minLength: 1, maxLength: 6 }),
        async (links, paths) => {
          await rm(root, { recursive: true, force: true });
          await mkdir(join(root, 'a', 'b'), { recursive: true });
          await mkdir(join(root, 'c'));
          const made: string[] = [];
          for (const { at, target: to } of links) {
            const place = join(root, at);
            // Only links that really lie within the root: what is outside is not the test's to change.
            const parent = await realpath(dirname(place)).catch(() => '/');
            if (place === root || !(parent === root || parent.startsWith(root + sep))) continue;
            await symlink(written(to), place).then(
              () => made.push(place),
              () => undefined, // something is there already
            );
          }
          for (const path of [...paths, ...made.map(place => relative(root, place))]) {
            let real: string;
            try {
              real = await workspace.resolve(path);
            } catch (error) {
              if (!WorkspaceError.is(error)) throw error;
              continue;
            }
            resolved += 1;
            const nearest = await nearestReal(real);
            expect(nearest === root || nearest.startsWith(root + sep), `${path} gave ${real}`).toBe(true);
            expect(basename(real)).not.toBe('..');
            expect(await workspace.resolve(real)).toBe(real);
          }
        },
      ),
      { numRuns: 300 },
    );
    expect(resolved).toBeGreaterThan(100);
  });
});
