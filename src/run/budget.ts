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
  readonly delegatedCalls: number;
  readonly steps: number;
  readonly usage: Usage;
}

export class Budget {
  readonly #limits: ResolvedToolLimits;
  /** Of a delegate's turn: its share of the budget of the turn that it works for. */
  readonly #share: BudgetShare | undefined;
  iterations = 0;
  calls = 0;
  /** Calls of delegates: they count as the turn's own. */
  #delegatedCalls = 0;
  /** Model responses taken into account. */
  steps = 0;
  /** With what delegates used. */
  usage: Usage = NO_USAGE;
  #announced = '';

  /** `from` is what the turn had used already, where another process began it. */
  constructor(limits: ResolvedToolLimits, from?: UsedSoFar, share?: BudgetShare) {
    this.#limits = limits;
    this.#share = share;
    if (from === undefined) return;
    this.iterations = from.iterations;
    this.calls = from.calls;
    this.#delegatedCalls = from.delegatedCalls;
    this.steps = from.steps;
    this.usage = from.usage;
    share?.addUsed(from.calls + from.delegatedCalls, from.usage);
  }

  /** Counts a response. */
  addResponse(usage: Usage): void {
    this.steps += 1;
    this.usage = addUsage(this.usage, usage);
    this.#share?.addUsed(0, usage);
  }

  /** Counts what delegates used. */
  addDelegated(calls: number, usage: Usage): void {
    this.#delegatedCalls += calls;
    this.usage = addUsage(this.usage, usage);
    this.#share?.addUsed(calls, usage);
  }

  /** Counts a response's batch, and says which limit it goes beyond, if one. */
  admit(batchSize: number): LimitReached | undefined {
    this.iterations += 1;
    this.calls += batchSize;
    this.#share?.addUsed(batchSize, NO_USAGE);
    if (this.iterations > this.#limits.iterations) return this.reached('iterations');
    if (this.isBeyond('calls')) return this.reached('calls');
    if (this.isBeyond('tokens')) return this.reached('tokens');
    return undefined;
  }

  /** Whether more is used than this turn may, or one that it works for. */
  isBeyond(limit: 'calls' | 'tokens'): boolean {
    const used = limit === 'calls' ? this.calls + this.#delegatedCalls : this.usage.totalTokens;
    return used > this.#limits[limit] || this.#share?.isBeyond(limit) === true;
  }

  /** What one call may hand on to delegates; `pause` stops its time. Made when it is asked for: most tools never do. */
  forCall(pause: () => () => void): CallBudget {
    return new CallBudget(this, pause);
  }

  /** How far the turn is, for an error or a result that names `limit`. */
  reached(limit: LimitReached['limit'], repeated?: LimitReached['repeated']): LimitReached {
    return {
      limit,
      iterations: this.iterations,
      maxIterations: this.#limits.iterations,
      calls: this.calls + this.#delegatedCalls,
      maxCalls: this.#limits.calls,
      tokens: this.usage.totalTokens,
      maxTokens: this.#limits.tokens,
      ...(repeated === undefined ? {} : { repeated }),
    };
  }

  /** What is left, for the tools of a batch. */
  left(): ToolBudget {
    const { iterations, calls, tokens } = this.#limits;
    const own = {
      iterationsLeft: Math.max(0, iterations - this.iterations),
      callsLeft: Math.max(0, calls - this.calls - this.#delegatedCalls),
      tokensLeft: Math.max(0, tokens - this.usage.totalTokens),
    };
    const above = this.#share?.left();
    if (above === undefined) return Object.freeze(own);
    return Object.freeze({
      iterationsLeft: own.iterationsLeft,
      callsLeft: Math.min(own.callsLeft, above.callsLeft),
      tokensLeft: Math.min(own.tokensLeft, above.tokensLeft),
    });
  }

  /** The limits that are nearly used up, each told once for each count that it reaches. Nothing is near before something was used. */
  near(): readonly NearLimit[] {
    if (this.iterations === 0) return NONE;
    const { iterations, calls } = this.#limits;
    const near: NearLimit[] = [];
    if (iterations - this.iterations <= 2) near.push({ limit: 'iterations', used: this.iterations, max: iterations });
    if (calls !== Number.POSITIVE_INFINITY && calls - this.calls - this.#delegatedCalls <= calls / 10)
      near.push({ limit: 'calls', used: this.calls + this.#delegatedCalls, max: calls });
    if (near.length === 0) return NONE;
    const key = `${this.iterations} ${this.calls}`;
    if (key === this.#announced) return NONE;
    this.#announced = key;
    return near;
  }
}

/** What the delegates of one call use of the budget of the turn that the call belongs to. */
export class BudgetShare {
  readonly #owner: Budget;
  calls = 0;
  usage: Usage = NO_USAGE;
  /** Stops the time of the call, while a delegate waits for a person. The function that it gives lets it go on. */
  readonly pause: () => () => void;

  constructor(owner: Budget, pause: () => () => void) {
    this.#owner = owner;
    this.pause = pause;
  }

  addUsed(calls: number, usage: Usage): void {
    this.calls += calls;
    this.usage = addUsage(this.usage, usage);
    this.#owner.addDelegated(calls, usage);
  }

  isBeyond(limit: 'calls' | 'tokens'): boolean {
    return this.#owner.isBeyond(limit);
  }

  left(): ToolBudget {
    return this.#owner.left();
  }
}

/** Which share a budget stands for, as a tool was given it. */
const shares = new WeakMap<ToolBudget, BudgetShare>();

/** The share behind a call's `budget`; `undefined` for one that a program made itself. */
export function shareOf(budget: ToolBudget | undefined): BudgetShare | undefined {
  return budget && shares.get(budget);
}

/** The budget of one call. */
export class CallBudget {
  readonly #owner: Budget;
  readonly #pause: () => () => void;
  #budget: ToolBudget | undefined;
  #share: BudgetShare | undefined;

  constructor(owner: Budget, pause: () => () => void) {
    this.#owner = owner;
    this.#pause = pause;
  }

  /** What is left when it is first asked for. */
  get budget(): ToolBudget {
    if (this.#budget === undefined) {
      this.#budget = this.#owner.left();
      this.#share = new BudgetShare(this.#owner, this.#pause);
      shares.set(this.#budget, this.#share);
    }
    return this.#budget;
  }

  /** What delegates used of it, if they did. */
  get used(): { readonly calls: number; readonly usage: Usage } | undefined {
    const share = this.#share;
    if (share === undefined || (share.calls === 0 && share.usage === NO_USAGE)) return undefined;
    return Object.freeze({ calls: share.calls, usage: share.usage });
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
