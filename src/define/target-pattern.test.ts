import fc from 'fast-check';
import { expect, it } from 'vitest';
import { targetMatcher } from './target-pattern.ts';

it.each([
  ['src/a.ts', 'src/a.ts', true],
  ['src/a.ts', 'src/a.tsx', false],
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/.ts', true],
  ['src/*.ts', 'src/sub/a.ts', false],
  ['src/**', 'src/sub/a.ts', true],
  ['src/**', 'src/', true],
  ['src/**', 'src', false],
  ['src/**/a.ts', 'src/x/y/a.ts', true],
  ['**/*.ts', 'a/b.ts', true],
  ['**', '', true],
  ['*', '', true],
  ['*', 'a/b', false],
  ['', '', true],
  ['', 'a', false],
  ['*.example.org', 'api.example.org', true],
  ['*.example.org', 'apiXexample.org', false],
  ['a.b+c?(d)[e]{f}^$|\\', 'a.b+c?(d)[e]{f}^$|\\', true],
  ['git *', 'git status\nrm -rf', true],
  ['a*', 'a*b', true],
  ['***', 'a/b', true],
])('%j and %j', (pattern, target, fits) => {
  expect(targetMatcher(pattern)(target)).toBe(fits);
});

it('fits what the same pattern fits as a regular expression', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '.'), maxLength: 12 });
  fc.assert(
    fc.property(letters, letters, (pattern, target) => {
      const source = pattern.replace(/\*\*|\*|\./g, token => ({ '**': '[^]*', '*': '[^/]*' })[token] ?? '\\.');
      expect(targetMatcher(pattern)(target)).toBe(new RegExp(`^${source}$`).test(target));
    }),
    { numRuns: 5_000 },
  );
});

it('a target that would keep a regular expression busy for ever is decided', () => {
  expect(targetMatcher('*a*a*a*a*a*b')('a'.repeat(20_000))).toBe(false);
  expect(targetMatcher('**foo**foo**bar')(`${'foo'.repeat(20_000)}ba`)).toBe(false);
});
