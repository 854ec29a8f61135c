/** The checksum of a row: over its session, its numbers, its text, and the checksum of the row before it. */
import { createHash, hash } from 'node:crypto';

/** Half of a SHA-256: it finds damage, and a row that was altered, moved, left out or put in. */
const BYTES = 16;

/** `before` is the checksum of the row before, in hexadecimal digits; of the first row it is empty. */
export function checksumOf(before: string, session: string, firstSeq: number, lastSeq: number, text: string): Buffer {
  // The session comes as JSON, so that no name can look like the end of another.
  const head = `${before} ${firstSeq} ${lastSeq} ${JSON.stringify(session)}\n`;
  return hash('sha256', head + text, 'buffer').subarray(0, BYTES);
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
