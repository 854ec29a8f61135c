/** `looprig/report`: a session as one HTML file, or as data. */
import { readTyped } from '../define/options.ts';
import { SessionError } from '../errors.ts';
import type { SessionEvent } from '../events/events.ts';
import { recordedEvents } from '../events/projection.ts';
import type { JournalStore } from '../journal/journal.ts';
import { EMPTY_VIEW, reduce, reduceAll } from './model/reduce.ts';
import type { SessionView } from './model/view.ts';
import { renderPage } from './page.tsx';

export type {
  CallView,
  GateView,
  NearLimit,
  RetryView,
  SessionView,
  SteeredInput,
  StepView,
  TurnEndView,
  TurnState,
  TurnView,
  WaitingInput,
  WrittenCall,
} from './model/view.ts';

/** Options of `reportHtml`. */
export interface ReportOptions {
  /** Default: the first words of the session. */
  readonly title?: string;
  /** The most characters of one argument, result or text; where there are many, each has fewer. Default 8,000. */
  readonly mostCharacters?: number;
}

/** A session of a store, as far as it is recorded. Rejects with `SessionError` `unknown_session`, and with what the store says of a damaged journal. */
export async function readSession(store: JournalStore, sessionId: string): Promise<SessionView> {
  const eventOf = recordedEvents(sessionId);
  let view: SessionView | undefined;
  for await (const record of store.read(sessionId, 1)) {
    const event = eventOf(record);
    view ??= { ...EMPTY_VIEW, sessionId };
    if (record.type === 'session.opened') view = { ...view, loop: record.loop, mode: record.mode, at: record.at };
    if (event !== undefined) view = reduce(view, event);
  }
  if (view === undefined) throw new SessionError('unknown_session', `the store has no session "${sessionId}"`);
  return view;
}

/** What events of one session come to, in their order. What is not enduring may be missing; one that comes twice counts once. */
export function viewOf(events: Iterable<SessionEvent>): SessionView {
  return reduceAll(EMPTY_VIEW, events);
}

/**
 * One HTML file that needs nothing else: no script, no network. It shows each turn with its timeline, its gauges and its tokens; contents that are
 * very long are cut, and say by how much. Of more than 2,000 steps the first are left out.
 */
export function reportHtml(view: SessionView, options: ReportOptions = {}): string {
  const { title, mostCharacters = 8_000 } = readTyped(options, ['title', 'mostCharacters'], 'reportHtml');
  return renderPage(view, title, mostCharacters);
}

/** The session as JSON for programs: all of the view, nothing cut. */
export function reportJson(view: SessionView): string {
  return `${JSON.stringify(view, undefined, 2)}\n`;
}
