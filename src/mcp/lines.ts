/** Bytes to lines, and the end of what a program said. Both hold no more than they are told to. */

const LINE_END = 0x0a;

/** What is kept between two lines. */
const SMALL = 65_536;

/** Splits bytes into lines of UTF-8 text, however they were cut into chunks. A line that is longer than `longest` bytes throws. */
export class LineReader {
  readonly #longest: number;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** The beginning of a line; it grows by doubling, so that a line that comes byte by byte costs no more than one that comes at once. */
  #buffer = new Uint8Array(1_024);
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
    const length = this.#length + bytes.length;
    if (length > this.#longest) throw new RangeError(`it sent a message of more than ${this.#longest} bytes`);
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  #take(): string {
    const text = this.#decoder.decode(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
    if (this.#buffer.length > SMALL) this.#buffer = new Uint8Array(1_024);
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
