/** A terminal small enough to be read: it keeps the rows that a program drew and how they look, and refuses what it does not know. */

/** An escape sequence, a control character, or a run of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is driven by them
const TOKEN = /\x1b\[([0-9;]*)([A-Za-z])|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f]+/g;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A character and how it looks; the second cell of a wide character is empty. */
interface Cell {
  readonly character: string;
  readonly look: string;
}

const BLANK: Cell = { character: ' ', look: 'plain' };

/** The looks that a program may ask for, and what ends each of them. */
const LOOKS: Readonly<Record<string, string>> = {
  ...{ 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' },
  ...{ 0: 'plain', 22: 'plain', 39: 'plain' },
};

export class Screen {
  readonly columns: number;
  readonly #rows: Cell[][] = [[]];
  #look = 'plain';
  #row = 0;
  #column = 0;
  /** How often a row was full and text went on in the next one. */
  wraps = 0;

  constructor(columns: number) {
    this.columns = columns;
  }

  /** Does what a terminal does with `text`. Throws for a control that it does not know. */
  readonly write = (text: string): void => {
    for (const [token, parameters = '', command] of text.matchAll(TOKEN)) {
      if (command !== undefined) this.#control(command, parameters);
      else if (token === '\n') this.#feed();
      else if (token === '\r') this.#column = 0;
      // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
      else if (/^[\x00-\x1f\x7f-\x9f]/.test(token)) throw new Error(`the terminal was sent ${JSON.stringify(token)}`);
      else for (const { segment } of graphemes.segment(token)) this.#put(segment);
    }
  };

  /** What is to be seen, without the spaces and empty rows at the ends. */
  get text(): string {
    return this.#rows
      .map(row => textOf(row).trimEnd())
      .join('\n')
      .trimEnd();
  }

  get lines(): readonly string[] {
    return this.text.split('\n');
  }

  /** How `text` looks where it stands first in a row: one look, or all that are in it. Throws where it is not to be seen. */
  lookOf(text: string): string {
    for (const row of this.#rows) {
      const place = textOf(row).indexOf(text);
      if (place === -1) continue;
      const starts = row.map((_, index) => textOf(row.slice(0, index)).length);
      const cells = row.filter((_, index) => starts[index]! >= place && starts[index]! < place + text.length);
      return [...new Set(cells.filter(({ character }) => character !== ' ').map(({ look }) => look))].join(' ');
    }
    throw new Error(`${JSON.stringify(text)} is not to be seen:\n${this.text}`);
  }

  #control(command: string, parameters: string): void {
    const count = Number(parameters || 1);
    if (command === 'A') this.#row = Math.max(0, this.#row - count);
    else if (command === 'K' && parameters === '') this.#rows[this.#row]?.splice(this.#column);
    else if (command === 'J' && parameters === '') {
      this.#rows[this.#row]?.splice(this.#column);
      this.#rows.splice(this.#row + 1);
    } else if (command === 'm' && LOOKS[parameters || 0] !== undefined) this.#look = LOOKS[parameters || 0] ?? '';
    else throw new Error(`the terminal was sent ESC [ ${parameters} ${command}`);
  }

  #feed(): void {
    this.#row += 1;
    this.#column = 0;
    this.#rows[this.#row] ??= [];
  }

  #put(character: string): void {
    const width = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\uffe6]/u.test(character) ? 2 : 1;
    if (this.#column + width > this.columns) {
      this.wraps += 1;
      this.#feed();
    }
    const row = this.#rows[this.#row] ?? [];
    while (row.length < this.#column) row.push(BLANK);
    const cell = { character, look: this.#look };
    row.splice(this.#column, width, cell, ...(width === 2 ? [{ ...cell, character: '' }] : []));
    this.#column += width;
  }
}

function textOf(row: readonly Cell[]): string {
  return row.map(({ character }) => character).join('');
}
