/** Numbers that look drawn by lot and are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0;
    for (let round = 0; round < 4; round++) this.next(); // neighbouring seeds begin alike otherwise
  }

  /** From 0 up to, not including, 1. A 32-bit mixer of multiplications and shifts ("mulberry32"). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the values; with `weights`, in their proportion. */
  pick<T>(values: readonly T[], weights?: readonly number[]): T {
    if (weights === undefined) return values[this.int(0, values.length - 1)]!;
    let left = this.next() * weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      left -= weight;
      if (left < 0) return values[index]!;
    }
    return values.at(-1)!;
  }

  /** A list of `least` to `most` values. */
  list<T>(least: number, most: number, draw: (index: number) => T): T[] {
    return Array.from({ length: this.int(least, most) }, (_, index) => draw(index));
  }
}
