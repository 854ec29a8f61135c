import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LastLines, LineReader } from './lines.ts';

it('lines are the same however their bytes are cut', () => {
  const line = fc.string({ unit: 'grapheme' }).filter(text => !/[\r\n]/.test(text) && text.isWellFormed());
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(40)), (lines, cuts) => {
      const bytes = Buffer.from(lines.map(text => `${text}\n`).join(''));
      const reader = new LineReader(10_000);
      const read: string[] = [];
      let start = 0;
      for (const length of [...cuts, bytes.length]) {
        read.push(...reader.add(bytes.subarray(start, start + length)));
        start += length;
      }
      expect(read).toEqual(lines);
    }),
  );
});

it('a line end may be that of Windows, and what has no end yet is no line', () => {
  const reader = new LineReader(100);
  expect([...reader.add(Buffer.from('one\r\ntwo\n\nthr'))]).toEqual(['one', 'two', '']);
  expect([...reader.add(Buffer.from('ee\n'))]).toEqual(['three']);
});

it('a line that is too long throws, ended or not', () => {
  const message = 'it sent a message of more than 10 bytes';
  expect(() => [...new LineReader(10).add(Buffer.from('12345678901\n'))]).toThrow(message);
  const reader = new LineReader(10);
  expect([...reader.add(Buffer.from('1234567890'))]).toEqual([]);
  expect(() => [...reader.add(Buffer.from('1'))]).toThrow(message);
});

it('of a text without an end the last lines are kept', () => {
  const last = new LastLines();
  expect(last.lines).toEqual([]);
  for (let index = 0; index < 10_000; index++) last.add(`line ${index}\n\n`);
  last.add('and a h');
  last.add('alf');
  expect(last.lines).toEqual(['line 9996', 'line 9997', 'line 9998', 'line 9999', 'and a half']);
  last.add('x'.repeat(100_000));
  expect(last.lines.join('')).toHaveLength(4_096);
});
