/**
 * What a turn has used of its limits. Counts are of the turn, and whether a batch may run is decided here, before any of
 * its calls starts.
 *
 * Owns invariant 4: beyond a limit nothing runs.
 */
import type { ResolvedToolLimits } from '../define/limits.ts';
import type { ToolBudget } from '../define/tool.ts';
import type { LimitReached } from '../errors.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { addUsage, NO_USAGE, type Usage } from '../model/model.ts';

/** A limit that is nearly used up: the last two iterations, or the last tenth of the calls. */
export interface NearLimit {
  readonly limit: 'iterations' | 'calls';
  readonly used: number;
  readonly max: number;
}

/** What a turn has used. */
interface UsedSoFar {
  readonly iterations: number;
  readonly calls: number;
  readonly steps: number;
  readonly usage: Usage;
}

export class Budget {
  readonly #limits: ResolvedToolLimits;
  iterations = 0;
  calls = 0;
  /** Model responses taken into account. */
  steps = 0;
  usage: Usage = NO_USAGE;
  #announced = '';

  /** `from` is what the turn had used already, where another process began it. */
  constructor(limits: ResolvedToolLimits, from?: UsedSoFar) {
    this.#limits = limits;
    if (from === undefined) return;
    this.iterations = from.iterations;
    this.calls = from.calls;
    this.steps = from.steps;
    this.usage = from.usage;
  }

  /** Counts a response. */
  addResponse(usage: Usage): void {
    this.steps += 1;
    this.usage = addUsage(this.usage, usage);
  }

  /** Counts a response's batch, and says which limit it goes beyond, if one. */
  admit(batchSize: number): LimitReached | undefined {
    this.iterations += 1;
    this.calls += batchSize;
    const { iterations, calls, tokens } = this.#limits;
    if (this.iterations > iterations) return this.reached('iterations');
    if (this.calls > calls) return this.reached('calls');
    if (this.usage.totalTokens > tokens) return this.reached('tokens');
    return undefined;
  }

  /** How far the turn is, for an error or a result that names `limit`. */
  reached(limit: LimitReached['limit'], repeated?: LimitReached['repeated']): LimitReached {
    return {
      limit,
      iterations: this.iterations,
      maxIterations: this.#limits.iterations,
      calls: this.calls,
      maxCalls: this.#limits.calls,
      tokens: this.usage.totalTokens,
      maxTokens: this.#limits.tokens,
      ...(repeated === undefined ? {} : { repeated }),
    };
  }

  /** What is left, for the tools of a batch. */
  left(): ToolBudget {
    const { iterations, calls, tokens } = this.#limits;
    return Object.freeze({
      iterationsLeft: Math.max(0, iterations - this.iterations),
      callsLeft: Math.max(0, calls - this.calls),
      tokensLeft: Math.max(0, tokens - this.usage.totalTokens),
    });
  }

  /** The limits that are nearly used up, each told once for each count that it reaches. Nothing is near before something was used. */
  near(): readonly NearLimit[] {
    if (this.iterations === 0) return NONE;
    const { iterations, calls } = this.#limits;
    const near: NearLimit[] = [];
    if (iterations - this.iterations <= 2) near.push({ limit: 'iterations', used: this.iterations, max: iterations });
    if (calls !== Number.POSITIVE_INFINITY && calls - this.calls <= calls / 10)
      near.push({ limit: 'calls', used: this.calls, max: calls });
    if (near.length === 0) return NONE;
    const key = `${this.iterations} ${this.calls}`;
    if (key === this.#announced) return NONE;
    this.#announced = key;
    return near;
  }
}

const NONE: readonly NearLimit[] = Object.freeze([]);

/** The line that tells a model which limits are near, so that it can bring its work to an end. */
export function nearLine(near: readonly NearLimit[]): string {
  const left = near.map(({ limit, used, max }) => {
    const what = limit === 'iterations' ? 'rounds of tool calls' : 'tool calls';
    return `${Math.max(0, max - used)} of ${max} ${what}`;
  });
  return `Note: ${left.join(' and ')} are left before this turn is stopped. Finish with what you have, and answer.`;
}

/** The records of limits that are near. */
export function nearEntries(near: readonly NearLimit[], turnId: string, stepId: string): JournalEntry[] {
  return near.map(({ limit, used, max }) => ({ type: 'limit.near', turnId, stepId, limit, used, max }));
}
