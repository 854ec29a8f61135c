/** A session as a list of rows, one below the other, and where each of them stands. */
import type { SessionView, SteeredInput, StepView, TurnView } from '../report/model/view.ts';

/** One piece of a session. */
export type Row = { readonly key: string; readonly turn: TurnView; readonly index: number } & (
  | { readonly kind: 'head' | 'end' }
  | { readonly kind: 'step'; readonly step: StepView }
  | { readonly kind: 'steered'; readonly steered: SteeredInput }
);

/** The rows of turns that have not changed are those of the time before. */
export class RowList {
  #known = new Map<TurnView, readonly Row[]>();

  rowsOf({ turns }: SessionView): readonly Row[] {
    const known = new Map<TurnView, readonly Row[]>();
    const rows: Row[] = [];
    for (const [index, turn] of turns.entries()) {
      const own = this.#known.get(turn) ?? rowsOfTurn(turn, index);
      known.set(turn, own);
      for (const row of own) rows.push(row);
    }
    this.#known = known;
    return rows;
  }
}

function rowsOfTurn(turn: TurnView, index: number): readonly Row[] {
  const of = { turn, index };
  const rows: Row[] = [{ key: turn.turnId, kind: 'head', ...of }];
  let told = 0;
  const tell = (place: number): void => {
    for (let next = turn.steered[told]; next !== undefined && next.before <= place; next = turn.steered[told]) {
      rows.push({ key: `said ${next.inputId}`, kind: 'steered', steered: next, ...of });
      told += 1;
    }
  };
  for (const [place, step] of turn.steps.entries()) {
    tell(place);
    rows.push({ key: step.stepId, kind: 'step', step, ...of });
  }
  tell(turn.steps.length);
  if (turn.end !== undefined) rows.push({ key: `${turn.turnId} end`, kind: 'end', ...of });
  return rows;
}

/** How high a row probably is, until it was measured: what is not drawn has to leave its room. */
function guessOf(row: Row, width: number): number {
  const perLine = Math.max(20, width / 7.4);
  const lines = (text: string): number => Math.ceil(text.length / perLine) + (text.match(/\n/g)?.length ?? 0);
  switch (row.kind) {
    case 'head':
      return 72;
    case 'steered':
      return 64;
    case 'end':
      return 48;
    case 'step': {
      const { text, calls } = row.step;
      const batch = calls.length === 0 ? 0 : 32 + Math.min(calls.length, 200) * (width < 560 ? 56 : 33);
      return 52 + (text === '' ? 0 : 8 + lines(text) * 21) + batch;
    }
  }
}

/** Where rows stand: the top of each, and after the last the height of all. */
export function topsOf(rows: readonly Row[], heights: ReadonlyMap<string, number>, width: number): Float64Array {
  const tops = new Float64Array(rows.length + 1);
  for (const [index, row] of rows.entries()) {
    tops[index + 1] = tops[index]! + (heights.get(row.key) ?? guessOf(row, width));
  }
  return tops;
}

/** The first row that reaches below `y`. */
export function rowAt(tops: Float64Array, y: number): number {
  let low = 0;
  let high = Math.max(0, tops.length - 2);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tops[middle + 1]! > y) high = middle;
    else low = middle + 1;
  }
  return low;
}
