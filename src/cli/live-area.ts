/**
 * The rows at the bottom of a terminal that are drawn again and again. What is printed for good goes above them. The cursor
 * stands at the end of the last live row; nothing is assumed of the screen but that.
 */
import type { Row } from './rows.ts';

const ESCAPE = '\u001b[';
const CLEAR_TO_END_OF_ROW = `${ESCAPE}K`;
const CLEAR_BELOW = `${ESCAPE}J`;

/** What draws rows at the bottom of a terminal. */
export interface BottomRows {
  /** Shows `rows` in the place of those that are there. */
  draw(rows: readonly Row[]): void;
  /** Takes the rows off the screen: the cursor stands where the first of them began. */
  erase(): void;
}

/** A place among the rows that are drawn: both counted from 0. */
export interface CursorPlace {
  readonly row: number;
  readonly column: number;
}

export class LiveArea implements BottomRows {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  /** The rows on the screen, and where among them the cursor stands. */
  #drawn: readonly Row[] = [];
  #cursor: CursorPlace = { row: 0, column: 0 };

  constructor(write: (text: string) => void, columns: () => number) {
    this.#write = write;
    this.#columns = columns;
  }

  /** The cursor goes to `cursor`, or else behind the last row. */
  draw(rows: readonly Row[], cursor?: CursorPlace): void {
    // Written over what is there, not on a cleared screen, so that nothing flickers.
    const painted = rows.map(({ painted }) => `${painted}${CLEAR_TO_END_OF_ROW}`);
    const last = rows.length - 1;
    const placed = cursor === undefined ? '' : move(last - cursor.row, cursor.column);
    this.#write(`${this.#toFirstRow()}${painted.join('\r\n')}${CLEAR_BELOW}${placed}`);
    this.#drawn = rows;
    this.#cursor = cursor ?? { row: last, column: rows[last]?.width ?? 0 };
  }

  /** The screen is another's now: what was drawn stays on it, and the next rows begin where the cursor stands. */
  forget(): void {
    this.#drawn = [];
  }

  erase(): void {
    if (this.#drawn.length === 0) return;
    this.#write(`${this.#toFirstRow()}${CLEAR_BELOW}`);
    this.#drawn = [];
  }

  /** A window that became narrower has wrapped what was drawn, so rows are counted as they are now. */
  #toFirstRow(): string {
    if (this.#drawn.length === 0) return '';
    const columns = this.#columns();
    const { row, column } = this.#cursor;
    const before = this.#drawn.slice(0, row);
    const above = before.reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return move(above + Math.max(0, Math.ceil(column / columns) - 1), 0);
  }
}

/** Up so many rows, to a column. */
function move(rows: number, column: number): string {
  return `\r${rows > 0 ? `${ESCAPE}${rows}A` : ''}${column > 0 ? `${ESCAPE}${column}C` : ''}`;
}
