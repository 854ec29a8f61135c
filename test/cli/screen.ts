/** A terminal small enough to be read: it keeps the rows that a program drew, and refuses what it does not know. */

/** An escape sequence, a control character, or a run of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is driven by them
const TOKEN = /\x1b\[([0-9;]*)([A-Za-z])|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f]+/g;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

export class Screen {
  readonly columns: number;
  /** Each cell a character; the second cell of a wide one is empty. */
  readonly #rows: string[][] = [[]];
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
      .map(row => row.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  get lines(): readonly string[] {
    return this.text.split('\n');
  }

  #control(command: string, parameters: string): void {
    const count = Number(parameters || 1);
    if (command === 'A') this.#row = Math.max(0, this.#row - count);
    else if (command === 'K' && parameters === '') this.#rows[this.#row]?.splice(this.#column);
    else if (command === 'J' && parameters === '') {
      this.#rows[this.#row]?.splice(this.#column);
      this.#rows.splice(this.#row + 1);
    } else if (command !== 'm') throw new Error(`the terminal was sent ESC [ ${parameters} ${command}`);
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
    while (row.length < this.#column) row.push(' ');
    row.splice(this.#column, width, character, ...(width === 2 ? [''] : []));
    this.#column += width;
  }
}
