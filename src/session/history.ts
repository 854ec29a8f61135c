/**
 * A session's state, folded from its journal record by record. The live session and a restored one use this same fold, so
 * that they cannot differ: what the model is shown is what the journal says.
 *
 * Owns invariant 1: an assistant message with calls enters the history together with the tool message that answers each of
 * them, at `step.done`, or not at all.
 */
import type { GateRule } from '../define/gate.ts';
import { STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import type { JournalRecord, RecordedLimitReached, RecordedLimits, ResultCapture } from '../journal/journal.ts';
import {
  type AssistantMessage,
  addUsage,
  type Message,
  NO_USAGE,
  type ToolCallPart,
  type ToolMessage,
  type ToolResultPart,
  type Usage,
} from '../model/model.ts';
import { titleOf } from './title.ts';

/** A turn that has begun and has no terminal record yet. */
export interface OpenTurn {
  readonly turnId: string;
  readonly mode: string;
  readonly limits: RecordedLimits;
  /** The record that it begins with: its own, or that of the input that waited for it. */
  readonly firstSeq: number;
  /** What the turn has used so far. */
  usage: Usage;
  steps: number;
  iterations: number;
  calls: number;
  /** Calls of delegates; what they used is in `usage`. */
  delegatedCalls: number;
  /** How many steps have begun, pauses of the provider in a row, and answers that did not fit. */
  begun: number;
  pauses: number;
  unfit: number;
  /** What the next request tells the model, and whether it may only answer. */
  note: string | undefined;
  closing: RecordedLimitReached | undefined;
  /** The last step, and whether it is part of the history. */
  step: OpenStep | undefined;
}

type Responded = Extract<JournalRecord, { type: 'step.responded' }>;
type Completed = Extract<JournalRecord, { type: 'tool.completed' }>;

/** A step that is under way, or was the last. */
export interface OpenStep {
  readonly stepId: string;
  response: Responded | undefined;
  isAnnounced: boolean;
  isCommitted: boolean;
  readonly started: Set<string>;
  readonly results: Map<string, Completed>;
}

/** A question to a person that is open, or was decided for a call that has not started. */
export interface RecordedGate {
  readonly opened: Extract<JournalRecord, { type: 'gate.opened' }>;
  readonly resolved: Extract<JournalRecord, { type: 'gate.resolved' }> | undefined;
}

/** An input that was received and has not been used. */
export type WaitingInput = Extract<JournalRecord, { type: 'input.received' }>;

export class SessionState {
  /** The committed history. Messages are frozen; the list grows and is never rewritten. */
  readonly messages: Message[] = [];
  /** The ids of all calls in the history. */
  readonly callIds: Set<string> = new Set();
  /** The large results that are kept, by their ids. */
  readonly captures: Map<string, ResultCapture> = new Map();
  readonly waiting: Map<string, WaitingInput> = new Map();
  /** The ids of all inputs that were received, and of all turns that began. */
  readonly inputIds: Set<string> = new Set();
  loop = '';
  loopId = '';
  policyRevision = '';
  mode = '';
  /** Of a delegate's session: whose call it works for. */
  parent: Extract<JournalRecord, { type: 'session.opened' }>['parent'];
  /** What a person allowed for the rest of the session. */
  readonly rules: GateRule[] = [];
  /** Gates of the turn that is open, by the id of their call; and the ids of all that were ever decided. */
  readonly gates: Map<string, RecordedGate> = new Map();
  readonly decidedGates: Set<string> = new Set();
  turn: OpenTurn | undefined;
  turns = 0;
  calls = 0;
  lastOutcome: 'done' | 'failed' | 'interrupted' | undefined;
  /** Whether the last turn stopped in a way that `continue` can take up. */
  canContinue = false;

  /** The first words of the first user message, for lists. */
  get title(): string {
    return titleOf(this.messages);
  }

  apply(record: JournalRecord): void {
    switch (record.type) {
      case 'session.opened':
        this.loop = record.loop;
        this.loopId = record.loopId;
        this.policyRevision = record.policyRevision;
        this.mode = record.mode;
        this.parent = record.parent;
        break;
      case 'history.imported':
        for (const message of record.messages) this.#commit(message);
        this.canContinue = record.messages.length > 0 && record.messages.at(-1)?.role !== 'assistant';
        break;
      case 'mode.changed':
        this.mode = record.mode;
        break;
      case 'input.received':
        this.waiting.set(record.inputId, record);
        this.inputIds.add(record.inputId);
        break;
      case 'input.cancelled':
        this.waiting.delete(record.inputId);
        break;
      case 'turn.started':
        this.turn = openTurn(record, this.waiting.get(record.inputId ?? ''));
        this.turns += 1;
        this.inputIds.add(record.turnId);
        this.canContinue = false;
        if (record.message !== undefined) this.#commit(record.message);
        if (record.inputId !== undefined) this.#useInput(record.inputId);
        break;
      case 'input.steered':
        this.#useInput(record.inputId);
        break;
      case 'step.started':
        if (this.turn !== undefined) beginStep(this.turn, record.stepId);
        break;
      case 'step.responded':
        if (this.turn !== undefined) takeResponse(this.turn, record);
        break;
      case 'tool.called':
        this.calls += 1;
        if (this.turn?.step !== undefined) this.turn.step.isAnnounced = true;
        break;
      case 'tool.started':
        this.turn?.step?.started.add(record.callId);
        break;
      case 'tool.completed':
        if (this.turn !== undefined) takeResult(this.turn, record);
        if (record.capture !== undefined) this.captures.set(record.capture.id, record.capture);
        break;
      case 'gate.opened':
        this.gates.set(record.callId, { opened: record, resolved: undefined });
        break;
      case 'gate.resolved':
        this.#resolveGate(record);
        break;
      case 'step.done':
        this.#commitStep(record);
        break;
      case 'turn.done':
        this.#endTurn('done', false);
        break;
      case 'turn.failed':
        this.#endTurn('failed', true);
        break;
      case 'turn.interrupted':
        this.#endTurn('interrupted', true);
        break;
      case 'turn.resumed':
      case 'step.retrying':
      case 'limit.near':
        break;
    }
  }

  #resolveGate(record: Extract<JournalRecord, { type: 'gate.resolved' }>): void {
    this.decidedGates.add(record.gateId);
    const gate = this.gates.get(record.callId);
    if (gate !== undefined) this.gates.set(record.callId, { ...gate, resolved: record });
    for (const rule of record.rules ?? []) this.rules.push(rule);
  }

  #useInput(inputId: string): void {
    const input = this.waiting.get(inputId);
    this.waiting.delete(inputId);
    if (input !== undefined) this.#commit(input.message);
  }

  #commitStep({ closing, unfit }: Extract<JournalRecord, { type: 'step.done' }>): void {
    const { turn } = this;
    const step = turn?.step;
    if (turn === undefined || step?.response === undefined || step.isCommitted) return;
    const { message } = step.response;
    if (message.content.length > 0) this.#commit(message); // providers refuse a message that holds nothing
    const answer = answerOf(message, step.results);
    if (answer !== undefined) this.messages.push(answer);
    step.isCommitted = true;
    turn.closing = closing ?? turn.closing;
    turn.note = unfit?.note;
    if (unfit !== undefined) turn.unfit += 1;
    if (this.gates.size > 0) this.gates.clear();
  }

  #commit(message: Message): void {
    this.messages.push(message);
    if (message.role !== 'assistant') return;
    for (let place = 0; place < message.content.length; place++) {
      const part = message.content[place]!;
      if (part.type === 'tool-call') this.callIds.add(part.toolCallId);
    }
  }

  #endTurn(outcome: 'done' | 'failed' | 'interrupted', canContinue: boolean): void {
    this.turn = undefined;
    if (this.gates.size > 0) this.gates.clear();
    this.lastOutcome = outcome;
    this.canContinue = canContinue;
  }
}

