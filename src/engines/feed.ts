/**
 * The events of one session for the readers of a host. They come from the journal, whoever writes it; while the session lives in this process, from there
 * too: then the session sets the pace, so that what is told in passing has its place between what is recorded.
 */
import type { Clock } from '../clock.ts';
import { EventHub, type SessionEventBody } from '../events/event-hub.ts';
import type { EventReader } from '../events/event-reader.ts';
import { EVENT_DURABILITY, type SessionEvent } from '../events/events.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import type { WatchStore } from '../journal/mailbox.ts';

/** What feeds have in common. */
export interface FeedParts {
  readonly store: JournalStore;
  readonly watch: WatchStore;
  readonly clock: Clock;
  /** Told of a journal, or of a live session, that could not be read. */
  readonly onError: (error: unknown) => void;
}

export class SessionFeed {
  readonly #onError: (error: unknown) => void;
  #isOver = false;
  readonly #store: JournalStore;
  readonly #sessionId: string;
  readonly #hub: EventHub;
  readonly #stopWatching: () => void;
  /** The reading of the journal that is under way, and how far it may go. */
  #reading: Promise<void> = Promise.resolve();
  #live = 0;
  /** Records of a session that lives here, which need not be read back: the last of those that are not shown yet. */
  #handed: JournalRecord[] = [];
  users = 0;
  readonly #contexts = new Contexts();

  constructor({ store, watch, clock, onError }: FeedParts, sessionId: string, loopId: string) {
    this.#onError = onError;
    this.#store = store;
    this.#sessionId = sessionId;
    const source = { sessionId, loopId, read: (fromSeq: number) => store.read(sessionId, fromSeq) };
    this.#hub = new EventHub(source, 0, () => clock.now(), []);
    this.#stopWatching = watch(sessionId, news => {
      if (news === 'records' && this.#live === 0) void this.#readOn(Number.POSITIVE_INFINITY);
    });
  }

  /** Reads what the journal has. */
  begin(): Promise<void> {
    return this.#readOn(Number.POSITIVE_INFINITY);
  }

  subscribe(after: number): EventReader<SessionEvent> {
    return this.#hub.subscribe(after, undefined, this.#contexts.of(after));
  }

  /** Tells what a session that lives in this process tells, until it is released. Never rejects. */
  async follow(reader: AsyncIterable<SessionEvent>): Promise<void> {
    this.#live += 1;
    try {
      for await (const event of reader) await this.#take(event);
    } catch (error) {
      this.#onError(error); // its journal cannot be read; whoever reads here is told so too
    }
    this.#live -= 1;
    if (this.#live === 0) await this.#readOn(Number.POSITIVE_INFINITY);
  }

  /** Takes over a record that was kept just now; it is shown in its place among what the session tells. */
  hand(record: JournalRecord): void {
    this.#handed.push(record);
    if (this.#handed.length > MOST_HANDED) this.#handed.shift(); // then the journal is read
  }

  end(): void {
    this.#isOver = true;
    this.#stopWatching();
    this.#hub.end();
  }

  async #take(event: SessionEvent): Promise<void> {
    if (event.seq > this.#hub.lastSeq) await this.#readOn(event.seq);
    if (EVENT_DURABILITY[event.type] === 'enduring') return; // the journal has told it
    if (event.type === 'turn.released' || event.type === 'events.dropped') return;
    if (event.type === 'text.delta' || event.type === 'reasoning.delta')
      this.#hub.emitText(event.turnId, event.type, event.stepId, event.text);
    else this.#hub.emit(event as SessionEventBody);
  }

  /** Shows the records up to this one. A failure is told to whoever reads from the journal next; the next news tries again. */
  #readOn(upTo: number): Promise<void> {
    this.#reading = this.#reading
      .then(() => this.#read(upTo))
      .catch(error => {
        if (!this.#isOver) this.#onError(error);
      });
    return this.#reading;
  }

  /** Shows the records that follow those that were shown, as far as they are at hand. */
  #showHanded(upTo: number): void {
    const after = this.#hub.lastSeq;
    const handed = this.#handed.filter(({ seq }) => seq > after);
    let shown = 0;
    while (handed[shown]?.seq === this.#hub.lastSeq + 1 && this.#hub.lastSeq < upTo) this.#show(handed[shown++]!);
    this.#handed = handed.slice(shown);
  }

  #show(record: JournalRecord): void {
    this.#hub.record(record);
    this.#contexts.note(record.seq, this.#hub.contextSeq);
    if (record.type !== 'step.responded' || this.#live > 0) return;
    const said = this.#hub.textSoFar(undefined); // nobody here has heard it
    if (said !== undefined) this.#hub.emit(said as SessionEventBody);
  }

  async #read(upTo: number): Promise<void> {
    const { lastSeq } = this.#hub;
    this.#showHanded(upTo);
    if (this.#hub.lastSeq >= upTo) return;
    for await (const record of this.#store.read(this.#sessionId, this.#hub.lastSeq + 1)) {
      if (record.seq > upTo) return;
      this.#show(record);
    }
    const isAsBefore = lastSeq > 0 && this.#hub.lastSeq === lastSeq;
    if (isAsBefore && (await this.#store.find(this.#sessionId)) === undefined) this.#hub.end(); // it was deleted
  }
}

/** The most records that are held for a session that tells slower than it records. */
const MOST_HANDED = 1_000;

/**
 * After which record a reader must read that begins after a given one: what comes then may lean on records before it. It is told by where that changes,
 * about once a step.
 */
class Contexts {
  readonly #seqs: number[] = [];
  readonly #contexts: number[] = [];

  /** `contextSeq` is that of the moment when `seq` was the last record. */
  note(seq: number, contextSeq: number): void {
    const context = contextSeq < seq ? contextSeq : Number.POSITIVE_INFINITY; // it leans on nothing
    if (this.#contexts.at(-1) === context) return;
    this.#seqs.push(seq);
    this.#contexts.push(context);
  }

  of(after: number): number {
    let [low, high] = [0, this.#seqs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#seqs[middle] ?? 0) <= after) low = middle + 1;
      else high = middle;
    }
    return Math.min(after, this.#contexts[low - 1] ?? after);
  }
}

/** The feeds of the sessions that anybody reads, or that live here. */
export class Feeds {
  readonly #parts: FeedParts;
  readonly #feeds = new Map<string, { readonly feed: SessionFeed; readonly begun: Promise<void> }>();

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  /** A feed that has read the journal. Whoever opened it closes it once. */
  async open(sessionId: string, loopId: string): Promise<SessionFeed> {
    let known = this.#feeds.get(sessionId);
    if (known === undefined) {
      const feed = new SessionFeed(this.#parts, sessionId, loopId);
      known = { feed, begun: feed.begin() };
      this.#feeds.set(sessionId, known);
    }
    known.feed.users += 1;
    await known.begun;
    return known.feed;
  }

  close(sessionId: string, feed: SessionFeed): void {
    feed.users -= 1;
    if (feed.users > 0) return;
    feed.end();
    if (this.#feeds.get(sessionId)?.feed === feed) this.#feeds.delete(sessionId);
  }
}
