/** What the journal of a session tells of its turns: their events, and what the last of them left if it was cut short. */
import type { JournalRecord, PendingGate, TurnEvent, UserContent } from '../index.ts';
import { RecordedEvents } from './recorded-turns.ts';

/** What a turn that was cut short left. */
export interface CutShort {
  /** What the user said. */
  readonly prompt: string;
  readonly mode: string;
  /** Whether the model had answered in the step that was cut short. */
  readonly hasResponse: boolean;
  /** Calls of that step: with a result, started without one, and neither. */
  readonly known: number;
  readonly unknown: number;
  readonly notRun: number;
  /** Of those that did not run: the ones that wait for a person. */
  readonly waiting: number;
}

/** Follows the records of a session, and knows of its last turn what it left if it is unfinished. */
export class Trail {
  readonly #events: RecordedEvents;
  #prompt = '';
  #mode = '';
  #isOpen = false;
  #calls: readonly string[] = [];
  #hasResponse = false;
  #lastEventSeq = 0;
  readonly #started = new Set<string>();
  readonly #results = new Set<string>();
  /** By the id of their call. */
  readonly #gates = new Map<string, PendingGate>();
  readonly #inputs = new Map<string, string>();

  constructor(sessionId: string) {
    this.#events = new RecordedEvents(sessionId);
  }

  /** The number of the last event that is a record's own. */
  get lastEventSeq(): number {
    return this.#lastEventSeq;
  }

  /** Takes a record in, and gives the events that show it. */
  take(record: JournalRecord): readonly TurnEvent[] {
    const events = this.#events.of(record);
    if (events.some(({ type }) => type === record.type)) this.#lastEventSeq = record.seq;
    switch (record.type) {
      case 'input.received':
        this.#inputs.set(record.inputId, textOf(record.message.content));
        break;
      case 'step.started':
      case 'step.done':
        this.#clear();
        break;
      case 'step.responded':
        this.#hasResponse = true;
        this.#calls = record.message.content.flatMap(part =>
          part.type === 'tool-call' && part.providerExecuted !== true ? [part.toolCallId] : [],
        );
        break;
      case 'tool.started':
        this.#started.add(record.callId);
        break;
      case 'tool.completed':
        this.#results.add(record.callId);
        break;
      case 'gate.opened':
        this.#gates.set(record.callId, { ...record, openedAt: record.at });
        break;
      case 'gate.resolved':
        this.#gates.delete(record.callId);
        break;
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.#isOpen = false;
        break;
      default:
        break;
    }
    for (const event of events) if (event.type === 'turn.started') this.#begin(event);
    return events;
  }

  /** What users said while a turn ran, by the id of the input. */
  get inputs(): ReadonlyMap<string, string> {
    return this.#inputs;
  }

  /** The gates that wait for an answer. */
  get gates(): readonly PendingGate[] {
    return this.#isOpen ? [...this.#gates.values()] : [];
  }

  /** The turn that was cut short; `undefined` where none was. */
  get cutShort(): CutShort | undefined {
    if (!this.#isOpen) return undefined;
    const known = this.#calls.filter(id => this.#results.has(id)).length;
    const unknown = this.#calls.filter(id => this.#started.has(id) && !this.#results.has(id)).length;
    return {
      ...{ prompt: this.#prompt, mode: this.#mode, hasResponse: this.#hasResponse },
      ...{ known, unknown, notRun: this.#calls.length - known - unknown, waiting: this.#gates.size },
    };
  }

  #begin({ input, mode }: Extract<TurnEvent, { type: 'turn.started' }>): void {
    this.#isOpen = true;
    this.#prompt = textOf(input);
    this.#mode = mode;
    this.#clear();
  }

  #clear(): void {
    this.#calls = [];
    this.#hasResponse = false;
    this.#started.clear();
    this.#results.clear();
    this.#gates.clear();
  }
}

/** What a turn that was cut short left, in words. */
export function leftInWords({ hasResponse, known, unknown, notRun, waiting }: CutShort): string {
  if (known + unknown + notRun === 0) {
    return hasResponse ? 'the model had answered' : 'the model is asked again';
  }
  const parts = [
    ...(known > 0 ? [`${calls(known)} ${known === 1 ? 'has its result' : 'have their results'}`] : []),
    ...(unknown > 0 ? [`${calls(unknown)} had started, and may or may not have taken effect`] : []),
    ...(notRun > waiting ? [`${calls(notRun - waiting)} ${notRun - waiting === 1 ? 'has' : 'have'} not run`] : []),
    ...(waiting > 0 ? [`${calls(waiting)} ${waiting === 1 ? 'waits' : 'wait'} for an answer`] : []),
  ];
  return parts.join(', ');
}

/** What a user said, as text. */
export function textOf(content: readonly UserContent[]): string {
  return content.map(part => (part.type === 'text' ? part.text : `[${part.type}]`)).join(' ');
}

function calls(count: number): string {
  return count === 1 ? '1 call' : `${count} calls`;
}
