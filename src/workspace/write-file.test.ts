import { chmod, link, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workspaceTools } from 'looprig/workspace';
import { afterEach, describe, expect, it } from 'vitest';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';

let bench: WorkspaceBench;
afterEach(() => bench.remove());

const write = (path: string, content: string, options?: { signal: AbortSignal }) =>
  bench.run('write_file', { path, content }, options);

describe('write_file', () => {
  it('creates a file with its folders, and says what it wrote', async () => {
    bench = await workspaceBench();
    expect(await write('src/deep/a.ts', 'one\ntwo é\n')).toEqual({
      text: 'created src/deep/a.ts (2 lines, 11 bytes)',
      isError: false,
    });
    expect(await bench.text('src/deep/a.ts')).toBe('one\ntwo é\n');
  });

  it('replaces a file, keeps its mode and leaves nothing else behind', async () => {
    bench = await workspaceBench({ 'run.sh': 'old' });
    await chmod(join(bench.root, 'run.sh'), 0o751);
    expect((await write('run.sh', '')).text).toBe('replaced run.sh (0 lines, 0 bytes)');
    expect(await bench.text('run.sh')).toBe('');
    expect((await stat(join(bench.root, 'run.sh'))).mode & 0o7777).toBe(0o751);
    expect(await readdir(bench.root)).toEqual(['run.sh']);
  });

  it('gives a new file the mode that the system gives new files', async () => {
    bench = await workspaceBench({ 'other.txt': '' });
    await write('new.txt', 'x');
    const mode = async (path: string) => (await stat(join(bench.root, path))).mode;
    expect(await mode('new.txt')).toBe(await mode('other.txt'));
  });

  it('puts a new file in place as a whole: another name of the old one keeps the old text', async () => {
    bench = await workspaceBench({ 'a.txt': 'old' });
    await link(join(bench.root, 'a.txt'), join(bench.root, 'b.txt'));
    await write('a.txt', 'new');
    expect([await bench.text('a.txt'), await bench.text('b.txt')]).toEqual(['new', 'old']);
  });

  it('writes to where a link within the workspace leads, and keeps the link', async () => {
    bench = await workspaceBench({ 'src/a.ts': 'old' });
    await symlink('src/a.ts', join(bench.root, 'link'));
    expect((await write('link', 'new')).text).toContain('replaced src/a.ts');
    expect([await bench.text('src/a.ts'), await bench.text('link')]).toEqual(['new', 'new']);
  });

  it.each(['../out.txt', join(tmpdir(), 'looprig-out.txt'), 'out/x.txt', 'dangling', 'src/../../out.txt'])(
    'refuses %s, which leads out, and writes nothing',
    async path => {
      bench = await workspaceBench({ 'src/a.ts': '' });
      await mkdir(join(bench.base, 'outside'));
      await symlink('../outside', join(bench.root, 'out'));
      await symlink('../outside/new.txt', join(bench.root, 'dangling'));
      const result = await write(path, 'x');
      expect(result).toEqual({ text: `"${path}" leads out of the workspace: give a path within it`, isError: true });
      expect(await readdir(join(bench.base, 'outside'))).toEqual([]);
      expect(await readdir(bench.base)).toEqual(['outside', 'root']);
      await expect(Promise.resolve(bench.live('write_file').access?.({ path, content: 'x' }))).rejects.toThrow(
        'leads out',
      );
    },
  );

  it('refuses a folder, a path through a file, a NUL character and an empty path', async () => {
    bench = await workspaceBench({ 'src/a.ts': 'a' });
    expect((await write('src', 'x')).text).toBe('src: it is a folder, not a file');
    expect((await write('.', 'x')).text).toBe('.: it is a folder, not a file');
    expect((await write('src/a.ts/b', 'x')).text).toContain('as if it were a folder');
    expect((await write('a\0b', 'x')).text).toContain('NUL character');
    expect((await write('', 'x')).isError).toBe(true);
    expect(await bench.text('src/a.ts')).toBe('a');
  });

  it('refuses text that is too large or that no file can hold as it is', async () => {
    bench = await workspaceBench({ 'a.txt': 'old' }, workspaceTools({ maxFileBytes: 10 }));
    expect((await write('a.txt', 'é'.repeat(6))).text).toBe(
      'the text has 12 bytes, a file may have 10 bytes here: nothing was written',
    );
    expect((await write('a.txt', 'a\ud800')).text).toContain('lone surrogate');
    expect(await bench.text('a.txt')).toBe('old');
  });

  it.skipIf(process.getuid?.() === 0)('refuses a file that may not be written', async () => {
    bench = await workspaceBench({ 'a.txt': 'old' });
    await chmod(join(bench.root, 'a.txt'), 0o444);
    expect((await write('a.txt', 'new')).text).toBe('a.txt: permission denied by the file system');
    expect(await bench.text('a.txt')).toBe('old');
  });

  it('changes nothing when it is aborted, and leaves no temporary file', async () => {
    bench = await workspaceBench({ 'a.txt': 'old' });
    const result = await write('a.txt', 'new', { signal: AbortSignal.abort(new Error('stopped by the test')) });
    expect(result).toEqual({ text: 'stopped by the test', isError: true });
    expect(await bench.text('a.txt')).toBe('old');
    expect(await readdir(bench.root)).toEqual(['a.txt']);
  });

  it('asks to write the real file, and claims it', async () => {
    bench = await workspaceBench({ 'src/a.ts': '' });
    await symlink('src', join(bench.root, 'code'));
    const live = bench.live('write_file');
    const input = { path: 'code/new.ts', content: 'a\nb\n' };
    expect(await live.access?.(input)).toEqual([
      { action: 'fs.write', target: 'src/new.ts', description: 'write 2 lines to src/new.ts' },
    ]);
    expect(await live.resource?.(input)).toEqual({ key: join(bench.root, 'src', 'new.ts'), mode: 'write' });
    expect(await live.summary?.(input)).toBe('write code/new.ts (2 lines)');
    expect(live.idempotent).toBeUndefined();
  });

  it('takes the name of a file that only looks like an option or a path as it is', async () => {
    bench = await workspaceBench();
    await writeFile(join(bench.root, '-rf'), '');
    expect((await write('-rf', 'x')).text).toContain('replaced -rf');
  });
});
