/** What a process holds once all that can be let go of is let go of. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Memory after garbage was collected, in bytes. */
export interface Held {
  readonly heap: number;
  /** Buffers outside the heap. */
  readonly external: number;
  readonly rss: number;
}

let collect: (() => void) | undefined;

/** Collects all garbage, also what only the end of a timer or a finaliser lets go of, and says what is left. */
export async function held(): Promise<Held> {
  collect ??= garbageCollector();
  for (let round = 0; round < 3; round++) {
    collect();
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  const { heapUsed: heap, external, rss } = process.memoryUsage();
  return { heap, external, rss };
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
