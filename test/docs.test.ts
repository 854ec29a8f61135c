/** The documents say what is true: their code compiles, their links lead somewhere, and their tables are those of the source. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { DEFAULT_TOOL_LIMITS, EVENT_DURABILITY } from 'looprig';
import { describe, expect, it } from 'vitest';
import { blocksIn, type CodeBlock, DOCUMENTS, ROOT, read } from './documents/blocks.ts';

/**
 * Each block has the imports that it needs. What docs/README.md says that fragments take for granted stands here: one each of a model, a
 * tool, a loop, a rig, a session and a turn. A block that declares one of these itself uses its own.
 */
const PREAMBLE = `
import type * as looprig from 'looprig';
declare global {
  const model: looprig.LanguageModel;
  const search: looprig.ToolDefinition;
  const agent: looprig.LoopDefinition;
  const rig: looprig.Rig;
  const session: looprig.Session;
  const turn: looprig.Turn;
}
`;

/** The project's own options, except that a fragment may declare what it does not use. */
const TSCONFIG = {
  extends: '../../tsconfig.json',
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
  include: ['*.ts'],
};

/** What the compiler says of the blocks, each as a module of its own. */
function compile(blocks: readonly Pick<CodeBlock, 'document' | 'line' | 'code'>[]): Promise<string> {
  mkdirSync(join(ROOT, 'temp'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, 'temp/docs-'));
  for (const { document, line, code } of blocks) {
    const file = `${document.replace(/\W/g, '-')}-line-${line}.ts`;
    writeFileSync(join(folder, file), `${code}export {};\n`);
  }
  writeFileSync(join(folder, 'preamble.ts'), PREAMBLE);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  return new Promise(done => {
    const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', folder];
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) => {
      rmSync(folder, { recursive: true, force: true });
      done(error === null ? '' : `${stdout}${stderr}` || String(error));
    });
  });
}

describe('code in documents', () => {
  it('compiles, block by block, under the options of the project', { timeout: 120_000 }, async () => {
    const blocks = blocksIn('ts');
    expect(blocks.length).toBeGreaterThan(20);
    expect(await compile(blocks)).toBe('');
  });

  it('is found wrong where it is wrong', { timeout: 120_000 }, async () => {
    const code = 'session.submit(1);\n';
    expect(await compile([{ document: 'wrong.md', line: 1, code }])).toContain(
      "'number' is not assignable to parameter of type 'UserInput'",
    );
  });
});

describe('links and paths in documents', () => {
  it.each(DOCUMENTS)('every link of %s leads to a file, and to a heading in it', document => {
    const links = [...read(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const dead = links.filter(link => !/^[a-z]+:/.test(link) && !leadsSomewhere(document, link));
    expect(dead).toEqual([]);
  });

  it.each(DOCUMENTS)('%s names no path outside of the repository', document => {
    const absolute = /(?<![\w.~:/*-])(?:\/(?:work|home|ROOT|Users|tmp|opt|mnt|var|usr|etc)\b|[A-Z]:\\)\S*/g;
    const upwards = [...read(document).matchAll(/(?:\.\.\/)+[\w./-]*/g)].map(([path]) => path);
    const outside = upwards.filter(path => relative(ROOT, resolve(ROOT, dirname(document), path)).startsWith('..'));
    expect([...(read(document).match(absolute) ?? []), ...outside]).toEqual([]);
  });
});

function leadsSomewhere(document: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(ROOT, target))) return false;
  return heading === undefined || headings(read(target)).includes(heading);
}

/** The anchors of a document's headings, as code hosts make them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => {
    return title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  });
}

/** The rows of a document's tables whose first cell is code: that code, and the cells after it. */
function rows(document: string): ReadonlyMap<string, readonly string[]> {
  const found = [...read(document).matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)];
  return new Map(found.map(([, name = '', cells = '']) => [name, cells.split(' | ').map(cell => cell.trim())]));
}

describe('tables in documents', () => {
  it('docs/limits.md has every limit with its default', () => {
    const table = rows('docs/limits.md');
    const defaults = Object.entries(DEFAULT_TOOL_LIMITS).map(([name, value]) => [name, value.toLocaleString('en-US')]);
    const said = defaults.map(([name = '']) => [name, table.get(name)?.at(0)?.replace('Infinity', '∞')]);
    expect(said).toEqual(defaults);
  });

  it('docs/events.md has every event with its durability', () => {
    const table = rows('docs/events.md');
    const said = Object.keys(EVENT_DURABILITY).map(type => [type, table.get(type)?.at(0) ?? 'not in the table']);
    const expected = Object.entries(EVENT_DURABILITY).map(([type, durability]) => [
      type,
      durability === 'enduring' ? 'yes' : 'no',
    ]);
    expect(said).toEqual(expected);
  });

  it('DESIGN.md has every dependency of the package, and no other', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
    const section = read('DESIGN.md').split('\n## Dependencies\n')[1]?.split('\n## ')[0] ?? '';
    const named = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name);
    expect(named.sort()).toEqual(Object.keys(dependencies).sort());
  });

  it('every file that DESIGN.md names is there', () => {
    const named = [...read('DESIGN.md').matchAll(/`((?:src|test|examples|docs|scripts|bench|api)\/[\w./-]+)`/g)];
    const missing = named.map(([, path = '']) => path).filter(path => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });
});
