/** What the spans of all turns are made with, and what they have in common. */
import {
  type Attributes,
  type HrTime,
  metrics,
  type Span,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { Metrics } from './metrics.ts';
import { ATTRIBUTES } from './names.ts';
import type { ResolvedTelemetry } from './options.ts';

/** The instrumentation scope. */
const SCOPE = 'looprig';

/** The most characters of a name or an id, which may be a model's: no more of it is worth keeping. */
export const MOST_NAME = 128;

export interface Instruments {
  readonly tracer: Tracer;
  readonly metrics: Metrics;
  /** Attributes of every span. */
  readonly attributes: Attributes;
  /** The most characters of one piece of content; `undefined` where there is to be none. */
  readonly contentLength: number | undefined;
}

export function instrumentsOf(options: ResolvedTelemetry): Instruments {
  const { tracerProvider, meterProvider, attributes, contentLength } = options;
  return {
    tracer: (tracerProvider ?? trace).getTracer(SCOPE),
    metrics: new Metrics((meterProvider ?? metrics).getMeter(SCOPE)),
    attributes,
    contentLength,
  };
}

/** How an operation failed: a word of few, and a sentence where there is one that may be told. */
export interface Failure {
  readonly type: string;
  readonly message?: string | undefined;
}

/** Marks a span as failed. */
export function markFailed(span: Span, { type, message }: Failure): void {
  span.setAttribute(ATTRIBUTES.error, type);
  span.setStatus(message === undefined ? { code: SpanStatusCode.ERROR } : { code: SpanStatusCode.ERROR, message });
}

/** Milliseconds since the epoch, in the one form that the SDK does not take for a time since the start of the process. */
export function timeOf(at: number): HrTime {
  const seconds = Math.floor(at / 1_000);
  return [seconds, Math.round((at - seconds * 1_000) * 1e6)];
}
