/** Who waits for whom among the calls of one tool set: AI SDK runs the calls of a step all at once. */
import type { Resource } from '../index.ts';

/** What a call may not share: everything (`sequential`), or what it works on. */
export interface Claim {
  readonly sequential: boolean;
  readonly resources: readonly Resource[];
}

/** Calls in the order of their coming. Two that are in each other's way run one after the other. */
export class Exclusion {
  readonly #present = new Set<{ readonly claim: Claim; readonly done: Promise<void> }>();

  /** Waits until the call may run. Call what it gives when the call has ended. */
  async enter(claim: Claim): Promise<() => void> {
    const inTheWay = [...this.#present].filter(other => areInTheWay(other.claim, claim)).map(({ done }) => done);
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry = { claim, done: promise };
    this.#present.add(entry);
    await Promise.all(inTheWay);
    return () => {
      this.#present.delete(entry);
      resolve();
    };
  }
}

function areInTheWay(one: Claim, other: Claim): boolean {
  if (one.sequential || other.sequential) return true;
  return one.resources.some(a => other.resources.some(b => keyOf(a) === keyOf(b) && (writes(a) || writes(b))));
}

function keyOf(resource: Resource): string {
  return typeof resource === 'string' ? resource : resource.key;
}

function writes(resource: Resource): boolean {
  return typeof resource === 'string' || resource.mode === 'write';
}
