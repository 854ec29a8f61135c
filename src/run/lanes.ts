/**
 * Which calls of a batch may run beside which. A sequential call is a barrier; calls on one resource keep call order where one
 * of them writes. What a call waits for is known before anything runs, so that starting and finishing cost no search.
 *
 * Owns the second half of invariant 3: a waiting call holds no slot, and calls on one resource keep call order.
 */
import type { Resource } from '../define/tool.ts';

/** What the order of a batch depends on, for one call. */
export interface LaneClaim {
  readonly sequential: boolean;
  readonly resources: readonly Resource[];
}

/** The calls that are free to start, in call order, and what becomes free as others finish. */
export class Lanes {
  /** How many unfinished calls each call waits for, and who waits for it; nothing where no call waits for another. */
  #waitsFor: number[] = [];
  #waiters: (number[] | undefined)[] = [];
  /** Free calls that have not been taken, in ascending order; `#first` is the place of the first of them. */
  readonly #free: number[] = [];
  #first = 0;

  constructor(claims: readonly (LaneClaim | undefined)[]) {
    if (claims.some(hasOrder)) this.#plan(claims);
    for (let index = 0; index < claims.length; index++) {
      if (claims[index] !== undefined && (this.#waitsFor[index] ?? 0) === 0) this.#free.push(index);
    }
  }

  /** The first free call in call order, taken; `undefined` while all that are left wait for others. */
  take(): number | undefined {
    return this.#first < this.#free.length ? this.#free[this.#first++] : undefined;
  }

  /** Which calls each call must wait for, in call order; `undefined` where none waits for another. */
  waits(): readonly (readonly number[] | undefined)[] | undefined {
    if (!this.#waiters.some(waiters => waiters !== undefined)) return undefined;
    const waits: (number[] | undefined)[] = new Array(this.#waiters.length);
    this.#waiters.forEach((waiters, before) => {
      for (const waiter of waiters ?? []) {
        const known = waits[waiter];
        if (known === undefined) waits[waiter] = [before];
        else if (known.at(-1) !== before) known.push(before); // two resources of the same two calls
      }
    });
    return waits;
  }

  /** A call has finished (or will never run): who waited for it alone becomes free. */
  finish(index: number): void {
    const waiters = this.#waiters[index];
    if (waiters === undefined) return;
    for (const waiter of waiters) {
      this.#waitsFor[waiter]! -= 1;
      if (this.#waitsFor[waiter] === 0) this.#release(waiter);
    }
  }

  /** Inserted in its place, since call order decides who starts first. */
  #release(index: number): void {
    const free = this.#free;
    let low = this.#first;
    let high = free.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (free[middle]! < index) low = middle + 1;
      else high = middle;
    }
    free.splice(low, 0, index);
  }

  #plan(claims: readonly (LaneClaim | undefined)[]): void {
    this.#waitsFor = new Array<number>(claims.length).fill(0);
    this.#waiters = new Array(claims.length);
    let barrier: number | undefined;
    let sinceBarrier: number[] = [];
    const keys = new Map<string, { writer: number | undefined; readers: number[] }>();
    for (let index = 0; index < claims.length; index++) {
      const claim = claims[index];
      if (claim === undefined) continue; // refused: it never runs, and nobody waits for it
      if (barrier !== undefined) this.#wait(index, barrier);
      if (claim.sequential) {
        for (const before of sinceBarrier) this.#wait(index, before);
        barrier = index;
        sinceBarrier = [];
        keys.clear();
        continue;
      }
      sinceBarrier.push(index);
      this.#planResources(index, claim.resources, keys);
    }
  }

  #planResources(
    index: number,
    resources: readonly Resource[],
    keys: Map<string, { writer: number | undefined; readers: number[] }>,
  ): void {
    for (const [key, writes] of mergedKeys(resources)) {
      const lane = keys.get(key) ?? { writer: undefined, readers: [] };
      keys.set(key, lane);
      if (lane.writer !== undefined) this.#wait(index, lane.writer);
      if (!writes) {
        lane.readers.push(index);
        continue;
      }
      for (const reader of lane.readers) this.#wait(index, reader);
      lane.writer = index;
      lane.readers = [];
    }
  }

  #wait(index: number, before: number): void {
    this.#waitsFor[index]! += 1;
    const waiters = this.#waiters[before];
    if (waiters === undefined) this.#waiters[before] = [index];
    else waiters.push(index);
  }
}

/** Whether the order of a call and others may matter. */
function hasOrder(claim: LaneClaim | undefined): boolean {
  return claim !== undefined && (claim.sequential || claim.resources.length > 0);
}

const NOTHING: ReadonlyMap<string, boolean> = new Map();

/** One entry a key; a call that reads and writes one key writes it. */
function mergedKeys(resources: readonly Resource[]): ReadonlyMap<string, boolean> {
  if (resources.length === 0) return NOTHING;
  const keys = new Map<string, boolean>();
  for (const resource of resources) {
    const [key, writes] = typeof resource === 'string' ? [resource, true] : [resource.key, resource.mode === 'write'];
    keys.set(key, writes || keys.get(key) === true);
  }
  return keys;
}
