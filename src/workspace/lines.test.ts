import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Line, readLines } from './lines.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-lines-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function linesOf(content: string | Uint8Array, maxLineLength = 100): Promise<Line[]> {
  const file = join(folder, 'file');
  await writeFile(file, content);
  const handle = await open(file);
  try {
    const lines: Line[] = [];
    const { signal } = new AbortController();
    for await (const some of readLines(handle, { maxLineLength, signal })) lines.push(...some);
    return lines;
  } finally {
    await handle.close();
  }
}

const texts = async (content: string, maxLineLength?: number): Promise<string[]> =>
  (await linesOf(content, maxLineLength)).map(line => line.text);

describe('the lines of a file', () => {
  it('are those between its line ends; a last end begins no line', async () => {
    expect(await texts('')).toEqual([]);
    expect(await texts('a')).toEqual(['a']);
    expect(await texts('a\n')).toEqual(['a']);
    expect(await texts('a\n\nb')).toEqual(['a', '', 'b']);
    expect(await texts('\n')).toEqual(['']);
  });

  it('come without CR LF, which is noted', async () => {
    const line = (text: string, hasReturn: boolean): Line => ({ text, hasReturn, isCut: false });
    expect(await linesOf('a\r\nb\nc\r')).toEqual([line('a', true), line('b', false), line('c\r', false)]);
  });

  it('are cut at the bound, which is noted, and what follows them is not', async () => {
    const lines = await linesOf(`${'x'.repeat(300_000)}\nshort\n${'y'.repeat(10)}\r\n`, 10);
    expect(lines.map(({ text, isCut }) => [text, isCut])).toEqual([
      ['x'.repeat(10), true],
      ['short', false],
      ['y'.repeat(10), false],
    ]);
  });

  it('hold characters that stand across two pieces', async () => {
    const content = `${'x'.repeat(65_535)}🙂é\n`;
    expect(await texts(content, 100_000)).toEqual([content.slice(0, -1)]);
  });

  it('come without a byte order mark', async () => {
    expect(await texts('\ufeffa\nb')).toEqual(['a', 'b']);
  });

  it('end when the signal is aborted', async () => {
    await writeFile(join(folder, 'file'), 'a\n');
    const handle = await open(join(folder, 'file'));
    const lines = readLines(handle, { maxLineLength: 10, signal: AbortSignal.abort(new Error('enough')) });
    await expect(lines.next()).rejects.toThrow('enough');
    await handle.close();
  });

  it('are those that splitting the whole text gives', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\n', 'é', '🙂'), maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(text, async content => {
        const expected = content.split('\n');
        if (expected.at(-1) === '') expected.pop();
        expect(await texts(content)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});
