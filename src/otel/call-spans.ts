/** The spans of a turn's calls: one for each that started, from then to its result. */
import { type Attributes, type Context, type Span, SpanKind, trace } from '@opentelemetry/api';
import type { ToolCompleted, ToolStarted } from '../events/events.ts';
import type { Agent } from './agent.ts';
import { cutJson, cutText, resultText } from './content.ts';
import { ATTRIBUTES, ERRORS, OPERATIONS } from './names.ts';
import { type Instruments, MOST_NAME, markFailed, timeOf } from './telemetry.ts';

interface CallSpan {
  readonly span: Span;
  readonly context: Context;
  readonly startedAt: number;
}

export class CallSpans {
  readonly #instruments: Instruments;
  readonly #agent: Agent;
  readonly #turn: Context;
  readonly #common: Attributes;
  readonly #open = new Map<string, CallSpan>();
  /** Arguments by call, until it has its result; kept only where content is wanted. */
  readonly #arguments = new Map<string, string>();

  constructor(instruments: Instruments, agent: Agent, turn: Context, common: Attributes) {
    this.#instruments = instruments;
    this.#agent = agent;
    this.#turn = turn;
    this.#common = common;
  }

  /** The context of a running call, if its span is open. */
  contextOf(callId: string): Context | undefined {
    return this.#open.get(callId)?.context;
  }

  /** The arguments as the model wrote them, unless a person's are known already. */
  called(callId: string, input: unknown): void {
    if (!this.#arguments.has(callId)) this.edited(callId, input);
  }

  /** The arguments that a person put in the place of the model's. */
  edited(callId: string, input: unknown): void {
    const { contentLength } = this.#instruments;
    if (contentLength !== undefined) this.#arguments.set(callId, cutJson(input, contentLength));
  }

  started({ callId, toolName }: Pick<ToolStarted, 'callId' | 'toolName'>, at: number): CallSpan {
    const given = this.#arguments.get(callId);
    const span = this.#instruments.tracer.startSpan(
      `${OPERATIONS.call} ${toolName}`,
      {
        kind: SpanKind.INTERNAL,
        startTime: timeOf(at),
        attributes: {
          ...this.#common,
          [ATTRIBUTES.operation]: OPERATIONS.call,
          [ATTRIBUTES.tool]: toolName,
          [ATTRIBUTES.toolType]: 'function',
          [ATTRIBUTES.callId]: cutText(callId, MOST_NAME),
          ...(given === undefined ? {} : { [ATTRIBUTES.arguments]: given }),
        },
      },
      this.#turn,
    );
    const call = { span, context: trace.setSpan(this.#turn, span), startedAt: at };
    this.#open.set(callId, call);
    return call;
  }

  /** Ends the span of a call with its result; gives false where there is none, since it never ran. */
  completed({ callId, toolName, outcome, output }: ToolCompleted, at: number): boolean {
    this.#arguments.delete(callId);
    const call = this.#open.get(callId);
    if (call === undefined) return false;
    this.#open.delete(callId);
    const { contentLength, metrics } = this.#instruments;
    const error = outcome === 'done' ? undefined : outcome;
    call.span.setAttribute(ATTRIBUTES.callOutcome, outcome);
    if (contentLength !== undefined) call.span.setAttribute(ATTRIBUTES.result, resultText(output, contentLength));
    if (error !== undefined) markFailed(call.span, { type: error });
    call.span.end(timeOf(at));
    const about = { ...this.#agent.ofMetrics, [ATTRIBUTES.tool]: toolName };
    metrics.took(OPERATIONS.call, at - call.startedAt, about, error);
    return true;
  }

  /** Ends what is still open. Each call has its result before its turn ends, unless the journal or the process was lost. */
  endAll(at: number): void {
    for (const { span } of this.#open.values()) {
      markFailed(span, { type: ERRORS.unknown });
      span.end(timeOf(at));
    }
    this.#open.clear();
    this.#arguments.clear();
  }
}
