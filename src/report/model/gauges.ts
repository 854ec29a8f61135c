/** How much of each limit a turn has used. */
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
  readonly unit: 'count' | 'tokens' | 'ms';
}

/** The gauges of a turn as it stands at `now`. One without a limit has no `max`; time stands there only where it is limited. */
export function gaugesOf(turn: TurnView, now: number): readonly Gauge[] {
  const { limits, iterations, calls, running, peak, usage } = turn;
  const atOnce =
    turn.end === undefined ? { label: 'Running', used: running, peak } : { label: 'Ran at once', used: peak };
  const gauges: readonly Gauge[] = [
    { name: 'iterations', label: 'Iterations', used: iterations, unit: 'count', ...maxOf(limits.iterations) },
    { name: 'calls', label: 'Calls', used: calls, unit: 'count', ...maxOf(limits.calls) },
    { name: 'parallel', ...atOnce, unit: 'count', ...maxOf(limits.parallel) },
    { name: 'tokens', label: 'Tokens', used: usage.totalTokens, unit: 'tokens', ...maxOf(limits.tokens) },
  ];
  if (limits.turnTimeoutMs === undefined) return gauges;
  return [
    ...gauges,
    { name: 'time', label: 'Time', used: runningTime(turn, now), unit: 'ms', max: limits.turnTimeoutMs },
  ];
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
