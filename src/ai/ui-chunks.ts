/** From the events of a turn to the chunks of AI SDK's UI message stream, one event after the other. Pure: it waits for nothing. */
import type { FinishReason, UIMessageChunk } from 'ai';
import {
  assertNever,
  delegateEventOf,
  type ErrorSummary,
  type PendingGate,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type TurnDone,
  type TurnEvent,
  type TurnFailed,
  type TurnInterrupted,
} from '../index.ts';
import { errorText, plainValue } from './output-value.ts';
import { type KnownCall, UIStep } from './ui-step.ts';

export type TurnEnd = TurnDone | TurnFailed | TurnInterrupted;
type OfCall = Extract<
  TurnEvent,
  {
    type:
      | 'tool.input.delta'
      | 'gate.opened'
      | 'gate.resolved'
      | 'tool.called'
      | 'tool.started'
      | 'tool.progress'
      | 'tool.completed';
  }
>;

/** How a turn is told to a page, resolved. */
export interface Telling {
  readonly sendReasoning: boolean;
  readonly progress: 'preliminary' | 'data';
  readonly errorText: (error: ErrorSummary) => string;
  readonly metadata: (end: TurnEnd) => unknown;
}

export class UIChunks {
  readonly #telling: Telling;
  readonly #emit: (chunk: UIMessageChunk) => void;
  #step: UIStep | undefined;
  /** Ids of calls in steps before: what a provider calls by one of them now is another call. */
  readonly #used = new Set<string>();
  /** The gates that were shown. */
  readonly gates: Set<string> = new Set();
  /** How many steps have begun. */
  steps = 0;

  constructor(telling: Telling, emit: (chunk: UIMessageChunk) => void) {
    this.#telling = telling;
    this.#emit = emit;
  }

