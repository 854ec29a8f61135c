import { expect, test } from 'vitest';
import { collect } from './collect.ts';

async function* count(to: number): AsyncGenerator<number> {
  for (let number = 1; number <= to; number++) yield number;
}

test('gives all events in order, and the result', async () => {
  const turn = { [Symbol.asyncIterator]: () => count(3), result: Promise.resolve('done') };
  expect(await collect(turn)).toEqual({ events: [1, 2, 3], result: 'done' });
});

test('rejects as the iterator does', async () => {
  async function* broken(): AsyncGenerator<number> {
    yield 1;
    throw new Error('too slow');
  }
  const turn = { [Symbol.asyncIterator]: broken, result: Promise.resolve('done') };
  await expect(collect(turn)).rejects.toThrow('too slow');
});
