import type { Finder } from './finders.ts';

/**
 * Gives a function that puts `replace` in the place of what the finders find. All of them look at the text as it was, so that their order does
 * not matter, and what overlaps goes together.
 */
export function redactor(finders: readonly Finder[], replace: string): (text: string) => string {
  return text => {
    const spans: (readonly [start: number, end: number])[] = [];
    for (const find of finders) {
      find(text, (start, end) => {
        if (end > start) spans.push([start, end]);
      });
    }
    if (spans.length === 0) return text;
    spans.sort(([one], [other]) => one - other);
    const pieces: string[] = [];
    let shown = 0;
    for (const [start, end] of spans) {
      if (start >= shown) pieces.push(text.slice(shown, start), replace);
      shown = Math.max(shown, end);
    }
    return pieces.join('') + text.slice(shown);
  };
}
