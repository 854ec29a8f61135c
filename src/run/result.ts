/**
 * What the model is shown of what a tool gave: always something that a provider can carry, never more than the limit, and honest
 * about what was left out. What does not fit is `limited.ts`, how a text is cut `cut.ts`, what JSON can carry `json-copy.ts`.
 */

import { isToolResult, type ToolContent, type ToolResult, type ToolReturn, toolResult } from '../define/tool.ts';
import { deepFreeze } from '../freeze.ts';
import type { ResultCapture } from '../journal/journal.ts';
import { base64 } from '../model/copy.ts';
import type { ToolResultOutput } from '../model/model.ts';
import { reasonOf } from '../reason.ts';
import { show } from '../show.ts';
import { type Advice, cut, fixedAdvice, utf8Length, wellFormed } from './cut.ts';
import { copyJson, Uncarriable } from './json-copy.ts';
import { addLine, type ContentPart, limited, textOfParts } from './limited.ts';

/** A result ready for the model. Frozen. */
export interface ModelResult {
  readonly output: ToolResultOutput;
  readonly isError: boolean;
  readonly endTurn: boolean;
  /** Where the whole is kept, of a result that was too long to be shown so. */
  readonly capture?: ResultCapture;
}

/** What a tool's nothing is told as. */
const EMPTY: ToolResultOutput = Object.freeze({ type: 'error-text', value: 'empty result' });

const NO_ADVICE = fixedAdvice('');

/** The longest text of an error that a tool threw, and of schema issues, in UTF-8 bytes. */
const MESSAGE_BYTES = 1_024;

/** What a tool returned, as the model is shown it: within `resultBytes`. Never throws, whatever the value. */
export function resultOf(returned: ToolReturn, resultBytes: number): ModelResult {
  return limitResult(wholeResult(returned), resultBytes);
}

/** What a tool returned, as the model would be shown it without a limit. Never throws, whatever the value. */
export function wholeResult(returned: ToolReturn): ModelResult {
  try {
    if (isToolResult(returned)) {
      const content = returned.content.filter(part => part.type !== 'text' || part.text !== '');
      const isError = returned.isError === true || content.length === 0;
      const output = content.length === 0 ? EMPTY : contentOutput(content, isError);
      return { output, isError, endTurn: returned.endTurn === true };
    }
    if (typeof returned === 'string' && returned !== '') return plain({ type: 'text', value: wellFormed(returned) });
    if (returned === undefined || returned === null || returned === '')
      return { output: EMPTY, isError: true, endTurn: false };
    if (returned instanceof Error) return errorResult(messageOf(returned));
    return plain({ type: 'json', value: copyJson(returned) });
  } catch (problem) {
    return uncarriable(problem);
  }
}

/** The result within `resultBytes`, frozen; itself where it fits. Where text is left out, its note gives `advice`. Never throws. */
export function limitResult(whole: ModelResult, resultBytes: number, advice?: Advice): ModelResult {
  try {
    return withOutput(whole, limited(whole.output, resultBytes, advice));
  } catch (problem) {
    const { output, ...rest } = uncarriable(problem); // a value can be larger than a text may be
    return { ...rest, output: limited(output, resultBytes) };
  }
}

/** The whole text of a result of which some was left out in `shown`; `undefined` if all that was left out is no text. */
export function textLeftOut(whole: ModelResult, shown: ModelResult): string | undefined {
  const { output } = whole;
  if (output === shown.output || shown.isError !== whole.isError) return undefined;
  if (output.type !== 'content' || shown.output.type !== 'content') return outputText(output);
  const kept = new Set(shown.output.value);
  return output.value.every(part => part.type !== 'text' || kept.has(part)) ? undefined : textOfParts(output.value);
}

function withOutput(result: ModelResult, output: ToolResultOutput): ModelResult {
  deepFreeze(output);
  return output === result.output ? result : { ...result, output };
}

function uncarriable(problem: unknown): ModelResult {
  const why = isUncarriable(problem) ? cleanMessage(problem.message) : `reading it failed: ${messageOf(problem)}`;
  return errorResult(`the tool ran, but its result cannot be passed on: ${why}`);
}

/** What a tool gave, in the hands of middlewares: a plain return is parts, and nothing for nothing. */
export function asToolResult(returned: ToolReturn): ToolResult {
  if (isToolResult(returned)) return returned;
  if (returned === undefined || returned === null || returned === '') return toolResult([]);
  if (typeof returned === 'string') return toolResult(returned);
  if (returned instanceof Error) return toolResult(messageOf(returned), { isError: true });
  return toolResult([{ type: 'json', value: returned }]);
}

/** An error result with this text. */
export function errorResult(text: string): ModelResult {
  return { output: Object.freeze({ type: 'error-text', value: text }), isError: true, endTurn: false };
}

/** What a call is answered with that was stopped: one whose tool had begun, or one that a middleware still held. */
export interface StoppedTexts {
  readonly begun: string;
  readonly held: string;
}

/** Of a call that is waited for after it was stopped. `why` begins the sentence. */
export function stoppedTexts(why: string): StoppedTexts {
  return { begun: `${why}; it may or may not have taken effect`, held: heldText(why) };
}

/** Of a call that was given up when its time was over. */
export function overdueTexts(timeoutMs: number): StoppedTexts {
  const why = `timed out after ${timeoutMs} ms`;
  const begun = `${why}: it may still be running, and may or may not have taken effect`;
  return { begun, held: heldText(why) };
}

function heldText(why: string): string {
  return `${why} while a middleware held the call: the tool was not run`;
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
  return withOutput(result, addLine(result.output, room, end));
}

/** What was thrown, as one text: its message, without control characters, at most 1 KiB, never a stack. */
export function messageOf(thrown: unknown): string {
  return cleanMessage(reasonOf(thrown));
}

/** Text for the model from outside: control characters out, at most 1 KiB. */
export function cleanMessage(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const printable = wellFormed(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
  return cut(printable.trim() === '' ? 'it failed without a message' : printable, MESSAGE_BYTES, NO_ADVICE);
}

function plain(output: ToolResultOutput): ModelResult {
  return { output, isError: false, endTurn: false };
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

/** What was thrown may be something that cannot even be looked at. */
function isUncarriable(problem: unknown): problem is Uncarriable {
  try {
    return problem instanceof Uncarriable;
  } catch {
    return false;
  }
}
