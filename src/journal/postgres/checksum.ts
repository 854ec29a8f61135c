/** The checksum of an append: over its session, its numbers and its text, and over the checksum of the append before it. */
import { createHash, hash } from 'node:crypto';

/** Half of a SHA-256: enough to find damage, and an append that was altered, moved, left out or put in. The statements have the same number. */
export const CHECKSUM_BYTES = 16;

/** What stands in the place of a checksum before the first append. */
export const BEGINNING: Buffer = Buffer.alloc(0);

/** What an append says by itself. */
export function digestOf(name: string, firstSeq: number, lastSeq: number, text: string): Buffer {
  // The session comes as JSON, so that no name can look like the end of another.
  return hash('sha256', `${firstSeq} ${lastSeq} ${JSON.stringify(name)}\n${text}`, 'buffer');
}

/** The checksum of an append that follows the one with the checksum `before`. The database reckons it too, when it appends. */
export function checksumOf(before: Uint8Array, digest: Uint8Array): Buffer {
  return createHash('sha256').update(before).update(digest).digest().subarray(0, CHECKSUM_BYTES);
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