  /** Tells one event. After a terminal one, nothing may be told any more. */
  take(event: TurnEvent): void {
    const step = this.#step;
    switch (event.type) {
      case 'step.started':
        this.#emit({ type: 'start-step' });
        this.#step = new UIStep(event.stepId, this.#emit);
        this.steps += 1;
        break;
      case 'text.delta':
        if (event.isWhole !== true) step?.delta('text', event.text);
        else if (step?.calls.size === 0) step.delta('text', event.text);
        else step?.settleText(event.text);
        break;
      case 'reasoning.delta':
        if (this.#telling.sendReasoning) step?.delta('reasoning', event.text);
        break;
      case 'step.retrying':
        step?.takeBack();
        break;
      case 'turn.resumed':
        if (step?.calls.size === 0) step.takeBack(); // the response is asked for again
        break;
      case 'step.done':
        this.#endStep(event.text);
        break;
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.#end(event);
        break;
      case 'turn.released':
        this.#emit({ type: 'abort', reason: 'another process goes on with the turn' });
        this.#emit({ type: 'finish', finishReason: 'interrupted' });
        break;
      case 'turn.started':
      case 'input.steered': // a page has what its user said
      case 'limit.near':
      case 'events.dropped': // the step's end says what the text is
      case 'tool.late':
        break;
      default:
        if (step !== undefined) this.#takeOfCall(step, event);
    }
  }

  /** Tells that the turn waits for a person: the message ends here, and goes on in the answer to the next request. */
  pause(): void {
    this.#step?.dropStrayInputs();
    this.#emit({ type: 'finish-step' });
    this.#emit({ type: 'finish', finishReason: 'tool-calls' });
  }

  /** Whether the step that is under way has text. */
  get hasText(): boolean {
    return this.#step?.hasText === true;
  }

  /** Says the step that is under way once more, to a page that shows something of it. */
  retellStep(): void {
    this.#step?.sayAll();
  }

  /**
   * Asks about gates that are open within calls that run: those of delegates. Which call a gate is within is not known here, and need not be: the question
   * says what it is about. Gives whether nothing goes on by now but calls that wait so.
   */
  askWithin(gates: readonly PendingGate[], answered: () => ReadonlySet<string>): boolean {
    const step = this.#step;
    if (step === undefined) return false;
    const open = new Map(gates.map(gate => [gate.gateId, gate]));
    if (open.size === 0 && !step.isAsking) return false;
    const committed = answered();
    const calls = [...step.calls].filter(([callId, call]) => call.isAnswered !== true && !committed.has(callId));
    const areKnown = calls.some(([, call]) => call.isDelegate === true);
    const mayAsk = ({ isStarted, isDelegate }: KnownCall): boolean =>
      isStarted === true && (isDelegate === true || !areKnown);
    for (const [callId, call] of calls) {
      if (call.waitsFor !== undefined && !(open.has(call.waitsFor) && mayAsk(call))) step.dropQuestion(callId);
    }
    // One question a delegate, and so one of the gates of each turn.
    const asking = new Set(calls.map(([, { waitsFor }]) => waitsFor && open.get(waitsFor)?.turnId));
    for (const [callId, call] of calls) {
      const gate = gates.find(({ turnId }) => !asking.has(turnId));
      if (gate === undefined) break;
      if (call.waitsFor !== undefined || !mayAsk(call)) continue;
      asking.add(gate.turnId);
      step.askWithin(callId, gate.gateId, questionOf(gate));
    }
    return calls.length > 0 && calls.every(([, { waitsFor }]) => waitsFor !== undefined);
  }

  #takeOfCall(step: UIStep, event: OfCall): void {
    switch (event.type) {
      case 'tool.input.delta': {
        const { inputId, toolName, text } = event;
        const isStray = toolName === STRUCTURED_OUTPUT_TOOL_NAME || inputId === '' || this.#used.has(inputId);
        if (!isStray) step.input(inputId, toolName, text);
        break;
      }
      case 'gate.opened':
        this.#gateOpened(step, event);
        break;
      case 'gate.resolved':
        this.#gateResolved(step, event);
        break;
      case 'tool.called': {
        const { callId, toolName, input } = event;
        step.close();
        if (!step.call(callId, toolName).isShown) this.#showInput(step, callId, input);
        break;
      }
      case 'tool.started':
        step.dropStrayInputs(); // all calls of the batch are known by now
        step.call(event.callId, event.toolName).isStarted = true;
        break;
      case 'tool.progress':
        this.#progress(step, event);
        break;
      case 'tool.completed':
        step.dropStrayInputs();
        this.#completed(step, event);
        break;
      default:
        assertNever(event);
    }
  }

