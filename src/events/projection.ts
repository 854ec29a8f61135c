/**
 * From records to events. A record that leans on an earlier one (an announced call on its response, a terminal on the last text)
 * is completed from what the projector has seen, so that nothing has to be written twice.
 */
import { STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import type { JournalRecord } from '../journal/journal.ts';
import type { AssistantMessage, UserContent, UserMessage } from '../model/model.ts';
import type { SessionEvent } from './events.ts';

export class EventProjector {
  readonly #sessionId: string;
  #loopId: string;
  #message: AssistantMessage | undefined;
  #received: Map<string, Extract<JournalRecord, { type: 'input.received' }>> | undefined;
  #input: readonly UserContent[] = [];
  #steered: readonly UserContent[] = [];
  /** The last response's figures, for `step.done`. */
  #responded: Extract<JournalRecord, { type: 'step.responded' }> | undefined;

  constructor(sessionId: string, loopId: string) {
    this.#sessionId = sessionId;
    this.#loopId = loopId;
  }

  /** Takes note of a record that later ones lean on. Every record must pass here, in order, whether its event is wanted or not. */
  observe(record: JournalRecord): void {
    switch (record.type) {
      case 'session.opened':
        this.#loopId = record.loopId;
        break;
      case 'step.responded':
        this.#message = record.message;
        this.#responded = record;
        break;
      case 'turn.started':
        this.#message = undefined;
        this.#responded = undefined;
        this.#input = (record.message ?? this.#use(record.inputId))?.content ?? [];
        break;
      case 'input.received':
        this.#received ??= new Map();
        this.#received.set(record.inputId, record);
        break;
      case 'input.cancelled':
        this.#use(record.inputId);
        break;
      case 'input.steered':
        this.#steered = this.#use(record.inputId)?.content ?? [];
        break;
      default:
        break;
    }
  }

  /** The record after which another projector may begin, to make of what follows the record `seq` (the last one observed) what this one would. */
  contextAt(seq: number): number {
    let from = seq;
    if (this.#responded !== undefined) from = Math.min(from, this.#responded.seq - 1);
    if (this.#received !== undefined && this.#received.size > 0) {
      const [first] = this.#received.values();
      if (first !== undefined) from = Math.min(from, first.seq - 1);
    }
    return from;
  }

  /** The event that shows an observed record, or `undefined` for one that is no event. */
  project(record: JournalRecord): SessionEvent | undefined {
    const sessionId = this.#sessionId;
    const loopId = this.#loopId;
    const { seq, at } = record;
    switch (record.type) {
      case 'turn.started': {
        const { type, turnId, mode, limits, inputId } = record;
        const waited = inputId === undefined ? {} : { inputId };
        return { type, sessionId, loopId, seq, at, turnId, input: this.#input, mode, limits, ...waited };
      }
      case 'tool.called': {
        const { type, turnId, stepId, callId, toolName, summary, waitsFor } = record;
        const input = this.#inputOf(callId);
        const event = { type, sessionId, loopId, seq, at, turnId, stepId, callId, toolName, input };
        if (summary === undefined && waitsFor === undefined) return event;
        return {
          ...event,
          ...(summary === undefined ? {} : { summary }),
          ...(waitsFor === undefined ? {} : { waitsFor }),
        };
      }
      case 'gate.opened':
        return { ...record, sessionId, loopId, input: this.#inputOf(record.callId) };
      case 'tool.completed': {
        const { type, turnId, stepId, callId, toolName, outcome, output, durationMs, capture } = record;
        if (toolName === STRUCTURED_OUTPUT_TOOL_NAME) return undefined; // no tool of the loop
        const isError = outcome !== 'done';
        const result = { outcome, isError, output, durationMs, ...(capture === undefined ? {} : { capture }) };
        return { type, sessionId, loopId, seq, at, turnId, stepId, callId, toolName, ...result };
      }
      case 'step.done': {
        const { type, turnId, stepId } = record;
        const responded = this.#responded;
        if (responded === undefined) return undefined;
        const { finishReason, usage } = responded;
        return { type, sessionId, loopId, seq, at, turnId, stepId, text: this.#text(), finishReason, usage };
      }
      case 'turn.done':
        return { ...record, sessionId, loopId, text: record.text ?? this.#text() };
      case 'turn.failed':
      case 'turn.interrupted':
        return { ...record, sessionId, loopId, text: this.#text() };
      case 'input.received': {
        const { type, inputId, as, message } = record;
        return { type, sessionId, loopId, seq, at, inputId, as, input: message.content };
      }
      case 'input.steered':
        return { ...record, sessionId, loopId, input: this.#steered };
      case 'input.cancelled':
      case 'turn.resumed':
      case 'step.started':
      case 'step.retrying':
      case 'tool.started':
      case 'gate.resolved':
      case 'limit.near':
      case 'mode.changed':
        return { ...record, sessionId, loopId };
      case 'session.opened':
      case 'history.imported':
      case 'step.responded':
        return undefined;
    }
  }

  #use(inputId: string | undefined): UserMessage | undefined {
    if (inputId === undefined) return undefined;
    const received = this.#received?.get(inputId);
    this.#received?.delete(inputId);
    return received?.message;
  }

  #inputOf(callId: string): unknown {
    for (const part of this.#message?.content ?? []) {
      if (part.type === 'tool-call' && part.toolCallId === callId) return part.input;
    }
    return {};
  }

  #text(): string {
    let text = '';
    for (const part of this.#message?.content ?? []) if (part.type === 'text') text += part.text;
    return text;
  }
}

/**
 * Makes the events of a stored session: give it each record of `store.read(sessionId, 1)`, in order. It gives the event that readers of the live
 * session got, or `undefined` for a record that is none. What is not recorded (deltas, progress) does not come again.
 */
export function recordedEvents(sessionId: string): (record: JournalRecord) => SessionEvent | undefined {
  const projector = new EventProjector(sessionId, '');
  return record => {
    projector.observe(record);
    const event = projector.project(record);
    return event && Object.freeze(event);
  };
}
