// A turn as OpenTelemetry sees it: one span of the turn, and in it one of each model call and of each call that ran.
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { defineLoop, defineRig, defineTool } from 'looprig';
import { openTelemetry, traceTools } from 'looprig/otel';
import { manualClock, scriptedModel } from 'looprig/testing';
import { z } from 'zod';

// In a program of yours this is the SDK's setup, with an exporter that sends spans somewhere.
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

const clock = manualClock(Date.UTC(2030, 0, 1)); // so that the times are the same each time; leave it out
const sleep = (ms: number) => new Promise<void>(resolve => clock.setTimer(resolve, ms));

const weather = defineTool({
  name: 'weather',
  description: 'Tells the weather of a city.',
  input: z.object({ city: z.string() }),
  async execute({ city }) {
    await sleep(city === 'Rome' ? 300 : 200);
    if (city === 'Atlantis') throw new Error('no such city');
    return `21 degrees in ${city}`;
  },
});

const agent = defineLoop({
  name: 'guide',
  model: scriptedModel(
    [
      { calls: ['Rome', 'Atlantis'].map(city => ({ tool: 'weather', input: { city } })), delayMs: 500 },
      { text: 'It is 21 degrees in Rome, and there is no Atlantis.', delayMs: 700 },
    ],
    { clock },
  ),
  tools: [weather],
});

const telemetry = openTelemetry({ loop: agent, tracerProvider });
const traced = agent.extend({ middlewares: [traceTools(telemetry)] });
await using session = await defineRig({ loops: [traced], observers: [telemetry], clock }).open();
await clock.runUntil(session.run('How warm is it in Rome and in Atlantis?'));

const ms = ([seconds, nanos]: readonly [number, number]) => seconds * 1_000 + nanos / 1e6;
const spans = exporter.getFinishedSpans().toSorted((one, other) => ms(one.startTime) - ms(other.startTime));
const [turn] = spans.filter(span => span.parentSpanContext === undefined);
for (const span of spans) {
  const from = ms(span.startTime) - ms(turn!.startTime);
  const error = span.attributes['error.type'];
  console.log(`${from} to ${from + ms(span.duration)} ms: ${span.name}${error === undefined ? '' : ` (${error})`}`);
}
