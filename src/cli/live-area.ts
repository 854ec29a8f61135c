/**
 * The rows at the bottom of a terminal that are drawn again and again. What is printed for good goes above them. The cursor
 * stands at the end of the last live row; nothing is assumed of the screen but that.
 */
import type { Row } from './rows.ts';

const ESCAPE = '\u001b[';
const CLEAR_TO_END_OF_ROW = `${ESCAPE}K`;
const CLEAR_BELOW = `${ESCAPE}J`;

export class LiveArea {
  readonly #write: (text: string) => void;
  readonly #columns: () => number;
  /** The rows on the screen. */
  #drawn: readonly Row[] = [];

  constructor(write: (text: string) => void, columns: () => number) {
    this.#write = write;
    this.#columns = columns;
  }

  /** Shows `rows` in the place of those that are there. */
  draw(rows: readonly Row[]): void {
    // Written over what is there, not on a cleared screen, so that nothing flickers.
    const painted = rows.map(({ painted }) => `${painted}${CLEAR_TO_END_OF_ROW}`);
    this.#write(`${this.#toFirstRow()}${painted.join('\r\n')}${CLEAR_BELOW}`);
    this.#drawn = rows;
  }

  /** Takes the rows off the screen: the cursor stands where the first of them began. */
  erase(): void {
    if (this.#drawn.length === 0) return;
    this.#write(`${this.#toFirstRow()}${CLEAR_BELOW}`);
    this.#drawn = [];
  }

  /** A window that became narrower has wrapped what was drawn, so rows are counted as they are now. */
  #toFirstRow(): string {
    if (this.#drawn.length === 0) return '';
    const columns = this.#columns();
    const height = this.#drawn.reduce((sum, { width }) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    return height > 1 ? `\r${ESCAPE}${height - 1}A` : '\r';
  }
}
