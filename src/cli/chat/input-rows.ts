/** What a person types, as rows of a terminal: a prompt, then the text, broken where the window ends, with the place of the cursor in it. */
import type { CursorPlace } from '../live-area.ts';
import { fitRow, type Row, type Span } from '../rows.ts';
import { neutralise } from '../safe-text.ts';
import type { Painter } from '../style.ts';
import { textWidth } from '../text-width.ts';

/** Text that is being written. */
export interface TypedText {
  /** The last one is where the cursor is. */
  readonly lines: readonly string[];
  /** How much of the last line stands before the cursor, in UTF-16 units. */
  readonly cursor: number;
}

/** How it is shown. */
export interface InputLook {
  readonly prompt: string;
  /** What stands in the place of text that is not there yet. */
  readonly placeholder: string;
  readonly width: number;
  /** The most rows that are shown: those round the cursor. */
  readonly mostRows: number;
  readonly paint: Painter;
}

/** Rows with the cursor among them. */
export interface PlacedRows {
  readonly rows: readonly Row[];
  readonly cursor: CursorPlace;
}

/** A prompt that leaves less than this to the text stands in a row of its own. */
const LEAST_ROOM = 16;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The rows of `typed`. */
export function inputRows({ lines, cursor }: TypedText, look: InputLook): PlacedRows {
  const { prompt, placeholder, width, mostRows, paint } = look;
  const isApart = width - textWidth(prompt) < LEAST_ROOM;
  const indent = isApart ? 0 : textWidth(prompt);
  const room = Math.max(1, width - indent);
  const texts = lines.flatMap(line => broken(line, room));
  const before = broken(lines.at(-1)?.slice(0, cursor) ?? '', room);
  // Behind a row that is full, the cursor stands in the next one.
  if (textWidth(before.at(-1) ?? '') >= room) before.push('');
  const place = lines.slice(0, -1).flatMap(line => broken(line, room)).length + before.length - 1;
  if (place === texts.length) texts.push('');
  const promptSpan: Span = { text: prompt, look: 'cyan' };
  const written = (text: string): Span =>
    texts.length === 1 && text === '' ? { text: placeholder, look: 'dim' } : { text };
  const rows = texts.map((text, index) => {
    const left: Span = index === 0 && !isApart ? promptSpan : { text: ' '.repeat(indent) };
    return fitRow([left, written(text)], [], width, paint);
  });
  const all = isApart ? [fitRow([promptSpan], [], width, paint), ...rows] : rows;
  const column = indent + textWidth(before.at(-1) ?? '');
  return windowed({ rows: all, cursor: { row: place + all.length - rows.length, column } }, mostRows);
}

/** As many rows as there is room for, the cursor's among them. */
function windowed({ rows, cursor }: PlacedRows, mostRows: number): PlacedRows {
  const first = Math.max(0, Math.min(cursor.row - mostRows + 1, rows.length - mostRows));
  return { rows: rows.slice(first, first + mostRows), cursor: { ...cursor, row: cursor.row - first } };
}

/** A line broken wherever a row is full, so that the beginning of a line is broken as the whole of it. */
function broken(line: string, width: number): string[] {
  const rows: string[] = [];
  let row = '';
  let used = 0;
  for (const { segment } of graphemes.segment(neutralise(line).replaceAll('\t', '    '))) {
    const wide = textWidth(segment);
    if (used + wide > width && row !== '') {
      rows.push(row);
      row = '';
      used = 0;
    }
    row += segment;
    used += wide;
  }
  return [...rows, row];
}
