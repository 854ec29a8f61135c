/**
 * Readers of a session's events. A reader pulls, and the loop never waits for it.
 *
 * 1. A reader is registered when it is made, not at its first pull: nothing between the two is lost to it.
 * 2. It holds at most 1,024 waiting events. Past that, ephemeral ones are dropped and counted; enduring ones are left in the journal
 *    and read from there when the reader gets so far, as they are for a reader that comes late. As many ephemeral ones wait for one that still reads what was before it.
 * 3. Whatever a reader does (stops, breaks off, throws) changes nothing for the turn or for other readers.
 */
import type { JournalRecord } from '../journal/journal.ts';
import { EVENT_DURABILITY, isTerminal, type SessionEvent } from './events.ts';
import { Fifo } from './fifo.ts';
import { EventProjector } from './projection.ts';

/** The most events that wait for a reader. */
export const MOST_WAITING_EVENTS = 1_024;

/** The most ephemeral events that a pull is kept waiting for. It bounds by how much a reader that keeps up is behind the loop. */
const MOST_HELD_EVENTS = 16;

const SETTLED = Promise.resolve();

/** Where a reader finds the records that it has missed. */
export interface RecordSource {
  readonly sessionId: string;
  readonly loopId: string;
  read(fromSeq: number): AsyncIterable<JournalRecord>;
}

/** What a reader needs of its hub. */
interface ReaderHub {
  readonly lastSeq: number;
  readonly contextSeq: number;
  now(): number;
  textSoFar(turnId: string | undefined): SessionEvent | undefined;
}

/** A pull that waits for an event. */
type Waiter<E> = PromiseWithResolvers<IteratorResult<E, undefined>>;

/** One reader's place in the events. */
export class EventReader<E extends SessionEvent> implements AsyncIterableIterator<E>, AsyncDisposable {
  readonly #source: RecordSource;
  readonly #hub: ReaderHub;
  readonly turnId: string | undefined;
  readonly #detach: () => void;
  readonly #queue = new Fifo<E>();
  #waiters = new Fifo<Waiter<E>>();
  /** How many events wait for more to come, so that the pulls that wait are answered once for all of them; 0 where none does. */
  #held = 0;
  /** The record up to which everything is delivered or waiting, and the one after which to read so that later ones can be completed. */
  #seenSeq: number;
  #contextSeq: number;
  #isBehind: boolean;
  #isCatchingUp = false;
  /** Whether it came late, and has not caught up yet. */
  #isLate: boolean;
  /** Events that are no records, and that came while the reader was behind: enduring ones, and what is said while a late one reads what was before it. */
  #aside: E[] | undefined;
  #dropped = 0;
  /** Nothing more comes from the hub, but for this last event that is no record. */
  #isClosed = false;
  #final: E | undefined;

