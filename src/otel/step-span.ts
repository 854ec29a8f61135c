/** The span of one model call, its retries included. It ends when the response is there: before the calls of the step run. */
import { type Attributes, type Context, type Span, SpanKind } from '@opentelemetry/api';
import type { FinishReason } from '../model/model.ts';
import type { Agent } from './agent.ts';
import { ATTRIBUTES, OPERATIONS, SPAN_EVENTS } from './names.ts';
import { type Failure, type Instruments, markFailed, timeOf } from './telemetry.ts';

/** A response that went beyond a limit is a good one: the turn failed, not the model. */
const NOT_THE_MODEL = 'tool_limit';

export class StepSpan {
  readonly #instruments: Instruments;
  readonly #agent: Agent;
  readonly #span: Span;
  readonly #startedAt: number;
  #retries = 0;
  #respondedAt: number | undefined;
  #committedAt: number | undefined;
  /** Whether the response may be what was kept of one that broke off; the end of the turn, which is next then, says so. */
  #mayBePartial = false;

  constructor(instruments: Instruments, agent: Agent, context: Context, at: number, attributes: Attributes) {
    this.#instruments = instruments;
    this.#agent = agent;
    this.#startedAt = at;
    this.#span = instruments.tracer.startSpan(
      agent.model === undefined ? OPERATIONS.step : `${OPERATIONS.step} ${agent.model}`,
      {
        kind: SpanKind.CLIENT,
        startTime: timeOf(at),
        attributes: { ...attributes, [ATTRIBUTES.operation]: OPERATIONS.step, ...agent.ofStep },
      },
      context,
    );
  }

  /** Whether the step is part of the history, so that its usage is known. */
  get isCommitted(): boolean {
    return this.#committedAt !== undefined;
  }

  retrying(at: number, about: Attributes): void {
    this.#retries += 1;
    this.#span.addEvent(SPAN_EVENTS.retry, about, timeOf(at));
  }

  /** Something happened that only happens after the response. The first such thing counts. */
  responded(at: number): void {
    this.#respondedAt ??= at;
  }

  /** The step is part of the history. */
  committed(at: number, { unified, raw }: FinishReason, figures: Attributes): void {
    this.#committedAt = at;
    this.#mayBePartial = unified === 'other' && raw === undefined && this.#respondedAt === undefined;
    this.#span.setAttributes(figures);
  }

  add(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Ends the span; `turnFailure` is how the turn failed, if it ends with this step. */
  end(at: number, turnFailure: Failure | undefined): void {
    const endedAt = this.#respondedAt ?? this.#committedAt ?? at;
    const failure = this.#isAtFault(turnFailure) ? turnFailure : undefined;
    if (this.#retries > 0) this.#span.setAttribute(ATTRIBUTES.retries, this.#retries);
    if (failure !== undefined) markFailed(this.#span, failure);
    this.#span.end(timeOf(endedAt));
    this.#instruments.metrics.took(OPERATIONS.step, endedAt - this.#startedAt, this.#agent.ofStep, failure?.type);
  }

  #isAtFault(failure: Failure | undefined): boolean {
    if (failure === undefined || this.#respondedAt !== undefined) return false;
    return this.isCommitted ? this.#mayBePartial : failure.type !== NOT_THE_MODEL;
  }
}
