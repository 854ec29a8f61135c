/** How wide text is in a terminal, and how it is cut and wrapped to a width. Text is taken to be free of control characters. */

/** Code points that terminals give two columns, beside emoji: East Asian wide and full-width ones. */
const WIDE_RANGES: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97c],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18d08],
  [0x1b000, 0x1b2fb],
  [0x1f200, 0x1f265],
  [0x20000, 0x3fffd],
];

const PLAIN = /^[\x20-\x7e]*$/;
const EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f|[#*0-9]\ufe0f?\u20e3/u;
const INVISIBLE = /^[\p{Mark}\p{Cf}\u{115f}-\u{11ff}]+$/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The columns that `text` takes. What a reader sees as one character counts once, an emoji of several code points too. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (PLAIN.test(grapheme)) return grapheme.length;
  if (EMOJI.test(grapheme)) return 2;
  const codePoint = grapheme.codePointAt(0) ?? 0;
  if (WIDE_RANGES.some(([first, last]) => codePoint >= first && codePoint <= last)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}

/** `text` in at most `width` columns; one that is too wide ends in `…`. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  if (width <= 0) return '';
  return `${text.slice(0, prefixLength(text, width - 1)).trimEnd()}…`;
}

/** How much of `text` goes into `width` columns, in UTF-16 units, never in the middle of a character. */
function prefixLength(text: string, width: number): number {
  let used = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width) return index;
  }
  return text.length;
}

/**
 * The first row of a text that is wider than `width`, broken at a space where there is one, and what is left for the next rows;
 * `undefined` for a text that fits, or is a single character.
 */
export function takeRow(text: string, width: number): { readonly row: string; readonly rest: string } | undefined {
  if (textWidth(text) <= width) return undefined;
  // A row holds at least one character, or nothing would ever be taken.
  const first = graphemes.segment(text)[Symbol.iterator]().next().value?.segment.length ?? 1;
  const length = Math.max(prefixLength(text, width), first);
  if (length === text.length) return undefined;
  if (text[length] === ' ') return { row: text.slice(0, length), rest: text.slice(length + 1) };
  const space = text.lastIndexOf(' ', length - 1);
  const isIndent = text.slice(0, space + 1).trim() === '';
  if (space === -1 || isIndent) return { row: text.slice(0, length), rest: text.slice(length) };
  return { row: text.slice(0, space), rest: text.slice(space + 1) };
}

/** `text` in rows of at most `width` columns. */
export function wrapToWidth(text: string, width: number): readonly string[] {
  const rows: string[] = [];
  for (const line of text.split('\n')) {
    let rest = line;
    for (let taken = takeRow(rest, width); taken !== undefined; taken = takeRow(rest, width)) {
      rows.push(taken.row);
      rest = taken.rest;
    }
    rows.push(rest);
  }
  return rows;
}
