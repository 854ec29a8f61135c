import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type WorkspaceBench, workspaceBench } from '../../test/support/workspace-bench.ts';

let bench: WorkspaceBench;
afterEach(() => bench.remove());

const search = async (query: string, input: object = {}): Promise<string> =>
  (await bench.run('search_text', { query, ...input })).text;

describe('search_text', () => {
  it('gives path, line and text of each match, sorted, and how much was searched', async () => {
    bench = await workspaceBench({ 'b.ts': 'x\n  limit = 1\n', 'a/a.ts': 'limit\nno\nlimit limit\n', 'c.ts': 'none' });
    expect(await search('limit')).toBe(
      'a/a.ts:1: limit\na/a.ts:3: limit limit\nb.ts:2:   limit = 1\n\n[3 matches in 2 files of 3 files searched]',
    );
    expect(await search('absent')).toBe('[no matches in 3 files]');
  });

  it('takes a query as literal text unless told otherwise', async () => {
    bench = await workspaceBench({ 'a.ts': 'f(x)\nfx\n' });
    expect(await search('f(x)')).toContain('a.ts:1: f(x)\n\n[1 match');
    expect(await search('f(x)', { regex: true })).toContain('a.ts:2: fx\n\n[1 match');
    expect(await search('^f.+\\)$', { regex: true })).toContain('a.ts:1: f(x)\n\n[1 match');
  });

  it('takes case as it is unless told otherwise', async () => {
    bench = await workspaceBench({ 'a.ts': 'Limit\nlimit\n' });
    expect(await search('limit')).toContain('[1 match in');
    expect(await search('lImIt', { ignore_case: true })).toContain('[2 matches in');
    expect(await search('LIM.T', { ignore_case: true, regex: true })).toContain('[2 matches in');
  });

  it('searches a folder, a file, or the files that a glob fits', async () => {
    bench = await workspaceBench({ 'a.ts': 'x', 'src/b.ts': 'x', 'src/c.md': 'x' });
    expect(await search('x', { path: 'src' })).toContain('[2 matches in 2 files of 2 files searched]');
    expect(await search('x', { path: 'src/c.md' })).toBe('src/c.md:1: x\n\n[1 match in 1 file of 1 file searched]');
    expect(await search('x', { pattern: '*.ts' })).toContain('[2 matches in 2 files of 2 files searched]');
  });

  it('bounds the matches that it gives, and counts the others', async () => {
    bench = await workspaceBench({ 'a.txt': 'x\n'.repeat(1_234) });
    const text = await search('x', { limit: 2 });
    expect(text).toBe(
      'a.txt:1: x\na.txt:2: x\n\n[1,234 matches in 1 file of 1 file searched; the first 2 are shown: narrow the search to see the rest]',
    );
    expect((await search('x')).split('\n')).toHaveLength(52);
  });

  it('shows the part of a long line that matched', async () => {
    bench = await workspaceBench({ 'min.js': `${'a'.repeat(5_000)}needle${'b'.repeat(4_000)}` });
    const [line = ''] = (await search('needle')).split('\n');
    expect(line).toMatch(/^min\.js:1: …a+needleb+…$/);
    expect(line.length).toBeLessThan(230);
  });

  it('searches a very long line to a bound, and says so', async () => {
    bench = await workspaceBench({ 'min.js': `${'a'.repeat(50_000)}needle` });
    expect(await search('needle')).toBe(
      '[no matches in 1 file; 1 line longer than 10,000 characters searched only to there]',
    );
  });

  it('finds what lies beyond the first piece of a large file, by its line', async () => {
    bench = await workspaceBench({ 'big.txt': `${'some text\n'.repeat(50_000)}needle\n` });
    expect(await search('needle')).toContain('big.txt:50001: needle');
    expect(await search('ne{2}dle', { regex: true })).toContain('big.txt:50001: needle');
  });

  it('leaves out binary files, ignored files and links, and says so', async () => {
    bench = await workspaceBench({
      'bin.dat': new Uint8Array([0, 120, 0]),
      '.gitignore': 'out\n',
      'out/o.js': 'x',
      'a.ts': 'x',
    });
    await writeFile(join(bench.base, 'secret.txt'), 'x');
    await symlink('../secret.txt', join(bench.root, 'link'));
    expect(await search('x')).toBe(
      'a.ts:1: x\n\n[1 match in 1 file of 2 files searched; 1 binary file left out; 1 ignored entry left out]',
    );
    expect(await search('x', { include_ignored: true })).toContain('out/o.js:1: x');
    expect(await search('x', { path: 'link' })).toContain('leads out of the workspace');
  });

  it('ends a pattern that backtracks without end', async () => {
    bench = await workspaceBench({ 'a.txt': `${'a'.repeat(60)}!\n` });
    const result = await bench.run('search_text', { query: '^(a+)+$', regex: true });
    expect(result.isError).toBe(true);
    expect(result.text).toContain('the regular expression takes too long');
    expect(await search('a!', { regex: true })).toContain('[1 match');
  });

  it('refuses a malformed pattern, an empty query and one over several lines', async () => {
    bench = await workspaceBench({ 'a.txt': 'a' });
    expect(await search('(', { regex: true })).toContain(
      'the query is no regular expression: Invalid regular expression',
    );
    expect(await search('')).toContain('invalid');
    expect(await search('a\nb')).toBe('the query holds a line break, but lines are searched one by one');
  });

  it('ends when it is aborted', async () => {
    bench = await workspaceBench({ 'a.ts': 'x' });
    const signal = AbortSignal.abort(new Error('stopped by the test'));
    expect(await bench.run('search_text', { query: 'x' }, { signal })).toMatchObject({ text: 'stopped by the test' });
  });

  it('needs no permission and may run again', async () => {
    bench = await workspaceBench();
    const live = bench.live('search_text');
    expect([live.access, live.resource, live.idempotent]).toEqual([undefined, undefined, true]);
    expect(await live.summary?.({ query: 'a "b"', path: 'src' })).toBe('search "a \\"b\\"" in src');
  });
});