  /** @internal */
  constructor(
    source: RecordSource,
    { afterSeq, contextSeq }: { readonly afterSeq: number; readonly contextSeq: number },
    hub: ReaderHub,
    turnId: string | undefined,
    detach: () => void,
  ) {
    this.#source = source;
    this.#hub = hub;
    this.turnId = turnId;
    this.#detach = detach;
    this.#seenSeq = afterSeq;
    this.#contextSeq = Math.min(afterSeq, contextSeq);
    this.#isBehind = hub.lastSeq > afterSeq;
    this.#isLate = this.#isBehind;
    const said = this.#isBehind || turnId !== undefined ? (hub.textSoFar(turnId) as E | undefined) : undefined;
    if (said === undefined) return;
    if (this.#isBehind) this.#aside = [said];
    else this.#hand(said);
  }

  /** Whether an ephemeral event of the turn is of interest, and there is room for it. Where there is none, it counts as dropped. @internal */
  offer(turnId: string | undefined): boolean {
    if (this.#isClosed || (this.turnId !== undefined && this.turnId !== turnId)) return false;
    if (this.#isBehind ? this.#hasRoomAside : this.#queue.size < MOST_WAITING_EVENTS) return true;
    this.#dropped += 1;
    return false;
  }

  /**
   * Takes an ephemeral event that has room. Deltas come in bursts, and a pull that waits is the dearest way to hand one on. So it is not answered at
   * once, but as soon as nothing more comes: from then on the reader finds events that wait, and is as fast as the loop. @internal
   */
  take(event: SessionEvent): void {
    if (this.#isBehind) {
      this.#putAside(event);
      return;
    }
    if (this.#dropped > 0 && !this.#isCatchingUp) this.#queue.push(this.#dropNote());
    this.#queue.push(event as E);
    if (this.#waiters.size === 0) return;
    if (this.#queue.size >= MOST_HELD_EVENTS) this.#serve();
    else if (this.#held === 0) this.#hold();
  }

  /** Takes an event from the hub. Never throws, never waits. @internal */
  push(event: SessionEvent): void {
    if (this.#isClosed || !this.#concerns(event)) return;
    const isEnduring = EVENT_DURABILITY[event.type] === 'enduring';
    if (!this.#isBehind && this.#queue.size >= MOST_WAITING_EVENTS && isEnduring) this.#isBehind = true;
    if (this.#isBehind) {
      if (!isEnduring)
        this.#dropped += 1; // an enduring one is read from the journal
      else if (this.#isLast(event)) this.end();
    } else if (this.#queue.size >= MOST_WAITING_EVENTS) this.#dropped += 1;
    else this.#deliver(event, isEnduring ? this.#hub.contextSeq : undefined);
  }

  /** Takes an enduring event that is no record: it cannot be read again, so it is kept until its turn comes. @internal */
  pushUnrecorded(event: SessionEvent): void {
    if (this.#isClosed || !this.#concerns(event)) return;
    if (this.#isBehind || this.#queue.size >= MOST_WAITING_EVENTS) {
      this.#isBehind = true;
      this.#putAside(event);
    } else this.#deliver(event, undefined);
  }

  next(): Promise<IteratorResult<E, undefined>> {
    if (this.#waiters.size === 0) {
      const ready = this.#shift();
      if (ready !== undefined) return Promise.resolve({ value: ready, done: false });
      if (this.#isClosed && !this.#isBehind) return Promise.resolve({ value: undefined, done: true });
    }
    const waiter: Waiter<E> = Promise.withResolvers();
    this.#waiters.push(waiter);
    if (this.#isBehind) this.#catchUp();
    return waiter.promise;
  }

  /** Stops reading. The turn goes on. */
  return(): Promise<IteratorResult<E, undefined>> {
    this.#queue.clear();
    this.#dropped = 0;
    this.#aside = undefined;
    this.#isBehind = false;
    this.#final = undefined;
    this.end();
    this.#serve();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** Nothing more comes but `final`; what waits, or was missed, can still be read. @internal */
  end(final?: SessionEvent): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#detach();
    this.#final = final as E | undefined;
    if (!this.#isBehind) this.#serve();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #concerns(event: SessionEvent): boolean {
    return this.turnId === undefined || ('turnId' in event && event.turnId === this.turnId);
  }

  /** A reader that came late is not slow: what is said while it reads what was before waits for it. After one that is dropped no other may come before the note of it. */
  get #hasRoomAside(): boolean {
    return this.#isLate && this.#dropped === 0 && (this.#aside?.length ?? 0) < MOST_WAITING_EVENTS;
  }

  #putAside(event: SessionEvent): void {
    this.#aside ??= [];
    this.#aside.push(event as E);
  }

  #isLast(event: SessionEvent): boolean {
    return this.turnId !== undefined && isTerminal(event);
  }

  /** Hands an event on. For one that shows a record, `contextSeq` is the record after which to read again from here. */
  #deliver(event: SessionEvent, contextSeq: number | undefined): void {
    if (contextSeq !== undefined) {
      this.#seenSeq = event.seq;
      this.#contextSeq = contextSeq;
    }
    const isLast = this.#isLast(event);
    // What was dropped is told where it is missing: before what comes live again, and never after the end.
    if (this.#dropped > 0 && (isLast || !this.#isCatchingUp)) this.#hand(this.#dropNote());
    this.#hand(event as E);
    if (!isLast) return;
    this.#isBehind = false;
    this.end();
  }

  /** Looks again when what is ready to run has run; answers the waiting pulls when there is nothing new. */
  #hold(): void {
    this.#held = this.#queue.size;
    void SETTLED.then(this.#look);
  }

  readonly #look = (): void => {
    if (this.#queue.size > this.#held && this.#waiters.size > 0) this.#hold();
    else {
      this.#held = 0;
      this.#serve();
    }
  };

  #hand(event: E): void {
    if (this.#held > 0) this.#serve(); // what is held comes before
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) waiter.resolve({ value: event, done: false });
    else this.#queue.push(event);
  }

  #shift(): E | undefined {
    const event = this.#queue.shift();
    if (event !== undefined || this.#isBehind) return event;
    return this.#dropped > 0 ? this.#dropNote() : this.#takeFinal();
  }

  #takeFinal(): E | undefined {
    const final = this.#final;
    this.#final = undefined;
    return final;
  }

  /** Answers waiting pulls with what there is; all of them where nothing more comes. */
  #serve(): void {
    while (this.#waiters.size > 0) {
      const event = this.#shift();
      if (event !== undefined) this.#waiters.shift()?.resolve({ value: event, done: false });
      else if (this.#isClosed && !this.#isBehind) this.#waiters.shift()?.resolve({ value: undefined, done: true });
      else return;
    }
  }

  #dropNote(): E {
    const { sessionId, loopId } = this.#source;
    const turn = this.turnId === undefined ? {} : { turnId: this.turnId };
    const note = {
      type: 'events.dropped',
      sessionId,
      loopId,
      ...turn,
      seq: this.#seenSeq,
      at: this.#hub.now(),
      count: this.#dropped,
    };
    this.#dropped = 0;
    return Object.freeze(note) as unknown as E;
  }

  /** Reads missed records for the pulls that wait. A failure is theirs alone: the next pull tries again. */
  #catchUp(): void {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    this.#readMissed().then(
      () => {
        this.#isCatchingUp = false;
        this.#serve();
        if (this.#waiters.size > 0 && this.#isBehind) this.#catchUp();
      },
      error => {
        this.#isCatchingUp = false;
        const waiters = this.#waiters;
        this.#waiters = new Fifo();
        for (let waiter = waiters.shift(); waiter !== undefined; waiter = waiters.shift()) waiter.reject(error);
      },
    );
  }

  /** Delivers missed events until enough wait, or until the reader has seen all and is live again. */
  async #readMissed(): Promise<void> {
    const lastSeq = this.#hub.lastSeq;
    const projector = new EventProjector(this.#source.sessionId, this.#source.loopId);
    for await (const record of this.#source.read(this.#contextSeq + 1)) {
      if (!this.#isBehind) return; // it stopped reading
      projector.observe(record);
      if (record.seq <= this.#seenSeq) continue;
      if (record.seq > this.#hub.lastSeq) break; // written, but not shown yet: it comes live
      this.#deliverAside(record.seq - 1);
      const event = projector.project(record);
      if (event === undefined || !this.#concerns(event)) this.#seenSeq = record.seq;
      else this.#deliver(Object.freeze(event), projector.contextAt(record.seq));
      if (!this.#isBehind || this.#queue.size >= MOST_WAITING_EVENTS) return;
    }
    if (!this.#isBehind) return;
    if (this.#seenSeq < lastSeq) throw new Error(`the journal ends at ${this.#seenSeq}, but ${lastSeq} was written`);
    if (this.#seenSeq < this.#hub.lastSeq) return; // more was written meanwhile
    this.#deliverAside(this.#seenSeq);
    this.#isBehind = false;
    const said = this.#isLate && this.#dropped > 0 ? this.#hub.textSoFar(this.turnId) : undefined;
    this.#isLate = false;
    if (said !== undefined) this.#hand(said as E);
  }

  /** Delivers what was kept aside up to the record `seq`. */
  #deliverAside(seq: number): void {
    while (this.#aside?.[0] !== undefined && this.#aside[0].seq <= seq) this.#hand(this.#aside.shift() as E);
  }
}
