/** Texts that are too long: their head and tail, and a note between them that says how much was left out. */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** UTF-16 units that are encoded at a time. */
const CHUNK = 32_768;

/** Where a text was cut: its head ends before the note, its tail begins after it, and it once had `total` UTF-8 bytes. */
export interface CutMark {
  readonly headEnd: number;
  readonly tailStart: number;
  readonly total: number;
  /** What the note says of the whole, and goes on saying when the text is cut again. */
  readonly advice: Advice;
  /** UTF-8 bytes of lines that were added to its end since: no part of the whole. */
  readonly added?: number;
}

/** What a note says beside the number, by how many UTF-8 bytes of the text are shown before it. */
export interface Advice {
  /** The longest that `at` gives, in UTF-8 bytes: room is kept for it before the place of the cut is known. */
  readonly longest: number;
  at(headBytes: number): string;
}

/** A text within its limit. */
export interface ShortText {
  readonly text: string;
  /** Where it was cut; `undefined` if it is whole, or too short for a note. */
  readonly mark: CutMark | undefined;
}

/** What the note says of a rest that nobody can read any more. */
const ASK_FOR_LESS = fixedAdvice(
  ' The call itself was complete; the rest was not kept: ask for a smaller part to see it.',
);

/** The text itself if it fits in `limit` UTF-8 bytes, else its head and tail and a note between them, together within the limit. */
export function cut(text: string, limit: number, advice: Advice = ASK_FOR_LESS): string {
  return shorten(text, limit, undefined, advice).text;
}

/** An advice that is the same wherever the text is cut. */
export function fixedAdvice(text: string): Advice {
  return Object.freeze({ longest: utf8Length(text), at: () => text });
}

/**
 * Cuts as `cut` does, and says where. A text that was cut before is given with its mark: it is cut at the same place, and the note goes
 * on speaking of the whole.
 */
export function shorten(
  text: string,
  limit: number,
  mark: CutMark | undefined = undefined,
  advice: Advice = mark?.advice ?? ASK_FOR_LESS,
): ShortText {
  if (text.length * 3 <= limit) return { text: wellFormed(text), mark };
  const whole = wellFormed(text);
  const size = utf8Length(whole);
  if (size <= limit) return { text: whole, mark };
  const total = mark?.total ?? size;
  const added = mark?.added ?? 0;
  // The note names a number that is at most the total, so that its length is known before the number is.
  const room = limit - utf8Length(note(total, total, '')) - advice.longest;
  if (room < 0) return { text: alone(beginning(whole, limit)), mark: undefined };
  const front = mark === undefined ? whole : whole.slice(0, mark.headEnd);
  const head = front.slice(0, fitting(front, Math.floor((room * 2) / 3)));
  const back = mark === undefined ? whole : whole.slice(mark.tailStart);
  const headBytes = utf8Length(head);
  const tail = lastBytes(back, room - headBytes);
  const omitted = total + added - headBytes - utf8Length(tail);
  const upToTail = head + note(omitted, total, advice.at(headBytes));
  const cutAt = { headEnd: head.length, tailStart: upToTail.length, total, advice, added };
  return { text: alone(upToTail + tail), mark: cutAt };
}

function note(omitted: number, total: number, advice: string): string {
  return `\n[... ${omitted} of ${total} bytes left out here.${advice} ...]\n`;
}

/** What is left of a text where not even a note has room. */
function beginning(text: string, limit: number): string {
  return limit < 3 ? '' : `${text.slice(0, fitting(text, limit - 3))}…`;
}

/** The text in memory of its own: what the platform slices from a large one keeps all of that one alive. */
function alone(text: string): string {
  return decoder.decode(encoder.encode(text));
}

/** The text with half a surrogate pair, which no provider takes, replaced. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** UTF-8 bytes of a text, without keeping them. */
export function utf8Length(text: string): number {
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
    // No unit is more than three bytes, so dropping `over / 3` units never drops too many.
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
