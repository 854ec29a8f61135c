/** What is measured, how large it is, and in which unit it is told. */

export type Kind = 'time' | 'memory' | 'rate' | 'start' | 'behaviour';

export interface Workload {
  readonly name: string;
  readonly about: string;
  readonly unit: string;
  readonly kind: Kind;
  /** What `--only` W1 and the like select. */
  readonly group: string;
  readonly steps: number;
  readonly width: number;
  readonly stream?: boolean;
  readonly deltas?: number;
  /** Runs at once. */
  readonly runs?: number;
  /** Bytes of each result; else the tool adds one. */
  readonly resultBytes?: number;
  readonly synchronous?: 'NORMAL' | 'FULL';
  /** What drivers call it when they cannot do it. */
  readonly needs?: string;
  /** A second figure of the same run. */
  readonly second?: { readonly about: string; readonly unit: string };
}

const step = (steps: number, stream: boolean): Workload => ({
  name: `${stream ? 'W1 streaming' : 'W1'}, ${steps.toLocaleString('en-US')} steps`,
  about: 'a step of one call',
  ...{ unit: 'µs', kind: 'time', group: 'W1', steps, width: 1, stream },
  ...(stream && { needs: 'stream' }),
});

const durable = (synchronous: 'NORMAL' | 'FULL'): Workload => ({
  name: `durable, ${synchronous}`,
  about: 'a step of one call, kept in SQLite, 100 steps',
  ...{ unit: 'µs', kind: 'time', group: 'durable', steps: 100, width: 1, synchronous },
  needs: `durable-${synchronous.toLowerCase()}`,
  second: { about: 'growth of the file a step', unit: 'kB' },
});

export const WORKLOADS: readonly Workload[] = [
  ...[10, 100, 1_000].map(steps => step(steps, false)),
  ...[10, 100, 1_000].map(steps => step(steps, true)),
  { name: 'W2', about: 'a call, 10 steps of 100', unit: 'µs', kind: 'time', group: 'W2', steps: 10, width: 100 },
  {
    ...{ name: 'W3', about: '1,000 runs at once of 10 steps', unit: 's', kind: 'memory', group: 'W3' },
    ...{ steps: 10, width: 1, runs: 1_000, second: { about: 'peak memory a run', unit: 'kB' } },
  },
  {
    ...{ name: 'W4', about: '20 steps, each with a result of 1 MB', unit: 'ms', kind: 'memory', group: 'W4' },
    ...{ steps: 20, width: 1, resultBytes: 1_000_000, second: { about: 'peak memory', unit: 'MB' } },
  },
  {
    ...{ name: 'W5', about: 'an answer of 20,000 deltas, read', unit: 'deltas/s', kind: 'rate', group: 'W5' },
    ...{ steps: 0, width: 1, stream: true, deltas: 20_000, needs: 'stream' },
  },
  { name: 'W6', about: 'import and define, above Node', unit: 'ms', kind: 'start', group: 'W6', steps: 1, width: 1 },
  durable('NORMAL'),
  durable('FULL'),
  {
    ...{ name: 'durable, FULL, 50 at once', about: '50 runs at once of 100 steps, kept in one SQLite file' },
    ...{ unit: 'steps/s', kind: 'rate', group: 'durable', steps: 100, width: 1, runs: 50 },
    ...{ synchronous: 'FULL', needs: 'durable-full' },
  },
];

/** What is looked at rather than timed, once a library. */
export const BEHAVIOURS: Readonly<Record<string, string>> = {
  parallel: '40 calls in one reply: how many run at once, by default',
  limit: 'a model that never stops, with a limit of 3 steps: how the run ends, and what its history lacks',
  abort: 'aborted after 0.1 s while a tool runs that ignores it for 8 s: when and how the run ends',
  crash: 'killed during the second of five steps, then opened by another process and gone on with',
};

/** The libraries that are measured, looprig first and the hand-written loop after it. */
export const LIBRARIES: readonly string[] = [
  ...['looprig', 'bare', 'ai', 'openai', 'mastra', 'langchain', 'langgraph', 'pi', 'strands', 'adk'],
];

/** What `--workloads` takes. */
export const WORKLOAD_GROUPS: readonly string[] = [...new Set([...WORKLOADS.map(({ group }) => group), 'behaviour'])];
