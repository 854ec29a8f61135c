import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';

let bench: WorkspaceBench;
afterEach(() => bench.remove());

const list = async (input: object = {}): Promise<string> => (await bench.run('list_files', input)).text;

describe('list_files', () => {
  it('gives all files below, sorted as whole paths, and how many there are', async () => {
    bench = await workspaceBench({ 'b.md': '', 'a/z.ts': '', 'a-b.ts': '', 'a/deep/x.ts': '', 'a.ts': '' });
    expect(await list()).toBe('a-b.ts\na.ts\na/deep/x.ts\na/z.ts\nb.md\n\n[5 files]');
    const paths = (await list()).split('\n').slice(0, 5);
    expect(paths).toEqual(paths.toSorted());
  });

  it('gives the files of one folder, by their paths from the workspace on', async () => {
    bench = await workspaceBench({ 'a/x.ts': '', 'b/y.ts': '' });
    expect(await list({ path: 'a' })).toBe('a/x.ts\n\n[1 file]');
    expect(await list({ path: 'a/x.ts' })).toBe('a/x.ts\n\n[1 file]');
  });

  it('gives the files that a glob fits', async () => {
    bench = await workspaceBench({ 'a.ts': '', 'src/b.ts': '', 'src/c.md': '' });
    expect(await list({ pattern: '*.ts' })).toBe('a.ts\nsrc/b.ts\n\n[2 files]');
    expect(await list({ pattern: './src/*' })).toBe('src/b.ts\nsrc/c.md\n\n[2 files]');
    expect(await list({ pattern: '*.py' })).toBe('[no files]');
  });

  it('leaves out .git, node_modules and what .gitignore names, says so, and shows them when asked', async () => {
    bench = await workspaceBench({
      '.git/config': '',
      '.gitignore': '*.log\n',
      'a.log': '',
      'a.ts': '',
      'sub/node_modules/x/index.js': '',
      'sub/.gitignore': '/out\n!keep.log\n',
      'sub/out/o.js': '',
      'sub/keep.log': '',
    });
    expect(await list()).toBe(
      '.gitignore\na.ts\nsub/.gitignore\nsub/keep.log\n\n[4 files; 4 ignored entries left out]',
    );
    expect(await list({ include_ignored: true })).toContain('[8 files]');
    expect(await list({ path: 'sub' })).toBe('sub/.gitignore\nsub/keep.log\n\n[2 files; 2 ignored entries left out]');
  });

  it('heeds the .gitignore above the folder that is listed', async () => {
    bench = await workspaceBench({ '.gitignore': 'sub/*.log\n', 'sub/a.log': '', 'sub/b.txt': '' });
    expect(await list({ path: 'sub' })).toBe('sub/b.txt\n\n[1 file; 1 ignored entry left out]');
  });

  it('shows an ignored folder that is asked for by its path', async () => {
    bench = await workspaceBench({ 'node_modules/x/index.js': '' });
    expect(await list({ path: 'node_modules/x' })).toBe('node_modules/x/index.js\n\n[1 file]');
  });

  it('names links and does not follow them', async () => {
    bench = await workspaceBench({ 'a/x.ts': '' });
    await writeFile(join(bench.base, 'secret.txt'), '');
    await symlink('..', join(bench.root, 'a', 'loop'));
    await symlink(bench.base, join(bench.root, 'out'));
    const { text } = await bench.run('list_files', {});
    expect(text).toBe('a/loop (symbolic link)\na/x.ts\nout (symbolic link)\n\n[3 files]');
    expect(await list({ path: 'out' })).toBe('"out" leads out of the workspace: give a path within it');
  });

  it('does not read rules through a link that leads out', async () => {
    bench = await workspaceBench({ 'a.ts': '' });
    await writeFile(join(bench.base, 'rules'), '*.ts');
    await symlink('../rules', join(bench.root, '.gitignore'));
    expect(await list()).toContain('a.ts\n');
  });

  it('says how many more files there are', async () => {
    bench = await workspaceBench(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}.txt`, ''])));
    const text = await list({ limit: 3 });
    expect(text).toBe(
      'f0.txt\nf1.txt\nf10.txt\n\n[the first 3 of 30 files: give a narrower path or pattern to see the rest]',
    );
  });

  it('quotes a name that would break the line', async () => {
    bench = await workspaceBench();
    await writeFile(join(bench.root, 'a\n[0 files]'), '');
    expect(await list()).toBe('"a\\n[0 files]"\n\n[1 file]');
  });

  it('says what is wrong with a folder that is not there, a pattern and a limit', async () => {
    bench = await workspaceBench();
    expect(await bench.run('list_files', { path: 'absent' })).toEqual({
      text: 'there is no file or folder absent',
      isError: true,
    });
    expect(await list({ pattern: '{a,b}'.repeat(10) })).toContain('more than 64 alternatives');
    expect(await list({ limit: 0 })).toContain('invalid');
    expect(await list({ folder: 'x' })).toContain('invalid');
  });

  it('lists an empty folder as no files, and leaves folders themselves out', async () => {
    bench = await workspaceBench();
    await mkdir(join(bench.root, 'empty'));
    expect(await list()).toBe('[no files]');
  });

  it('needs no permission, may run again, and says itself in one line', async () => {
    bench = await workspaceBench();
    const live = bench.live('list_files');
    expect([live.access, live.resource, live.idempotent]).toEqual([undefined, undefined, true]);
    expect(await live.summary?.({ path: 'src', pattern: '*.ts' })).toBe('list *.ts in src');
  });

  it('ends when it is aborted', async () => {
    bench = await workspaceBench({ 'a.ts': '' });
    const signal = AbortSignal.abort(new Error('stopped by the test'));
    expect(await bench.run('list_files', {}, { signal })).toEqual({ text: 'stopped by the test', isError: true });
  });
});
