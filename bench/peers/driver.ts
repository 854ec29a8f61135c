/** What every library is driven by: one job, one scripted model's behaviour, one tool. A driver says it in its library's words. */

/** What the model asks for, and what the tool does. */
export interface Job {
  /** How many responses ask for tools before the one that answers. */
  readonly steps: number;
  /** Calls in each of these responses. */
  readonly width: number;
  /** Whether the model is asked to stream, and the library's public stream is read. */
  readonly stream: boolean;
  /** One-token deltas of the answer. 0: the answer is one word. */
  readonly deltas: number;
  /** The tool `add`. */
  readonly tool: (n: number) => Promise<string>;
  /** The library's own limit of steps; without it the limit is out of the way. */
  readonly limit?: number;
  /** Leave the library's number of calls at a time as it is; else it is raised to `width`. */
  readonly ownParallel?: boolean;
  readonly signal?: AbortSignal;
  /** Keep the run in this SQLite file. */
  readonly store?: { readonly file: string; readonly synchronous: 'NORMAL' | 'FULL'; readonly session?: string };
}

/** How a run ended, for who looks at behaviour. */
export interface Outcome {
  /** The library's own word: what it returned, or the name of what it threw. */
  readonly ended: string;
  /** Deltas that arrived at the reader of the library's public stream. */
  readonly deltas?: number;
  /** The ids of calls and of results in the history that the library leaves. */
  readonly history?: () => Ids | Promise<Ids>;
  /** What is left to do after the run, and is not timed. */
  readonly close?: () => Promise<void>;
}

export interface Ids {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

/** One run, prepared: what is called is what is timed. */
export type Run = () => Promise<Outcome>;

export interface Agent {
  /** A new conversation, which is not timed but in W3. */
  open(): Run | Promise<Run>;
  close?(): void | Promise<void>;
}

export interface Driver {
  /** The library and the agent with its one tool: what W6 times, with the import of this module. */
  define(job: Job): Agent | Promise<Agent>;
  /** Workloads that the library has no way to do, with the reason. */
  readonly cannot?: Readonly<Record<string, string>>;
}

export interface Call {
  readonly id: string;
  readonly n: number;
}

/** The calls that the model asks for in step `step` (from 0), or undefined when it answers. */
export function callsOf(job: Job, step: number): readonly Call[] | undefined {
  if (step >= job.steps) return undefined;
  return Array.from({ length: job.width }, (_, index) => ({ id: `c${step}_${index}`, n: step * job.width + index }));
}

/** The answer, as the deltas in which it comes. */
export function answerOf(job: Job): readonly string[] {
  return job.deltas === 0 ? ['done'] : Array.from({ length: job.deltas }, (_, index) => ` w${index % 1_000}`);
}

export const DESCRIPTION = 'Adds one.';

/** The name of what was thrown, with the first words of its message. */
export function nameOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `threw ${String(thrown)}`;
  return `threw ${thrown.name}: ${thrown.message.split('\n', 1)[0]?.slice(0, 60).trimEnd()}`;
}
