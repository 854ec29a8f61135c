import { mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { workspaceTools } from 'looprig/workspace';
import { afterEach, describe, expect, it } from 'vitest';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';

let bench: WorkspaceBench;
afterEach(() => bench.remove());

const edit = async (path: string, oldText: string, newText: string): Promise<string> =>
  (await bench.run('edit_file', { path, old_text: oldText, new_text: newText })).text;

describe('edit_file', () => {
  it('replaces a piece of text that stands once, and says where', async () => {
    bench = await workspaceBench({ 'a.ts': 'one\ntwo\nthree\n' });
    expect(await edit('a.ts', 'two\n', '2\n2.5\n')).toBe('edited a.ts at line 2: 1 line replaced by 2');
    expect(await bench.text('a.ts')).toBe('one\n2\n2.5\nthree\n');
  });

  it('takes new text as it is, whatever signs it holds', async () => {
    bench = await workspaceBench({ 'a.ts': 'x' });
    await edit('a.ts', 'x', "$& $1 $' \\n é🙂");
    expect(await bench.text('a.ts')).toBe("$& $1 $' \\n é🙂");
  });

  it('takes text out', async () => {
    bench = await workspaceBench({ 'a.ts': 'keep drop' });
    expect(await edit('a.ts', ' drop', '')).toBe('edited a.ts at line 1: 1 line replaced by 0');
    expect(await bench.text('a.ts')).toBe('keep');
  });

  it('says how many matches there are unless there is one, and changes nothing', async () => {
    bench = await workspaceBench({ 'a.ts': 'x\ny\nx\n', 'b.ts': 'aaa', 'many.ts': 'x\n'.repeat(20) });
    expect(await bench.run('edit_file', { path: 'a.ts', old_text: 'x', new_text: 'z' })).toEqual({
      text: 'old_text stands in a.ts 2 times, at lines 1, 3: give more of the text around it. Nothing was changed',
      isError: true,
    });
    expect(await edit('a.ts', 'X', 'z')).toBe(
      'old_text stands nowhere in a.ts (0 matches): read the file and copy it exactly. Nothing was changed',
    );
    expect(await edit('b.ts', 'aa', 'z')).toContain('2 times');
    expect(await edit('many.ts', 'x', 'z')).toContain('20 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, …:');
    expect(await bench.text('a.ts')).toBe('x\ny\nx\n');
  });

  it('refuses an edit that changes nothing, and an empty old text', async () => {
    bench = await workspaceBench({ 'a.ts': 'x' });
    expect(await edit('a.ts', 'x', 'x')).toContain('there is nothing to change');
    expect(await edit('a.ts', '', 'x')).toContain('invalid');
  });

  it('keeps CR LF line ends where the file has them throughout, and a byte order mark', async () => {
    bench = await workspaceBench({ 'a.txt': '\ufeffone\r\ntwo\r\n', 'mixed.txt': 'one\r\ntwo\n' });
    expect(await edit('a.txt', 'one\ntwo', '1\n2')).toBe('edited a.txt at line 1: 2 lines replaced by 2');
    expect(await bench.text('a.txt')).toBe('\ufeff1\r\n2\r\n');
    expect(await edit('mixed.txt', 'one\ntwo', 'x')).toContain('0 matches');
  });

  it('keeps the mode of the file', async () => {
    bench = await workspaceBench({ 'run.sh': 'old' });
    const before = (await stat(join(bench.root, 'run.sh'))).mode;
    await edit('run.sh', 'old', 'new');
    expect((await stat(join(bench.root, 'run.sh'))).mode).toBe(before);
    expect(await readdir(bench.root)).toEqual(['run.sh']);
  });

  it('refuses what is not UTF-8 text, and leaves every byte of it', async () => {
    const latin = Buffer.from('caf\xe9 x', 'latin1');
    bench = await workspaceBench({ 'old.txt': latin, 'bin.dat': new Uint8Array([120, 0]) });
    expect(await edit('old.txt', 'x', 'y')).toContain('old.txt is not valid UTF-8 text and cannot be edited');
    expect(await edit('bin.dat', 'x', 'y')).toBe('bin.dat is a binary file and cannot be edited');
    expect(Buffer.from(await bench.text('old.txt'))).not.toEqual(latin); // reading it as UTF-8 loses the byte
    expect((await stat(join(bench.root, 'old.txt'))).size).toBe(latin.length);
  });

  it('refuses a file that is absent, too large, or no file', async () => {
    bench = await workspaceBench({ 'a.ts': 'x'.repeat(20), 'src/b.ts': '' }, workspaceTools({ maxFileBytes: 10 }));
    expect(await edit('b.ts', 'x', 'y')).toBe('there is no file or folder b.ts');
    expect(await edit('a.ts', 'x', 'y')).toBe('a.ts has 20 bytes, more than the 10 bytes that can be edited');
    expect(await edit('src', 'x', 'y')).toBe('src: it is a folder, not a file');
    expect(await edit('../x', 'x', 'y')).toContain('leads out of the workspace');
  });

  it('refuses an edit whose result is too large', async () => {
    bench = await workspaceBench({ 'a.ts': 'x' }, workspaceTools({ maxFileBytes: 10 }));
    expect(await edit('a.ts', 'x', 'y'.repeat(11))).toContain('nothing was written');
    expect(await bench.text('a.ts')).toBe('x');
  });

  it('refuses a file that became a folder or a link out after it was read before', async () => {
    bench = await workspaceBench({ 'a.ts': 'x', 'b.ts': 'x' });
    await writeFile(join(bench.base, 'secret.txt'), 'x');
    await rm(join(bench.root, 'a.ts'));
    await mkdir(join(bench.root, 'a.ts'));
    await rm(join(bench.root, 'b.ts'));
    await symlink('../secret.txt', join(bench.root, 'b.ts'));
    expect(await edit('a.ts', 'x', 'y')).toBe('a.ts: it is a folder, not a file');
    expect(await edit('b.ts', 'x', 'y')).toContain('leads out of the workspace');
  });

  it('asks to write the real file, and claims it by one key however it is named', async () => {
    bench = await workspaceBench({ 'src/a.ts': '' });
    await symlink('src', join(bench.root, 'code'));
    const live = bench.live('edit_file');
    const keys = new Set<unknown>();
    for (const path of ['src/a.ts', './src/a.ts', 'code/a.ts', join(bench.root, 'src/a.ts')]) {
      const input = { path, old_text: 'a\nb', new_text: 'c' };
      keys.add(JSON.stringify(await live.resource?.(input)));
      expect(await live.access?.(input)).toEqual([
        { action: 'fs.write', target: 'src/a.ts', description: 'replace 2 lines by 1 in src/a.ts' },
      ]);
      expect(await live.summary?.(input)).toBe(`edit ${path}`);
    }
    expect([...keys]).toEqual([JSON.stringify({ key: join(bench.root, 'src', 'a.ts'), mode: 'write' })]);
  });
});
