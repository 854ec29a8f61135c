/** Where a session's events are made, once each, and shown to all who read or observe. */
import type { JournalRecord } from '../journal/journal.ts';
import type { AssistantMessage } from '../model/model.ts';
import { reasonOf } from '../reason.ts';
import { EventReader, type RecordSource } from './event-reader.ts';
import type { SessionEvent } from './events.ts';
import { EventProjector } from './projection.ts';

/** An event without the header that the hub adds. */
export type SessionEventBody = Body<SessionEvent>;
type Body<E> = E extends unknown ? Omit<E, 'sessionId' | 'loopId' | 'seq' | 'at'> : never;

/** The hub of one session: shows records and ephemeral events to all readers. */
export class EventHub {
  readonly #source: RecordSource;
  readonly #projector: EventProjector;
  readonly #readers = new Set<EventReader<SessionEvent>>();
  /** The readers as a list, until one comes or goes: a walk over a set costs more than a delta may. */
  #readerList: readonly EventReader<SessionEvent>[] | undefined;
  readonly #observers: readonly ((event: SessionEvent) => void)[];
  #lastSeq: number;
  /** The text of the response that is under way, as far as it was shown; of one that is recorded, the number of its record. */
  #said: { readonly turnId: string; readonly stepId: string; text: string; readonly seq?: number } | undefined;
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
    const { seq = this.#lastSeq, ...text } = said;
    return Object.freeze({ ...this.#made({ type: 'text.delta', ...text, isWhole: true }), seq });
  }

  /** A response that is recorded and not yet part of the history was shown only in passing; one that is void was not said. */
  #noteSaid(record: JournalRecord): void {
    switch (record.type) {
      case 'step.responded': {
        const { turnId, stepId, message, seq } = record;
        this.#said = { turnId, stepId, text: textOf(message), seq };
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
    const message = reasonOf(error).slice(0, 1_024);
    const event = { type: 'observer.failed' as const, message, sessionId, loopId, seq: this.#lastSeq, at: this.now() };
    for (const reader of this.#currentReaders()) reader.push(Object.freeze(event));
  }
}

function textOf({ content }: AssistantMessage): string {
  let text = '';
  for (const part of content) if (part.type === 'text') text += part.text;
  return text;
}
