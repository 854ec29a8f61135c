/** Bytes to lines, and the end of what a program said. Both hold no more than they are told to. */

const LINE_END = 0x0a;

/** Splits bytes into lines of UTF-8 text, however they were cut into chunks. A line that is longer than `longest` bytes throws. */
export class LineReader {
  readonly #longest: number;
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The lines that end in `chunk`, without their ends. */
  *add(chunk: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end !== -1; end = chunk.indexOf(LINE_END, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(bytes: Uint8Array): void {
    this.#length += bytes.length;
    if (this.#length > this.#longest) {
      this.#parts = [];
      throw new RangeError(`it sent a message of more than ${this.#longest} bytes`);
    }
    if (bytes.length > 0) this.#parts.push(bytes);
  }

  #take(): string {
    const text = Buffer.concat(this.#parts, this.#length).toString('utf8');
    this.#parts = [];
    this.#length = 0;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }
}

const KEPT_CHARACTERS = 4_096;
const SHOWN_LINES = 5;

/** The last few lines of a text that may have no end. */
export class LastLines {
  #text = '';

  add(text: string): void {
    this.#text = (this.#text + text.slice(-KEPT_CHARACTERS)).slice(-KEPT_CHARACTERS);
  }

  /** The last lines that say anything, in their order. */
  get lines(): readonly string[] {
    const lines = this.#text.split(/[\r\n]+/).filter(line => line.trim() !== '');
    return lines.slice(-SHOWN_LINES);
  }
}
