/** The beginning and the end of an output of any length, in bounded memory. */
export class HeadAndTail {
  readonly #headRoom: number;
  readonly #tailRoom: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Buffer[] = [];
  #headBytes = 0;
  #tailBytes = 0;
  #total = 0;

  /** Keeps at most about `bytes` bytes, half of them from the end. */
  constructor(bytes: number) {
    this.#headRoom = Math.ceil(bytes / 2);
    this.#tailRoom = Math.floor(bytes / 2);
  }

  /** All bytes that came, the kept and the dropped. */
  get total(): number {
    return this.#total;
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const forHead = chunk.subarray(0, this.#headRoom - this.#headBytes);
    if (forHead.length > 0) this.#head.push(forHead);
    this.#headBytes += forHead.length;
    this.#addToTail(chunk.subarray(forHead.length));
  }

  #addToTail(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#tail.push(chunk);
    this.#tailBytes += chunk.length;
    for (let first = this.#tail[0]; first !== undefined; first = this.#tail[0]) {
      const over = this.#tailBytes - this.#tailRoom;
      if (over <= 0) return;
      this.#tailBytes -= Math.min(over, first.length);
      if (first.length > over) this.#tail[0] = first.subarray(over);
      else this.#tail.shift();
    }
  }

  /** What was kept as text, cut between characters, with a line in between that says how much was left out. */
  text(): string {
    const left = this.#total - this.#headBytes - this.#tailBytes;
    const kept = (chunks: Buffer[]): Buffer => Buffer.concat(chunks);
    if (left === 0) return new TextDecoder().decode(kept([...this.#head, ...this.#tail]));
    // In a stream a character that is not complete is held back.
    const head = new TextDecoder().decode(kept(this.#head), { stream: true });
    const tail = new TextDecoder().decode(fromCharacter(kept(this.#tail)));
    return `${head}\n[... ${left.toLocaleString('en-US')} bytes left out here ...]\n${tail}`;
  }
}

/** The bytes from the first that begins a character on. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
