/** The spans of random turns: whatever happens in a turn, they are whole. */
import fc from 'fast-check';
import type { SessionEvent } from 'looprig';
import { openTelemetry, traceTools } from 'looprig/otel';
import { describe, expect, it } from 'vitest';
import { runScenario, scenarios } from './support/scenario.ts';
import { recorder, times } from './support/telemetry.ts';

/** How many random turns are run. */
const RUNS = 150;

/** Runs a turn, and gives what was told of it and of the turns after it. */
async function told(scenario: Parameters<typeof runScenario>[0]) {
  const record = recorder();
  const telemetry = openTelemetry({ ...record.providers, content: true, contentLength: 100 });
  const failures: unknown[] = [];
  const observer = (event: SessionEvent): void => {
    try {
      telemetry(event);
    } catch (error) {
      failures.push(error);
    }
  };
  const { observed } = await runScenario(scenario, { observer, middleware: traceTools(telemetry) });
  return { record, observed, failures };
}

describe('random turns', () => {
  it('have spans that each end once, inside of the turn, one for each call that started and each model call', {
    timeout: 120_000,
  }, async () => {
    let spans = 0;
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const { record, observed, failures } = await told(scenario);
        expect(failures).toEqual([]);
        const { begun } = record;
        spans += begun.length;
        expect(record.ended()).toHaveLength(begun.length);
        expect(new Set(record.ended())).toEqual(new Set(begun));
        const byId = new Map(begun.map(span => [span.spanContext().spanId, span]));
        for (const span of begun) {
          const [start, end] = times(span);
          expect(end).toBeGreaterThanOrEqual(start);
          if (span.name === 'invoke_agent') continue;
          const parent = byId.get(span.parentSpanContext?.spanId ?? '');
          expect(parent?.name).toBe('invoke_agent');
          const [from, to] = times(parent!);
          expect(start).toBeGreaterThanOrEqual(from);
          expect(end).toBeLessThanOrEqual(to);
        }
        const count = (type: SessionEvent['type']): number => observed.filter(event => event.type === type).length;
        const named = (start: string): number => begun.filter(({ name }) => name.startsWith(start)).length;
        expect(named('invoke_agent')).toBe(count('turn.started'));
        expect(named('chat')).toBe(count('step.started'));
        expect(named('execute_tool ')).toBe(count('tool.started'));
        const ids = begun.flatMap(({ attributes }) => attributes['gen_ai.tool.call.id'] ?? []);
        const started = observed.flatMap(event => (event.type === 'tool.started' ? event.callId : []));
        expect(ids).toEqual(started);
      }),
      { numRuns: RUNS },
    );
    expect(spans).toBeGreaterThan(RUNS * 3);
  });

  it('cost in all spans and metrics what they cost in their events', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async scenario => {
        const { record, observed } = await told(scenario);
        const sum = (numbers: readonly unknown[]): number =>
          numbers.reduce<number>((all, one) => all + Number(one ?? 0), 0);
        const ends = observed.flatMap(event =>
          'usage' in event && event.type !== 'step.done' ? event.usage.inputTokens : [],
        );
        const ofSteps = record.begun
          .filter(({ name }) => name === 'chat')
          .map(({ attributes }) => attributes['gen_ai.usage.input_tokens']);
        expect(sum(ofSteps)).toBe(sum(ends));
        const measured = (await record.measured('gen_ai.client.token.usage')).filter(
          ({ attributes }) => attributes['gen_ai.token.type'] === 'input',
        );
        expect(sum(measured.map(point => point.sum))).toBe(sum(ends));
        const calls = await record.measured('looprig.tool.calls');
        expect(sum(calls.map(point => point.sum))).toBe(
          observed.filter(({ type }) => type === 'tool.completed').length,
        );
        await record.stop();
      }),
      { numRuns: RUNS / 3 },
    );
  });
});
