/** Patterns of people and of models: they match what they say, in bounded work whatever they are. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { targetMatcher } from '../../src/define/target-pattern.ts';
import { compileGlob } from '../../src/workspace/glob.ts';
import { isIgnored, parseIgnoreFile } from '../../src/workspace/ignore.ts';
import { texts } from './drawn.ts';
import { fuzz } from './fuzz.ts';

const letters = fc.constantFrom('a', 'b', '/', '.', 'ü', '\n');
const simple = fc
  .array(fc.oneof({ weight: 2, arbitrary: letters }, fc.constantFrom('*', '**', '***')), { maxLength: 8 })
  .map(joined);
const targets = fc.array(letters, { maxLength: 10 }).map(joined);

function joined(parts: readonly string[]): string {
  return parts.join('');
}

/** The same as a regular expression, which may take for ever where the target is long. */
function asExpression(pattern: string): RegExp {
  const parts = pattern.match(/\*\*|[\s\S]/g) ?? [];
  const source = parts.map(part => {
    if (part === '**') return '[\\s\\S]*';
    return part === '*' ? '[^/]*' : part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  });
  return new RegExp(`^${source.join('')}$`);
}

fuzz(
  'a pattern of targets fits what it says',
  { runs: 3_000, input: fc.tuple(simple, targets) },
  ([pattern, target]) => {
    expect(targetMatcher(pattern)(target)).toBe(asExpression(pattern).test(target));
  },
);

fuzz(
  'a pattern of targets without a star fits itself and nothing else',
  { runs: 1_000, input: fc.tuple(texts, texts) },
  ([pattern, target]) => {
    const plain = pattern.replaceAll('*', '');
    expect([targetMatcher(plain)(plain), targetMatcher(plain)(target)]).toEqual([true, target === plain]);
    expect(targetMatcher('**')(target)).toBe(true);
  },
);

/** Of what a glob may hold, in an order that nobody thought of. */
const globs = fc
  .array(
    fc.oneof(
      letters,
      fc.constantFrom('*', '**', '?', '[a-b]', '[!a]', '[', ']', '{a,b}', '{', '}', ',', '\\', '-', '!'),
    ),
    { maxLength: 12 },
  )
  .map(joined);
const paths = fc
  .array(fc.array(fc.constantFrom('a', 'b', '.', 'ü', '-'), { minLength: 1, maxLength: 4 }).map(joined), {
    minLength: 1,
    maxLength: 4,
  })
  .map(parts => parts.join('/'));

/** Whether a glob fits, or has too many alternatives. */
function fits(glob: string, path: string): boolean | undefined {
  try {
    return compileGlob(glob)(path);
  } catch (error) {
    if (error instanceof RangeError && error.message.includes('alternatives')) return undefined;
    throw error;
  }
}

fuzz(
  'any glob fits or does not fit any path, and says the same twice',
  { runs: 3_000, input: fc.tuple(globs, fc.oneof(paths, texts)) },
  ([glob, path]) => {
    expect(fits(glob, path)).toBe(fits(glob, path));
  },
);

fuzz('a path whose special characters are escaped fits itself', { runs: 2_000, input: paths }, path => {
  const parts = path.split('/').filter(part => part !== '.');
  if (parts.length === 0) return;
  const same = parts.join('/');
  expect(fits(same.replace(/[[\]{}*?\\!]/g, '\\$&'), same)).toBe(true);
  expect(fits('**', same)).toBe(true);
});

/** As long as a model may make it, and of the kinds that make regular expressions slow. */
const costly = fc.tuple(
  fc.constantFrom('*a', '**/', '?*', '[a-b]*', '**a', '*'),
  fc.integer({ min: 1, max: 400 }),
  fc.integer({ min: 1, max: 2_000 }),
);

fuzz(
  'no pattern takes more work than its length times that of the path, by a factor',
  { runs: 60, input: costly },
  ([unit, times, length]) => {
    // What would be exponential does not come back: no clock is needed to see that.
    const [pattern, path] = [`${unit.repeat(times)}b`, `${'a/'.repeat(length)}a`];
    expect([targetMatcher(pattern)(path), fits(pattern, path)]).toHaveLength(2);
  },
);

fuzz(
  'any text is a file of rules',
  { runs: 2_000, input: fc.tuple(fc.array(fc.oneof(globs, texts), { maxLength: 6 }), paths) },
  ([lines, path]) => {
    const files = [parseIgnoreFile('', lines.join('\n'))];
    expect(typeof isIgnored(files, path, false)).toBe('boolean');
  },
);
