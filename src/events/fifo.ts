/** A queue in a ring: both ends cost the same however long it is, and what was taken out is let go of. */
export class Fifo<T> {
  #slots: (T | undefined)[] = [];
  #first = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    if (this.#size === this.#slots.length) this.#grow();
    // The number of slots is a power of two.
    this.#slots[(this.#first + this.#size) & (this.#slots.length - 1)] = item;
    this.#size += 1;
  }

  /** Takes out the oldest; `undefined` where there is none. */
  shift(): T | undefined {
    if (this.#size === 0) return undefined;
    const item = this.#slots[this.#first];
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#slots.length - 1);
    this.#size -= 1;
    return item;
  }

  clear(): void {
    this.#slots = [];
    this.#first = 0;
    this.#size = 0;
  }

  #grow(): void {
    const slots = new Array<T | undefined>(Math.max(8, 2 * this.#slots.length)).fill(undefined);
    for (let place = 0; place < this.#size; place++) {
      slots[place] = this.#slots[(this.#first + place) & (this.#slots.length - 1)];
    }
    this.#slots = slots;
    this.#first = 0;
  }
}
