/** What `npm pack` puts into the package is what users need: the built code with its types, the pages, and nothing else. Needs a build. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

function packedFiles(): readonly string[] {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // One package: a list of one, or an object of one by its name.
  const [packed] = Object.values(JSON.parse(output) as Record<string, { readonly files: readonly { path: string }[] }>);
  return packed?.files.map(({ path }) => path) ?? [];
}

describe('the package', () => {
  const files = packedFiles();

  it('has these files beside code and pages, and no other', () => {
    const others = files.filter(file => !file.startsWith('dist/') && !file.startsWith('docs/'));
    expect(others.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'llms.txt', 'package.json']);
  });

  it('has every page, without pictures and without the reference, which its types are', () => {
    const pages = globSync('docs/**/*.md', { cwd: root, exclude: ['docs/reference/**'] }).sort();
    expect(files.filter(file => file.startsWith('docs/')).sort()).toEqual(pages);
  });

  it('has pages that link to nothing outside of it but what docs/README.md names', () => {
    const elsewhere = /^(?:examples|bench|test|docs\/images|docs\/reference)\/|^(?:CONTRIBUTING|DESIGN)\.md$/;
    const lost = files
      .filter(file => /\.md$|^llms\.txt$/.test(file))
      .flatMap(file =>
        linksOf(file)
          .filter(path => !files.includes(path) && !elsewhere.test(path))
          .map(path => `${file} -> ${path}`),
      );
    expect(lost).toEqual([]);
  });

  it('has of the code what runs and its types: no sources, no maps, no tests', () => {
    const code = files.filter(file => file.startsWith('dist/'));
    expect(code.length).toBeGreaterThan(100);
    expect(code.filter(file => !/\.(js|css|html|svg)$|\.d\.ts$/.test(file))).toEqual([]);
    expect(code.filter(file => /\.test(-d)?\.|\.map$/.test(file))).toEqual([]);
  });

  it('has each module that another of its modules loads, and each type that another of its types names', () => {
    const missing = files
      .filter(file => /^dist\/(?!studio\/).*\.(js|d\.ts)$/.test(file))
      .flatMap(file =>
        importsOf(file)
          .filter(path => !files.includes(path))
          .map(path => `${file} -> ${path}`),
      );
    expect(missing).toEqual([]);
  });

  it('is not packed before it is built', () => {
    const folder = mkdtempSync(join(tmpdir(), 'looprig-pack-'));
    for (const name of ['scripts', 'dist']) mkdirSync(join(folder, name));
    const script = join(folder, 'scripts/require-build.ts');
    copyFileSync(join(root, 'scripts/require-build.ts'), script);
    const run = () => {
      const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
      return { status, stderr };
    };
    expect(run()).toEqual({ status: 1, stderr: 'the package is not built: run "npm run build" first\n' });
    writeFileSync(join(folder, 'dist/index.js'), '');
    expect(run()).toEqual({ status: 0, stderr: '' });
    rmSync(folder, { recursive: true });
  });
});

/** The files of the package that a file of it imports: of a module modules, of types types. */
function importsOf(file: string): readonly string[] {
  const extension = file.endsWith('.d.ts') ? '.d.ts' : '.js';
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\b(?:from|import)[ (]*['"](\.[^'"]+)\.[jt]s['"]/g)].map(
    ([, path = '']) => posix.join(posix.dirname(file), path) + extension,
  );
}

/** What a page links to in this repository, from its root. */
function linksOf(file: string): readonly string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)].map(([, path = '']) => posix.join(posix.dirname(file), path));
}
