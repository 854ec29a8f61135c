import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defineLoop } from '../define/loop.ts';
import { defineTool, READ_TOOL_RESULT_TOOL_NAME, toolError } from '../define/tool.ts';
import type { ResultCapture } from '../journal/journal.ts';
import { scriptedModel } from '../testing/index.ts';
import { type CaptureSource, modeThatReads } from './captures.ts';

const owner = { sessionId: 's', loopId: 'l' };
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const tool = defineTool({ name: 'a', description: 'A.', input: { type: 'object' }, execute: () => 'ok' });
const bound = await defineLoop({ name: 'x', model: scriptedModel([]), tools: [tool] }).bind(owner);
const mode = bound.initialMode;

function captureOf(kept: Uint8Array, totalBytes = kept.length): ResultCapture {
  return { id: bytesToHex(sha256(kept)), bytes: kept.length, totalBytes };
}

function sourceOf(texts: readonly string[], resultBytes = 1_000): CaptureSource {
  const kept = new Map(texts.map(text => encoder.encode(text)).map(bytes => [captureOf(bytes).id, bytes]));
  const captures = new Map([...kept].map(([id, bytes]) => [id, captureOf(bytes)]));
  return { ...owner, captures, resultBytes, get: async id => kept.get(id) };
}

/** What the reader answers. */
async function answer(source: CaptureSource, input: object): Promise<unknown> {
  const reader = modeThatReads(mode, source)().tool(READ_TOOL_RESULT_TOOL_NAME)!;
  return reader.execute(input, { ...owner } as never);
}

describe('modeThatReads', () => {
  it('is the mode itself until there is something to read, then one mode with the reader last', () => {
    const captures = new Map<string, ResultCapture>();
    const now = modeThatReads(mode, { ...sourceOf([]), captures });
    expect(now()).toBe(mode);
    captures.set('id', { id: 'id', bytes: 1, totalBytes: 1 });
    const reading = now();
    expect(reading.tools.map(({ info }) => info.name)).toEqual(['a', 'read_tool_result']);
    expect(reading.modelTools.map(({ name }) => name)).toEqual(['a', 'read_tool_result']);
    expect({ ...reading, tools: mode.tools, modelTools: mode.modelTools, tool: mode.tool }).toEqual(mode);
    expect(now()).toBe(reading);
    expect(mode.tools).toHaveLength(1);
  });

  it('has a reader that runs for its own session alone', async () => {
    const reader = modeThatReads(mode, sourceOf(['x']))().tool(READ_TOOL_RESULT_TOOL_NAME)!;
    expect(() => reader.execute({ id: 'x' }, { ...owner, sessionId: 'other' } as never)).toThrow(/session other/);
  });
});

describe('read_tool_result', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'é', '漢', '🙂', '👩‍👧', '\n', '\ufeff'),
    minLength: 1,
    size: 'max',
    maxLength: 700,
  });
  const HEAD = /^\[bytes (\d+) to (\d+) of (\d+)(?:; read on with offset (\d+)\]|: the end\])\n/;

  it('gives whole characters from any offset, within the limit, and says what it gave', async () => {
    const numbers = { offset: fc.nat(3_000), bytes: fc.option(fc.integer({ min: 1, max: 900 }), { nil: undefined }) };
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.record(numbers),
        fc.integer({ min: 256, max: 900 }),
        async (whole, asked, resultBytes) => {
          const bytes = encoder.encode(whole);
          const { id } = captureOf(bytes);
          const given = await answer(sourceOf([whole], resultBytes), { id, ...asked });
          if (asked.offset >= bytes.length) {
            expect(given).toEqual(
              toolError(
                `nothing is at offset ${asked.offset}: the result has ${bytes.length} bytes, so the last one is at offset ${bytes.length - 1}`,
              ),
            );
            return;
          }
          const shown = String(given);
          const [line, start, end, size, next] = HEAD.exec(shown) ?? [];
          const [from, to] = [Number(start), Number(end)];
          expect(encoder.encode(shown).length).toBeLessThanOrEqual(resultBytes);
          expect(shown.slice(line!.length)).toBe(decoder.decode(bytes.subarray(from, to)));
          expect(Number(size)).toBe(bytes.length);
          expect(next).toBe(to === bytes.length ? undefined : end);
          expect(from).toBeLessThanOrEqual(asked.offset);
          expect(from).toBeGreaterThan(asked.offset - 4);
          expect(to).toBeGreaterThan(asked.offset);
          // What is asked for is given but for part of a character, and a first character is always given.
          const most = Math.min(asked.bytes ?? resultBytes, bytes.length - from);
          expect(to - from).toBeLessThanOrEqual(Math.max(most, 4));
          expect(to - from).toBeGreaterThan(Math.min(most, resultBytes - line!.length) - 4 - 12);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('tells an id that stands for several results from one that stands for none', async () => {
    const source = sourceOf(['one', 'two']);
    const [first] = source.captures.values();
    const twin = { ...first!, id: first!.id.slice(0, 16).padEnd(64, '0') };
    const captures = new Map([...source.captures, [twin.id, twin]]);
    const asked = { id: twin.id.slice(0, 16) };
    expect(await answer({ ...source, captures }, asked)).toEqual(
      toolError(`the id "${asked.id}" stands for several results: it tells none of them`),
    );
    expect(await answer({ ...source, captures }, { id: first!.id })).toMatch(/^\[bytes 0 to 3 of 3: the end\]\n/);
  });

  it('shows no more of a wrong id than a line', async () => {
    const told = JSON.stringify(await answer(sourceOf(['x']), { id: 'y'.repeat(100_000) }));
    expect(told.length).toBeLessThan(300);
  });
});
