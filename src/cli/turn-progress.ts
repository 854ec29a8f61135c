/** How far a turn is: a fold over its events, which all views share. */
import type { TurnEvent, Usage } from '../index.ts';
import { refusedOf } from '../report/model/refused.ts';

/** A call that is announced and has no result yet. */
export interface OpenCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly summary: string | undefined;
  /** Milliseconds since the epoch; `undefined` while it waits. */
  startedAt: number | undefined;
  /** The tool's last word on how far it is. */
  update: unknown;
}

/** The limits of a turn as its first event tells them; one that is absent is none. */
type Limits = Extract<TurnEvent, { type: 'turn.started' }>['limits'];

const NO_USAGE: Usage = Object.freeze({
  ...{ inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  ...{ cachedInputTokens: 0, reasoningTokens: 0 },
});

function sum(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
}

export class TurnProgress {
  limits: Limits = {};
  startedAt: number | undefined;
  endedAt: number | undefined;
  /** Steps in which the model asked for tools. */
  iterations = 0;
  /** Calls that the model asked for. */
  calls = 0;
  /** Responses of the model. */
  steps = 0;
  usage: Usage = NO_USAGE;
  /** Calls that run now, and the most that ran at one time. */
  running = 0;
  peak = 0;
  readonly #open = new Map<string, OpenCall>();
  #lastBatch = '';
  #announced = { iterations: 0, calls: 0 };
  #inLastBatch = 0;

  /** Calls without a result, in call order. */
  get openCalls(): readonly OpenCall[] {
    return [...this.#open.values()];
  }

  /** The call of this id, if it has no result yet. */
  openCall(callId: string): OpenCall | undefined {
    return this.#open.get(callId);
  }

  /** Of the iterations and calls, those of the batch that went beyond a limit: none of it ran. */
  get refused(): { readonly iterations: number; readonly calls: number } {
    const { iterations, calls, limits } = this;
    return refusedOf({ iterations, calls, limits, announced: this.#announced, lastBatch: this.#inLastBatch });
  }

  /** Takes an event in. */
  apply(event: TurnEvent): void {
    switch (event.type) {
      case 'turn.started':
        this.limits = event.limits;
        this.startedAt = event.at;
        break;
      case 'turn.resumed':
        this.#resumed();
        break;
      case 'tool.called':
        this.#called(event);
        break;
      case 'tool.started':
        this.#started(event);
        break;
      case 'tool.progress': {
        const call = this.#open.get(event.callId);
        if (call !== undefined) call.update = event.update;
        break;
      }
      case 'tool.completed':
        if (this.#open.get(event.callId)?.startedAt !== undefined) this.running -= 1;
        this.#open.delete(event.callId);
        break;
      case 'step.done':
        this.steps += 1;
        this.usage = sum(this.usage, event.usage);
        break;
      case 'turn.done':
      case 'turn.failed':
      case 'turn.interrupted':
        this.#ended(event);
        break;
      default:
        break;
    }
  }

  /** What ran in the process that ended does not run any more. */
  #resumed(): void {
    this.running = 0;
    for (const call of this.#open.values()) call.startedAt = undefined;
  }

  #called({ stepId, callId, toolName, input, summary }: Extract<TurnEvent, { type: 'tool.called' }>): void {
    const isFirst = stepId !== this.#lastBatch;
    this.#lastBatch = stepId;
    this.#inLastBatch = isFirst ? 1 : this.#inLastBatch + 1;
    this.calls += 1;
    if (isFirst) this.iterations += 1;
    this.#announced = { iterations: this.iterations, calls: this.calls };
    this.#open.set(callId, { callId, toolName, input, summary, startedAt: undefined, update: undefined });
  }

  #started({ callId, at }: Extract<TurnEvent, { type: 'tool.started' }>): void {
    const call = this.#open.get(callId);
    if (call === undefined) return;
    call.startedAt = at;
    this.running += 1;
    this.peak = Math.max(this.peak, this.running);
  }

  /** The turn's own counts have the last word: they include calls that went beyond a limit and were never announced. */
  #ended({ steps, iterations, calls, usage, at }: Extract<TurnEvent, { readonly iterations: number }>): void {
    this.steps = steps;
    this.iterations = iterations;
    this.calls = calls;
    this.usage = usage;
    this.running = 0;
    this.endedAt = at;
    this.#open.clear();
  }
}
