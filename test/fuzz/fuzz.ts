/**
 * Properties that are tried with drawn inputs: briefly with all other tests, at length by `npm run fuzz`, which sets the variables that are read here. What
 * fails tells its seed and its path, and how to play that alone.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';

const SECONDS = Number(process.env.LOOPRIG_FUZZ_SECONDS ?? 0);
const SEED = process.env.LOOPRIG_FUZZ_SEED;
const PATH = process.env.LOOPRIG_FUZZ_PATH;
const isLong = SECONDS > 0;
/** Of one file: each has a copy of this module. */
let properties = 0;

const OWN = [Object, Array, Function, String, Map, Set].map(({ prototype }) => Reflect.ownKeys(prototype).length);

/** Whatever was read, no object of the program has got or lost a member by it. */
function requireUnpolluted(): void {
  const now = [Object, Array, Function, String, Map, Set].map(({ prototype }) => Reflect.ownKeys(prototype).length);
  if (now.join() !== OWN.join() || 'polluted' in {}) throw new Error('a prototype was changed');
}

/** One property. `check` throws for an input that breaks it. `runs` is how often it is tried with all other tests. */
export function fuzz<Input>(
  fact: string,
  { runs, input }: { readonly runs: number; readonly input: fc.Arbitrary<Input> },
  check: (input: Input) => void | Promise<void>,
): void {
  properties += 1;
  const timeout = isLong ? (SECONDS + 120) * 1_000 : 60_000;
  it(fact, { timeout }, async () => {
    let tried = 0;
    const seed = SEED === undefined ? Date.now() ^ (Math.random() * 0x1_0000_0000) : Number(SEED);
    const property = fc.asyncProperty(input, async drawn => {
      tried += 1;
      await check(drawn);
      requireUnpolluted();
    });
    const began = performance.now();
    try {
      await fc.assert(property, { seed, ...(PATH === undefined ? {} : { path: PATH }), ...extent(runs) });
    } finally {
      const seconds = ((performance.now() - began) / 1_000).toFixed(1);
      if (isLong || SEED !== undefined) console.log(`${fact}: ${tried} inputs in ${seconds} s, seed ${seed}`);
    }
  });
}

/** How long it is tried: the seconds of a file are shared by its properties. */
function extent(runs: number): fc.Parameters<[unknown]> {
  if (!isLong) return { numRuns: runs };
  const interruptAfterTimeLimit = (SECONDS * 1_000) / properties;
  return { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit, markInterruptAsFailure: false };
}

/** Makes something for all inputs of a file's properties, and lets go of it in the end. */
export function shared<Value>(make: () => Promise<{ readonly value: Value; end(): Promise<void> }>): () => Value {
  let made: { readonly value: Value; end(): Promise<void> } | undefined;
  beforeAll(async () => {
    made = await make();
  });
  afterAll(() => made?.end());
  return () => made!.value;
}
