/**
 * Globs: `*`, `?`, `[…]` within a part of a path, `**` over parts, `{a,b}` as alternatives. Matched without regular
 * expressions, in time that grows with pattern times path whatever the pattern, since patterns come from a model.
 */

/** Whether a path, relative and with `/` between its parts, fits. */
export type PathMatcher = (path: string) => boolean;

/** The most alternatives that the braces of one pattern may stand for. */
const MOST_ALTERNATIVES = 64;

/** A matcher for a pattern with braces. A pattern without `/` fits a name in any folder. Throws `RangeError` for too many alternatives. */
export function compileGlob(pattern: string): PathMatcher {
  const alternatives = expandBraces(pattern).map(alternative =>
    compilePath(alternative.includes('/') ? alternative : `**/${alternative}`),
  );
  return path => alternatives.some(fits => fits(path));
}

/** A matcher for a pattern without braces that begins at the first part of the path. */
export function compilePath(pattern: string): PathMatcher {
  const parts = pattern
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .map(compilePart);
  // At the end `**` is what is in a folder, not the folder itself.
  if (parts.at(-1) === ANY) parts.splice(-1, 0, () => true);
  return path => matchSequence(path.split('/'), parts);
}

/** Stands for any number of items. */
const ANY = Symbol('any number');

type Token<Item> = typeof ANY | ((item: Item) => boolean);

/** A wildcard sequence: on a mismatch only the last `ANY` need take one item more, so that nothing is tried twice over. */
function matchSequence<Item>(items: readonly Item[], tokens: readonly Token<Item>[]): boolean {
  let item = 0;
  let token = 0;
  let afterAny: number | undefined;
  let retryFrom = 0;
  while (item < items.length) {
    const expected = tokens[token];
    if (expected === ANY) {
      token += 1;
      afterAny = token;
      retryFrom = item;
    } else if (expected?.(items[item] as Item)) {
      item += 1;
      token += 1;
    } else if (afterAny !== undefined) {
      token = afterAny;
      retryFrom += 1;
      item = retryFrom;
    } else {
      return false;
    }
  }
  return tokens.slice(token).every(left => left === ANY);
}

function compilePart(part: string): Token<string> {
  if (part === '**') return ANY;
  const tokens = characterTokens(part);
  return name => matchSequence([...name], tokens);
}

function characterTokens(part: string): Token<string>[] {
  const characters = [...part];
  const tokens: Token<string>[] = [];
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string;
    const end = character === '[' ? endOfClass(characters, at) : -1;
    if (character === '*') tokens.push(ANY);
    else if (character === '?') tokens.push(() => true);
    else if (end > 0) tokens.push(classToken(characters.slice(at + 1, end)));
    else if (character === '\\' && at + 1 < characters.length) tokens.push(literal(characters[at + 1] as string));
    else tokens.push(literal(character));
    if (end > 0) at = end;
    else if (character === '\\') at += 1;
  }
  return tokens;
}

function literal(expected: string): Token<string> {
  return character => character === expected;
}

/** Where the class that begins at `start` ends; a `]` that comes first in it is a member. */
function endOfClass(characters: readonly string[], start: number): number {
  const first = ['!', '^'].includes(characters[start + 1] ?? '') ? start + 2 : start + 1;
  return characters.indexOf(']', first + 1);
}

function classToken(members: readonly string[]): Token<string> {
  const isNegated = members[0] === '!' || members[0] === '^';
  const listed = isNegated ? members.slice(1) : members;
  const ranges: [string, string][] = [];
  for (let at = 0; at < listed.length; at++) {
    const from = listed[at] as string;
    const isRange = listed[at + 1] === '-' && at + 2 < listed.length;
    ranges.push([from, isRange ? (listed[at + 2] as string) : from]);
    if (isRange) at += 2;
  }
  const code = (character: string): number => character.codePointAt(0) ?? 0;
  return character =>
    ranges.some(([from, to]) => code(from) <= code(character) && code(character) <= code(to)) !== isNegated;
}

/** Every text that the braces stand for. Braces without a comma, or left open, are themselves. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = innermostBraces(next);
    if (group === undefined) done.push(next);
    else for (const choice of group.choices) open.push(group.before + choice + group.after);
    if (done.length + open.length > MOST_ALTERNATIVES) {
      throw new RangeError(
        `the braces of the pattern stand for more than ${MOST_ALTERNATIVES} alternatives: use fewer`,
      );
    }
  }
  return done;
}

function innermostBraces(text: string): { before: string; choices: string[]; after: string } | undefined {
  const found = /\{([^{}]*,[^{}]*)\}/.exec(text);
  if (found === null) return undefined;
  return {
    before: text.slice(0, found.index),
    choices: (found[1] as string).split(','),
    after: text.slice(found.index + found[0].length),
  };
}
