import { expect, it } from 'vitest';
import { TextFlow } from './text-flow.ts';

it('gives the same rows for whole text and for text that comes letter by letter', () => {
  const text = 'A first paragraph that is wrapped.\n\n\tcode that is indented\nand 漢字漢字漢字 too';
  const whole = new TextFlow();
  const rows = [...whole.push(text, 12), ...whole.end()];
  const pieces = new TextFlow();
  const collected = [...text].flatMap(letter => pieces.push(letter, 12));
  expect([...collected, ...pieces.end()]).toEqual(rows);
  expect(rows).toEqual([
    ...['A first', 'paragraph', 'that is', 'wrapped.', ''],
    ...['    code', 'that is', 'indented', 'and', '漢字漢字漢字', 'too'],
  ]);
});

it('keeps the row that is not full, and gives it at the end', () => {
  const flow = new TextFlow();
  expect(flow.push('half a row', 20)).toEqual([]);
  expect(flow.partial).toBe('half a row');
  expect(flow.end()).toEqual(['half a row']);
  expect(flow.end()).toEqual([]);
});