  #gateOpened(step: UIStep, event: Extract<TurnEvent, { type: 'gate.opened' }>): void {
    const { gateId: approvalId, callId: toolCallId, toolName } = event;
    step.close();
    const call = step.call(toolCallId, toolName);
    this.gates.add(approvalId);
    const written = step.writtenInput(toolCallId);
    this.#showInput(step, toolCallId, written ?? {});
    call.isShown = written !== undefined;
    step.show({ type: 'tool-approval-request', approvalId, toolCallId, ...questionOf(event) });
  }

  #gateResolved(step: UIStep, event: Extract<TurnEvent, { type: 'gate.resolved' }>): void {
    const { gateId: approvalId, callId, decision, reason, input } = event;
    const call = step.calls.get(callId);
    if (call === undefined) return;
    const approved = decision === 'approved';
    call.isDenied = !approved;
    if (input !== undefined) this.#showInput(step, callId, input);
    step.show({
      type: 'tool-approval-response',
      approvalId,
      approved,
      ...(reason === undefined ? {} : { reason }),
    });
  }

  #showInput(step: UIStep, toolCallId: string, input: unknown): void {
    const call = step.calls.get(toolCallId);
    if (call === undefined) return;
    call.isShown = true;
    step.show({ type: 'tool-input-available', toolCallId, toolName: call.toolName, input });
  }

  #progress(step: UIStep, event: Extract<TurnEvent, { type: 'tool.progress' }>): void {
    const { callId, toolName, update } = event;
    const call = step.calls.get(callId);
    if (call?.isShown !== true) return; // seen by a reader that missed the call
    if (delegateEventOf(event) !== undefined) {
      call.isDelegate = true; // a whole turn: neither its output nor for every page
      return;
    }
    if (this.#telling.progress === 'preliminary') {
      this.#emit({ type: 'tool-output-available', toolCallId: callId, output: update, preliminary: true });
    } else {
      const data = { toolCallId: callId, toolName, update };
      this.#emit({ type: 'data-tool-progress', data, transient: true });
    }
  }

  #completed(step: UIStep, event: Extract<TurnEvent, { type: 'tool.completed' }>): void {
    const { callId: toolCallId, toolName, isError, output } = event;
    const call = step.call(toolCallId, toolName);
    step.dropQuestion(toolCallId);
    call.isAnswered = true;
    if (!isError) step.show({ type: 'tool-output-available', toolCallId, output: plainValue(output) });
    else if (call.isDenied === true) step.show({ type: 'tool-output-denied', toolCallId });
    else step.show({ type: 'tool-output-error', toolCallId, errorText: errorText(output) });
  }

  #endStep(text: string): void {
    const step = this.#step;
    if (step === undefined) return;
    if (step.calls.size > 0) step.dropStrayInputs();
    else step.failStrayInputs('not run: the model was stopped while it wrote this call');
    step.settleText(text);
    this.#leaveStep(step);
  }

  #leaveStep(step: UIStep): void {
    for (const id of step.calls.keys()) this.#used.add(id);
    this.#step = undefined;
    this.#emit({ type: 'finish-step' });
  }

  /** What a step has that was never committed stays on the page, with what became of it. */
  #end(event: TurnEnd): void {
    const step = this.#step;
    if (step !== undefined) {
      step.close();
      step.failStrayInputs('not run: the turn ended before');
      for (const [toolCallId, { isAnswered }] of step.calls) {
        if (isAnswered === true) continue;
        const errorText = 'the turn ended before its result was recorded: it may or may not have taken effect';
        step.show({ type: 'tool-output-error', toolCallId, errorText });
      }
      this.#leaveStep(step);
    }
    const messageMetadata = this.#telling.metadata(event);
    const said = messageMetadata === undefined ? {} : { messageMetadata };
    if (event.type === 'turn.done') {
      if (event.output !== undefined) this.#emit({ type: 'data-output', id: event.turnId, data: event.output });
      this.#emit({ type: 'finish', finishReason: finishReasonOf(event), ...said });
      return;
    }
    // A page stops reading at an error: what else is to be known comes before.
    if (messageMetadata !== undefined) this.#emit({ type: 'message-metadata', messageMetadata });
    if (event.type === 'turn.failed') {
      this.#emit({ type: 'error', errorText: this.#telling.errorText(event.error) });
      this.#emit({ type: 'finish', finishReason: 'error' });
      return;
    }
    this.#emit({ type: 'abort', ...(event.reason === undefined ? {} : { reason: event.reason }) });
    this.#emit({ type: 'finish', finishReason: 'interrupted' });
  }
}

/** What a person is asked. */
function questionOf({ requests, summary, toolName }: Pick<PendingGate, 'requests' | 'summary' | 'toolName'>): {
  readonly reason: string;
  readonly approvalDescriptor: object;
} {
  const wants = requests.map(({ action, target, description }) => description ?? `${action} on ${target}`);
  const reason = summary ?? wants.join(', ');
  return { reason, approvalDescriptor: { toolName, requests, ...(summary === undefined ? {} : { summary }) } };
}

/** A turn that is done waits for no call, whatever its last response asked for. */
function finishReasonOf({ finishReason }: TurnDone): FinishReason {
  const { unified } = finishReason;
  return unified === 'tool-calls' ? 'stop' : unified;
}
