/**
 * What the model is shown of what a tool gave: always something that a provider can carry, never more than the limit, and honest
 * about what was left out.
 */

import { isToolResult, type ToolContent, type ToolReturn } from '../define/tool.ts';
import { deepFreeze } from '../freeze.ts';
import { base64 } from '../model/copy.ts';
import type { JSONValue, ToolResultOutput } from '../model/model.ts';
import { show } from '../show.ts';

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
      const { content, endTurn } = returned;
      const empty = content.every(part => part.type === 'text' && part.text === '');
      const isError = returned.isError || empty;
      const output = empty ? EMPTY : limited(contentOutput(content, isError), resultBytes);
      return { output: deepFreeze(output), isError, endTurn };
    }
    if (typeof returned === 'string' && returned !== '')
      return plain({ type: 'text', value: cut(returned, resultBytes) });
    if (returned === undefined || returned === null || returned === '')
      return { output: EMPTY, isError: true, endTurn: false };
    if (returned instanceof Error) return errorResult(messageOf(returned));
    return plain(limited({ type: 'json', value: copyJson(returned, '', []) }, resultBytes));
  } catch (problem) {
    const why = isUncarriable(problem) ? problem.message : `reading it failed: ${messageOf(problem)}`;
    return errorResult(`the tool ran, but its result cannot be passed on: ${why}`);
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
  return { ...result, output: deepFreeze(addLine(result.output, room, text => cut(text, room) + end)) };
}

function addLine(output: ToolResultOutput, room: number, withEnd: (text: string) => string): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: withEnd(output.value) };
    case 'json':
      return { type: 'text', value: withEnd(JSON.stringify(output.value)) };
    case 'error-json':
      return { type: 'error-text', value: withEnd(JSON.stringify(output.value)) };
    case 'content':
      return {
        type: 'content',
        value: [...limitedParts(output.value, room), { type: 'text', text: withEnd('').trim() }],
      };
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
  const printable = text.toWellFormed().replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
  return cut(printable.trim() === '' ? 'it failed without a message' : printable, MESSAGE_BYTES);
}

function rawMessage(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message || thrown.name);
    if (typeof thrown === 'string') return thrown;
    if (typeof thrown === 'object' && thrown !== null && typeof Reflect.get(thrown, 'message') === 'string') {
      return String(Reflect.get(thrown, 'message'));
    }
    return `it threw ${typeof thrown === 'object' && thrown !== null ? 'an object' : String(thrown)}`;
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
    return { type: isError ? 'error-text' : 'text', value: textFrom(only.text) };
  if (content.length === 1 && only?.type === 'json') {
    return { type: isError ? 'error-json' : 'json', value: copyJson(only.value, '', []) };
  }
  const parts = content.map(contentPart);
  // The format has no mark for a failed result of several parts, so it says so in words.
  if (isError) parts.unshift({ type: 'text', text: 'The call failed:' });
  return { type: 'content', value: parts };
}

function textFrom(text: unknown): string {
  if (typeof text === 'string') return text;
  throw new Uncarriable(`it holds a text part whose text is ${show(text)}`);
}

type ContentPart = Extract<ToolResultOutput, { type: 'content' }>['value'][number];

function contentPart(part: ToolContent): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: textFrom(part.text) };
    case 'json':
      return { type: 'text', text: JSON.stringify(copyJson(part.value, '', [])) };
    case 'image':
    case 'file': {
      const data = { type: 'data' as const, data: typeof part.data === 'string' ? part.data : base64(part.data) };
      const filename = part.type === 'file' && part.filename !== undefined ? { filename: part.filename } : {};
      return { type: 'file', data, mediaType: part.mediaType, ...filename };
    }
    default:
      throw new Uncarriable(`a part of the unknown type ${JSON.stringify((part as { type?: unknown }).type)}`);
  }
}

function limited(output: ToolResultOutput, resultBytes: number): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { type: output.type, value: cut(output.value, resultBytes) };
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      const shown = cut(text, resultBytes);
      return shown === text ? output : { type: output.type === 'json' ? 'text' : 'error-text', value: shown };
    }
    case 'content':
      return { type: 'content', value: limitedParts(output.value, resultBytes) };
    case 'execution-denied':
      return output;
  }
}

/** Parts share the limit in their order: what does not fit is left out, and the last part says how much that was. */
function limitedParts(parts: readonly ContentPart[], resultBytes: number): ContentPart[] {
  if (parts.reduce((sum, part) => sum + partLength(part), 0) <= resultBytes) return [...parts];
  let left = resultBytes - utf8Length(partsNote(parts.length, parts.length));
  const kept: ContentPart[] = [];
  for (const part of parts) {
    const size = partLength(part);
    const shown =
      size <= left ? part : part.type === 'text' && left >= SMALLEST_CUT ? cutPart(part.text, left) : undefined;
    if (shown === undefined) continue;
    kept.push(shown);
    left -= partLength(shown);
  }
  const omitted = parts.length - kept.length;
  if (omitted > 0) kept.push({ type: 'text', text: partsNote(omitted, parts.length) });
  return kept;
}

