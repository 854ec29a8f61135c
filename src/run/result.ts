/**
 * What the model is shown of what a tool gave: always something that a provider can carry, never more than the limit, and honest
 * about what was left out. How a text is cut is `cut.ts`, what JSON can carry `json-copy.ts`.
 */

import { isToolResult, type ToolContent, type ToolReturn } from '../define/tool.ts';
import { deepFreeze } from '../freeze.ts';
import { base64 } from '../model/copy.ts';
import type { ToolResultOutput } from '../model/model.ts';
import { show } from '../show.ts';
import { type CutMark, cut, shorten, utf8Length, wellFormed } from './cut.ts';
import { copyJson, Uncarriable } from './json-copy.ts';

/** A result ready for the model. Frozen. */
export interface ModelResult {
  readonly output: ToolResultOutput;
  readonly isError: boolean;
  readonly endTurn: boolean;
}

/** What a tool's nothing is told as. */
const EMPTY: ToolResultOutput = Object.freeze({ type: 'error-text', value: 'empty result' });

/** The longest text of an error that a tool threw, and of schema issues, in UTF-8 bytes. */
const MESSAGE_BYTES = 1_024;

/** What a tool returned, as the model is shown it. Never throws, whatever the value. */
export function resultOf(returned: ToolReturn, resultBytes: number): ModelResult {
  try {
    if (isToolResult(returned)) {
      const content = returned.content.filter(part => part.type !== 'text' || part.text !== '');
      const isError = returned.isError === true || content.length === 0;
      const output = content.length === 0 ? EMPTY : limited(contentOutput(content, isError), resultBytes);
      return { output: deepFreeze(output), isError, endTurn: returned.endTurn === true };
    }
    if (typeof returned === 'string' && returned !== '') return plain(textOutput('text', returned, resultBytes));
    if (returned === undefined || returned === null || returned === '')
      return { output: EMPTY, isError: true, endTurn: false };
    if (returned instanceof Error) return errorResult(cut(messageOf(returned), resultBytes));
    return plain(limited({ type: 'json', value: copyJson(returned) }, resultBytes));
  } catch (problem) {
    const why = isUncarriable(problem) ? cleanMessage(problem.message) : `reading it failed: ${messageOf(problem)}`;
    return errorResult(cut(`the tool ran, but its result cannot be passed on: ${why}`, resultBytes));
  }
}

/** An error result with this text. */
export function errorResult(text: string): ModelResult {
  return { output: Object.freeze({ type: 'error-text', value: text }), isError: true, endTurn: false };
}

/** The text of a result, to compare and to show. */
export function outputText(output: ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value;
    case 'execution-denied':
      return output.reason ?? '';
    default:
      return JSON.stringify(output.value);
  }
}

/** A result with one more line of text for the model, within `resultBytes`. */
export function withLine(result: ModelResult, line: string, resultBytes: number): ModelResult {
  const end = `\n\n${line}`;
  const room = Math.max(0, resultBytes - utf8Length(end));
  return { ...result, output: deepFreeze(addLine(result.output, room, end)) };
}

function addLine(output: ToolResultOutput, room: number, end: string): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: shorten(output.value, room, cutMarks.get(output)).text + end };
    case 'json':
      return { type: 'text', value: cut(JSON.stringify(output.value), room) + end };
    case 'error-json':
      return { type: 'error-text', value: cut(JSON.stringify(output.value), room) + end };
    case 'content':
      return { type: 'content', value: [...limitedParts(output.value, room), { type: 'text', text: end.trim() }] };
    case 'execution-denied':
      return output;
  }
}

/** What was thrown, as one text: its message, without control characters, at most 1 KiB, never a stack. */
export function messageOf(thrown: unknown): string {
  return cleanMessage(rawMessage(thrown));
}

/** Text for the model from outside: control characters out, at most 1 KiB. */
export function cleanMessage(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const printable = wellFormed(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
  return cut(printable.trim() === '' ? 'it failed without a message' : printable, MESSAGE_BYTES, '');
}

function rawMessage(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message || thrown.name);
    if (typeof thrown === 'string') return thrown;
    if (typeof thrown === 'object' && thrown !== null) {
      const message: unknown = Reflect.get(thrown, 'message');
      if (typeof message === 'string') return message;
    }
    return `it threw ${show(thrown)}`;
  } catch {
    return 'it failed without a readable message';
  }
}

function plain(output: ToolResultOutput): ModelResult {
  return { output: deepFreeze(output), isError: false, endTurn: false };
}

function contentOutput(content: readonly ToolContent[], isError: boolean): ToolResultOutput {
  const [only] = content;
  if (content.length === 1 && only?.type === 'text')
    return { type: isError ? 'error-text' : 'text', value: stringFrom(only, 'text') };
  if (content.length === 1 && only?.type === 'json') {
    return { type: isError ? 'error-json' : 'json', value: copyJson(only.value) };
  }
  const parts = content.map(contentPart);
  // The format has no mark for a failed result of several parts, so it says so in words.
  if (isError) parts.unshift({ type: 'text', text: 'The call failed:' });
  return { type: 'content', value: parts };
}

