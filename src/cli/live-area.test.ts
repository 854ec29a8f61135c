import { expect, it } from 'vitest';
import { LiveArea } from './live-area.ts';

function record(columns: () => number): { area: LiveArea; written: string[] } {
  const written: string[] = [];
  return { area: new LiveArea(text => written.push(text), columns), written };
}

const row = (text: string): { painted: string; width: number } => ({ painted: text, width: text.length });

it('draws over the rows that are there, and clears what is left of them', () => {
  const { area, written } = record(() => 80);
  area.draw([row('one'), row('two')]);
  area.draw([row('three')]);
  area.erase();
  area.erase();
  expect(written).toEqual(['one\u001b[K\r\ntwo\u001b[K\u001b[J', '\r\u001b[1Athree\u001b[K\u001b[J', '\r\u001b[J']);
});

it('counts rows as a window that became narrower shows them', () => {
  let columns = 80;
  const { area, written } = record(() => columns);
  area.draw([row('x'.repeat(50)), row(''), row('x'.repeat(41))]);
  columns = 20;
  area.erase();
  expect(written[1]).toBe('\r\u001b[6A\u001b[J'); // 3 rows, 1 and 3
});

it('puts the cursor where it is told to, and draws over all rows from there', () => {
  const { area, written } = record(() => 80);
  area.draw([row('one'), row('two'), row('three')], { row: 1, column: 2 });
  area.erase();
  expect(written).toEqual([
    'one\u001b[K\r\ntwo\u001b[K\r\nthree\u001b[K\u001b[J\r\u001b[1A\u001b[2C',
    '\r\u001b[1A\u001b[J',
  ]);
});

it('leaves on the screen what it forgets', () => {
  const { area, written } = record(() => 80);
  area.draw([row('one'), row('two')]);
  area.forget();
  area.erase();
  area.draw([row('three')]);
  expect(written.slice(1)).toEqual(['three\u001b[K\u001b[J']);
});
