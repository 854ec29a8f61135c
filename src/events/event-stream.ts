/**
 * Readers of a session's events. A reader pulls, and the loop never waits for it.
 *
 * 1. A reader is registered when it is made, not at its first pull: nothing between the two is lost to it.
 * 2. It holds at most 1,024 waiting events. Past that, ephemeral ones are dropped and counted; enduring ones are left in the journal
 *    and read from there when the reader gets so far, as they are for a reader that comes late.
 * 3. Whatever a reader does (stops, breaks off, throws) changes nothing for the turn or for other readers.
 */
import type { JournalRecord } from '../journal/journal.ts';
import type { AssistantMessage } from '../model/model.ts';
import { EVENT_DURABILITY, isTerminal, type SessionEvent } from './events.ts';
import { Fifo } from './fifo.ts';
import { EventProjector } from './projection.ts';

/** The most events that wait for a reader. */
export const MOST_WAITING_EVENTS = 1_024;

/** The most ephemeral events that a pull is kept waiting for. It bounds by how much a reader that keeps up is behind the loop. */
const MOST_HELD_EVENTS = 16;

const SETTLED = Promise.resolve();

/** Where a reader finds the records that it has missed. */
interface RecordSource {
  readonly sessionId: string;
  readonly loopId: string;
  read(fromSeq: number): AsyncIterable<JournalRecord>;
}

/** The hub of one session: shows records and ephemeral events to all readers. */
export class EventHub {
  readonly #source: RecordSource;
  readonly #projector: EventProjector;
  readonly #readers = new Set<EventReader<SessionEvent>>();
  /** The readers as a list, until one comes or goes: a walk over a set costs more than a delta may. */
  #readerList: readonly EventReader<SessionEvent>[] | undefined;
  readonly #observers: readonly ((event: SessionEvent) => void)[];
  #lastSeq: number;
  /** The text of the response that is under way, as far as it was shown. */
  #said: { readonly turnId: string; readonly stepId: string; text: string } | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;

  constructor(
    source: RecordSource,
    lastSeq: number,
    now: () => number,
    observers: readonly ((event: SessionEvent) => void)[],
  ) {
    this.#source = source;
    this.#projector = new EventProjector(source.sessionId, source.loopId);
    this.#lastSeq = lastSeq;
    this.now = now;
    this.#observers = observers;
  }

  /** Whether anybody reads. */
  get watched(): boolean {
    return this.#readers.size > 0 || this.#observers.length > 0;
  }

  /** The sequence number of the last record that was shown. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The record after which a reader must begin, to make the next events from records as the hub makes them. */
  get contextSeq(): number {
    return this.#projector.contextAt(this.#lastSeq);
  }

  /** Takes note of a record of another process that later ones lean on. */
  remember(record: JournalRecord): void {
    this.#projector.observe(record);
    this.#noteSaid(record);
  }

  /** What a reader that comes now is told of the response that is under way: its text so far, as one delta. */
  textSoFar(turnId: string | undefined): SessionEvent | undefined {
    const said = this.#said;
    if (said === undefined || said.text === '' || (turnId !== undefined && turnId !== said.turnId)) return undefined;
    return this.#made({ type: 'text.delta', ...said, isWhole: true });
  }

