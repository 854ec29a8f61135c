/** How much of each limit a turn has used. */
import { refusedOf } from './refused.ts';
import type { TurnView } from './view.ts';

/** One limit, and how much of it is used. */
export interface Gauge {
  readonly name: 'iterations' | 'calls' | 'parallel' | 'tokens' | 'time';
  readonly label: string;
  readonly used: number;
  /** Absent where there is no limit. */
  readonly max?: number;
  /** The highest that it was, where that is not what is used now. */
  readonly peak?: number;
  /** What went beyond the limit and was refused, beside what is used. Absent where nothing was. */
  readonly refused?: number;
  readonly unit: 'count' | 'tokens' | 'ms';
}

/** The gauges of a turn as it stands at `now`. One without a limit has no `max`; time stands there only where it is limited. */
export function gaugesOf(turn: TurnView, now: number): readonly Gauge[] {
  const { limits, running, peak, usage } = turn;
  const { iterations, calls } = usedOf(turn);
  const atOnce =
    turn.end === undefined ? { label: 'Running', used: running, peak } : { label: 'Ran at once', used: peak };
  const gauges: readonly Gauge[] = [
    { name: 'iterations', label: 'Iterations', ...iterations, unit: 'count', ...maxOf(limits.iterations) },
    { name: 'calls', label: 'Calls', ...calls, unit: 'count', ...maxOf(limits.calls) },
    { name: 'parallel', ...atOnce, unit: 'count', ...maxOf(limits.parallel) },
    { name: 'tokens', label: 'Tokens', used: usage.totalTokens, unit: 'tokens', ...maxOf(limits.tokens) },
  ];
  if (limits.turnTimeoutMs === undefined) return gauges;
  return [
    ...gauges,
    { name: 'time', label: 'Time', used: runningTime(turn, now), unit: 'ms', max: limits.turnTimeoutMs },
  ];
}

/** Iterations and calls, without the batch that went beyond a limit. */
function usedOf({ iterations, calls, limits, steps }: TurnView): Record<'iterations' | 'calls', Amount> {
  const batches = steps.flatMap(step => (step.calls.length === 0 ? [] : [step.calls.length]));
  const announced = { iterations: batches.length, calls: batches.reduce((sum, size) => sum + size, 0) };
  const refused = refusedOf({ iterations, calls, limits, announced, lastBatch: batches.at(-1) ?? 0 });
  return { iterations: amountOf(iterations, refused.iterations), calls: amountOf(calls, refused.calls) };
}

type Amount = Pick<Gauge, 'used' | 'refused'>;

function amountOf(count: number, refused: number): Amount {
  return refused === 0 ? { used: count } : { used: count - refused, refused };
}

function maxOf(max: number | undefined): { readonly max?: number } {
  return max === undefined ? {} : { max };
}

/** How long a turn took, without the time in which all of it waited for a person. */
function runningTime(turn: TurnView, now: number): number {
  let waited = 0;
  for (const { calls } of turn.steps) {
    const gates = calls.flatMap(({ gate }) => (gate === undefined ? [] : [gate]));
    if (gates.length === 0) continue;
    const closed = Math.max(...gates.map(({ resolvedAt }) => resolvedAt ?? turn.endedAt ?? now));
    waited += closed - Math.min(...gates.map(({ openedAt }) => openedAt));
  }
  return Math.max(0, (turn.endedAt ?? now) - turn.startedAt - waited);
}

/** How full a gauge is, from 0 to 1; 0 where there is no limit. */
export function levelOf({ used, max }: Gauge): number {
  return max === undefined || max <= 0 ? 0 : Math.min(1, used / max);
}
