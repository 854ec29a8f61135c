/**
 * Folds events into a view of their session. Pure: a view is never changed, and what an event is not about stays the same object, so that whoever
 * draws a view knows by identity what to draw anew.
 *
 * 1. Any prefix of a session's events gives a view that holds together.
 * 2. Ephemeral events may be missing: they fill only what the next enduring ones replace.
 * 3. An enduring event that was seen is passed over, so that a reader may begin anew wherever it likes.
 */
import { EVENT_DURABILITY, isTerminal, type SessionEvent, type TurnEvent } from '../../events/events.ts';
import { addUsage, NO_USAGE } from '../../model/model.ts';
import { reduceStep } from './reduce-step.ts';
import type { CallView, SessionView, StepView, TurnEndView, TurnView } from './view.ts';

/** A session of which nothing is known yet. */
export const EMPTY_VIEW: SessionView = Object.freeze({
  ...{ sessionId: '', mode: '', seq: 0, at: 0 },
  turns: Object.freeze([]),
  waiting: Object.freeze([]),
});

/** The view after one more event. */
export function reduce(view: SessionView, event: SessionEvent): SessionView {
  const isEnduring = EVENT_DURABILITY[event.type] === 'enduring';
  if (isEnduring && event.seq <= view.seq && !endsUnrecorded(view, event)) return view;
  const { sessionId, seq, at } = event;
  const next = reduceSession(view, event);
  return { ...next, sessionId, seq: isEnduring ? Math.max(seq, view.seq) : view.seq, at: Math.max(at, view.at) };
}

/** The view after several events. */
export function reduceAll(view: SessionView, events: Iterable<SessionEvent>): SessionView {
  let next = view;
  for (const event of events) next = reduce(next, event);
  return next;
}

/** The view of a reader that begins anew: it is told once more what there is of a response under way, so that what it had is void. */
export function withoutDrafts(view: SessionView): SessionView {
  const last = view.turns.at(-1);
  return last === undefined || last.end !== undefined ? view : replaceTurn(view, last, withoutDraft(last));
}

function withoutDraft(turn: TurnView): TurnView {
  const step = turn.steps.at(-1);
  return step === undefined || step.endedAt !== undefined ? turn : replaceStep(turn, step, { ...step, ...NO_DRAFT });
}

/** A step of which nothing was shown yet. */
const NO_DRAFT: Pick<StepView, 'text' | 'reasoning' | 'isPartial' | 'writing'> = Object.freeze({
  ...{ text: '', reasoning: '', isPartial: false },
  writing: Object.freeze([]),
});

/** A terminal event whose record could not be written has the number of the record before it. */
function endsUnrecorded(view: SessionView, event: SessionEvent): boolean {
  if (!isTerminal(event) || event.seq < view.seq) return false;
  return view.turns.some(turn => turn.turnId === event.turnId && turn.end === undefined);
}

function reduceSession(view: SessionView, event: SessionEvent): SessionView {
  switch (event.type) {
    case 'input.received': {
      const { inputId, as, input, at } = event;
      return { ...view, waiting: [...view.waiting, { inputId, as, input, at }] };
    }
    case 'input.cancelled':
      return withoutWaiting(view, event.inputId);
    case 'mode.changed':
      return { ...view, mode: event.mode };
    case 'turn.started':
      return begin(withoutWaiting(view, event.inputId), event);
    case 'observer.failed':
    case 'session.drift':
    case 'events.dropped':
      return event.type === 'events.dropped' ? markPartial(view) : view;
    default: {
      const turn = view.turns.findLast(({ turnId }) => turnId === event.turnId);
      if (turn === undefined) return view; // the reader came after its beginning
      const rest = event.type === 'input.steered' ? withoutWaiting(view, event.inputId) : view;
      const next = reduceTurn(turn, event);
      return next === turn ? rest : replaceTurn(rest, turn, next);
    }
  }
}

function begin(view: SessionView, event: Extract<TurnEvent, { type: 'turn.started' }>): SessionView {
  const { turnId, input, mode, limits, at } = event;
  const counts = { iterations: 0, calls: 0, running: 0, peak: 0, openGates: 0 };
  const lists = { resumedAt: [], steered: [], steps: [], near: [] };
  const turn: TurnView = {
    ...{ turnId, state: 'running', input, mode, limits, startedAt: at, usage: NO_USAGE },
    ...counts,
    ...lists,
  };
  return { ...view, mode, turns: [...view.turns, turn] };
}

