/**
 * UUIDs as RFC 9562 has them: of version 7 for what is new, in the order of their making, and of version 5 for what has a name. Made here,
 * since a package for all versions costs a fifth of the time in which looprig is imported.
 */
import { sha1 } from '@noble/hashes/legacy.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { systemClock } from './clock.ts';

/** Random numbers of 32 bits, drawn many at a time. */
const pool = new Uint32Array(256);
let drawn = pool.length;

function random32(): number {
  if (drawn === pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  return pool[drawn++] ?? 0;
}

/** Of the last id: its millisecond, as a number and as text, and its number within it. */
let lastMs = 0;
let lastTime = '';
let counter = 0;

const LARGEST_COUNTER = 2 ** 32 - 1;

/**
 * A UUID of version 7: the time, a counter of 32 bits that begins at random within each millisecond, and 42 random bits. Each is greater
 * than the one before, also when the clock goes back.
 */
export function newId(): string {
  const now = systemClock.now();
  if (now > lastMs || counter === LARGEST_COUNTER) {
    lastMs = Math.max(now, lastMs + 1);
    const time = hex(lastMs, 12);
    lastTime = `${time.slice(0, 8)}-${time.slice(8)}`;
    counter = random32() >>> 1; // room to count within the millisecond
  } else {
    counter += 1;
  }
  const high = hex(0x7000 + Math.floor(counter / 2 ** 20), 4);
  const middle = hex(0x8000 + (Math.floor(counter / 2 ** 6) & 0x3fff), 4);
  const low = hex((counter & 0x3f) * 2 ** 42 + (random32() & 0x3ff) * 2 ** 32 + random32(), 12);
  return `${lastTime}-${high}-${middle}-${low}`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** The UUID of version 5 of `name` in a namespace, which is a UUID itself: always the same one. */
export function namedId(name: string, namespace: string): string {
  const bytes = sha1(new Uint8Array([...hexToBytes(namespace.replaceAll('-', '')), ...utf8ToBytes(name)])).slice(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytesToHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
