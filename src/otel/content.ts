/** What was said, as attributes can carry it: JSON in the shape that the conventions give messages, with every text cut to a length. */
import type { ToolResultOutput, UserContent } from '../model/model.ts';

/** At most `length` characters of a text; never half of a character. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = isHighSurrogate(text.charCodeAt(length - 2)) ? length - 2 : length - 1;
  return `${text.slice(0, Math.max(end, 0))}…`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** A value as JSON, cut. */
export function cutJson(value: unknown, length: number): string {
  return cutText(jsonOf(value), length);
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return ''; // nothing that can be shown
  }
}

/** The most parts of one input that are shown. */
const MOST_PARTS = 64;

/** What the user said, as one message. Of a file there is its type alone. */
export function userMessages(content: readonly UserContent[], length: number): string {
  let left = length;
  const parts = content.slice(0, MOST_PARTS).map(part => {
    if (part.type !== 'text') return { type: 'file', mime_type: part.mediaType };
    const text = cutText(part.text, left);
    left = Math.max(left - text.length, 1);
    return { type: 'text', content: text };
  });
  return JSON.stringify([{ role: 'user', parts }]);
}

/** What the model answered, as one message. */
export function answerMessages(text: string, finishReason: string | undefined, length: number): string {
  const parts = text === '' ? [] : [{ type: 'text', content: cutText(text, length) }];
  return JSON.stringify([{ role: 'assistant', parts, finish_reason: finishReason }]);
}

/** A call's result: a text as it is, anything else as JSON. Of what is no text or JSON there is its type alone. */
export function resultText(output: ToolResultOutput, length: number): string {
  if (output.type === 'text' || output.type === 'error-text') return cutText(output.value, length);
  if (output.type === 'json' || output.type === 'error-json') return cutJson(output.value, length);
  if (output.type !== 'content') return output.type;
  return cutJson(
    output.value.map(part => (part.type === 'text' ? { type: part.type, text: part.text } : { type: part.type })),
    length,
  );
}
