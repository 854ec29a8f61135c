/** The batch of a step: who ran beside whom, who waited for a person, for another call or for a slot, and how each ended. */
import { type Context, createContext, type VNode } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { callText, callWord, durationText } from '../model/format.ts';
import { type BatchTracks, type CallTrack, type Span, ticksOf, tracksOf } from '../model/spans.ts';
import type { CallView, StepView } from '../model/view.ts';
import { CallDetails } from './call-details.tsx';
import { percent } from './gauges.tsx';
import { Icon, lookOf } from './icons.tsx';

/** What a page does with the rows of timelines. A document without one shows everything in them from the beginning. */
export interface RowHost {
  isOpen(callId: string): boolean;
  setOpen(callId: string, isOpen: boolean): void;
  /** Somebody looks at a row, with a pointer or by focus; `undefined` for nobody any more. */
  peek(call: CallView | undefined, row?: Element): void;
}

export const Rows: Context<RowHost | undefined> = createContext<RowHost | undefined>(undefined);

/** Rows beyond this are not drawn. */
const MOST_ROWS = 200;

/** The share of the width in which people are waited for, if they were asked, and where the calls begin. */
const ASKED_WIDTH = 0.17;
const ASKED_GAP = 0.055;

/** The timeline of a step, as it stands at `now`; nothing for a step without calls. */
export function Timeline({
  step,
  parallel,
  now,
}: {
  readonly step: StepView;
  readonly parallel: number | undefined;
  readonly now: number;
}): VNode | null {
  const batch = tracksOf(step, parallel, now);
  if (batch === undefined) return null;
  const scale = scaleOf(batch);
  const left = batch.tracks.length - MOST_ROWS;
  return (
    <div class="timeline">
      <Axis batch={batch} scale={scale} />
      <ol class="lanes" aria-label={`Calls of step ${step.step}`}>
        {batch.tracks.slice(0, MOST_ROWS).map(track => (
          <li key={track.call.callId}>
            <Row track={track} step={step} scale={scale} />
          </li>
        ))}
      </ol>
      {left > 0 ? <p class="note">{left} more calls are not shown here.</p> : null}
    </div>
  );
}

/** From a time to a place between 0 and 1. */
interface Scale {
  readonly start: number;
  readonly ms: number;
  readonly ticks: readonly { readonly ms: number; readonly at: number }[];
  ran(time: number): number;
  asked(time: number): number;
}

function scaleOf({ asked, ran, tracks }: BatchTracks): Scale {
  const hasRun = tracks.some(({ call }) => call.calledAt !== undefined);
  const start = asked === undefined ? 0 : ASKED_WIDTH + ASKED_GAP;
  const ms = Math.max(1, ran.to - ran.from);
  const share = (1 - start) / ms;
  const askedShare = asked === undefined ? 0 : ASKED_WIDTH / Math.max(1, asked.to - asked.from);
  return {
    start,
    ms,
    ticks: hasRun ? ticksOf(ms, asked === undefined ? 5 : 4).map(tick => ({ ms: tick, at: start + tick * share })) : [],
    ran: time => start + (time - ran.from) * share,
    asked: time => (time - (asked?.from ?? 0)) * askedShare,
  };
}

function Axis({ batch: { asked, tracks }, scale }: { readonly batch: BatchTracks; readonly scale: Scale }): VNode {
  const hasRun = tracks.some(({ call }) => call.calledAt !== undefined);
  return (
    <div class="row axis" aria-hidden="true">
      <span class="row-label" />
      <svg class="track" width="100%" height="16" aria-hidden="true">
        {asked === undefined ? null : (
          <>
            <text class="axis-text axis-asked" x="0" y="11">
              {durationText(asked.to - asked.from)}
            </text>
            <svg x={percent(ASKED_WIDTH + ASKED_GAP / 2)} overflow="visible" aria-hidden="true">
              <path class="axis-break" d="M-3 12 0 4M1 12 4 4" />
            </svg>
          </>
        )}
        {hasRun ? (
          <text class="axis-text" x={percent(scale.start)} y="11">
            0
          </text>
        ) : null}
        {scale.ticks
          .filter(({ at }) => at < 0.985)
          .map(({ ms, at }) => (
            <text key={ms} class="axis-text axis-tick" x={percent(at)} y="11">
              {durationText(ms)}
            </text>
          ))}
      </svg>
      <span class="row-word" />
    </div>
  );
}

