/**
 * The tables of docs/comparison.md, made of RESULTS.md, so that they say what was last measured. A whole run writes them; so does
 * `node bench/peers/comparison.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { BEHAVIOURS, WORKLOADS } from './workloads.ts';

const RESULTS = fileURLToPath(new URL('../RESULTS.md', import.meta.url));
const PAGE = fileURLToPath(new URL('../../docs/comparison.md', import.meta.url));

type Cells = readonly string[];

/** The rows of the first table after a heading, the head first, without the line under it. */
function tableAfter(text: string, heading: string): readonly Cells[] {
  const [, rest = ''] = text.split(`\n${heading}`);
  const lines = /(?:^\|.*\|$\n?)+/m.exec(rest)?.[0].trim().split('\n') ?? [];
  const rows = lines.filter((_, index) => index !== 1);
  return rows.map(line => line.slice(2, -2).split(' | '));
}

const row = (cells: Cells): string => `| ${cells.join(' | ')} |`;
const rule = (cells: Cells, left: number): string => row(cells.map((_, index) => (index < left ? '---' : '--:')));

const command = (workloads: string): string => `\`npm run bench:peers -- --workloads ${workloads}\``;

/** What each library was seen to do, a library a row. */
function behaviours(text: string): string {
  const names = Object.keys(BEHAVIOURS);
  const seen = names.map(
    name => new Map(tableAfter(text, `### ${name}: `).map(([library = '', what = '']) => [library, what])),
  );
  const libraries = [...(seen[0]?.keys() ?? [])].filter(library => library !== '' && library !== 'bare');
  const head = ['', ...names.map(name => `[${name}](#what-each-column-is)`), 'command'];
  const rows = libraries.map(library => [
    library === 'looprig' ? '**looprig**' : library,
    ...seen.map(column => column.get(library) ?? '–'),
    `\`npm run bench:peers -- --only ${library} --workloads behaviour\``,
  ]);
  return [row(head), rule(head, head.length), ...rows.map(row)].join('\n');
}

/** What the columns of `behaviours` are about. */
function columns(): string {
  return Object.entries(BEHAVIOURS)
    .map(([name, about]) => `* **${name}**: ${about}.`)
    .join('\n');
}

interface Line {
  readonly name: string;
  readonly group: string;
  readonly figures: ReadonlyMap<string, string>;
}

function lines(text: string): readonly Line[] {
  const [head = [], ...rows] = tableAfter(text, 'In this table, ');
  return rows.map(([name = '', ...figures]) => ({
    name,
    group: WORKLOADS.find(workload => name === workload.name || name.startsWith(`${workload.name}, `))?.group ?? '',
    figures: new Map(figures.map((figure, index) => [head[index + 1] ?? '', figure])),
  }));
}

/** What each costs, a workload a row. */
function costs(text: string): string {
  const all = lines(text);
  const libraries = [...(all[0]?.figures.keys() ?? [])];
  const head = ['median', ...libraries, 'command'];
  const rows = all.map(({ name, group, figures }) => [
    name,
    ...libraries.map(library => figures.get(library) ?? '–'),
    command(group),
  ]);
  return [row(head), rule(head, 1), ...rows.map(row)].join('\n');
}

/** The number that a figure such as `1,040` or `3.12 M` stands for; `undefined` for a dash. */
function numberIn(figure: string | undefined): number | undefined {
  const [, digits, million] = /^([\d,.]+)( M)?$/.exec(figure ?? '') ?? [];
  return digits === undefined ? undefined : Number(digits.replaceAll(',', '')) * (million === undefined ? 1 : 1e6);
}

/** Where a library is ahead of looprig, a workload a line. The hand-written loop is none. */
function ahead(text: string): string {
  const found = lines(text).flatMap(({ name, figures }) => {
    const own = numberIn(figures.get('looprig'));
    if (own === undefined) return [];
    const isRate = /\/s$/.test(name);
    const better = [...figures].filter(([library, figure]) => {
      const value = numberIn(figure);
      if (value === undefined || library === 'looprig' || library === 'bare') return false;
      return isRate ? value > own : value < own;
    });
    if (better.length === 0) return [];
    const theirs = better.map(([library, figure]) => `${library} ${figure}`).join(', ');
    return [`* ${name}: ${theirs}; looprig ${figures.get('looprig')}.`];
  });
  return found.length === 0 ? 'In none of these.' : found.join('\n');
}

/** In which versions, when and where. */
function circumstances(text: string): string {
  const measured = /Measured on .*/.exec(text)?.[0] ?? '';
  const versions = /^In this table, (.*)$/m.exec(text)?.[1] ?? '';
  return `${measured}\n\nHere ${versions}`;
}

const PARTS: Readonly<Record<string, (text: string) => string>> = { circumstances, behaviours, columns, costs, ahead };

/** The page with its tables made anew of the results. Throws for a page that lacks one of the marks. */
export function comparisonOf(page: string, results: string): string {
  return Object.entries(PARTS).reduce((text, [name, make]) => {
    const mark = new RegExp(`(<!-- ${name}: written by bench/peers -->\n)[^]*?(<!-- end -->)`);
    if (!mark.test(text)) throw new Error(`docs/comparison.md has no place for "${name}"`);
    return text.replace(mark, (_, begin: string, end: string) => `${begin}\n${make(results)}\n\n${end}`);
  }, page);
}

/** Writes the page anew. */
export function writeComparison(): void {
  writeFileSync(PAGE, comparisonOf(readFileSync(PAGE, 'utf8'), readFileSync(RESULTS, 'utf8')));
}

if (import.meta.main) writeComparison();
