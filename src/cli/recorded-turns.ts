/** Records of a journal as the events that views show: those that readers got, and what was seen of a response as it came. */
import {
  type AssistantMessage,
  type JournalRecord,
  recordedEvents,
  type SessionEvent,
  type TurnEvent,
} from '../index.ts';

type Responded = Extract<JournalRecord, { type: 'step.responded' }>;

export class RecordedEvents {
  readonly #sessionId: string;
  readonly #eventOf: (record: JournalRecord) => SessionEvent | undefined;
  #loopId = '';

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
    this.#eventOf = recordedEvents(sessionId);
  }

  /** The events of the next record; none for one that no view shows. */
  of(record: JournalRecord): readonly TurnEvent[] {
    if (record.type === 'session.opened') this.#loopId = record.loopId;
    const event = this.#eventOf(record);
    if (record.type === 'step.responded') return this.#pieces(record);
    return event === undefined || event.type === 'mode.changed' ? [] : [event as TurnEvent];
  }

  /** Thoughts, then text, each in one piece. */
  #pieces({ turnId, stepId, message, seq, at }: Responded): readonly TurnEvent[] {
    const where = { sessionId: this.#sessionId, loopId: this.#loopId, seq, at, turnId, stepId };
    const pieces = [
      { type: 'reasoning.delta' as const, text: textsOf(message, 'reasoning').join('\n\n') },
      { type: 'text.delta' as const, text: textsOf(message, 'text').join('') },
    ];
    return pieces.filter(({ text }) => text !== '').map(({ type, text }) => ({ type, ...where, text }));
  }
}

function textsOf({ content }: AssistantMessage, type: 'reasoning' | 'text'): readonly string[] {
  return content.flatMap(part => (part.type === type && part.text !== '' ? [part.text] : []));
}