function Row({
  track: { call, spans },
  step,
  scale,
}: {
  readonly track: CallTrack;
  readonly step: StepView;
  readonly scale: Scale;
}): VNode {
  const host = useContext(Rows);
  const look = lookOf(call);
  const [isOpen, setIsOpen] = useState(host?.isOpen(call.callId) ?? false);
  const toggled = (rows: RowHost) => (event: { readonly currentTarget: HTMLDetailsElement }) => {
    const { open } = event.currentTarget;
    rows.setOpen(call.callId, open);
    setIsOpen(open);
  };
  const running = spans.find(({ kind }) => kind === 'running');
  const events =
    host === undefined
      ? {}
      : {
          onMouseEnter: (event: { readonly currentTarget: Element }) => host.peek(call, event.currentTarget),
          onMouseLeave: () => host.peek(undefined),
          onFocus: (event: { readonly currentTarget: Element }) => host.peek(call, event.currentTarget),
          onBlur: () => host.peek(undefined),
        };
  return (
    <details
      class={`call call-${look}`}
      {...(host === undefined ? {} : { open: isOpen })}
      {...(host === undefined ? {} : { onToggle: toggled(host) })}
    >
      <summary class="row" {...events}>
        <span class="row-label">
          <Icon look={look} />
          <span class="tool-name">{call.toolName}</span> <span class="row-about">{callText(call)}</span>
        </span>
        <svg class="track" width="100%" height="18" aria-hidden="true">
          <Grid scale={scale} />
          {spans.map(span => (
            <Bar key={`${span.kind} ${span.from}`} span={span} look={look} scale={scale} />
          ))}
          {running === undefined && call.endedAt !== undefined ? (
            <rect
              class={`bar-mark look-${look}`}
              x={percent(Math.min(0.985, scale.ran(call.endedAt)))}
              y="4"
              width="3"
              height="10"
            />
          ) : null}
        </svg>
        <span class="row-word">
          <span class="visually-hidden">, </span>
          {call.outcome === 'done' ? null : <span class="row-state">{callWord(call)}</span>}
          {call.outcome === 'done' ? <span class="visually-hidden">done, </span> : null}
          {running === undefined ? null : <span class="row-time"> {durationText(running.to - running.from)}</span>}
          <Waits spans={spans} />
        </span>
      </summary>
      {host === undefined || isOpen ? <CallDetails call={call} spans={spans} step={step} /> : null}
    </details>
  );
}

function Grid({ scale }: { readonly scale: Scale }): VNode {
  return (
    <>
      <line class="grid" x1={percent(scale.start)} x2={percent(scale.start)} y1="0" y2="18" />
      {scale.ticks.map(({ ms, at }) => (
        <line key={ms} class="grid" x1={percent(at)} x2={percent(at)} y1="0" y2="18" />
      ))}
    </>
  );
}

const FILLS: Readonly<Record<Span['kind'], string | undefined>> = Object.freeze({
  ...{ person: 'url(#wait-person)', call: 'url(#wait-call)', slot: 'url(#wait-slot)' },
  running: undefined,
});

function Bar({ span, look, scale }: { readonly span: Span; readonly look: string; readonly scale: Scale }): VNode {
  const { kind, from, to } = span;
  const place = kind === 'person' ? scale.asked : scale.ran;
  const left = place(from);
  const fill = FILLS[kind];
  // A bar of no width would not be seen, and a minimal one must not leave the drawing.
  const width = Math.max(0.004, place(to) - left);
  const x = Math.min(left, 1 - width);
  const isThin = kind === 'call' || kind === 'slot';
  return (
    <rect
      class={`bar bar-${kind} look-${look}`}
      x={percent(x)}
      width={percent(width)}
      y={isThin ? 5 : 4}
      height={isThin ? 8 : 10}
      rx="2"
      {...(fill === undefined ? {} : { fill })}
    >
      <title>{spanText(span)}</title>
    </rect>
  );
}

const SPAN_WORDS: Readonly<Record<Span['kind'], readonly [now: string, then: string]>> = Object.freeze({
  person: ['has been waiting for a person for', 'waited for a person for'],
  call: ['has been waiting for another call for', 'waited for another call for'],
  slot: ['has been waiting for a slot for', 'waited for a slot for'],
  running: ['has been running for', 'ran for'],
});

/** What a call did for how long, in words. */
function spanText({ kind, from, to, isOpen }: Span): string {
  return `${SPAN_WORDS[kind][isOpen ? 0 : 1]} ${durationText(to - from)}`;
}

/** For those who cannot see the bars. */
function Waits({ spans }: { readonly spans: readonly Span[] }): VNode | null {
  const waits = spans.filter(({ kind }) => kind !== 'running');
  if (waits.length === 0) return null;
  return <span class="visually-hidden">, {waits.map(spanText).join(', ')}</span>;
}

const RAN = Object.freeze([
  ...([
    ['running', 'runs'],
    ['done', 'ran'],
  ] as const),
  ...([
    ['failed', 'ran and failed'],
    ['stopped', 'was interrupted'],
  ] as const),
] as const);

/** What the fillings mean. */
export function TimelineLegend(): VNode {
  const keys = [
    ...([
      ['waits for a person', 'wait-person', 'bar-person'],
      ['waits for another call', 'wait-call', 'bar-call'],
    ] as const),
    ...([['waits for a slot', 'wait-slot', 'bar-slot']] as const),
  ] as const;
  return (
    <ul class="legend" aria-label="What the bars mean">
      {keys.map(([text, pattern, kind]) => (
        <li class="legend-key" key={text}>
          <svg width="18" height="10" aria-hidden="true">
            <rect class={`bar ${kind}`} width="18" height="10" rx="2" fill={`url(#${pattern})`} />
          </svg>
          {text}
        </li>
      ))}
      {RAN.map(([look, text]) => (
        <li class="legend-key" key={look}>
          <svg width="18" height="10" aria-hidden="true">
            <rect class={`bar bar-running look-${look}`} width="18" height="10" rx="2" />
          </svg>
          {text}
        </li>
      ))}
    </ul>
  );
}
