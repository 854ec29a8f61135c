/** docs/guarantees.md says what DESIGN.md says: the same invariants, and tests that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/guarantees.md'), 'utf8');
const design = readFileSync(join(root, 'DESIGN.md'), 'utf8');

const numbered = (text: string): string[] => [...text.matchAll(/^\| (\d+) \|/gm)].map(([, number = '']) => number);

it('has every invariant of the design', () => {
  expect(numbered(page).length).toBeGreaterThan(0);
  expect(numbered(page)).toEqual(numbered(design));
});

it('names a test for each promise, and only tests that are there', () => {
  const promises = [...page.matchAll(/^\| (?:\d+ \| )?(.+) \| (.+) \|$/gm)].filter(
    ([row]) => !/--- \||promise \|/.test(row),
  );
  expect(promises.length).toBeGreaterThan(10);
  for (const [row, , tests = ''] of promises) {
    const named = [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    expect(named, row).not.toEqual([]);
    expect(named.filter(path => !existsSync(join(root, path)))).toEqual([]);
  }
});
