import { describe, expect, it } from 'vitest';
import { turnEvents, usage } from '../../test/cli/turn-events.ts';
import { finalGauges, liveGauges } from './gauges.ts';
import { textWidth } from './text-width.ts';
import { TurnProgress } from './turn-progress.ts';

/** A turn with seven calls in three batches, four of them running. */
function busyTurn(limits: object): TurnProgress {
  let now = 0;
  const event = turnEvents(() => now);
  const progress = new TurnProgress();
  progress.apply(event('turn.started', { input: [], mode: '', limits }));
  const call = (id: string): void => {
    const named = { callId: id, toolName: 'look' };
    progress.apply(event('tool.called', { ...named, input: {} }));
    progress.apply(event('tool.started', named));
  };
  const complete = (id: string): void => {
    const output = { type: 'text' as const, value: '' };
    const done = { outcome: 'done' as const, isError: false, output, durationMs: 1 };
    progress.apply(event('tool.completed', { callId: id, toolName: 'look', ...done }));
  };
  for (const batch of [['a'], ['b', 'c'], ['d', 'e', 'f', 'g']]) {
    progress.apply(event('step.started', { step: 0 }));
    for (const id of batch) call(id);
    if (!batch.includes('g')) for (const id of batch) complete(id);
    const finishReason = { unified: 'tool-calls' as const, raw: undefined };
    if (!batch.includes('g')) progress.apply(event('step.done', { text: '', finishReason, usage: usage(700) }));
    now += 1_000;
  }
  return progress;
}

const LIMITS = { iterations: 25, calls: 100, parallel: 8 };

describe('the gauges of a turn that runs', () => {
  it.each([
    [80, 'iterations 3/25 · calls 7/100 · running 4/8 · 1,400 tokens · 3.0 s'],
    [50, 'iterations 3/25 · calls 7/100 · running 4/8'],
    [40, 'it 3/25 · calls 7/100 · run 4/8'],
    [25, '3/25 · 7/100 · 4/8'],
  ])('in %i columns they are as long as there is room for', (width, expected) => {
    const shown = liveGauges(busyTurn(LIMITS), 3_000, width);
    expect(shown).toBe(expected);
    expect(textWidth(shown)).toBeLessThanOrEqual(width);
  });

  it('name no maximum where there is none, and the tokens where they are limited', () => {
    expect(liveGauges(busyTurn({ parallel: 8, tokens: 50_000 }), 3_000, 80)).toBe(
      'iterations 3 · calls 7 · running 4/8 · 1,400/50,000 tokens · 3.0 s',
    );
  });
});

it('the gauges of a turn that has ended tell its own counts, and the most calls that ran at one time', () => {
  const progress = busyTurn(LIMITS);
  const event = turnEvents(() => 4_200);
  const figures = { text: '', usage: usage(2_100), steps: 4, iterations: 4, calls: 107 };
  const error = { name: 'ToolLimitError', kind: 'tool_limit', message: '' };
  progress.apply(event('turn.failed', { ...figures, error }));
  expect(finalGauges(progress, 9_999)).toEqual([
    ...['steps 4', 'iterations 3/25 (and 1 refused)', 'calls 7/100 (and 100 refused)', 'parallel peak 4/8'],
    ...['2,100 tokens: 2,100 in, 0 out', '4.2 s'],
  ]);
});

it('the tokens of a turn that has ended tell what a cache had of them, and what was thought', () => {
  const progress = busyTurn({ ...LIMITS, tokens: 50_000 });
  const told = {
    inputTokens: 1_900,
    outputTokens: 200,
    totalTokens: 2_100,
    cachedInputTokens: 1_024,
    reasoningTokens: 64,
  };
  const figures = { text: '', usage: told, steps: 4, iterations: 3, calls: 7 };
  progress.apply(
    turnEvents(() => 4_200)('turn.done', { ...figures, finishReason: { unified: 'stop', raw: undefined } }),
  );
  expect(finalGauges(progress, 9_999)[4]).toBe('2,100/50,000 tokens: 1,900 in (1,024 cached), 200 out (64 reasoning)');
});
