import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cut, fixedAdvice, shorten, utf8Length } from './cut.ts';

const bytes = (text: string): number => new TextEncoder().encode(text).length;
const NOTE = /\n\[... (\d+) of (\d+) bytes left out here\. .* ...\]\n/;

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4_000, size: 'max' }),
  fc.string({
    unit: fc.constantFrom('a', 'é', '漢', '🙂', '\ud800', '\udc00', '\n', '\ufeff'),
    maxLength: 4_000,
    size: 'max',
  }),
);

describe('cut', () => {
  it('keeps within the limit, on whole characters, with a true head, a true tail and the right number', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 256, max: 2_000 }), (text, limit) => {
        const shown = cut(text, limit);
        const whole = text.toWellFormed();
        expect(shown.isWellFormed()).toBe(true);
        expect(bytes(shown)).toBeLessThanOrEqual(limit);
        if (bytes(whole) <= limit) {
          expect(shown).toBe(whole);
          return;
        }
        const note = NOTE.exec(shown)!;
        const head = shown.slice(0, note.index);
        const tail = shown.slice(note.index + note[0].length);
        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(Number(note[2])).toBe(bytes(whole));
        expect(Number(note[1])).toBe(bytes(whole) - bytes(head) - bytes(tail));
        expect(bytes(shown)).toBeGreaterThan(limit - 16); // nothing is wasted but the rest of a character and of a number
      }),
      { numRuns: 2_000 },
    );
  });

  it('measures a text larger than one piece of the encoder, pairs on the edge included', () => {
    for (const offset of [0, 1]) {
      const text = 'a'.repeat(offset) + '🙂'.repeat(60_000);
      const note = NOTE.exec(cut(text, 1_000))!;
      expect(Number(note[2])).toBe(bytes(text));
    }
  });

  it('keeps the beginning where not even a note has room', () => {
    expect(cut('x'.repeat(100), 50)).toBe(`${'x'.repeat(47)}…`);
    expect(bytes(cut('漢'.repeat(100), 50))).toBeLessThanOrEqual(50);
    expect(cut('x'.repeat(100), 0)).toBe('');
  });

  it('says what it is told to say beside the number', () => {
    expect(cut('x'.repeat(1_000), 100, fixedAdvice(''))).toMatch(
      /^x+\n\[... \d+ of 1000 bytes left out here\. ...\]\nx+$/,
    );
  });
});

describe('shorten', () => {
  it('a text that is cut again still tells of the whole, with its head and tail', () => {
    const limits = fc.tuple(fc.integer({ min: 256, max: 2_000 }), fc.integer({ min: 256, max: 2_000 }));
    fc.assert(
      fc.property(texts, limits, (text, [first, second]) => {
        const once = shorten(text, first);
        const twice = shorten(once.text, second, once.mark);
        const whole = text.toWellFormed();
        expect(bytes(twice.text)).toBeLessThanOrEqual(Math.min(first, second));
        if (twice.mark === undefined) {
          expect(twice.text).toBe(whole);
          return;
        }
        const { headEnd, tailStart, total } = twice.mark;
        const [head, tail] = [twice.text.slice(0, headEnd), twice.text.slice(tailStart)];
        const note = NOTE.exec(twice.text.slice(headEnd, tailStart))!;
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        expect(total).toBe(bytes(whole));
        expect([Number(note[1]), Number(note[2])]).toEqual([total - bytes(head) - bytes(tail), total]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('a text that is whole has no mark', () => {
    expect(shorten('short', 256)).toEqual({ text: 'short', mark: undefined });
    expect(shorten('é'.repeat(128), 256)).toEqual({ text: 'é'.repeat(128), mark: undefined });
  });
});

it('utf8Length counts the bytes that an encoder writes', () => {
  fc.assert(
    fc.property(texts, text => {
      expect(utf8Length(text)).toBe(bytes(text));
    }),
  );
});