function openTurn(
  { turnId, mode, limits, seq }: Extract<JournalRecord, { type: 'turn.started' }>,
  input: WaitingInput | undefined,
): OpenTurn {
  return {
    ...{ turnId, mode, limits, firstSeq: input?.seq ?? seq },
    ...{ usage: NO_USAGE, steps: 0, iterations: 0, calls: 0, delegatedCalls: 0, begun: 0, pauses: 0, unfit: 0 },
    ...{ note: undefined, closing: undefined, step: undefined },
  };
}

function beginStep(turn: OpenTurn, stepId: string): void {
  turn.begun += 1;
  turn.step = {
    stepId,
    response: undefined,
    isAnnounced: false,
    isCommitted: false,
    started: new Set(),
    results: new Map(),
  };
}

function takeResponse(turn: OpenTurn, record: Responded): void {
  const { message, usage, finishReason } = record;
  if (turn.step !== undefined) turn.step.response = record;
  turn.usage = addUsage(turn.usage, usage);
  turn.steps += 1;
  turn.pauses = finishReason.raw === 'pause_turn' ? turn.pauses + 1 : 0;
  const batch = batchOf(message);
  if (batch === undefined) return;
  turn.iterations += 1;
  turn.calls += batch;
}

function takeResult(turn: OpenTurn, record: Completed): void {
  turn.step?.results.set(record.callId, record);
  if (record.used === undefined) return;
  turn.delegatedCalls += record.used.calls;
  turn.usage = addUsage(turn.usage, record.used.usage);
}

/** How many calls a response makes that count; `undefined` for one that is an answer, by text or by the control tool alone. */
export function batchOf(message: AssistantMessage): number | undefined {
  let calls = 0;
  let controls = 0; // the control tool counts for nothing
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
    if (part.toolName === STRUCTURED_OUTPUT_TOOL_NAME) controls += 1;
    else calls += 1;
  }
  return calls > 0 || controls > 1 ? calls : undefined;
}

/** The tool message that answers the calls of an assistant message, in call order; `undefined` where it has none. */
function answerOf(message: AssistantMessage, results: ReadonlyMap<string, Completed>): ToolMessage | undefined {
  const calls = message.content.filter(part => part.type === 'tool-call' && part.providerExecuted !== true);
  if (calls.length === 0) return undefined;
  const content = (calls as ToolCallPart[]).map(({ toolCallId }) => {
    const result = results.get(toolCallId);
    if (result === undefined) throw new Error(`step is done, but call ${toolCallId} has no result`);
    return toolResultPart(result);
  });
  return Object.freeze({ role: 'tool' as const, content: Object.freeze(content) as ToolResultPart[] });
}

function toolResultPart({ callId, toolName, output }: Completed): ToolResultPart {
  return Object.freeze({ type: 'tool-result', toolCallId: callId, toolName, output });
}
