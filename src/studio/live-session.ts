/**
 * A session as the page has it: its events are read as they come, folded once a frame, and read on where they were cut off.
 *
 * 1. A frame is drawn at most once for any number of events.
 * 2. After a break the stream goes on behind the last enduring event; what was shown of a response under way is void then.
 */
import type { SessionDetails } from '../engines/host.ts';
import { isTerminal, type SessionEvent } from '../events/events.ts';
import { EMPTY_VIEW, reduceAll, withoutDrafts } from '../report/model/reduce.ts';
import type { SessionView } from '../report/model/view.ts';
import { ApiError, type Client, isUnknownSession, sentenceOf } from './client.ts';
import { readSse } from './sse.ts';

/** How the stream stands; `broken` is tried again, `refused` is not, and of one that is `gone` there is nothing to read. */
export type Connection =
  | { readonly state: 'connecting' | 'live' }
  | { readonly state: 'broken' | 'refused' | 'gone'; readonly reason: string };

/** What a page shows of a session. */
export interface LiveState {
  readonly view: SessionView;
  readonly details: SessionDetails | undefined;
  readonly connection: Connection;
  /** By how much the server's clock is ahead of this one's. */
  readonly aheadMs: number;
}

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 10_000;
/** How often the server is asked for what events do not tell: whether the turn lives, the gates of delegates. */
const DETAILS_MS = 4_000;
/** A page that is not seen gets no frames; its events are folded at this pace. */
const HIDDEN_MS = 500;

export class LiveSession {
  readonly sessionId: string;
  readonly #client: Client;
  readonly #end = new AbortController();
  readonly #listeners = new Set<() => void>();
  #state: LiveState = { view: EMPTY_VIEW, details: undefined, connection: { state: 'connecting' }, aheadMs: 0 };
  #pending: SessionEvent[] = [];
  #isScheduled = false;
  #detailsTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, sessionId: string) {
    this.#client = client;
    this.sessionId = sessionId;
    void this.#read();
    void this.refresh();
  }

  get state(): LiveState {
    return this.#state;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#detailsTimer);
    this.#listeners.clear();
  }

  /** Asks how the session stands, now and then again while a turn is under way. */
  async refresh(): Promise<void> {
    clearTimeout(this.#detailsTimer);
    try {
      const details = await this.#client.details(this.sessionId);
      const isNew = JSON.stringify(details) !== JSON.stringify(this.#state.details);
      if (isNew && !this.#end.signal.aborted) this.#set({ details });
    } catch (error) {
      if (isUnknownSession(error)) this.#leave(); // of everything else the stream says what is wrong
    }
    if (this.#end.signal.aborted) return;
    clearTimeout(this.#detailsTimer);
    this.#detailsTimer = setTimeout(() => void this.refresh(), DETAILS_MS);
  }

  #leave(): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    const { view, details } = this.#state;
    const wasThere = view.seq > 0 || details !== undefined;
    const reason = wasThere
      ? 'This session was deleted.'
      : 'There is no session at this address. It may have been deleted.';
    this.#set({ connection: { state: 'gone', reason } });
  }

  #set(changes: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }

  async #read(): Promise<void> {
    let delay = FIRST_DELAY_MS;
    const { signal } = this.#end;
    while (!signal.aborted) {
      let reason = 'The connection was lost.';
      try {
        const after = this.#state.view.seq;
        const response = await this.#client.events(this.sessionId, after, signal);
        delay = FIRST_DELAY_MS;
        this.#flush();
        this.#set({ view: withoutDrafts(this.#state.view), connection: { state: 'live' }, aheadMs: aheadOf(response) });
        if (response.body !== null) reason = (await this.#take(response.body)) ?? reason;
      } catch (error) {
        if (signal.aborted) return;
        if (isUnknownSession(error)) return this.#leave();
        reason = sentenceOf(error);
        const isFinal = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
        if (isFinal) return this.#set({ connection: { state: 'refused', reason } });
      }
      if (signal.aborted) return;
      this.#set({ connection: { state: 'broken', reason } });
      await pause(delay, signal);
      delay = Math.min(delay * 2, LONGEST_DELAY_MS);
    }
  }

  /** Reads to the end of the stream; gives why the server ended it, if it says so. */
  async #take(body: ReadableStream<Uint8Array>): Promise<string | undefined> {
    let reason: string | undefined;
    for await (const messages of readSse(body)) {
      for (const { event, data } of messages) {
        if (event === 'message') this.#pending.push(JSON.parse(data) as SessionEvent);
        else if (event === 'end') reason = 'The server was closed.';
        else if (event === 'failure') reason = (JSON.parse(data) as Failure).error?.message ?? reason;
      }
      this.#schedule();
    }
    return reason;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#pending.length === 0) return;
    this.#isScheduled = true;
    const run = (): void => {
      this.#isScheduled = false;
      this.#flush();
    };
    if (document.hidden) setTimeout(run, HIDDEN_MS);
    else requestAnimationFrame(run);
  }

  #flush(): void {
    const events = this.#pending;
    if (events.length === 0 || this.#end.signal.aborted) return;
    this.#pending = [];
    this.#set({ view: reduceAll(this.#state.view, events) });
    // What these change is told by the details too: who waits for whom, and whether the turn lives.
    if (events.some(event => event.type === 'turn.started' || event.type.startsWith('gate.') || isTerminal(event))) {
      void this.refresh();
    }
  }
}

/** The header has whole seconds: less than two of them are none. */
function aheadOf(response: Response): number {
  const ahead = Date.parse(response.headers.get('date') ?? '') - Date.now();
  return Math.abs(ahead) >= 2_000 ? ahead : 0;
}

interface Failure {
  readonly error?: { readonly message: string };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
