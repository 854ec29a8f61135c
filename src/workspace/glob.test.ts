import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, compilePath } from './glob.ts';

describe('a glob', () => {
  it.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/deep/a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*', '.hidden', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['src/*.ts', 'other/src/a.ts', false],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'src', false],
    ['src/**/a.ts', 'src/a.ts', true],
    ['src/**/a.ts', 'src/x/y/a.ts', true],
    ['**/deep/**', 'src/deep/x/a.ts', true],
    ['**/deep/**', 'src/deep', false],
    ['**', 'a', true],
    ['?.md', 'a.md', true],
    ['?.md', 'ab.md', false],
    ['?.md', '🙂.md', true],
    ['[ab].md', 'a.md', true],
    ['[ab].md', 'c.md', false],
    ['[!ab].md', 'c.md', true],
    ['[^a-c].md', 'b.md', false],
    ['[]x].md', '].md', true],
    ['[a-].md', '-.md', true],
    ['[open', '[open', true],
    ['\\*.md', '*.md', true],
    ['\\*.md', 'a.md', false],
    ['*.{ts,tsx}', 'src/a.tsx', true],
    ['*.{ts,tsx}', 'src/a.js', false],
    ['{src,test}/**/*.ts', 'test/x/a.ts', true],
    ['a{b,c{d,e}}', 'ace', true],
    ['a{b,c{d,e}}', 'ab', true],
    ['a{b,c{d,e}}', 'ac', false],
    ['{a}', '{a}', true],
    ['./src/a', 'src/a', true],
  ])('%s on %s: %s', (pattern, path, fits) => {
    expect(compileGlob(pattern)(path)).toBe(fits);
  });

  it('refuses braces that stand for very many alternatives', () => {
    expect(() => compileGlob('{a,b}'.repeat(20))).toThrow('more than 64 alternatives');
  });

  it('is matched in bounded work whatever the pattern', () => {
    // A backtracking matcher would not come to an end on this.
    expect(compileGlob('*a'.repeat(200))(`${'a'.repeat(2_000)}b`)).toBe(false);
    expect(compilePath('**/a/'.repeat(100))(`${'a/'.repeat(500)}b`)).toBe(false);
  });

  it('fits what a plain regular expression of the same meaning fits', () => {
    const pattern = fc.array(fc.constantFrom('a', 'b', '*', '?'), { minLength: 1, maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pattern, name, (tokens, path) => {
        if (tokens.join('') === '**') return;
        const source = tokens.join('').replaceAll('?', '.').replaceAll('*', '.*');
        expect(compilePath(tokens.join(''))(path)).toBe(new RegExp(`^${source}$`).test(path));
      }),
    );
  });
});
