/** What each call of a step did when: waited for a person, for another call, for a slot, or ran. What a timeline draws. */
import type { CallView, StepView } from './view.ts';

/** What a call did for a while. */
type SpanKind = 'person' | 'call' | 'slot' | 'running';

/** A while. Times are milliseconds since the epoch. */
export interface Span {
  readonly kind: SpanKind;
  readonly from: number;
  readonly to: number;
  /** It goes on. */
  readonly isOpen: boolean;
}

/** One call on a timeline. */
export interface CallTrack {
  readonly call: CallView;
  readonly spans: readonly Span[];
}

/**
 * The batch of a step. All questions to people come before any call runs, and may take days: they are drawn by a scale of their own, and the calls
 * by one that begins when they were announced.
 */
export interface BatchTracks {
  readonly tracks: readonly CallTrack[];
  readonly asked: { readonly from: number; readonly to: number } | undefined;
  readonly ran: { readonly from: number; readonly to: number };
}

/** Waits shorter than this are the writing of a record, and nobody's waiting. */
const LEAST_WAIT_MS = 2;

/** The tracks of a step's calls, as they stand at `now`; of a turn that has ended, nothing goes on. */
export function tracksOf(step: StepView, parallel: number | undefined, now: number): BatchTracks | undefined {
  const { calls } = step;
  if (calls.length === 0) return undefined;
  const end = step.endedAt ?? now;
  const ends = new Map(calls.map(call => [call.callId, call.endedAt]));
  const mayLackSlots = parallel !== undefined && calls.length > parallel;
  const tracks = calls.map(call => ({
    call,
    spans: spansOf(call, ends, mayLackSlots, end, step.endedAt === undefined),
  }));
  const gates = calls.flatMap(({ gate }) => (gate === undefined ? [] : [gate]));
  const asked = gates.length === 0 ? undefined : extent(gates.map(gate => [gate.openedAt, gate.resolvedAt ?? end]));
  const called = calls.flatMap(({ calledAt }) => calledAt ?? []);
  const from = called.length > 0 ? Math.min(...called) : (asked?.to ?? end);
  const to = Math.max(from, ...calls.map(call => call.endedAt ?? (call.calledAt === undefined ? from : end)));
  return { tracks, asked, ran: { from, to } };
}

function spansOf(
  call: CallView,
  ends: ReadonlyMap<string, number | undefined>,
  mayLackSlots: boolean,
  end: number,
  goesOn: boolean,
): readonly Span[] {
  const spans: Span[] = [];
  const add = (kind: SpanKind, from: number, to: number | undefined): void => {
    const isOpen = to === undefined && goesOn;
    const until = Math.max(from, to ?? end);
    if (kind === 'running' || isOpen || until - from >= LEAST_WAIT_MS) spans.push({ kind, from, to: until, isOpen });
  };
  const { gate, calledAt, startedAt, endedAt } = call;
  if (gate !== undefined) add('person', gate.openedAt, gate.resolvedAt);
  if (calledAt === undefined) return spans;
  const waitedUntil = startedAt ?? endedAt;
  const freeAt = freeAfter(call, ends, calledAt);
  if (call.waitsFor.length > 0) add('call', calledAt, earliest(freeAt, waitedUntil));
  if (freeAt !== undefined && mayLackSlots && (waitedUntil === undefined || waitedUntil > freeAt)) {
    add('slot', freeAt, waitedUntil);
  }
  if (startedAt !== undefined) add('running', startedAt, endedAt);
  return spans;
}

/** When the last of the calls that it waits for had ended; `undefined` while one has not. */
function freeAfter(
  { waitsFor }: CallView,
  ends: ReadonlyMap<string, number | undefined>,
  calledAt: number,
): number | undefined {
  let last = calledAt;
  for (const callId of waitsFor) {
    const endedAt = ends.get(callId);
    if (endedAt === undefined) return undefined;
    last = Math.max(last, endedAt);
  }
  return last;
}

function earliest(first: number | undefined, second: number | undefined): number | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return Math.min(first, second);
}

function extent(ranges: readonly (readonly [number, number])[]): { readonly from: number; readonly to: number } {
  return { from: Math.min(...ranges.map(([from]) => from)), to: Math.max(...ranges.map(([, to]) => to)) };
}

/** Round places for the marks of an axis over `ms` milliseconds: at most `most` of them, without the beginning. */
export function ticksOf(ms: number, most = 5): readonly number[] {
  if (ms <= 0) return [];
  const least = ms / most;
  const unit = UNITS.find(step => step >= least) ?? Math.ceil(least / DAY) * DAY;
  return Array.from({ length: Math.floor(ms / unit) }, (_, index) => (index + 1) * unit);
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map(seconds => seconds * SECOND),
  ...[1, 2, 5, 10, 20, 30].map(minutes => minutes * MINUTE),
  ...[1, 2, 6, 12, 24].map(hours => hours * HOUR),
];
