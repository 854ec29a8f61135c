/** Text that grows, broken into rows: those that are full can be written for good, the last one may still change. */
import { takeRow } from './text-width.ts';

export class TextFlow {
  #partial = '';

  /** The row that is not full yet. */
  get partial(): string {
    return this.#partial;
  }

  /** Adds text, and gives the rows of at most `width` columns that it completes. */
  push(text: string, width: number): readonly string[] {
    const lines = `${this.#partial}${text.replaceAll('\t', '    ')}`.split('\n');
    const rows: string[] = [];
    lines.forEach((line, index) => {
      let rest = line;
      for (let taken = takeRow(rest, width); taken !== undefined; taken = takeRow(rest, width)) {
        rows.push(taken.row);
        rest = taken.rest;
      }
      if (index < lines.length - 1) rows.push(rest);
      else this.#partial = rest;
    });
    return rows;
  }

  /** Ends the text, and gives its last row if there is one. */
  end(): readonly string[] {
    const rest = this.#partial;
    this.#partial = '';
    return rest === '' ? [] : [rest];
  }
}
