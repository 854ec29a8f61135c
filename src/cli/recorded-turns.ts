/** Records of a journal as the events that views show. A record that leans on an earlier one is completed from what was read before. */
import {
  type AssistantMessage,
  type EventHeader,
  type JournalRecord,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type TurnEvent,
  type UserMessage,
} from '../index.ts';

type Responded = Extract<JournalRecord, { type: 'step.responded' }>;

export class RecordedEvents {
  readonly #sessionId: string;
  #loopId = '';
  readonly #inputs = new Map<string, UserMessage>();
  #response: Responded | undefined;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** The events of the next record; none for one that no view shows. */
  of(record: JournalRecord): readonly TurnEvent[] {
    const { seq, at } = record;
    const header = { sessionId: this.#sessionId, loopId: this.#loopId, seq, at };
    switch (record.type) {
      case 'session.opened':
        this.#loopId = record.loopId;
        return [];
      case 'input.received':
        this.#inputs.set(record.inputId, record.message);
        return [];
      case 'turn.started': {
        const { type, turnId, mode, limits, message, inputId } = record;
        this.#response = undefined;
        const said = message ?? this.#inputs.get(inputId ?? '');
        return [{ type, ...header, turnId, mode, limits, input: said?.content ?? [] }];
      }
      case 'step.responded':
        this.#response = record;
        return this.#pieces(header, record);
      case 'tool.called': {
        const call = this.#message?.content.find(
          part => part.type === 'tool-call' && part.toolCallId === record.callId,
        );
        return [{ ...record, ...header, input: call?.type === 'tool-call' ? call.input : {} }];
      }
      case 'tool.completed':
        if (record.toolName === STRUCTURED_OUTPUT_TOOL_NAME) return [];
        return [{ ...record, ...header, isError: record.outcome !== 'done' }];
      case 'step.done': {
        const { type, turnId, stepId } = record;
        if (this.#response === undefined) return [];
        const { finishReason, usage } = this.#response;
        return [{ type, ...header, turnId, stepId, text: this.#text, finishReason, usage }];
      }
      case 'turn.done':
        return [{ ...record, ...header, text: record.text ?? this.#text }];
      case 'turn.failed':
      case 'turn.interrupted':
        return [{ ...record, ...header, text: this.#text }];
      case 'turn.resumed':
      case 'step.started':
      case 'step.retrying':
      case 'tool.started':
      case 'gate.opened':
      case 'gate.resolved':
      case 'limit.near':
        return [{ ...record, ...header }];
      case 'history.imported':
      case 'mode.changed':
      case 'input.cancelled':
      case 'input.steered':
        return [];
    }
  }

  /** What was seen of a response as it came: thoughts, then text, each in one piece. */
  #pieces(header: EventHeader, { turnId, stepId, message }: Responded): readonly TurnEvent[] {
    const where = { ...header, turnId, stepId };
    const thoughts = thoughtsOf(message).map((text): TurnEvent => ({ type: 'reasoning.delta', ...where, text }));
    return this.#text === '' ? thoughts : [...thoughts, { type: 'text.delta', ...where, text: this.#text }];
  }

  get #message(): AssistantMessage | undefined {
    return this.#response?.message;
  }

  get #text(): string {
    return (this.#message?.content ?? []).map(part => (part.type === 'text' ? part.text : '')).join('');
  }
}

/** What the model thought before it answered, in one piece. */
function thoughtsOf({ content }: AssistantMessage): readonly string[] {
  const texts = content.flatMap(part => (part.type === 'reasoning' && part.text !== '' ? [part.text] : []));
  return texts.length === 0 ? [] : [texts.join('\n\n')];
}