type ContentPart = Extract<ToolResultOutput, { type: 'content' }>['value'][number];

function contentPart(part: ToolContent): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: stringFrom(part, 'text') };
    case 'json':
      return { type: 'text', text: JSON.stringify(copyJson(part.value)) };
    case 'image':
    case 'file': {
      const data = { type: 'data' as const, data: dataFrom(part) };
      const hasName = part.type === 'file' && part.filename !== undefined;
      const filename = hasName ? { filename: stringFrom(part, 'filename') } : {};
      return { type: 'file', data, mediaType: stringFrom(part, 'mediaType'), ...filename };
    }
    default:
      throw new Uncarriable(`it holds a part of the unknown type ${show((part as { type?: unknown }).type)}`);
  }
}

function stringFrom(part: ToolContent, field: 'text' | 'mediaType' | 'filename'): string {
  const value: unknown = Reflect.get(part, field);
  if (typeof value === 'string') return wellFormed(value);
  throw new Uncarriable(`it holds a part of type "${part.type}" whose ${field} is ${show(value)}`);
}

function dataFrom(part: Extract<ToolContent, { type: 'image' | 'file' }>): string {
  const data: unknown = part.data;
  if (typeof data === 'string') return wellFormed(data);
  if (data instanceof Uint8Array) return base64(data);
  throw new Uncarriable(`it holds a part of type "${part.type}" whose data is neither base64 text nor a Uint8Array`);
}

/** Where texts of results were cut, so that a line can still be added to one and its note stays true. */
const cutMarks = new WeakMap<object, CutMark>();

function textOutput(type: 'text' | 'error-text', text: string, limit: number): ToolResultOutput {
  const { text: value, mark } = shorten(text, limit);
  const output: ToolResultOutput = { type, value };
  if (mark !== undefined) cutMarks.set(output, mark);
  return output;
}

function limited(output: ToolResultOutput, resultBytes: number): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return textOutput(output.type, output.value, resultBytes);
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      const shown = textOutput(output.type === 'json' ? 'text' : 'error-text', text, resultBytes);
      return cutMarks.has(shown) ? shown : output;
    }
    case 'content':
      return { type: 'content', value: limitedParts(output.value, resultBytes) };
    case 'execution-denied':
      return output;
  }
}

/** Of the notes about parts that were left out: how many parts there were. */
const partTotals = new WeakMap<object, number>();

/** Parts share the limit in their order: what does not fit is left out, and the last part says how much that was. */
function limitedParts(parts: readonly ContentPart[], resultBytes: number): ContentPart[] {
  if (parts.reduce((sum, part) => sum + partLength(part), 0) <= resultBytes) return [...parts];
  const last = parts.at(-1) as ContentPart;
  const earlier = partTotals.get(last); // these parts were limited before, and the last one is the note about that
  const total = earlier ?? parts.length;
  let left = resultBytes - utf8Length(partsNote(total, total));
  const kept: ContentPart[] = [];
  for (const part of parts) {
    if (part === last && earlier !== undefined) continue;
    const size = partLength(part);
    const shown = size <= left ? part : part.type === 'text' && left >= SMALLEST_CUT ? cutPart(part, left) : undefined;
    if (shown === undefined) continue;
    kept.push(shown);
    left -= partLength(shown);
  }
  const omitted = total - kept.length;
  if (omitted > 0) kept.push(partsNotePart(omitted, total, resultBytes));
  return kept;
}

function cutPart(part: Extract<ContentPart, { type: 'text' }>, limit: number): ContentPart {
  const { text, mark } = shorten(part.text, limit, cutMarks.get(part));
  const shown: ContentPart = { type: 'text', text };
  if (mark !== undefined) cutMarks.set(shown, mark);
  return shown;
}

function partsNotePart(omitted: number, total: number, limit: number): ContentPart {
  const part: ContentPart = { type: 'text', text: cut(partsNote(omitted, total), limit) };
  partTotals.set(part, total);
  return part;
}

function partsNote(omitted: number, total: number): string {
  return `[… ${omitted} of ${total} parts left out here: they are larger than a result may be. Ask for less to see them. …]`;
}

/** What a part costs of the limit, in UTF-8 bytes; base64 counts as the text that it is. */
function partLength(part: ContentPart): number {
  if (part.type === 'text') return utf8Length(part.text);
  if (part.type !== 'file') return 0;
  const data = part.data.type === 'data' && typeof part.data.data === 'string' ? part.data.data.length : 0;
  return data + utf8Length(part.mediaType) + utf8Length(part.filename ?? '');
}

/** Below this a text is not worth cutting: the note alone needs most of it. It is also the least that `resultBytes` may be. */
const SMALLEST_CUT = 256;

/** What was thrown may be something that cannot even be looked at. */
function isUncarriable(problem: unknown): problem is Uncarriable {
  try {
    return problem instanceof Uncarriable;
  } catch {
    return false;
  }
}
