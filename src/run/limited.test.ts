import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Advice, utf8Length } from './cut.ts';
import { addLine, type ContentPart, limited, textOfParts } from './limited.ts';

/** Says where the text goes on, so that a test can look there. */
const advice: Advice = { longest: 44, at: offset => ` Go on there, in the one text of all: @${offset}.` };

const text = fc.string({
  unit: fc.constantFrom('a', 'é', '漢', '🙂', '\n'),
  minLength: 1,
  maxLength: 900,
  size: 'max',
});
const textPart = text.map((value): ContentPart => ({ type: 'text', text: value }));
const filePart = fc
  .integer({ min: 0, max: 1_500 })
  .map(
    (size): ContentPart => ({ type: 'file', data: { type: 'data', data: 'A'.repeat(size) }, mediaType: 'image/png' }),
  );
const parts = fc.array(fc.oneof({ weight: 3, arbitrary: textPart }, { weight: 1, arbitrary: filePart }), {
  minLength: 2,
  maxLength: 6,
});
const limits = fc.integer({ min: 256, max: 3_000 });

/** What stands in the one text of all parts from this byte on. */
function from(whole: string, offset: number): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(new TextEncoder().encode(whole).subarray(offset));
}

function sizeOf(shown: readonly ContentPart[]): number {
  return shown.reduce((sum, part) => {
    if (part.type === 'text') return sum + utf8Length(part.text);
    return part.type === 'file' && part.data.type === 'data' ? sum + String(part.data.data).length + 9 : sum;
  }, 0);
}

function partsOf(output: ReturnType<typeof limited>): ContentPart[] {
  return output.type === 'content' ? output.value : [];
}

describe('limited', () => {
  it('gives an output that fits as it is', () => {
    const outputs = [
      { type: 'text' as const, value: 'é'.repeat(128) },
      { type: 'error-text' as const, value: 'x'.repeat(256) },
      { type: 'json' as const, value: { a: [1, 'é'] } },
      { type: 'content' as const, value: [{ type: 'text' as const, text: 'x'.repeat(256) }] },
      { type: 'execution-denied' as const, reason: 'x'.repeat(1_000) },
    ];
    for (const output of outputs) expect(limited(output, 256, advice)).toBe(output);
  });

  it('of a text that is cut the note says where it goes on', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 256, max: 600 }), (value, limit) => {
        const output = limited({ type: 'text', value }, limit, advice);
        if (output.type !== 'text' || output.value === value) return;
        const [, head = '', offset] = /^([\s\S]*?)\n\[... .* @(\d+)\. ...\]\n/.exec(output.value) ?? [];
        expect(value).toBe(head + from(value, Number(offset)));
        expect(utf8Length(output.value)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 500 },
    );
  });

  it('of parts that are cut or left out the notes say where they go on in the one text of all', () => {
    fc.assert(
      fc.property(parts, limits, (given, limit) => {
        const whole = textOfParts(given);
        const shown = partsOf(limited({ type: 'content', value: given }, limit, advice));
        expect(sizeOf(shown)).toBeLessThanOrEqual(limit);
        const missing = given.filter(part => part.type === 'text').filter(part => !shown.includes(part));
        for (const part of shown) {
          if (part.type !== 'text' || given.includes(part)) continue;
          const offset = Number(/ @(\d+)\. ...\]/.exec(part.text)?.[1]);
          const isNote = /^\[... \d+ of \d+ parts left out here/.test(part.text);
          if (isNote && Number.isNaN(offset)) expect(part.text).toMatch(/Ask for less to see them/);
          else if (isNote) expect(missing.some(({ text: lost }) => from(whole, offset).startsWith(lost))).toBe(true);
          else {
            const head = part.text.slice(0, part.text.indexOf('\n[... '));
            const cut = missing.find(
              ({ text: lost }) => lost.startsWith(head) && from(whole, offset).startsWith(lost.slice(head.length)),
            );
            expect(cut).toBeDefined();
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('names a file in the one text of all, and no more of its type than is needed', () => {
    const file: ContentPart = { type: 'file', data: { type: 'data', data: 'AAAA' }, mediaType: 'image/png' };
    expect(textOfParts([file, { type: 'text', text: 'x' }])).toBe('[a file of type image/png, not kept]\n\nx');
    expect(textOfParts([{ ...file, mediaType: 'y'.repeat(5_000) }]).length).toBeLessThan(200);
  });
});

describe('addLine', () => {
  const lines = ['\n\nNote: one.', '\n\nNote: two.'] as const;

  it('twice leaves the numbers of a text that was cut true, and its note', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 256, max: 600 }), (value, limit) => {
        let output = limited({ type: 'text', value }, limit, advice);
        for (const line of lines) output = addLine(output, limit - utf8Length(line), line);
        const shown = String(output.type === 'text' && output.value);
        expect(utf8Length(shown)).toBeLessThanOrEqual(limit);
        expect(shown.endsWith(lines.join(''))).toBe(true);
        const found =
          /^([\s\S]*?)\n\[... (\d+) of (\d+) bytes left out here\.(?:.* @(\d+)\.)?.* ...\]\n([\s\S]*)$/.exec(shown);
        if (found === null) {
          expect(shown).toBe(value + lines.join(''));
          return;
        }
        const [, head = '', omitted, total, offset, tail = ''] = found;
        const end = tail.slice(0, -lines.join('').length);
        if (offset !== undefined) expect(value).toBe(head + from(value, Number(offset)));
        if (utf8Length(value) <= limit) return; // cut for the lines alone
        expect(Number(total)).toBe(utf8Length(value));
        expect(Number(omitted)).toBe(utf8Length(value) - utf8Length(head) - utf8Length(end));
      }),
      { numRuns: 1_000 },
    );
  });

  it('that takes the room of one more part lets the note send the reader to the start', () => {
    const given = ['a', 'b', 'c', 'd'].map((letter): ContentPart => ({ type: 'text', text: letter.repeat(150) }));
    const once = limited({ type: 'content', value: given }, 560, advice);
    expect(partsOf(once).map(part => part.type === 'text' && part.text)).toEqual([
      'a'.repeat(150),
      'b'.repeat(150),
      '[... 2 of 4 parts left out here: they are larger than a result may be. Go on there, in the one text of all: @304. ...]',
    ]);
    const twice = partsOf(addLine(once, 360, '\n\nNote.'));
    expect(twice.map(part => part.type === 'text' && part.text)).toEqual([
      'a'.repeat(150),
      '[... 3 of 4 parts left out here: they are larger than a result may be. Go on there, in the one text of all: @0. ...]',
      'Note.',
    ]);
  });

  it('twice counts parts that are left out once, in one note', () => {
    const given = Array.from({ length: 9 }, (_, n): ContentPart => ({ type: 'text', text: `${n}`.repeat(200) }));
    let output = limited({ type: 'content', value: given }, 1_000, advice);
    for (const line of lines) output = addLine(output, 1_000 - utf8Length(line), line);
    const shown = partsOf(output);
    const notes = shown.flatMap(part =>
      part.type === 'text' ? [...part.text.matchAll(/(\d+) of 9 parts left out/g)] : [],
    );
    const whole = shown.filter(part => given.includes(part)).length;
    const cut = shown.filter(part => part.type === 'text' && /bytes left out/.test(part.text)).length;
    expect(notes.map(([, count]) => Number(count))).toEqual([9 - whole - cut]);
    expect(sizeOf(shown)).toBeLessThanOrEqual(1_000);
  });
});
