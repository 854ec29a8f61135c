/** Bodies cut into the pieces that they are sent in. */

/** An event at a time, all at once, at awkward places, or in pieces of so many bytes. */
export type Split = 'events' | 'whole' | 'awkward' | number;

/** The pieces of a body. The same `seed` cuts `awkward` at the same places. */
export function piecesOf(bytes: Uint8Array, split: Split, seed: number): Uint8Array[] {
  const cuts = cutsOf(bytes, split, seed);
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length));
}

function cutsOf(bytes: Uint8Array, split: Split, seed: number): number[] {
  switch (split) {
    case 'whole':
      return [];
    case 'events':
      return afterBlankLines(bytes);
    case 'awkward':
      return awkward(bytes, seed);
    default:
      return Array.from({ length: Math.max(0, Math.ceil(bytes.length / split) - 1) }, (_, nth) => (nth + 1) * split);
  }
}

function afterBlankLines(bytes: Uint8Array): number[] {
  const text = Buffer.from(bytes).toString('latin1'); // a character a byte
  return [...text.matchAll(/\r?\n\r?\n/g)]
    .map(({ index, 0: blank }) => index + blank.length)
    .filter(cut => cut < bytes.length);
}

const CR = 13;
const LF = 10;

/** Inside of every character of several bytes, after every CR and LF, and at one place in sixteen of the others. */
function awkward(bytes: Uint8Array, seed: number): number[] {
  const cuts: number[] = [];
  let random = seed >>> 0 || 1;
  for (let index = 1; index < bytes.length; index++) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const isInsideCharacter = (bytes[index]! & 0xc0) === 0x80;
    const isAfterLineEnd = bytes[index - 1] === CR || bytes[index - 1] === LF;
    if (isInsideCharacter || isAfterLineEnd || random >>> 28 === 0) cuts.push(index);
  }
  return cuts;
}
