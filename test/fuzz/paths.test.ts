/** Whatever path a model asks for, in whatever tree of links: what it gets lies in the workspace, by the word of the file system itself. */
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import fc from 'fast-check';
import { WorkspaceError } from 'looprig';
import { expect } from 'vitest';
import { openWorkspace } from '../../src/session/workspace.ts';
import { openFile } from '../../src/workspace/files.ts';
import { texts } from './drawn.ts';
import { fuzz, shared } from './fuzz.ts';

const SECRET = 'outside: not to be read';

/** A folder with a workspace, and beside it what must not be reached. */
const place = shared(async () => {
  const outer = await realpath(await mkdtemp(join(tmpdir(), 'looprig-paths-')));
  await mkdir(join(outer, 'outside', 'deep'), { recursive: true });
  await mkdir(join(outer, 'root-beside'));
  for (const name of ['outside/secret', 'outside/deep/secret', 'root-beside/secret', 'secret'])
    await writeFile(join(outer, name), SECRET);
  return { value: outer, end: () => rm(outer, { recursive: true, force: true }) };
});

const names = fc.constantFrom('a', 'b', 'c', 'ü', 'e\u0301', 'secret', 'deep');
/** Where links lead: within, out, up, round in circles, to what is not there; `ROOT` and `OUT` stand for the places. */
const leads = fc.oneof(
  fc
    .array(fc.oneof(names, fc.constantFrom('..', '.', '')), { minLength: 1, maxLength: 5 })
    .map(parts => parts.join('/') || '.'),
  fc.array(fc.oneof(names, fc.constantFrom('..')), { maxLength: 4 }).map(parts => ['ROOT', ...parts].join('/')),
  fc.constantFrom(
    'OUT',
    'OUT/secret',
    '../outside',
    '../outside/secret',
    '../root-beside/secret',
    '/',
    '/etc/passwd',
    'ROOT/../outside/secret',
    'ROOT-beside/secret',
  ),
);
type Entry = { readonly at: readonly string[]; readonly is: 'file' | 'folder' | 'link'; readonly leads: string };
const entries: fc.Arbitrary<Entry> = fc.record({
  at: fc.array(names, { minLength: 1, maxLength: 3 }),
  is: fc.constantFrom('file', 'folder', 'link', 'link'),
  leads,
});
const steps = fc.oneof(
  { weight: 5, arbitrary: names },
  fc.constantFrom('..', '.', '', '...', '~', '\u0000', '%2e%2e', 'C:', '..\\', 'x'.repeat(300)),
  texts,
);
const asked = fc.oneof(
  fc.array(steps, { maxLength: 6 }).map(parts => parts.join('/')),
  fc.array(names, { maxLength: 4 }).map(parts => ['ROOT', ...parts].join('/')),
  leads,
  texts,
);

function within(root: string, path: string): boolean {
  return path === root || path.startsWith(root + sep);
}

async function plant(root: string, all: readonly Entry[]): Promise<void> {
  for (const { at, is, leads: to } of all) {
    const path = join(root, ...at);
    // Some do not come to be: their place is taken, or lies beyond a link that leads nowhere, or out.
    try {
      const above = dirname(path);
      await mkdir(above, { recursive: true });
      if (!within(root, await realpath(above))) continue;
      if (is === 'folder') await mkdir(path);
      else if (is === 'file') await writeFile(path, 'inside', { flag: 'wx' });
      else await symlink(filled(root, to), path);
    } catch {}
  }
}

function filled(root: string, text: string): string {
  return text.replaceAll('ROOT', root).replaceAll('OUT', join(dirname(root), 'outside'));
}

async function inTree(tree: readonly Entry[], use: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(place(), 'root-'));
  try {
    await plant(root, tree);
    await use(root);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** The real place of the deepest part of a path that is there. */
async function realPart(path: string): Promise<string> {
  return realpath(path).catch(() => realPart(dirname(path)));
}

const trees = fc.tuple(fc.array(entries, { maxLength: 8 }), fc.array(asked, { minLength: 1, maxLength: 8 }));

fuzz('what a path resolves to lies in the workspace, and holds no link', { runs: 150, input: trees }, ([tree, paths]) =>
  inTree(tree, async root => {
    const workspace = await openWorkspace(root);
    for (const path of paths.map(given => filled(root, given))) {
      const resolved = await workspace.resolve(path).catch(error => {
        expect(WorkspaceError.is(error), String(error)).toBe(true);
        expect(error.message).not.toContain(SECRET);
        return undefined;
      });
      if (resolved === undefined) continue;
      expect(within(root, resolved)).toBe(true);
      expect(within(root, await realPart(resolved))).toBe(true);
      // Where it is there, it is its own real place: nothing more is followed when it is opened.
      const real = await realpath(resolved).catch(() => undefined);
      if (real !== undefined) expect(real).toBe(resolved);
      expect(await workspace.resolve(workspace.relative(resolved))).toBe(resolved);
    }
  }),
);

fuzz(
  'a path that the file system itself finds within the workspace is not refused',
  { runs: 150, input: trees },
  ([tree, paths]) =>
    inTree(tree, async root => {
      const workspace = await openWorkspace(root);
      for (const given of paths) {
        // By the file system a `..` goes up from where a link leads, by a path's letters from where it stands.
        if (
          given.includes('..') ||
          given.includes('\0') ||
          given === '' ||
          tree.some(entry => entry.leads.includes('..'))
        )
          continue;
        const path = filled(root, given);
        const real = await realpath(path.startsWith('/') ? path : join(root, path)).catch(() => undefined);
        const passesOut = tree.some(entry => /OUT|^\/|-beside/.test(entry.leads));
        if (real === undefined || !within(root, real) || passesOut) continue;
        expect(await workspace.resolve(path)).toBe(real);
      }
    }),
);

/** Between the look at a path and its opening, somebody puts links that lead out in the place of what was there. */
fuzz(
  'a file that is opened while links are put in its place is never one outside',
  { runs: 40, input: fc.tuple(names, names, fc.nat(5)) },
  ([folder, name, turns]) =>
    inTree([{ at: [folder, name], is: 'file', leads: '' }], async root => {
      const workspace = await openWorkspace(root);
      const [path, outside] = [join(root, folder), join(place(), 'outside')];
      const swapping = (async () => {
        for (let turn = 0; turn <= turns; turn++) {
          await rm(join(path, name), { force: true, recursive: true });
          await symlink(join(outside, 'secret'), join(path, name)).catch(() => {});
          await rm(join(path, name), { force: true });
          await writeFile(join(path, name), 'inside').catch(() => {});
        }
      })();
      for (let turn = 0; turn < 4; turn++) {
        const opened = await openFile(workspace, `${folder}/${name}`).catch(() => undefined);
        if (opened === undefined) continue;
        try {
          expect((await opened.handle.readFile('utf8')).includes(SECRET)).toBe(false);
        } finally {
          await opened.handle.close();
        }
      }
      await swapping;
      expect(await readFile(join(outside, 'secret'), 'utf8')).toBe(SECRET);
    }),
);
