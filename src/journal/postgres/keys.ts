/** By what a session is found. */
import { hash } from 'node:crypto';
import { nameOf } from '../session-name.ts';

/** A session as the databases know it. */
export interface SessionKey {
  readonly sessionId: string;
  readonly name: string;
  /** Half of the SHA-256 of its name, as a UUID: two ids with one key cannot be found. */
  readonly key: string;
}

/** The keys of the last sessions, so that an append does not reckon its own again. */
const known = new Map<string, SessionKey>();
const MOST_KNOWN = 10_000;
const LONGEST_KNOWN = 200;

export function keyOf(sessionId: string): SessionKey {
  const found = known.get(sessionId);
  if (found !== undefined) return found;
  const key = reckon(sessionId);
  if (known.size >= MOST_KNOWN) known.clear();
  if (sessionId.length <= LONGEST_KNOWN) known.set(sessionId, key);
  return key;
}

function reckon(sessionId: string): SessionKey {
  const name = nameOf(sessionId);
  const hex = hash('sha256', name, 'hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)];
  return Object.freeze({ sessionId, name, key: parts.join('-') });
}

/** Which of so many databases holds the session. */
export function shardOf({ key }: SessionKey, shards: number): number {
  return Number.parseInt(key.slice(0, 8), 16) % shards;
}