function reduceTurn(turn: TurnView, event: Exclude<TurnEvent, { type: 'turn.started' | 'events.dropped' }>): TurnView {
  switch (event.type) {
    case 'turn.resumed':
      return withoutDraft({ ...turn, resumedAt: [...turn.resumedAt, event.at] });
    case 'turn.released':
      return withoutDraft(turn);
    case 'input.steered': {
      const { inputId, input, at } = event;
      return { ...turn, steered: [...turn.steered, { inputId, input, at, before: turn.steps.length }] };
    }
    case 'limit.near': {
      const { limit, used, max } = event;
      return { ...turn, near: [...turn.near.filter(near => near.limit !== limit), { limit, used, max }] };
    }
    case 'step.started': {
      const { stepId, step, at } = event;
      if (turn.steps.some(known => known.stepId === stepId)) return turn;
      const fresh: StepView = { stepId, step, startedAt: at, ...NO_DRAFT, retries: [], calls: [] };
      return { ...turn, steps: [...turn.steps, fresh] };
    }
    case 'turn.done':
    case 'turn.failed':
    case 'turn.interrupted':
      return ended(turn, event);
    default: {
      const step = turn.steps.findLast(({ stepId }) => stepId === event.stepId);
      if (step === undefined) return turn;
      const next = reduceStep(step, event);
      if (next === step) return turn;
      const replaced = replaceStep(turn, step, next);
      // Deltas change no figure and come by the thousand; of a step that is over, a call may still settle late.
      const isCounted = step === turn.steps.at(-1) && (next.calls !== step.calls || next.usage !== step.usage);
      return isCounted ? counted(replaced, step, next) : replaced;
    }
  }
}

/** The figures of a turn after a step of it changed from `before` to `after`. */
function counted(turn: TurnView, before: StepView, after: StepView): TurnView {
  const running = after.calls.filter(isRunning).length;
  const openGates = after.calls.filter(isAsked).length;
  const isFirst = before.calls.length === 0 && after.calls.length > 0;
  return {
    ...turn,
    ...{ running, openGates, peak: Math.max(turn.peak, running) },
    state: turn.end !== undefined ? turn.state : openGates > 0 ? 'waiting' : 'running',
    iterations: turn.iterations + (isFirst ? 1 : 0),
    calls: turn.calls + after.calls.length - before.calls.length,
    usage: before.usage === undefined && after.usage !== undefined ? addUsage(turn.usage, after.usage) : turn.usage,
  };
}

/** Whether a call runs. */
function isRunning({ startedAt, endedAt }: CallView): boolean {
  return startedAt !== undefined && endedAt === undefined;
}

/** Whether a call waits for a person. */
function isAsked({ gate }: CallView): boolean {
  return gate !== undefined && gate.resolvedAt === undefined;
}

function ended(
  turn: TurnView,
  event: Extract<TurnEvent, { type: 'turn.done' | 'turn.failed' | 'turn.interrupted' }>,
): TurnView {
  const { at, usage, iterations, calls } = event;
  const last = turn.steps.at(-1);
  const settled = last === undefined ? turn : replaceStep(turn, last, { endedAt: at, ...last, writing: [] });
  const end: TurnEndView = { text: event.text, leftBehind: [], ...endOf(event) };
  const state = event.type.slice('turn.'.length) as 'done' | 'failed' | 'interrupted';
  return { ...settled, state, endedAt: at, usage, iterations, calls, running: 0, openGates: 0, end };
}

function endOf(
  event: Extract<TurnEvent, { type: 'turn.done' | 'turn.failed' | 'turn.interrupted' }>,
): Partial<TurnEndView> {
  switch (event.type) {
    case 'turn.done': {
      const { finishReason, output, limited } = event;
      return {
        finishReason,
        ...(output === undefined ? {} : { output }),
        ...(limited === undefined ? {} : { limited }),
      };
    }
    case 'turn.failed':
      return { error: event.error, leftBehind: event.leftBehind ?? [] };
    case 'turn.interrupted':
      return {
        leftBehind: event.leftBehind ?? [],
        ...(event.reason === undefined ? {} : { reason: event.reason }),
      };
  }
}

function markPartial(view: SessionView): SessionView {
  const turn = view.turns.at(-1);
  const step = turn?.steps.at(-1);
  if (turn === undefined || step === undefined || step.endedAt !== undefined) return view;
  return replaceTurn(view, turn, replaceStep(turn, step, { ...step, isPartial: true }));
}

function withoutWaiting(view: SessionView, inputId: string | undefined): SessionView {
  if (inputId === undefined || view.waiting.length === 0) return view;
  return { ...view, waiting: view.waiting.filter(waiting => waiting.inputId !== inputId) };
}

function replaceTurn(view: SessionView, turn: TurnView, next: TurnView): SessionView {
  return { ...view, turns: view.turns.with(view.turns.lastIndexOf(turn), next) };
}

function replaceStep(turn: TurnView, step: StepView, next: StepView): TurnView {
  return { ...turn, steps: turn.steps.with(turn.steps.lastIndexOf(step), next) };
}
