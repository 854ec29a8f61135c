/** The spans of random turns: whatever happens in a turn, they are whole. */
import { DiagLogLevel, diag } from '@opentelemetry/api';
import fc from 'fast-check';
import { memoryStore, type SessionEvent } from 'looprig';
import { openTelemetry, traceTools } from 'looprig/otel';
import type { ScriptedReply } from 'looprig/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runScenario, scenarios } from './support/scenario.ts';
import { call, names, recorder, setup, times } from './support/telemetry.ts';
import { watchedStore } from './support/watched-store.ts';

/** How many random turns are run. */
const RUNS = 150;

/** What the SDK complains of: a span that is ended twice, or is changed after its end. */
const complaints: string[] = [];

beforeAll(() => {
  const complain = (message: string): void => void complaints.push(message);
  const ignore = (): void => {};
  diag.setLogger({ error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
});
afterAll(() => diag.disable());

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
        expect([...failures, ...complaints]).toEqual([]);
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

describe('a turn that ended with its process after any append', () => {
  it('has whole spans in the process that takes it up', async () => {
    const replies: ScriptedReply[] = [
      { text: 'I look.', calls: [call('slow', 'c1'), call('safe', 'c2'), call('bad', 'c3'), call('asking', 'c4')] },
      { calls: [call('safe', 'c5')] },
      { text: 'Done.' },
    ];
    const store = watchedStore();
    const gate = { rules: [{ action: '*', target: '*', decision: 'allow' }] } as const;
    const { clock, session } = await setup({ replies, rig: { store, gate } });
    await clock.runUntil(session.run('Go.'));
    expect(store.appends.length).toBeGreaterThan(7);
    for (let taken = 2; taken < store.appends.length; taken++) {
      const records = store.appends.slice(0, taken).flat();
      const left = memoryStore();
      await left.append(session.id, 0, records);
      const answers = records.filter(({ type }) => type === 'step.responded').length;
      const again = await setup({ replies: replies.slice(answers), rig: { store: left, gate } });
      const { told } = again;
      const resumed = await again.openRig().open({ sessionId: session.id });
      const result = await again.clock.runUntil(resumed.resume().result);
      expect(result.status).toBe('done');
      const [turn, ...others] = told.begun;
      expect(turn!.attributes).toMatchObject({ 'looprig.turn.resumed': true, 'looprig.turn.outcome': 'done' });
      expect(new Set(told.ended())).toEqual(new Set(told.begun));
      expect(names(others).filter(name => name === 'chat scripted-model')).toHaveLength(3 - answers);
      const [from, to] = times(turn!);
      for (const span of others) {
        expect(span.parentSpanContext?.spanId).toBe(turn!.spanContext().spanId);
        const [start, end] = times(span);
        expect(from <= start && start <= end && end <= to).toBe(true);
      }
      expect(complaints).toEqual([]);
    }
  });
});
