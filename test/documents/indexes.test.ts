/** Every page is found: by question in docs/README.md, and by programs in llms.txt. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { comparisonOf } from '../../bench/peers/comparison.ts';
import { ROOT, read, WRITTEN } from './blocks.ts';

/** The files that a document links to, from the root of the repository. */
function linksOf(document: string): string[] {
  return [...read(document).matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
    .map(([, link = '']) => link)
    .filter(link => !/^[a-z]+:/.test(link))
    .map(link => normalize(join(dirname(document), link)));
}

const pages = WRITTEN.filter(document => document.startsWith('docs/'));

describe('docs/README.md', () => {
  it('names every page', () => {
    const linked = linksOf('docs/README.md');
    expect(pages.filter(page => page !== 'docs/README.md' && !linked.includes(page))).toEqual([]);
  });
});

describe('llms.txt', () => {
  const text = read('llms.txt');

  it('names every page, and only files that are there', () => {
    const linked = linksOf('llms.txt');
    expect(WRITTEN.filter(page => page !== 'README.md' && !linked.includes(page))).toEqual([]);
    expect(linked.filter(link => !existsSync(join(ROOT, link)))).toEqual([]);
    expect(new Set(linked).size).toBe(linked.length);
  });

  it('is a title, a summary, and sections of links with a line each', () => {
    const [title, summary, ...rest] = text.trim().split(/\n\n/);
    expect(title).toBe('# looprig');
    expect(summary).toMatch(/^> [^\n]+$/);
    const sections = rest.slice(rest.findIndex(part => part.startsWith('## ')));
    expect(sections.length).toBeGreaterThan(5);
    for (const part of sections) {
      const wrong = part.split('\n').filter(line => !/^## \w|^- \[[^\]]+\]\([^)]+\): \S/.test(line));
      expect(wrong).toEqual([]);
    }
  });
});

describe('docs/comparison.md', () => {
  it('has the figures of bench/RESULTS.md ("node bench/peers/comparison.ts" writes them)', () => {
    const page = read('docs/comparison.md');
    expect(comparisonOf(page, read('bench/RESULTS.md'))).toBe(page);
  });

  it('says where others are ahead', () => {
    const [, ahead = ''] = read('docs/comparison.md').split('<!-- ahead: written by bench/peers -->');
    const lines = ahead.split('<!-- end -->')[0]?.trim().split('\n') ?? [];
    const wrong = lines.filter(line => !/^\* .+: \w+ [\d.]+.*; looprig [\d.]+.*\.$|^In none of these\.$/.test(line));
    expect(wrong).toEqual([]);
  });
});

it('the README is short, and shows the studio and its one example before anything else', () => {
  const text = read('README.md');
  expect(text.split('\n').length).toBeLessThanOrEqual(121);
  const places = ['](docs/images/studio.png)', '```ts', '```sh', '\n## '].map(part => text.indexOf(part));
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(places[0]).toBeGreaterThan(0);
});
