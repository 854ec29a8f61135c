/** What a turn has used of its limits, in words. */
import { durationText } from '../report/model/format.ts';
import { textWidth } from './text-width.ts';
import type { TurnProgress } from './turn-progress.ts';

/** One gauge: its name, a short one for narrow windows, and how much of how much. A maximum that is absent is none. */
interface Gauge {
  readonly name: string;
  readonly short: string;
  readonly used: number;
  /** What went beyond the limit, and was refused; 0 where nothing did. */
  readonly refused: number;
  readonly max: number | undefined;
}

/** What stands between two gauges. */
export const SEPARATOR = ' · ';

/** The gauges of a turn that runs, in at most `width` columns where the shortest form of them fits. */
export function liveGauges(progress: TurnProgress, now: number, width: number): string {
  const { running, limits } = progress;
  const gauges: readonly Gauge[] = [
    ...counts(progress),
    { name: 'running', short: 'run', used: running, refused: 0, max: limits.parallel },
  ];
  const long = gauges.map(gauge => `${gauge.name} ${level(gauge)}`).join(SEPARATOR);
  const full = [long, ...tokens(progress), ...elapsed(progress, now)].join(SEPARATOR);
  const short = gauges.map(gauge => `${gauge.short} ${level(gauge)}`).join(SEPARATOR);
  const bare = gauges.map(level).join(SEPARATOR);
  return [full, long, short].find(text => textWidth(text) <= width) ?? bare;
}

/** The gauges of a turn that has ended, one by one. */
export function finalGauges(progress: TurnProgress, now: number): readonly string[] {
  const { steps, peak, limits } = progress;
  const gauges: readonly Gauge[] = [
    ...counts(progress),
    { name: 'parallel peak', short: 'peak', used: peak, refused: 0, max: limits.parallel },
  ];
  const levels = gauges.map(gauge => {
    const refused = gauge.refused === 0 ? '' : ` (and ${gauge.refused} refused)`;
    return `${gauge.name} ${level(gauge)}${refused}`;
  });
  return [
    `steps ${steps}`,
    ...levels,
    showTokens(progress) + showParts(progress),
    ...elapsed(progress, progress.endedAt ?? now),
  ];
}

/** What ran of what was asked for. */
function counts({ iterations, calls, refused, limits }: TurnProgress): readonly Gauge[] {
  return [
    {
      ...{ name: 'iterations', short: 'it', max: limits.iterations },
      ...{ used: iterations - refused.iterations, refused: refused.iterations },
    },
    {
      ...{ name: 'calls', short: 'calls', max: limits.calls },
      ...{ used: calls - refused.calls, refused: refused.calls },
    },
  ];
}

function level({ used, max }: Gauge): string {
  return max === undefined ? String(used) : `${used}/${max}`;
}

function tokens(progress: TurnProgress): readonly string[] {
  return progress.usage.totalTokens === 0 && progress.limits.tokens === undefined ? [] : [showTokens(progress)];
}

function showTokens({ usage, limits }: TurnProgress): string {
  const used = count(usage.totalTokens);
  return limits.tokens === undefined ? `${used} tokens` : `${used}/${count(limits.tokens)} tokens`;
}

/** What the tokens were: those that went in, of them those that a cache had, and those that came out, of them those of reasoning. */
function showParts({ usage }: TurnProgress): string {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens, totalTokens } = usage;
  if (totalTokens === 0) return '';
  const cached = cachedInputTokens === 0 ? '' : ` (${count(cachedInputTokens)} cached)`;
  const reasoning = reasoningTokens === 0 ? '' : ` (${count(reasoningTokens)} reasoning)`;
  return `: ${count(inputTokens)} in${cached}, ${count(outputTokens)} out${reasoning}`;
}

function count(tokens: number): string {
  return tokens.toLocaleString('en-US');
}

function elapsed({ startedAt }: TurnProgress, now: number): readonly string[] {
  return startedAt === undefined ? [] : [durationText(Math.max(0, now - startedAt))];
}
