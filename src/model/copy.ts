/** Copies of message content: nobody else holds them, and JSON can carry all but a URL, which it carries as text. */

/** Something that a message cannot hold. */
export class UncopiableContent extends TypeError {}

/**
 * A deep copy of plain data, as JSON carries it. Bytes become base64 text, as the message format allows; URLs stay URLs; half a surrogate
 * pair, which no provider takes, is replaced. Throws `UncopiableContent` for what JSON has no word for (a function, a symbol, a bigint, a
 * cycle), and for more than a million values.
 */
export function copyContent<T>(value: T): T {
  return copy(value, 0, { left: MOST_VALUES }) as T;
}

/** Deeper than any message; a cycle ends here. */
const DEEPEST = 200;

/** More than any message holds; a value whose parts are shared again and again ends here. */
const MOST_VALUES = 1_000_000;

function copy(value: unknown, depth: number, room: { left: number }): unknown {
  room.left -= 1;
  const kind = typeof value;
  if (kind === 'function' || kind === 'symbol' || kind === 'bigint') throw new UncopiableContent(`it holds a ${kind}`);
  if (depth > DEEPEST) throw new UncopiableContent('it is nested too deeply');
  if (room.left < 0) throw new UncopiableContent(`it holds more than ${MOST_VALUES} values`);
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return base64(value);
  if (value instanceof URL) return new URL(value.href);
  if (Array.isArray(value)) return copyList(value, depth, room);
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = copy(Reflect.get(value, key), depth + 1, room);
    // A plain assignment to this one name would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(copied, key, { value: member, enumerable: true });
    else if (member !== undefined) copied[key.isWellFormed() ? key : key.toWellFormed()] = member;
  }
  return copied;
}

function copyList(list: readonly unknown[], depth: number, room: { left: number }): unknown[] {
  const copied: unknown[] = [];
  for (let index = 0; index < list.length; index++) copied.push(copy(list[index], depth + 1, room) ?? null);
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
