/**
 * A session's state, folded from its journal record by record. The live session and a restored one use this same fold, so
 * that they cannot differ: what the model is shown is what the journal says.
 *
 * Owns invariant 1: an assistant message with calls enters the history together with the tool message that answers each of
 * them, at `step.done`, or not at all.
 */
import { STRUCTURED_OUTPUT_TOOL_NAME } from '../define/tool.ts';
import type { JournalRecord, RecordedLimits } from '../journal/journal.ts';
import {
  type AssistantMessage,
  addUsage,
  type Message,
  NO_USAGE,
  type ToolMessage,
  type ToolResultPart,
  type Usage,
  type UserContent,
  type UserMessage,
} from '../model/model.ts';

/** A turn that has begun and has no terminal record yet. */
export interface OpenTurn {
  readonly turnId: string;
  readonly mode: string;
  readonly limits: RecordedLimits;
  /** What the turn has used so far. */
  usage: Usage;
  steps: number;
  iterations: number;
  calls: number;
  /** The step whose response is not committed yet. */
  step: OpenStep | undefined;
}

/** A step that is under way. */
interface OpenStep {
  readonly stepId: string;
  message: AssistantMessage | undefined;
  readonly started: Set<string>;
  readonly results: Map<string, ToolResultPart>;
}

/** An input that was received and has not been used. */
export interface WaitingInput {
  readonly inputId: string;
  readonly as: 'turn' | 'steer';
  readonly message: UserMessage;
}

export class SessionState {
  /** The committed history. Messages are frozen; the list grows and is never rewritten. */
  readonly messages: Message[] = [];
  /** The ids of all calls in the history. */
  readonly callIds: Set<string> = new Set();
  readonly waiting: Map<string, WaitingInput> = new Map();
  loop = '';
  loopId = '';
  policyRevision = '';
  mode = '';
  turn: OpenTurn | undefined;
  turns = 0;
  calls = 0;
  lastOutcome: 'done' | 'failed' | 'interrupted' | undefined;
  /** Whether the last turn stopped in a way that `continue` can take up. */
  canContinue = false;

  /** The first words of the first user message, for lists. */
  get title(): string {
    const first = this.messages.find(message => message.role === 'user');
    const text = first === undefined ? '' : textOf(first.content as readonly UserContent[]);
    const line = text.trim().split(/\r?\n/, 1)[0] ?? '';
    // What is left of a pair that is cut in two is no character.
    return line.length > 80 ? `${line.slice(0, 79).replace(/[\ud800-\udbff]$/, '')}…` : line;
  }

  apply(record: JournalRecord): void {
    switch (record.type) {
      case 'session.opened':
        this.loop = record.loop;
        this.loopId = record.loopId;
        this.policyRevision = record.policyRevision;
        this.mode = record.mode;
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
        break;
      case 'input.cancelled':
        this.waiting.delete(record.inputId);
        break;
      case 'turn.started':
        this.turn = openTurn(record);
        this.turns += 1;
        this.canContinue = false;
        if (record.message !== undefined) this.#commit(record.message);
        if (record.inputId !== undefined) this.#useInput(record.inputId);
        break;
      case 'input.steered':
        this.#useInput(record.inputId);
        break;
      case 'step.started':
        if (this.turn !== undefined) {
          this.turn.step = { stepId: record.stepId, message: undefined, started: new Set(), results: new Map() };
        }
        break;
      case 'step.responded':
        if (this.turn !== undefined) takeResponse(this.turn, record);
        break;
      case 'tool.started':
        this.turn?.step?.started.add(record.callId);
        break;
      case 'tool.completed':
        this.turn?.step?.results.set(record.callId, toolResultPart(record));
        break;
      case 'step.done':
        this.#commitStep();
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
      case 'tool.called':
        this.calls += 1;
        break;
      case 'step.retrying':
      case 'limit.near':
      case 'gate.opened':
      case 'gate.resolved':
        break;
    }
  }

  #useInput(inputId: string): void {
    const input = this.waiting.get(inputId);
    this.waiting.delete(inputId);
    if (input !== undefined) this.#commit(input.message);
  }

  #commitStep(): void {
    const step = this.turn?.step;
    if (step?.message === undefined) return;
    this.#commit(step.message);
    const answer = answerOf(step.message, step.results);
    if (answer !== undefined) this.messages.push(answer);
    step.message = undefined;
  }

  #commit(message: Message): void {
    this.messages.push(message);
    if (message.role !== 'assistant') return;
    for (const part of message.content) if (part.type === 'tool-call') this.callIds.add(part.toolCallId);
  }

  #endTurn(outcome: 'done' | 'failed' | 'interrupted', canContinue: boolean): void {
    this.turn = undefined;
    this.lastOutcome = outcome;
    this.canContinue = canContinue;
  }
}

function openTurn({ turnId, mode, limits }: Extract<JournalRecord, { type: 'turn.started' }>): OpenTurn {
  return { turnId, mode, limits, usage: NO_USAGE, steps: 0, iterations: 0, calls: 0, step: undefined };
}

function takeResponse(turn: OpenTurn, { message, usage }: Extract<JournalRecord, { type: 'step.responded' }>): void {
  if (turn.step !== undefined) turn.step.message = message;
  turn.usage = addUsage(turn.usage, usage);
  turn.steps += 1;
  let calls = 0;
  for (const part of message.content) {
    const isCall = part.type === 'tool-call' && part.providerExecuted !== true;
    if (isCall && part.toolName !== STRUCTURED_OUTPUT_TOOL_NAME) calls += 1; // the control tool counts for nothing
  }
  if (calls > 0) turn.iterations += 1;
  turn.calls += calls;
}

/** The tool message that answers the calls of an assistant message, in call order; `undefined` where it has none. */
function answerOf(message: AssistantMessage, results: ReadonlyMap<string, ToolResultPart>): ToolMessage | undefined {
  const content: ToolResultPart[] = [];
  for (const part of message.content) {
    if (part.type !== 'tool-call' || part.providerExecuted === true) continue;
    const result = results.get(part.toolCallId);
    if (result === undefined) throw new Error(`step is done, but call ${part.toolCallId} has no result`);
    content.push(result);
  }
  if (content.length === 0) return undefined;
  return Object.freeze({ role: 'tool' as const, content: Object.freeze(content) as ToolResultPart[] });
}

function toolResultPart(record: {
  callId: string;
  toolName: string;
  output: ToolResultPart['output'];
}): ToolResultPart {
  return Object.freeze({
    type: 'tool-result',
    toolCallId: record.callId,
    toolName: record.toolName,
    output: record.output,
  });
}

/** The text of a message's parts, one after another. */
function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  let text = '';
  for (const part of content) if (part.type === 'text' && part.text !== undefined) text += part.text;
  return text;
}
