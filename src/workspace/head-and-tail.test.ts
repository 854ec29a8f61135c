import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeadAndTail } from './head-and-tail.ts';

function kept(text: string, bytes: number, chunk = 7): string {
  const output = new HeadAndTail(bytes);
  const all = Buffer.from(text);
  for (let from = 0; from < all.length; from += chunk) output.add(all.subarray(from, from + chunk));
  expect(output.total).toBe(all.length);
  return output.text();
}

describe('the head and tail of an output', () => {
  it('are the whole of an output that fits, characters across pieces included', () => {
    expect(kept('é🙂 short', 100, 1)).toBe('é🙂 short');
    expect(kept('', 100)).toBe('');
  });

  it('are its beginning and end, with how much was left out between', () => {
    const text = kept(`${'a'.repeat(500)}${'b'.repeat(1_000)}${'c'.repeat(500)}`, 20);
    expect(text).toBe(`${'a'.repeat(10)}\n[... 1,980 bytes left out here ...]\n${'c'.repeat(10)}`);
  });

  it('are cut between characters, whatever the bound and the pieces', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '🙂'), maxLength: 80 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 20 }), (whole, bytes, chunk) => {
        const shown = kept(whole, bytes, chunk);
        expect(shown).not.toContain('\ufffd');
        const [head = '', tail] = shown.split(/\n\[... [\d,]+ bytes left out here ...\]\n/);
        expect(whole.startsWith(head)).toBe(true);
        if (tail === undefined) expect(shown).toBe(whole);
        else expect(whole.endsWith(tail)).toBe(true);
      }),
    );
  });
});
