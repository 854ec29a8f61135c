import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Fifo } from './fifo.ts';

it('gives items in the order in which they came, whatever is put in and taken out between', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 400 }), actions => {
      const fifo = new Fifo<number>();
      const model: number[] = [];
      actions.forEach((isPush, number) => {
        if (isPush) {
          fifo.push(number);
          model.push(number);
        } else expect(fifo.shift()).toBe(model.shift());
        expect(fifo.size).toBe(model.length);
      });
    }),
  );
});
