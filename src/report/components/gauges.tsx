/** How much of its limits a turn has used, and what its steps cost. */
import type { VNode } from 'preact';
import { countText, durationText, tokensText } from '../model/format.ts';
import { type Gauge, gaugesOf, levelOf } from '../model/gauges.ts';
import type { StepView, TurnView } from '../model/view.ts';

/** From here on little is left. */
const NEAR = 0.8;

/** All gauges of a turn. */
export function Gauges({ turn, now }: { readonly turn: TurnView; readonly now: number }): VNode {
  return (
    <div class="gauges">
      {gaugesOf(turn, now).map(gauge => (
        <GaugeBar key={gauge.name} gauge={gauge} />
      ))}
    </div>
  );
}

function GaugeBar({ gauge }: { readonly gauge: Gauge }): VNode {
  const { label, name, used, max, peak, refused, unit } = gauge;
  const level = levelOf(gauge);
  const state = name === 'parallel' || level < NEAR ? 'calm' : level < 1 ? 'near' : 'full';
  return (
    <div class={`gauge gauge-${state}`}>
      <span class="gauge-label">
        {label}
        {peak === undefined ? null : <span class="muted"> · peak {peak}</span>}
      </span>
      <span class="gauge-value">
        <strong>{amount(used, unit)}</strong>
        {max === undefined ? <span class="muted"> no limit</span> : <span class="muted"> / {amount(max, unit)}</span>}
        {refused === undefined ? null : <span class="muted"> and {amount(refused, unit)} refused</span>}
      </span>
      <svg class="gauge-bar" width="100%" height="6" aria-hidden="true">
        <rect class="gauge-ground" width="100%" height="6" rx="3" />
        {max === undefined ? null : <rect class="gauge-fill" width={percent(level)} height="6" rx="3" />}
        {peak === undefined || max === undefined ? null : (
          <rect class="gauge-peak" x={percent(Math.min(1, peak / max))} width="2" height="6" />
        )}
      </svg>
      {state === 'calm' ? null : <span class="gauge-word">{state === 'near' ? 'nearly used up' : 'used up'}</span>}
    </div>
  );
}

function amount(value: number, unit: Gauge['unit']): string {
  if (unit === 'ms') return durationText(value);
  return unit === 'tokens' ? tokensText(value) : countText(value);
}

/** A part of a whole, for a place in a drawing. */
export function percent(part: number): string {
  return `${Math.round(part * 10_000) / 100}%`;
}

/** More steps than this share a bar. */
const MOST_BARS = 48;

/** Tokens a step: cached input, other input, output, one above the other. */
export function UsageBars({ steps }: { readonly steps: readonly StepView[] }): VNode | null {
  const bars = barsOf(steps);
  const most = Math.max(...bars.map(({ input, output }) => input + output));
  if (bars.length === 0 || most <= 0) return null;
  const width = 100 / Math.max(bars.length, 12);
  return (
    <figure class="usage">
      <figcaption>
        <span>Tokens a step</span>
        <span class="muted">up to {tokensText(most)}</span>
      </figcaption>
      <svg width="100%" height="48" role="img" aria-label={describe(bars)}>
        {bars.map(({ first, last, cached, input, output }, index) => {
          const x = percent((index * width) / 100);
          const bar = { x, width: percent((width * 0.72) / 100), rx: 1 };
          const high = (tokens: number): number => Math.round((tokens / most) * 46 * 10) / 10;
          const top = 48 - high(input + output);
          return (
            <g key={first}>
              <title>{`${nameOf(first, last)}: ${countText(input)} in (${countText(cached)} cached), ${countText(output)} out`}</title>
              <rect class="usage-output" {...bar} y={top} height={high(output)} />
              <rect class="usage-input" {...bar} y={top + high(output)} height={high(input - cached)} />
              <rect class="usage-cached" {...bar} y={48 - high(cached)} height={high(cached)} />
            </g>
          );
        })}
      </svg>
      <ul class="usage-legend" aria-hidden="true">
        <li class="key-output">out</li>
        <li class="key-input">in</li>
        <li class="key-cached">in, cached</li>
      </ul>
    </figure>
  );
}

interface Bar {
  readonly first: number;
  readonly last: number;
  readonly cached: number;
  readonly input: number;
  readonly output: number;
}

/** One bar a step; where there are many, one for several, with their mean. */
function barsOf(steps: readonly StepView[]): readonly Bar[] {
  const used = steps.filter(({ usage }) => usage !== undefined);
  const size = Math.max(1, Math.ceil(used.length / MOST_BARS));
  const bars: Bar[] = [];
  for (let from = 0; from < used.length; from += size) {
    const group = used.slice(from, from + size);
    const mean = (pick: (step: StepView) => number): number =>
      Math.round(group.reduce((sum, step) => sum + pick(step), 0) / group.length);
    bars.push({
      first: group[0]?.step ?? 0,
      last: group.at(-1)?.step ?? 0,
      cached: mean(({ usage }) => usage?.cachedInputTokens ?? 0),
      input: mean(({ usage }) => usage?.inputTokens ?? 0),
      output: mean(({ usage }) => usage?.outputTokens ?? 0),
    });
  }
  return bars;
}

function nameOf(first: number, last: number): string {
  return first === last ? `Step ${first}` : `Steps ${first} to ${last}, a step`;
}

function describe(bars: readonly Bar[]): string {
  const told = bars.slice(-6).map(({ first, last, input, output }) => {
    return `${nameOf(first, last)}: ${countText(input)} in, ${countText(output)} out`;
  });
  return `Tokens a step. ${told.join('. ')}.`;
}
