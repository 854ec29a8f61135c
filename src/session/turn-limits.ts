/** The limits that one turn was given of its own: checked when it is submitted, put in force when it begins. */
import {
  DEFAULT_TOOL_LIMITS,
  type ResolvedToolLimits,
  readLimits,
  resolveModeLimits,
  type ToolLimits,
} from '../define/limits.ts';
import type { ToolBudget } from '../define/tool.ts';
import { SessionError } from '../errors.ts';
import { limitsFromRecord, type RecordedLimits } from '../journal/journal.ts';
import { show } from '../show.ts';

/** What a turn may be given of its own. */
export interface TurnOptions {
  /** Limits for this turn alone, over the mode's, field by field. */
  readonly limits?: ToolLimits;
  /** What another turn has left (`call.budget` of a tool): no limit of this turn is larger, and 0 means nothing. Default: no cap. */
  readonly budget?: ToolBudget;
  /**
   * Interrupts the turn when it aborts, with its reason; one that waits is taken out of the queue. If it has aborted already, the turn is not run, and its
   * result is `interrupted`. It is of this process alone: it is not recorded, and a process that takes the turn up knows nothing of it. Default: none.
   */
  readonly signal?: AbortSignal;
}

/** A turn's own limits, checked. Its mode's are known when it begins. */
export interface TurnLimits {
  readonly own: ToolLimits | undefined;
  readonly budget: ToolBudget | undefined;
}

/** Takes what a turn was given; `undefined` for nothing. Throws `DefinitionError` for limits and `SessionError` for a budget that cannot be taken. */
export function readTurnLimits({ limits, budget }: Pick<TurnOptions, 'limits' | 'budget'>): TurnLimits | undefined {
  if (limits === undefined && budget === undefined) return undefined;
  if (budget !== undefined) requireBudget(budget);
  return { own: readLimits(limits, 'limits'), budget };
}

/** A turn's limits over its mode's, and none of them larger than the budget that it was given. */
export function effectiveLimits(base: ResolvedToolLimits, given: TurnLimits | undefined): ResolvedToolLimits {
  if (given === undefined) return base;
  const limits = resolveModeLimits(base, given.own, 'limits');
  const { budget } = given;
  if (budget === undefined) return limits;
  return Object.freeze({
    ...limits,
    iterations: Math.min(limits.iterations, budget.iterationsLeft),
    calls: Math.min(limits.calls, budget.callsLeft),
    tokens: Math.min(limits.tokens, budget.tokensLeft),
  });
}

/** The limits that an unfinished turn was begun with. */
export function limitsOf({ limits }: { readonly limits: RecordedLimits }): ResolvedToolLimits {
  return limitsFromRecord(limits, Object.keys(DEFAULT_TOOL_LIMITS) as (keyof ToolLimits)[]);
}

function requireBudget(budget: ToolBudget): void {
  for (const name of ['iterationsLeft', 'callsLeft', 'tokensLeft'] as const) {
    const left: unknown = budget?.[name];
    if (typeof left === 'number' && left >= 0) continue;
    throw new SessionError(
      'invalid_option',
      `"budget.${name}" must be a number that is not negative, not ${show(left)}`,
    );
  }
}
