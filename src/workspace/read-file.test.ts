import { execFileSync } from 'node:child_process';
import { symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';

let bench: WorkspaceBench;
afterEach(() => bench.remove());

const read = async (path: string, input: object = {}): Promise<string> =>
  (await bench.run('read_file', { path, ...input })).text;

const numbered = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('');

describe('read_file', () => {
  it('gives the text as it is, after a line that names the file and how many lines it has', async () => {
    bench = await workspaceBench({ 'a.ts': 'one\n\n  two\n', 'b.ts': 'only', 'empty.txt': '' });
    expect(await read('a.ts')).toBe('a.ts (3 lines)\none\n\n  two');
    expect(await read('./b.ts')).toBe('b.ts (1 line)\nonly');
    expect(await read('empty.txt')).toBe('empty.txt (empty)');
  });

  it('gives a range of lines, and says where to read on', async () => {
    bench = await workspaceBench({ 'a.txt': numbered(10) });
    expect(await read('a.txt', { start_line: 4, end_line: 5 })).toBe(
      'a.txt (lines 4-5 of 10)\nline 4\nline 5\n[read on with start_line 6]',
    );
    expect(await read('a.txt', { start_line: 9 })).toBe('a.txt (lines 9-10 of 10)\nline 9\nline 10');
    expect(await read('a.txt', { start_line: 10, end_line: 99 })).toBe('a.txt (lines 10-10 of 10)\nline 10');
  });

  it('numbers lines when asked', async () => {
    bench = await workspaceBench({ 'a.txt': numbered(3) });
    expect(await read('a.txt', { start_line: 2, line_numbers: true })).toBe(
      'a.txt (lines 2-3 of 3)\n2\tline 2\n3\tline 3',
    );
  });

  it('refuses a range that is behind the end or backwards', async () => {
    bench = await workspaceBench({ 'a.txt': numbered(3) });
    expect(await read('a.txt', { start_line: 4 })).toBe('a.txt has only 3 lines: start_line 4 is behind its end');
    expect(await read('a.txt', { start_line: 3, end_line: 2 })).toBe('end_line 2 is before start_line 3');
    expect(await read('a.txt', { start_line: 0 })).toContain('invalid');
  });

  it('gives at most 2,000 lines and 64 KiB', async () => {
    bench = await workspaceBench({ 'lines.txt': numbered(5_000), 'wide.txt': `${'é'.repeat(1_000)}\n`.repeat(100) });
    const lines = await read('lines.txt');
    expect(lines).toMatch(/^lines\.txt \(lines 1-2000 of 5,000\)\n/);
    expect(lines).toMatch(/line 2000\n\[read on with start_line 2001\]$/);
    const wide = await read('wide.txt');
    expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(65_536 + 200);
    expect(wide).toMatch(/^wide\.txt \(lines 1-32 of 100\)/);
  });

  it('cuts very long lines and says so', async () => {
    bench = await workspaceBench({ 'min.js': `${'x'.repeat(1_000_000)}\nend\n` });
    const text = await read('min.js');
    expect(text).toBe(
      `min.js (2 lines)\n${'x'.repeat(2_000)}\nend\n[lines longer than 2,000 characters are cut there]`,
    );
  });

  it('shows CR LF as plain line ends and names it', async () => {
    bench = await workspaceBench({ 'a.txt': 'one\r\ntwo\r\n' });
    expect(await read('a.txt')).toBe('a.txt (2 lines, CR LF line ends)\none\ntwo');
  });

  it('refuses a binary file, and says that it is one', async () => {
    bench = await workspaceBench({
      'logo.png': new Uint8Array([137, 80, 78, 71, 0, 0, 0, 1]),
      'wide.txt': Buffer.from('hi', 'utf16le'),
    });
    expect(await bench.run('read_file', { path: 'logo.png' })).toEqual({
      text: 'logo.png is a binary file of 8 bytes: it cannot be shown as text',
      isError: true,
    });
    expect(await read('wide.txt')).toContain('is a binary file of 4 bytes');
  });

  it('shows text that is not UTF-8 with a sign for what it cannot show', async () => {
    bench = await workspaceBench({ 'old.txt': Buffer.from('caf\xe9\n', 'latin1') });
    expect(await read('old.txt')).toBe(
      'old.txt (1 line)\ncaf\ufffd\n[\ufffd stands for bytes that are not UTF-8 text]',
    );
  });

  it('reads the beginning of a huge file without reading the rest', async () => {
    bench = await workspaceBench({ 'huge.txt': numbered(3_000) });
    await truncate(join(bench.root, 'huge.txt'), 50 * 1024 ** 3); // a hole: takes no room on the disk
    const text = await read('huge.txt', { end_line: 2 });
    expect(text).toMatch(
      /^huge\.txt \(lines 1-2 of more than [\d,]+\)\nline 1\nline 2\n\[read on with start_line 3\]$/,
    );
  });

  it('refuses folders, absent files, pipes and links that lead out', async () => {
    bench = await workspaceBench({ 'src/a.ts': '' });
    await writeFile(join(bench.base, 'secret.txt'), 'hidden');
    await symlink('../secret.txt', join(bench.root, 'link'));
    execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', join(bench.root, 'pipe')]);
    expect(await read('src')).toBe('src: it is a folder, not a file');
    expect(await read('absent.txt')).toBe('there is no file or folder absent.txt');
    expect(await read('pipe')).toBe('pipe: it is neither a file nor a folder');
    expect(await read('link')).toBe('"link" leads out of the workspace: give a path within it');
    expect(await read('../secret.txt')).toBe('"../secret.txt" leads out of the workspace: give a path within it');
    expect(await read(join(bench.base, 'secret.txt'))).toContain('leads out of the workspace');
    expect(await read('/proc/self/environ')).toContain('leads out of the workspace');
  });

  it('reads on the key of the real file, needs no permission, and may run again', async () => {
    bench = await workspaceBench({ 'src/a.ts': '' });
    await symlink('src', join(bench.root, 'code'));
    const live = bench.live('read_file');
    for (const path of ['src/a.ts', './src/a.ts', 'code/a.ts']) {
      expect(await live.resource?.({ path })).toEqual({ key: join(bench.root, 'src', 'a.ts'), mode: 'read' });
    }
    expect([live.access, live.idempotent]).toEqual([undefined, true]);
    expect(await live.summary?.({ path: 'a.ts' })).toBe('read a.ts');
    expect(await live.summary?.({ path: 'a.ts', start_line: 3 })).toBe('read a.ts, lines 3-end');
  });
});
