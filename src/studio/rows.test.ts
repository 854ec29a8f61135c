import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMPTY_VIEW, reduce } from '../report/model/reduce.ts';
import type { SessionView } from '../report/model/view.ts';
import { RowList, rowAt, topsOf } from './rows.ts';

const header = { sessionId: 's', loopId: 'l', at: 1 };
const said = (text: string) => [{ type: 'text' as const, text }];

/** Two turns; in the first, something was said before its second step, and after its last. */
function view(): SessionView {
  let seq = 0;
  const next = () => ({ ...header, seq: ++seq });
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
  const finishReason = { unified: 'stop' as const, raw: undefined };
  const totals = { text: '', usage, finishReason, steps: 2, iterations: 0, calls: 0 };
  const step = (turnId: string, number: number) =>
    ({ type: 'step.started', ...next(), turnId, stepId: `${turnId}.${number}`, step: number }) as const;
  const steered = (inputId: string) =>
    ({ type: 'input.steered', ...next(), turnId: 't', inputId, input: said(inputId) }) as const;
  const begin = (turnId: string) =>
    ({ type: 'turn.started', ...next(), turnId, input: said('go'), mode: '', limits: {} }) as const;
  const events = [begin('t'), step('t', 1), steered('a'), steered('b'), step('t', 2), steered('c')];
  const rest = [{ type: 'turn.done', ...next(), turnId: 't', ...totals } as const, begin('u'), step('u', 1)];
  return [...events, ...rest].reduce(reduce, EMPTY_VIEW);
}

describe('the rows of a session', () => {
  it('are its turns in order, with what was said where it was said', () => {
    expect(new RowList().rowsOf(view()).map(({ key, kind }) => `${kind} ${key}`)).toEqual([
      ...['head t', 'step t.1', 'steered said a', 'steered said b', 'step t.2', 'steered said c', 'end t end'],
      ...['head u', 'step u.1'],
    ]);
  });

  it('of a turn that has not changed are the same objects', () => {
    const list = new RowList();
    const before = list.rowsOf(shared);
    const after = list.rowsOf({ ...shared, turns: [shared.turns[0]!, { ...shared.turns[1]! }] });
    expect(after.slice(0, 7).every((row, index) => row === before[index])).toBe(true);
    expect(after[7]).not.toBe(before[7]);
  });

  it('stand one below the other, and each place belongs to one of them', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 9, maxLength: 9 }),
        fc.nat(5_000),
        (heights, y) => {
          const rows = new RowList().rowsOf(shared);
          const tops = topsOf(rows, new Map(rows.map(({ key }, index) => [key, heights[index]!])), 800);
          expect(tops[rows.length]).toBe(heights.reduce((sum, height) => sum + height, 0));
          const place = rowAt(tops, y);
          if (y < tops[rows.length]!) expect(tops[place]! <= y && y < tops[place + 1]!).toBe(true);
          else expect(place).toBe(rows.length - 1);
        },
      ),
    );
    expect(rowAt(topsOf([], new Map(), 800), 10)).toBe(0);
  });
});

const shared: SessionView = view();
