/** Where responses are broken off. The same places each time. */
import type { RecordedResponse } from 'looprig/testing';
import { bytesOf } from './broken-server.ts';

/** The places that are tried in every response, by name: how many bytes of it are sent. */
export const PLACES = ['no byte', 'the first event', 'the middle', 'somewhere', 'elsewhere', 'the last byte'] as const;

/** The places that differ in this response: of a body that is read as a whole, all within it are alike. */
export function placesFor({ sse }: RecordedResponse): readonly (typeof PLACES)[number][] {
  return sse === undefined ? ['no byte', 'the middle', 'the last byte'] : PLACES;
}

/** How many bytes of the response are sent before it breaks off there. `seed` chooses where the choice is free. */
export function placeIn(recorded: RecordedResponse, place: (typeof PLACES)[number], seed: number): number {
  const bytes = bytesOf(recorded);
  const within = (length: number): number => 1 + (random(seed + bytes.length) % Math.max(1, length - 1));
  switch (place) {
    case 'no byte':
      return 0;
    case 'the first event':
      return within(firstEventEnd(bytes));
    case 'the middle':
      return Math.floor(bytes.length / 2);
    case 'somewhere':
      return within(bytes.length);
    case 'elsewhere':
      return 1 + (random(random(seed + bytes.length)) % (bytes.length - 1));
    case 'the last byte':
      return bytes.length - 1;
  }
}

/** Places at and beside the ends of events that carry a piece of a call; at most `most` of them, spread over all. */
export function callBoundaries(recorded: RecordedResponse, most: number): readonly number[] {
  const text = bytesOf(recorded).toString('latin1'); // a character a byte
  const places = new Set<number>();
  let from = 0;
  for (const { index, 0: blank } of text.matchAll(/\r?\n\r?\n|$/g)) {
    const end = index + blank.length;
    if (
      /tool_use|tool_calls|function_call|functionCall|input_json_delta|content_block_stop/.test(text.slice(from, end))
    ) {
      for (const place of [from, from + 1, index, end]) if (place > 0 && place < text.length) places.add(place);
    }
    from = end;
  }
  const all = [...places];
  const step = Math.max(1, Math.ceil(all.length / most));
  return all.filter((_, nth) => nth % step === 0 || nth === all.length - 1);
}

function firstEventEnd(bytes: Buffer): number {
  const end = bytes.toString('latin1').search(/\r?\n\r?\n/);
  return end < 0 ? Math.min(bytes.length, 40) : end;
}

function random(seed: number): number {
  return (Math.imul(seed ^ 0x9e37_79b9, 1_664_525) + 1_013_904_223) >>> 8;
}