function cutPart(text: string, limit: number): ContentPart {
  return { type: 'text', text: cut(text, limit) };
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

const encoder = new TextEncoder();

/** The text itself if it fits in `limit` UTF-8 bytes, else its head and tail and a note between them, together within the limit. */
export function cut(text: string, limit: number): string {
  if (text.length * 3 <= limit) return wellFormed(text);
  const whole = wellFormed(text);
  const total = utf8Length(whole);
  if (total <= limit) return whole;
  // The note names a number that is at most the total, so that its length is known before the number is.
  const room = limit - utf8Length(note(total, total));
  if (room < 0) return limit < 3 ? '' : `${whole.slice(0, fitting(whole, limit - 3))}…`; // no room for a note
  const headBytes = Math.max(0, Math.floor((room * 2) / 3));
  const head = whole.slice(0, fitting(whole, headBytes));
  const tail = lastBytes(whole, Math.max(0, room - utf8Length(head)));
  const omitted = total - utf8Length(head) - utf8Length(tail);
  return `${head}${note(omitted, total)}${tail}`;
}

function note(omitted: number, total: number): string {
  return `\n[… ${omitted} of ${total} bytes left out here. The call itself was complete; ask for a smaller part to see the rest. …]\n`;
}

function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** UTF-8 bytes of a text, without keeping them. */
function utf8Length(text: string): number {
  const buffer = new Uint8Array(Math.min(text.length * 3, CHUNK * 3));
  let bytes = 0;
  for (let from = 0; from < text.length; ) {
    let end = Math.min(from + CHUNK, text.length);
    if (isLowSurrogate(text, end)) end -= 1; // never between the halves of a pair
    bytes += encoder.encodeInto(text.slice(from, end), buffer).written;
    from = end;
  }
  return bytes;
}

/** UTF-16 units that are encoded at a time. */
const CHUNK = 32_768;

/** How many UTF-16 units from the start fit in `bytes`, on a character's edge. */
function fitting(text: string, bytes: number): number {
  return bytes === 0 ? 0 : encoder.encodeInto(text.slice(0, bytes), new Uint8Array(bytes)).read;
}

/** The longest end of a well-formed text that fits in `bytes`. */
function lastBytes(text: string, bytes: number): string {
  let start = Math.max(0, text.length - bytes);
  if (isLowSurrogate(text, start)) start += 1;
  let end = text.slice(start);
  let over = utf8Length(end) - bytes;
  while (over > 0) {
    // Every unit is at least one byte, so dropping `over / 3` units never drops too many.
    start += Math.max(1, Math.floor(over / 3));
    if (isLowSurrogate(text, start)) start += 1;
    end = text.slice(start);
    over = utf8Length(end) - bytes;
  }
  return end;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** A value that JSON cannot carry. The message names it and where it stands. */
class Uncarriable extends Error {}

/** What was thrown may be something that cannot even be looked at. */
function isUncarriable(problem: unknown): problem is Uncarriable {
  try {
    return problem instanceof Uncarriable;
  } catch {
    return false;
  }
}

/** A plain copy of what JSON would carry of a value; it shares nothing with it. Throws `Uncarriable` for what JSON would lose or refuse. */
function copyJson(value: unknown, path: string, ancestors: object[]): JSONValue {
  switch (typeof value) {
    case 'string':
      return wellFormed(value);
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'boolean':
      return value;
    case 'bigint':
    case 'symbol':
    case 'function':
      throw new Uncarriable(`it holds a ${typeof value}${at(path)}`);
    case 'undefined':
      return null;
    default:
      return value === null ? null : copyObject(value as object, path, ancestors);
  }
}

function copyObject(value: object, path: string, ancestors: object[]): JSONValue {
  if (ancestors.includes(value)) throw new Uncarriable(`it holds a cycle${at(path)}`);
  if (ancestors.length > 500) throw new Uncarriable(`it is nested more than 500 levels deep${at(path.slice(0, 60))}`);
  const toJson: unknown = Reflect.get(value, 'toJSON');
  ancestors.push(value);
  let copy: JSONValue;
  if (typeof toJson === 'function') copy = copyJson(Reflect.apply(toJson, value, [path]), path, ancestors);
  else if (Array.isArray(value))
    copy = Array.from(value, (item, index) => copyJson(item, `${path}[${index}]`, ancestors));
  else copy = copyMembers(value, path, ancestors);
  ancestors.pop();
  return Object.freeze(copy);
}

function copyMembers(value: object, path: string, ancestors: object[]): JSONValue {
  if (value instanceof Map || value instanceof Set || value instanceof WeakMap || value instanceof Promise) {
    throw new Uncarriable(`it holds a ${value.constructor.name}${at(path)}: return a plain object or a list`);
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    throw new Uncarriable(`it holds binary data${at(path)}: return it as an image or file part of a tool result`);
  }
  const copy: Record<string, JSONValue> = {};
  for (const key of Object.keys(value)) {
    const member: unknown = Reflect.get(value, key);
    if (member === undefined) continue;
    const place = path === '' ? key : `${path}.${key}`;
    const carried = copyJson(member, place, ancestors);
    // A plain assignment to this one name would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: carried, enumerable: true });
    else copy[key] = carried;
  }
  return copy;
}

function at(path: string): string {
  return path === '' ? '' : ` at "${path.length > 80 ? `${path.slice(0, 80)}…` : path}"`;
}
