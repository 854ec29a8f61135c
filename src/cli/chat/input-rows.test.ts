import { expect, it } from 'vitest';
import { createPainter } from '../style.ts';
import { textWidth } from '../text-width.ts';
import { inputRows, type PlacedRows } from './input-rows.ts';

interface Given {
  readonly cursor?: number;
  readonly width?: number;
  readonly mostRows?: number;
  readonly prompt?: string;
}

function shown(
  lines: readonly string[],
  given: Given = {},
): { readonly rows: string[]; readonly cursor: PlacedRows['cursor'] } {
  const { cursor = lines.at(-1)?.length ?? 0, width = 30, mostRows = 10, prompt = '› ' } = given;
  const look = { prompt, placeholder: 'say it', width, mostRows, paint: createPainter(false) };
  const placed = inputRows({ lines, cursor }, look);
  for (const { painted, width } of placed.rows) expect(textWidth(painted)).toBe(width);
  return { rows: placed.rows.map(({ painted }) => painted), cursor: placed.cursor };
}

it('an empty line shows what may be said, with the cursor before it', () => {
  expect(shown([''])).toEqual({ rows: ['› say it'], cursor: { row: 0, column: 2 } });
});

it('the cursor stands in the text, and lines stand below each other', () => {
  expect(shown(['one', 'three'], { cursor: 2 })).toEqual({
    rows: ['› one', '  three'],
    cursor: { row: 1, column: 4 },
  });
});

it('a row that is full goes on in the next one, with the cursor where the next character comes', () => {
  expect(shown(['x'.repeat(30)])).toEqual({
    rows: [`› ${'x'.repeat(28)}`, '  xx'],
    cursor: { row: 1, column: 4 },
  });
  expect(shown(['x'.repeat(28)])).toEqual({ rows: [`› ${'x'.repeat(28)}`, '  '], cursor: { row: 1, column: 2 } });
  expect(shown(['x'.repeat(30)], { cursor: 28 }).cursor).toEqual({ row: 1, column: 2 });
});

it('a wide character is never cut, and takes two columns before the cursor', () => {
  const { rows, cursor } = shown(['漢'.repeat(15)], { width: 31 });
  expect(rows).toEqual([`› ${'漢'.repeat(14)}`, '  漢']);
  expect(cursor).toEqual({ row: 1, column: 4 });
});

it('what could drive the terminal is to be seen, and counted as it is seen', () => {
  expect(shown(['\u001b[2J\tx'])).toEqual({ rows: ['› ␛[2J    x'], cursor: { row: 0, column: 11 } });
  expect(shown(['\u202ex'])).toEqual({ rows: ['› <U+202E>x'], cursor: { row: 0, column: 11 } });
});

it('a prompt that leaves too little room stands in a row of its own', () => {
  expect(shown(['word'], { prompt: 'a very long prompt › ' })).toEqual({
    rows: ['a very long prompt › ', 'word'],
    cursor: { row: 1, column: 4 },
  });
});

it('of many rows those round the cursor are shown', () => {
  const lines = ['1', '2', '3', '4', '5'];
  expect(shown(lines, { mostRows: 2 })).toEqual({ rows: ['  4', '  5'], cursor: { row: 1, column: 3 } });
  expect(shown([...lines, 'x'.repeat(60)], { mostRows: 2, cursor: 0 }).cursor).toEqual({ row: 1, column: 2 });
});

it('no window is too narrow', () => {
  expect(shown(['abc'], { width: 1 }).rows).toContain('a');
});
