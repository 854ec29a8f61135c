/** `looprig/otel`: spans and metrics by OpenTelemetry's conventions for generative AI. Needs the package `@opentelemetry/api`, version 1.9. */
export { openTelemetry, type TelemetryObserver } from './observer.ts';
export type { OpenTelemetryOptions } from './options.ts';
export { traceTools } from './trace-tools.ts';
