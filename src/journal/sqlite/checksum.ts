/** The checksum of a row: over its session, its numbers, its text, and the checksum of the row before it. */
import { createHash, hash } from 'node:crypto';

/** Six bits each: enough of a SHA-256 to find damage, and a row that was altered, moved, left out or put in. */
const CHARACTERS = 22;

/** What stands in the place of a checksum before the first row. */
export const BEGINNING = '';

/** `before` is the checksum of the row before. */
export function checksumOf(before: string, session: string, firstSeq: number, lastSeq: number, text: string): string {
  // The session comes as JSON, so that no name can look like the end of another.
  const head = `${before} ${firstSeq} ${lastSeq} ${JSON.stringify(session)}\n`;
  return hash('sha256', head + text, 'base64url').slice(0, CHARACTERS);
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
