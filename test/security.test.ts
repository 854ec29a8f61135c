/** SECURITY.md: each row of the threat model names a test that is there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
const rows = [...page.matchAll(/^\| (?!it tries|---)(.+?) \| (.+) \| `([^`]+)`: (.+) \|$/gm)].map(
  ([, threat = '', , file = '', title = '']) => {
    return { threat, file, title };
  },
);

it('every threat has a row with a test', () => {
  const written = page.split('\n').filter(line => /^\| (?!it tries|---)/.test(line));
  expect(rows.length).toBe(written.length);
  expect(new Set(page.match(/^### .+/gm)).size).toBe(5);
});

it.each(rows)('$threat: the test is there', ({ file, title }) => {
  const path = join(root, file);
  expect(existsSync(path)).toBe(true);
  expect(readFileSync(path, 'utf8')).toContain(title);
});
