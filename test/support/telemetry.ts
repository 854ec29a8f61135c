/** What telemetry tells, kept in memory: finished spans, those still open, and what was measured. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';

import { defineLoop, defineRig, type LoopDefinition, type LoopOptions, memoryStore, type RigOptions } from 'looprig';
import { type OpenTelemetryOptions, openTelemetry } from 'looprig/otel';
import { manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';

/** One number of a metric: its sum, how often it was recorded, and its attributes. */
export interface Measured {
  readonly metric: string;
  readonly unit: string;
  readonly sum: number;
  readonly count: number;
  readonly boundaries: readonly number[] | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Providers for `openTelemetry`, and what came of it. */
export function recorder() {
  const exporter = new InMemorySpanExporter();
  const begun: ReadableSpan[] = [];
  const watch: SpanProcessor = {
    onStart: span => void begun.push(span),
    onEnd: () => {},
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [watch, new SimpleSpanProcessor(exporter)] });
  const metricExporter = new InMemoryMetricExporter(1); // cumulative
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });

  return {
    providers: { tracerProvider, meterProvider },
    tracer: tracerProvider.getTracer('test'),
    /** All spans that were started, in that order; those that have not ended have no duration. */
    begun: begun as readonly ReadableSpan[],
    /** Spans that have ended, in that order: one that was ended twice is there once, so look at `begun` too. */
    ended: () => exporter.getFinishedSpans() as readonly ReadableSpan[],
    /** The one span of this name. Throws where there is none, or several. */
    span(name: string): ReadableSpan {
      const found = begun.filter(span => span.name === name);
      if (found.length !== 1) throw new Error(`${found.length} spans are called "${name}"`);
      return found[0]!;
    },
    /** The points of one metric, in the order of their attributes. */
    async measured(metric: string): Promise<readonly Measured[]> {
      metricExporter.reset();
      await meterProvider.forceFlush();
      const scopes = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      const points = scopes
        .flatMap(({ metrics }) => metrics)
        .filter(({ descriptor }) => descriptor.name === metric)
        .flatMap(({ descriptor: { name, unit }, dataPoints }) =>
          dataPoints.map(({ value, attributes }): Measured => {
            if (typeof value === 'number') {
              return { metric: name, unit, sum: value, count: 1, boundaries: undefined, attributes };
            }
            const {
              sum = 0,
              count,
              buckets,
            } = value as { sum?: number; count: number; buckets: { boundaries: number[] } };
            return { metric: name, unit, sum, count, boundaries: buckets.boundaries, attributes };
          }),
        );
      const key = ({ attributes }: Measured): string => JSON.stringify(Object.entries(attributes).sort());
      return points.sort((one, other) => key(one).localeCompare(key(other)));
    },
    stop: () => meterProvider.shutdown(),
  };
}

export const START = 1_700_000_000_000;
/** What no telemetry may hold unless contents are asked for. */
export const SECRET = 'hunter2';

interface Setup {
  readonly replies: readonly ScriptedReply[];
  readonly loop?: Partial<LoopOptions>;
  readonly rig?: Omit<RigOptions<readonly LoopDefinition[]>, 'loops'>;
  readonly telemetry?: OpenTelemetryOptions;
}

/** A session on a clock that begins at `START`, and what its telemetry tells. `slow` takes 50 ms, `bad` throws, `stuck` never ends. */
export async function setup({ replies, loop: options, rig, telemetry }: Setup) {
  const clock = manualClock(START);
  const told = recorder();
  const slow = scriptedTool('slow', { sleepMs: 50, clock, returns: `the secret is ${SECRET}` });
  const bad = scriptedTool('bad', { throws: new Error(`no, ${SECRET}`) });
  const stuck = scriptedTool('stuck', { hangs: true });
  const asking = scriptedTool('asking', {
    access: () => [{ action: 'fs.write', target: SECRET }],
    summary: () => SECRET,
  });
  const safe = scriptedTool('safe', { sleepMs: 50, clock, idempotent: true });
  const loop = defineLoop({
    name: 'agent',
    model: scriptedModel(replies, { clock }),
    tools: [slow, bad, stuck, asking, safe].map(({ definition }) => definition),
    ...options,
  } as LoopOptions) as LoopDefinition;
  const observer = openTelemetry({ loop, ...told.providers, ...telemetry });
  const openRig = () => defineRig({ loops: [loop], observers: [observer], clock, store: memoryStore(), ...rig });
  return { clock, told, loop, observer, openRig, session: await openRig().open() };
}

export const call = (tool: string, id: string, input: object = {}) => ({ tool, id, input });
export const names = (spans: readonly ReadableSpan[]): string[] => spans.map(({ name }) => name);
/** When a span begins and ends, in milliseconds since `START`. */
export const since = (span: ReadableSpan): number[] => times(span).map(at => at - START);
export const eventsOf = ({ events }: ReadableSpan) => events.map(({ name, attributes }) => ({ name, ...attributes }));

/** Milliseconds since the epoch at which a span begins and ends. */
export function times({ startTime, endTime }: ReadableSpan): readonly [start: number, end: number] {
  return [startTime[0] * 1_000 + startTime[1] / 1e6, endTime[0] * 1_000 + endTime[1] / 1e6];
}

/** Keeps the active context along what is awaited, as the context managers of the SDKs for Node do. */
export class AsyncContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<Args extends unknown[], Fn extends (...args: Args) => ReturnType<Fn>>(
    context: Context,
    fn: Fn,
    self?: ThisParameterType<Fn>,
    ...args: Args
  ): ReturnType<Fn> {
    return this.#storage.run(context, () => fn.apply(self, args));
  }

  bind<T>(_context: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
