/** Rows of a terminal: pieces of text with a look, cut to a width before they are painted. */
import type { Look, Painter } from './style.ts';
import { cutToWidth, textWidth, wrapToWidth } from './text-width.ts';

/** A piece of one row. */
export interface Span {
  readonly text: string;
  readonly look?: Look;
}

/** A row ready to be written, and the columns that it takes. */
export interface Row {
  readonly painted: string;
  readonly width: number;
}

/** A row in at most `width` columns: `left` is cut where both do not fit, `right` comes after it and is kept as long as possible. */
export function fitRow(left: readonly Span[], right: readonly Span[], width: number, paint: Painter): Row {
  const kept = fitSpans(right, width);
  const keptWidth = widthOf(kept);
  const fitted = fitSpans(left, width - keptWidth);
  const all = [...fitted, ...kept];
  return { painted: all.map(({ text, look }) => paint(look ?? 'plain', text)).join(''), width: widthOf(all) };
}

/** Parts joined into rows of at most `width` columns, broken inside only where one part alone is wider. */
export function packParts(parts: readonly string[], separator: string, width: number): readonly string[] {
  const rows: string[] = [];
  for (const part of parts) {
    const last = rows.at(-1);
    const joined = last === undefined ? part : `${last}${separator}${part}`;
    if (last === undefined || textWidth(joined) > width) rows.push(part);
    else rows[rows.length - 1] = joined;
  }
  return rows.flatMap(row => wrapToWidth(row, width));
}

function widthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + textWidth(text), 0);
}

function fitSpans(spans: readonly Span[], width: number): readonly Span[] {
  const fitted: Span[] = [];
  let left = Math.max(width, 0);
  for (const span of spans) {
    const text = cutToWidth(span.text, left);
    if (text !== '') fitted.push({ ...span, text });
    left -= textWidth(text);
    if (text !== span.text) break;
  }
  return fitted;
}
