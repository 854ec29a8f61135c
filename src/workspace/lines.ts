/** The lines of a text file, read in pieces: memory is bounded whatever the size of the file or of a line. */
import type { FileHandle } from 'node:fs/promises';

/** One line, without its end. */
export interface Line {
  readonly text: string;
  /** The line was longer than the bound, and `text` is its beginning. */
  readonly isCut: boolean;
  /** The line ended in CR LF. */
  readonly hasReturn: boolean;
}

const CHUNK_BYTES = 65_536;

/** The lines of the file from its beginning, one list per piece read. Bytes that are not UTF-8 come as U+FFFD; a byte order mark is left out. */
export async function* readLines(
  handle: FileHandle,
  options: { readonly maxLineLength: number; readonly signal: AbortSignal },
): AsyncGenerator<Line[]> {
  const collector = new LineCollector(options.maxLineLength);
  const decoder = new TextDecoder();
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    options.signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
    position += bytesRead;
    const isEnd = bytesRead === 0;
    yield collector.take(decoder.decode(buffer.subarray(0, bytesRead), { stream: !isEnd }), isEnd);
    if (isEnd) return;
  }
}

class LineCollector {
  readonly #maxLength: number;
  #pending = '';
  #isCut = false;
  #isOpen = false;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Adds a piece of text and gives the lines that it completes; at the end also a last line without an end. */
  take(text: string, isEnd: boolean): Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      this.#add(text.slice(from, end));
      lines.push(this.#finish(true));
      from = end + 1;
    }
    if (from < text.length) this.#add(text.slice(from));
    if (isEnd && this.#isOpen) lines.push(this.#finish(false));
    return lines;
  }

  #add(piece: string): void {
    this.#isOpen = true;
    const room = this.#maxLength + 1 - this.#pending.length; // one more, so that a CR at the bound is still seen
    if (piece.length > room) this.#isCut = true;
    this.#pending += piece.slice(0, Math.max(0, room));
  }

  #finish(hasNewline: boolean): Line {
    const hasReturn = hasNewline && !this.#isCut && this.#pending.endsWith('\r');
    const whole = hasReturn ? this.#pending.slice(0, -1) : this.#pending;
    const isCut = this.#isCut || whole.length > this.#maxLength;
    const text = isCut ? whole.slice(0, this.#maxLength).toWellFormed() : whole;
    this.#pending = '';
    this.#isCut = false;
    this.#isOpen = false;
    return { text, isCut, hasReturn };
  }
}
