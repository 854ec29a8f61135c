/** Copies of message content: nobody else holds them, and JSON can carry all but a URL, which it carries as text. */

/** Something that a message cannot hold. */
export class UncopiableContent extends TypeError {}

/**
 * A deep copy of plain data. Bytes become base64 text, as the message format allows; URLs stay URLs. Throws `UncopiableContent` for what
 * JSON has no word for (a function, a symbol, a bigint, a cycle).
 */
export function copyContent<T>(value: T): T {
  return copy(value, 0) as T;
}

/** Deeper than any message; a cycle ends here. */
const DEEPEST = 200;

function copy(value: unknown, depth: number): unknown {
  const kind = typeof value;
  if (kind === 'function' || kind === 'symbol' || kind === 'bigint' || depth > DEEPEST) {
    throw new UncopiableContent(depth > DEEPEST ? 'it is nested too deeply' : `it holds a ${kind}`);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof URL) return new URL(value.href);
  if (Array.isArray(value)) return value.map(item => copy(item, depth + 1));
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = copy(Reflect.get(value, key), depth + 1);
    // A plain assignment to this one name would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(copied, key, { value: member, enumerable: true });
    else if (member !== undefined) copied[key] = member;
  }
  return copied;
}

/** Bytes as base64 text. */
export function base64(bytes: Uint8Array): string {
  let binary = '';
  for (let from = 0; from < bytes.length; from += 8_192) {
    binary += String.fromCharCode(...bytes.subarray(from, from + 8_192));
  }
  return btoa(binary);
}
