/** Results within their limit: texts cut, parts left out, and notes that say so and stay true when a line is added. */
import type { ToolResultOutput } from '../model/model.ts';
import { type Advice, type CutMark, cut, shorten, utf8Length } from './cut.ts';

/** One part of a result of several. */
export type ContentPart = Extract<ToolResultOutput, { type: 'content' }>['value'][number];

type TextOutput = Extract<ToolResultOutput, { type: 'text' | 'error-text' }>;

/** The output within `resultBytes`; itself where it fits. Where text is left out, its note gives `advice`. */
export function limited(output: ToolResultOutput, resultBytes: number, advice?: Advice): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text': {
      const { text: value, mark } = shorten(output.value, resultBytes, undefined, advice);
      return value === output.value ? output : marked({ type: output.type, value }, mark);
    }
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value);
      const { text: value, mark } = shorten(text, resultBytes, undefined, advice);
      return value === text ? output : marked({ type: output.type === 'json' ? 'text' : 'error-text', value }, mark);
    }
    case 'content': {
      const value = limitedParts(output.value, resultBytes, advice);
      return value === output.value ? output : { type: 'content', value };
    }
    case 'execution-denied':
      return output;
  }
}

/** A result with `end` added, its own within `room` bytes. */
export function addLine(output: ToolResultOutput, room: number, end: string): ToolResultOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return addToText(output, room, end);
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

function addToText(output: TextOutput, room: number, end: string): TextOutput {
  const { text, mark } = shorten(output.value, room, cutMarks.get(output));
  const told: TextOutput = { type: output.type, value: text + end };
  return marked(told, mark && { ...mark, added: (mark.added ?? 0) + utf8Length(end) });
}

/** Where texts of results were cut, so that a line can still be added to one and its note stays true. */
const cutMarks = new WeakMap<object, CutMark>();

function marked<T extends object>(shown: T, mark: CutMark | undefined): T {
  if (mark !== undefined) cutMarks.set(shown, mark);
  return shown;
}

/** What a note about parts that were left out stands for: how many parts there were, what it says, and what it says if more go. */
interface PartsMark {
  readonly total: number;
  readonly omitted: number;
  readonly advice: string;
  readonly fromStart: string;
}

const partsMarks = new WeakMap<object, PartsMark>();

const ASK_FOR_FEWER = ' Ask for less to see them.';

/** Parts share the limit in their order: what does not fit is left out, and the last part says how much that was. */
function limitedParts(given: ContentPart[], resultBytes: number, advice?: Advice): ContentPart[] {
  if (given.reduce((sum, part) => sum + partLength(part), 0) <= resultBytes) return given;
  const note = given.find(part => partsMarks.has(part)); // of parts that were limited before
  const earlier = note && partsMarks.get(note);
  const parts = given.filter(part => part !== note);
  const total = earlier?.total ?? parts.length;
  const said = earlier === undefined ? [ASK_FOR_FEWER] : [earlier.advice, earlier.fromStart];
  const longest = Math.max(...said.map(utf8Length), advice?.longest ?? 0);
  const places = advice === undefined ? undefined : partPlaces(parts);
  let left = resultBytes - utf8Length(partsNote(total, total, '')) - longest;
  let firstOmitted: number | undefined;
  const kept: ContentPart[] = [];
  for (const [index, part] of parts.entries()) {
    const shown = fittingPart(part, left, advice && advanced(advice, places?.[index] ?? 0));
    if (shown === undefined) {
      if (part.type === 'text') firstOmitted ??= index;
      continue;
    }
    kept.push(shown);
    left -= partLength(shown);
  }
  const omitted = (earlier?.omitted ?? 0) + parts.length - kept.length;
  if (omitted === 0) return kept;
  const mark = earlier
    ? { ...earlier, omitted, advice: omitted === earlier.omitted ? earlier.advice : earlier.fromStart }
    : partsMark(total, omitted, firstOmitted === undefined ? undefined : places?.[firstOmitted], advice);
  const part: ContentPart = { type: 'text', text: cut(partsNote(omitted, total, mark.advice), resultBytes) };
  partsMarks.set(part, mark);
  return [...kept, part];
}

/** `place` is where the first text that is left out begins; `undefined` for none that could be read. */
function partsMark(total: number, omitted: number, place: number | undefined, advice: Advice | undefined): PartsMark {
  if (place === undefined || advice === undefined) {
    return { total, omitted, advice: ASK_FOR_FEWER, fromStart: advice?.at(0) ?? ASK_FOR_FEWER };
  }
  return { total, omitted, advice: advice.at(place), fromStart: advice.at(0) };
}

/** The part as it fits in `left` bytes: whole, a text cut, or not at all. */
function fittingPart(part: ContentPart, left: number, advice: Advice | undefined): ContentPart | undefined {
  if (partLength(part) <= left) return part;
  if (part.type !== 'text' || left < SMALLEST_CUT) return undefined;
  const { text, mark } = shorten(part.text, left, cutMarks.get(part), advice);
  const shown: ContentPart = { type: 'text', text };
  return marked(shown, mark);
}

function partsNote(omitted: number, total: number, advice: string): string {
  return `[... ${omitted} of ${total} parts left out here: they are larger than a result may be.${advice} ...]`;
}

/** An advice about a text that begins `bytes` bytes after the one that it is about. */
function advanced(advice: Advice, bytes: number): Advice {
  return { longest: advice.longest, at: headBytes => advice.at(bytes + headBytes) };
}

/** What stands between the parts of a result that is kept as one text. */
const BETWEEN = '\n\n';

/** All parts as one text; what is no text is named. */
export function textOfParts(parts: readonly ContentPart[]): string {
  return partTexts(parts).join(BETWEEN);
}

function partTexts(parts: readonly ContentPart[]): string[] {
  return parts.map(part => {
    if (part.type === 'text') return part.text;
    return part.type === 'file' ? `[a file of type ${part.mediaType.slice(0, 100)}, not kept]` : '';
  });
}

/** Where each part begins in the one text of all, in UTF-8 bytes. */
function partPlaces(parts: readonly ContentPart[]): number[] {
  let place = 0;
  return partTexts(parts).map(text => {
    const start = place;
    place += utf8Length(text) + BETWEEN.length;
    return start;
  });
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
