import { describe, expect, it } from 'vitest';
import { answerMessages, cutJson, cutText, resultText, userMessages } from './content.ts';

describe('content', () => {
  it('is cut to a length, and never in the middle of a character', () => {
    expect(cutText('four', 4)).toBe('four');
    expect(cutText('five5', 4)).toBe('fiv…');
    expect(cutText('ab😀cd', 4)).toBe('ab…');
    expect(cutText('ab😀cd', 5)).toBe('ab😀…');
    expect(cutText('😀😀', 1)).toBe('…');
    expect(cutText('abc', 1)).toBe('…');
  });

  it('that is no JSON is nothing', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(cutJson(cycle, 10)).toBe('');
    expect(cutJson(undefined, 10)).toBe('');
    expect(cutJson({ a: 1 }, 10)).toBe('{"a":1}');
  });

  it('of an input is bounded over all of its parts, and of a file says the type alone', () => {
    const texts = Array.from({ length: 1_000 }, () => ({ type: 'text' as const, text: 'x'.repeat(1_000) }));
    const file = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'SECRET' } } as const;
    const shown = userMessages([file, ...texts], 1_500);
    expect(shown.length).toBeLessThan(5_000);
    expect(shown).not.toContain('SECRET');
    expect(JSON.parse(shown)[0].parts.slice(0, 3)).toEqual([
      { type: 'file', mime_type: 'image/png' },
      { type: 'text', content: 'x'.repeat(1_000) },
      { type: 'text', content: `${'x'.repeat(499)}…` },
    ]);
  });

  it('of an answer without words has no part', () => {
    expect(JSON.parse(answerMessages('', 'stop', 10))).toEqual([
      { role: 'assistant', parts: [], finish_reason: 'stop' },
    ]);
  });

  it('of a result is its text, or JSON; of what is neither there is the type alone', () => {
    expect(resultText({ type: 'text', value: 'good' }, 10)).toBe('good');
    expect(resultText({ type: 'error-text', value: 'bad' }, 10)).toBe('bad');
    expect(resultText({ type: 'json', value: { a: [1] } }, 10)).toBe('{"a":[1]}');
    expect(resultText({ type: 'error-json', value: null }, 10)).toBe('null');
    expect(resultText({ type: 'execution-denied' }, 100)).toBe('execution-denied');
    const picture = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'SECRET' } } as const;
    expect(resultText({ type: 'content', value: [{ type: 'text', text: 'see' }, picture] }, 100)).toBe(
      '[{"type":"text","text":"see"},{"type":"file"}]',
    );
  });
});
