/**
 * One step of a turn as chunks of a UI message: what a page shows of it so far. What a step turns out not to be (an attempt that failed, a call
 * whose id the provider did not keep, text that came too late to be shown in its place) is taken back with `reset-step`, and the rest said again.
 */
import type { UIMessageChunk } from 'ai';

/** Arguments that the model writes, by the provider's id. */
interface WrittenInput {
  readonly toolName: string;
  text: string;
}

/** A call that was asked for. */
export interface KnownCall {
  readonly toolName: string;
  /** Whether the page has its arguments. */
  isShown: boolean;
  isDenied?: boolean;
  isStarted?: boolean;
  /** Known once its turn was heard of. */
  isDelegate?: boolean;
  isAnswered?: boolean;
  /** The gate within the call (a delegate's) that a person is asked about. */
  waitsFor?: string;
}

export class UIStep {
  readonly stepId: string;
  readonly calls: Map<string, KnownCall> = new Map();
  readonly #emit: (chunk: UIMessageChunk) => void;
  /** All that a page shows of the step, in order. */
  #shown: UIMessageChunk[] = [];
  #inputs = new Map<string, WrittenInput>();
  #open: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
  #blocks = 0;
  #text = '';

  constructor(stepId: string, emit: (chunk: UIMessageChunk) => void) {
    this.stepId = stepId;
    this.#emit = emit;
  }

  get hasText(): boolean {
    return this.#text !== '';
  }

  /** Shows a chunk of this step. */
  show(chunk: UIMessageChunk): void {
    this.#shown.push(chunk);
    this.#emit(chunk);
  }

  /** More of the text, or of the reasoning. */
  delta(kind: 'text' | 'reasoning', delta: string): void {
    if (this.#open?.kind !== kind) {
      this.close();
      this.#blocks += 1;
      this.#open = { kind, id: `${this.stepId}.${this.#blocks}` };
      this.show({ type: `${kind}-start`, id: this.#open.id });
    }
    if (kind === 'text') this.#text += delta;
    this.show({ type: `${kind}-delta`, id: this.#open.id, delta });
  }

  /** Ends the text or reasoning that is open. */
  close(): void {
    if (this.#open === undefined) return;
    this.show({ type: `${this.#open.kind}-end`, id: this.#open.id });
    this.#open = undefined;
  }

  /** More of a call's arguments. */
  input(toolCallId: string, toolName: string, text: string): void {
    let written = this.#inputs.get(toolCallId);
    if (written === undefined) {
      this.close();
      written = { toolName, text: '' };
      this.#inputs.set(toolCallId, written);
      this.show({ type: 'tool-input-start', toolCallId, toolName });
    }
    written.text += text;
    this.show({ type: 'tool-input-delta', toolCallId, inputTextDelta: text });
  }

  /** The arguments that the model has written for a call, if they have all been seen: an object. */
  writtenInput(callId: string): unknown {
    const text = this.#inputs.get(callId)?.text;
    if (text === undefined) return undefined;
    try {
      const input: unknown = JSON.parse(text.trim() === '' ? '{}' : text);
      return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : undefined;
    } catch {
      return undefined; // not all of it was seen, or it is no JSON
    }
  }

  /** The call of this id, with what is known of it. */
  call(callId: string, toolName: string): KnownCall {
    const known = this.calls.get(callId) ?? { toolName, isShown: false };
    this.calls.set(callId, known);
    return known;
  }

  /** Takes everything back: the attempt counts for nothing. */
  takeBack(): void {
    const isEmpty = this.#shown.length === 0;
    this.#shown = [];
    this.#inputs = new Map();
    this.#open = undefined;
    this.#text = '';
    if (!isEmpty) this.#emit({ type: 'reset-step' });
  }

  /** Asks about a gate within a call that runs. */
  askWithin(
    toolCallId: string,
    approvalId: string,
    request: { readonly reason: string; readonly approvalDescriptor: object },
  ): void {
    const call = this.calls.get(toolCallId);
    if (call === undefined) return;
    call.waitsFor = approvalId;
    this.show({ type: 'tool-approval-request', approvalId, toolCallId, ...request });
  }

  /** Takes the question about a gate within a call back: it is decided, and was none about the call. */
  dropQuestion(toolCallId: string): void {
    const call = this.calls.get(toolCallId);
    const approvalId = call?.waitsFor;
    if (call === undefined || approvalId === undefined) return;
    delete call.waitsFor;
    this.#sayAgain(this.#shown.filter(chunk => !('approvalId' in chunk && chunk.approvalId === approvalId)));
  }

  /** Whether a call has a question about a gate within it. */
  get isAsking(): boolean {
    return [...this.calls.values()].some(({ waitsFor }) => waitsFor !== undefined);
  }

  /** Says all of the step once more, to a page that shows something of it. */
  sayAll(): void {
    this.#sayAgain(this.#shown);
  }

  /** Takes back arguments that belong to no call that is known by now: the id was the provider's, or the call waits for others. */
  dropStrayInputs(): void {
    const stray = this.#strayInputs();
    if (stray.length === 0) return;
    const isStray = (chunk: UIMessageChunk): boolean => 'toolCallId' in chunk && stray.includes(chunk.toolCallId);
    for (const id of stray) this.#inputs.delete(id);
    this.#sayAgain(this.#shown.filter(chunk => !isStray(chunk)));
  }

  /** Ends arguments that came to no call, because the turn ended: nothing of them ran. */
  failStrayInputs(errorText: string): void {
    for (const toolCallId of this.#strayInputs()) {
      const { toolName, text } = this.#inputs.get(toolCallId)!;
      const input = this.writtenInput(toolCallId) ?? text;
      this.show({ type: 'tool-input-error', toolCallId, toolName, input, errorText });
    }
  }

  /** Makes the text the step's own: what was not shown of it is, in its place before the calls. */
  settleText(text: string): void {
    this.close();
    if (text === this.#text) return;
    const isText = (chunk: UIMessageChunk): boolean => /^text-(start|delta|end)$/.test(chunk.type);
    const isReasoning = (chunk: UIMessageChunk): boolean => chunk.type.startsWith('reasoning-');
    const rest = this.#shown.filter(chunk => !isText(chunk) && !isReasoning(chunk));
    const before = this.#shown.filter(isReasoning);
    const wasEmpty = this.#shown.length === 0;
    this.#text = text;
    this.#blocks += 1;
    const id = `${this.stepId}.${this.#blocks}`;
    const block: UIMessageChunk[] =
      text === ''
        ? []
        : [
            { type: 'text-start', id },
            { type: 'text-delta', id, delta: text },
            { type: 'text-end', id },
          ];
    if (wasEmpty) for (const chunk of block) this.show(chunk);
    else this.#sayAgain([...before, ...block, ...rest]);
  }

  #strayInputs(): string[] {
    return [...this.#inputs.keys()].filter(id => !this.calls.has(id));
  }

  #sayAgain(chunks: readonly UIMessageChunk[]): void {
    this.#emit({ type: 'reset-step' });
    this.#shown = [];
    for (const chunk of chunks) this.show(chunk);
  }
}
