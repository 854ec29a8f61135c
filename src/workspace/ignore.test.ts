import { describe, expect, it } from 'vitest';
import { isIgnored, parseIgnoreFile } from './ignore.ts';

const ignored = (text: string, path: string, isFolder = false): boolean =>
  isIgnored([parseIgnoreFile('', text)], path, isFolder);

describe('a .gitignore', () => {
  it.each([
    ['*.log', 'a.log', true],
    ['*.log', 'deep/a.log', true],
    ['/a.log', 'a.log', true],
    ['/a.log', 'deep/a.log', false],
    ['deep/*.log', 'deep/a.log', true],
    ['deep/*.log', 'x/deep/a.log', false],
    ['**/deep/*.log', 'x/deep/a.log', true],
    ['# a.log', 'a.log', false],
    ['\\#a.log', '#a.log', true],
    ['a.log   ', 'a.log', true],
    ['a\\ ', 'a ', true],
    ['', 'a', false],
    ['!', 'a', false],
    ['/', 'a', false],
    ['*.log\n!keep.log', 'keep.log', false],
    ['!keep.log\n*.log', 'keep.log', true],
    ['a.log\r\nb.log\r\n', 'a.log', true],
  ])('%j on %s: %s', (text, path, expected) => {
    expect(ignored(text, path)).toBe(expected);
  });

  it('names only folders with a slash at the end', () => {
    expect(ignored('build/', 'build', true)).toBe(true);
    expect(ignored('build/', 'build', false)).toBe(false);
    expect(ignored('build/', 'x/build', true)).toBe(true);
  });

  it('counts from its own folder, and a deeper one has the last word', () => {
    const files = [parseIgnoreFile('', '*.log\n/tmp'), parseIgnoreFile('deep', '!*.log\n/own')];
    expect(isIgnored(files, 'deep/a.log', false)).toBe(false);
    expect(isIgnored(files, 'deep/own', false)).toBe(true);
    expect(isIgnored(files, 'deep/tmp', false)).toBe(false);
  });
});
