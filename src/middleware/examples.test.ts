/** What is said of the ready-made middlewares outside of their types: the examples in docstrings run, and the page has every option. */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as ready from './index.ts';

const root = join(import.meta.dirname, '../..');

describe('docs/middleware.md', () => {
  const page = readFileSync(join(root, 'docs/middleware.md'), 'utf8');

  it.each(Object.entries(ready))('has every option of %s, in its order, and no other', (name, make) => {
    const section = page.split(`\n## ${name}\n`)[1]?.split('\n## ')[0] ?? '';
    const named = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, option]) => option);
    const taken = expect.stringContaining(`it takes ${named.join(', ')}`);
    expect(() => make({ unheardOf: 1 } as never)).toThrow(expect.objectContaining({ message: taken }));
  });
});

describe('the example in the docstring', () => {
  const sources = globSync('src/middleware/*/index.ts', { cwd: root }).sort();
  let folder = '';

  beforeAll(() => {
    mkdirSync(join(root, 'temp'), { recursive: true });
    folder = mkdtempSync(join(root, 'temp/middleware-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  afterEach(() => void vi.restoreAllMocks());

  /** The one block of code in the docstrings of a file. */
  function example(source: string): string {
    const blocks = [...readFileSync(join(root, source), 'utf8').matchAll(/ \* @example\n \* ```ts\n(.*?) \* ```\n/gs)];
    expect(blocks).toHaveLength(1);
    return (blocks[0]?.[1] ?? '').replace(/^ \* ?/gm, '');
  }

  it('is there for each of them, and each can be imported by itself', async () => {
    const names = sources.map(source => basename(dirname(source)));
    expect(names).toEqual(['cache', 'log-calls', 'rate-limit', 'redact', 'retry']);
    for (const [index, source] of sources.entries()) {
      expect(example(source)).toContain(`from 'looprig/middleware/${names[index]}'`);
    }
  });

  it.each(sources)('of %s runs, and prints what its comment says', async source => {
    const code = example(source);
    const promised = [...code.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(promised).toHaveLength(1);
    const file = join(folder, `${basename(dirname(source))}.ts`);
    writeFileSync(file, code);
    const printed: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((...values) => void printed.push(values.join(' ')));
    await import(file);

    expect(printed).toEqual(promised);
  });

  it('compiles under the options of the project', { timeout: 120_000 }, async () => {
    const tsconfig = { extends: '../../tsconfig.json', include: ['*.ts'] };
    for (const source of sources) writeFileSync(join(folder, `${basename(dirname(source))}.ts`), example(source));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig));
    const args = [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', folder];
    const said = await new Promise<string>(resolve => {
      execFile(process.execPath, args, { cwd: folder }, (error, stdout) => {
        resolve(error === null ? '' : stdout || String(error));
      });
    });

    // What is wrong in the sources is told with them, and not once more here.
    expect(said.split('\n').filter(line => /^(?:[\w-]+\.ts|error|Error)/.test(line))).toEqual([]);
  });
});