  /** A response that is recorded and not yet part of the history was shown only in passing; one that is void was not said. */
  #noteSaid(record: JournalRecord): void {
    switch (record.type) {
      case 'step.responded': {
        const { turnId, stepId, message } = record;
        this.#said = { turnId, stepId, text: textOf(message) };
        break;
      }
      case 'step.started':
      case 'step.retrying':
      case 'step.done':
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.#said = undefined;
        break;
      default:
        break;
    }
  }

  /** Shows a record that was written. */
  record(record: JournalRecord): void {
    this.#projector.observe(record);
    this.#noteSaid(record);
    this.#lastSeq = record.seq;
    if (!this.watched) return;
    const event = this.#projector.project(record);
    if (event !== undefined) this.#publish(Object.freeze(event));
  }

  /** Shows an event that is no record. It is made for the first who takes it: for nobody, never. */
  emit(body: SessionEventBody): void {
    const turnId = 'turnId' in body ? body.turnId : undefined;
    let event: SessionEvent | undefined;
    for (const reader of this.#currentReaders()) {
      if (!reader.offer(turnId)) continue;
      event ??= this.#made(body);
      reader.take(event);
    }
    if (this.#observers.length > 0) this.#showObservers(event ?? this.#made(body));
  }

  /** As `emit`, for what comes thousands of times a step: without an object that is only made to be copied. */
  emitText(turnId: string, type: 'text.delta' | 'reasoning.delta', stepId: string, text: string): void {
    if (type === 'text.delta') {
      if (this.#said?.stepId === stepId) this.#said.text += text;
      else this.#said = { turnId, stepId, text };
    }
    let event: SessionEvent | undefined;
    for (const reader of this.#currentReaders()) {
      if (!reader.offer(turnId)) continue;
      event ??= this.#textEvent(turnId, type, stepId, text);
      reader.take(event);
    }
    if (this.#observers.length > 0) this.#showObservers(event ?? this.#textEvent(turnId, type, stepId, text));
  }

  /**
   * A new reader, of one turn or of the whole session, that begins after the record `afterSeq`. A turn's reader ends with its terminal event.
   * One that begins within a step or while inputs wait says with `contextSeq` after which record it must read, to know what events lean on.
   */
  subscribe<E extends SessionEvent>(
    afterSeq: number,
    turnId?: string,
    contextSeq: number = this.contextSeq,
  ): EventReader<E> {
    const detach = (): void => {
      this.#readers.delete(reader);
      this.#readerList = undefined;
    };
    const reader = new EventReader<SessionEvent>(this.#source, { afterSeq, contextSeq }, this, turnId, detach);
    this.#readers.add(reader);
    this.#readerList = undefined;
    return reader as unknown as EventReader<E>; // a turn's reader is given that turn's events alone
  }

  /** Ends a turn whose terminal could not be recorded, or that never began: its readers get this event as their last. */
  finish(turnId: string, event: SessionEventBody): SessionEvent {
    const final = this.#made(event);
    for (const reader of this.#currentReaders()) {
      if (reader.turnId === turnId) reader.end(final);
      else reader.pushUnrecorded(final);
    }
    this.#showObservers(final);
    return final;
  }

  /** Ends all readers. */
  end(): void {
    for (const reader of this.#currentReaders()) reader.end();
  }

  #currentReaders(): readonly EventReader<SessionEvent>[] {
    this.#readerList ??= [...this.#readers];
    return this.#readerList;
  }

  #made(body: SessionEventBody): SessionEvent {
    const { sessionId, loopId } = this.#source;
    return Object.freeze({ ...body, sessionId, loopId, seq: this.#lastSeq, at: this.now() }) as SessionEvent;
  }

  #textEvent(turnId: string, type: 'text.delta' | 'reasoning.delta', stepId: string, text: string): SessionEvent {
    const { sessionId, loopId } = this.#source;
    return Object.freeze({ type, stepId, text, turnId, sessionId, loopId, seq: this.#lastSeq, at: this.now() });
  }

  #publish(event: SessionEvent): void {
    for (const reader of this.#currentReaders()) reader.push(event);
    this.#showObservers(event);
  }

  #showObservers(event: SessionEvent): void {
    for (const observer of this.#observers) this.#observe(observer, event);
  }

  /** An observer that throws is reported once for the event, to readers; it changes nothing else. */
  #observe(observer: (event: SessionEvent) => void, event: SessionEvent): void {
    try {
      const returned: unknown = observer(event);
      if (returned instanceof Promise) returned.catch(error => this.#observerFailed(error));
    } catch (error) {
      this.#observerFailed(error);
    }
  }

  #observerFailed(error: unknown): void {
    const { sessionId, loopId } = this.#source;
    const message = messageFrom(error);
    const event = { type: 'observer.failed' as const, message, sessionId, loopId, seq: this.#lastSeq, at: this.now() };
    for (const reader of this.#currentReaders()) reader.push(Object.freeze(event));
  }
}

function textOf({ content }: AssistantMessage): string {
  let text = '';
  for (const part of content) if (part.type === 'text') text += part.text;
  return text;
}

/** What an observer threw, in at most 1,024 characters; reading it may throw too. */
function messageFrom(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message).slice(0, 1_024) : 'it threw something that is no error';
  } catch {
    return 'it threw an error that cannot be read';
  }
}

/** An event without the header that the hub adds. */
export type SessionEventBody = Body<SessionEvent>;
type Body<E> = E extends unknown ? Omit<E, 'sessionId' | 'loopId' | 'seq' | 'at'> : never;

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
  /** Whether the text of a response that is under way is to be told: to a reader that came late, once. */
  #isLate: boolean;
  /** Enduring events that are no records, and that came while the reader was behind. */
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
    this.#isLate = this.#isBehind || turnId !== undefined;
    if (!this.#isBehind) this.#tellText();
  }

  /** Whether an ephemeral event of the turn is of interest, and there is room for it. Where there is none, it counts as dropped. @internal */
  offer(turnId: string | undefined): boolean {
    if (this.#isClosed || (this.turnId !== undefined && this.turnId !== turnId)) return false;
    if (!this.#isBehind && this.#queue.size < MOST_WAITING_EVENTS) return true;
    this.#dropped += 1;
    return false;
  }

  /**
   * Takes an ephemeral event that has room. Deltas come in bursts, and a pull that waits is the dearest way to hand one on. So it is not answered at
   * once, but as soon as nothing more comes: from then on the reader finds events that wait, and is as fast as the loop. @internal
   */
  take(event: SessionEvent): void {
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
      this.#aside ??= [];
      this.#aside.push(event as E);
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
    this.#tellText();
  }

  #tellText(): void {
    const delta = this.#isLate ? this.#hub.textSoFar(this.turnId) : undefined;
    this.#isLate = false;
    if (delta !== undefined) this.#hand(delta as E);
  }

  /** Delivers what was kept aside up to the record `seq`. */
  #deliverAside(seq: number): void {
    while (this.#aside?.[0] !== undefined && this.#aside[0].seq <= seq) this.#hand(this.#aside.shift() as E);
  }
}
