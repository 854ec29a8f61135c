/** The bottom of the terminal during a conversation: what a turn has under way, and below it the line that a person writes. */
import { type BottomRows, LiveArea } from '../live-area.ts';
import type { Row } from '../rows.ts';
import type { PlacedRows } from './input-rows.ts';

/** What the bottom needs to know. */
export interface BottomParts {
  readonly columns: () => number;
  readonly rows: () => number;
  write(text: string): void;
  /** What stands below what a turn has under way; `hasTurn` says whether there is something of that. */
  below(hasTurn: boolean): PlacedRows;
}

export class Bottom implements BottomRows {
  readonly #parts: BottomParts;
  readonly #area: LiveArea;
  #turn: readonly Row[] = [];
  #isClosed = false;

  constructor(parts: BottomParts) {
    this.#parts = parts;
    this.#area = new LiveArea(text => parts.write(text), parts.columns);
  }

  /** Draws what a turn has under way; nothing, when it is over. */
  draw(rows: readonly Row[]): void {
    this.#turn = rows;
    this.refresh();
  }

  /** Draws all of it as it is now. */
  refresh(): void {
    if (this.#isClosed) return;
    const { rows, cursor } = this.#parts.below(this.#turn.length > 0);
    // What is taller than the window scrolls away and could not be drawn over.
    const room = Math.max(0, this.#parts.rows() - 1 - rows.length);
    const above = room === 0 ? [] : this.#turn.slice(-room);
    this.#area.draw([...above, ...rows], { ...cursor, row: above.length + cursor.row });
  }

  /** Takes all of it off the screen, until it is drawn again. */
  erase(): void {
    this.#area.erase();
  }

  /** The screen was another's for a while. */
  cameBack(): void {
    this.#area.forget();
    this.refresh();
  }

  /** Takes it off the screen for good. */
  close(): void {
    this.#isClosed = true;
    this.#area.erase();
  }
}
