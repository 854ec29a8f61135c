/** What of a turn's counts went beyond a limit. A batch that does is counted, and none of its calls runs: it is no part of what was used. */

/** The counts of a turn, and what its events have told of its calls. */
export interface Counts {
  readonly iterations: number;
  readonly calls: number;
  readonly limits: { readonly iterations?: number; readonly calls?: number };
  /** Batches and calls that were announced. One that fails its turn never is. */
  readonly announced: { readonly iterations: number; readonly calls: number };
  /** The calls of the last batch that was announced. */
  readonly lastBatch: number;
}

/** Iterations and calls of the batch that was refused; zeros where none was. */
export function refusedOf({ iterations, calls, limits, announced, lastBatch }: Counts): {
  readonly iterations: number;
  readonly calls: number;
} {
  const isBeyond =
    iterations > (limits.iterations ?? Number.POSITIVE_INFINITY) || calls > (limits.calls ?? Number.POSITIVE_INFINITY);
  if (!isBeyond) return NOTHING;
  if (iterations > announced.iterations) {
    return { iterations: iterations - announced.iterations, calls: Math.max(0, calls - announced.calls) };
  }
  return { iterations: 1, calls: lastBatch };
}

const NOTHING = Object.freeze({ iterations: 0, calls: 0 });
