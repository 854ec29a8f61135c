/** By what a session is found. */
import { nameOf } from '../session-name.ts';
import { sha256 } from './checksum.ts';

/** A session as the databases know it. */
export interface SessionKey {
  readonly sessionId: string;
  readonly name: string;
  /** Half of the SHA-256 of its name, as a UUID: two ids with one key cannot be found. */
  readonly key: string;
}

export function keyOf(sessionId: string): SessionKey {
  const name = nameOf(sessionId);
  const hex = sha256(Buffer.from(name)).toString('hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)];
  return { sessionId, name, key: parts.join('-') };
}

/** Which of so many databases holds the session. */
export function shardOf({ key }: SessionKey, shards: number): number {
  return Number.parseInt(key.slice(0, 8), 16) % shards;
}
