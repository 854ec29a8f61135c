/** The side of a campaign that simulates: a child process that takes a range of seeds at a time, and says where it is. */
import { setImmediate } from 'node:timers/promises';

/** Seeds from `from` up to, not including, `to`. */
export interface SeedRange {
  readonly from: number;
  readonly to: number;
}

/** What a child says: which seed it begins, that a range held, or what a seed broke. */
export type SeedReport =
  | { readonly kind: 'begun'; readonly seed: number }
  | { readonly kind: 'held' }
  | { readonly kind: 'broken'; readonly seed: number; readonly message: string };

/** Simulates the ranges that the parent process sends, until it lets go. */
export function serveSeeds(simulate: (seed: number) => Promise<unknown>): void {
  process.on('message', (range: SeedRange) => void runRange(range, simulate));
}

async function runRange({ from, to }: SeedRange, simulate: (seed: number) => Promise<unknown>): Promise<void> {
  for (let seed = from; seed < to; seed++) {
    await tell({ kind: 'begun', seed });
    try {
      await simulate(seed);
      await setImmediate(); // a rejection that nobody handles ends this process now, and not in another seed
    } catch (error) {
      await tell({
        kind: 'broken',
        seed,
        message: error instanceof Error ? (error.stack ?? error.message) : `${error}`,
      });
      return;
    }
  }
  await tell({ kind: 'held' });
}

/** Waits until it is handed over: a seed that ends this process, or hangs it, must be known by then. */
function tell(report: SeedReport): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(report, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}
