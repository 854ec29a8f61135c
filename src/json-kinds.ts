/** Which values JSON carries as they are, and which it would lose: asked by all that copies what tools gave. */

/** What one copy may take, in UTF-16 units of its texts, each value counting for this many more: about a million values. */
export const LARGEST_COPY: number = 2 ** 28;
export const VALUE_COST = 256;

/** The value's own `toJSON`; `undefined` for bytes, since Node's buffers would say them as a list of numbers. */
export function toJsonOf(value: object): unknown {
  return ArrayBuffer.isView(value) ? undefined : Reflect.get(value, 'toJSON');
}

/** Whether it is a primitive as an object, which JSON takes for the primitive. */
export function isBoxed(value: object): boolean {
  return (
    value instanceof String ||
    value instanceof Number ||
    value instanceof Boolean ||
    value instanceof BigInt ||
    value instanceof Symbol
  );
}

/** What JSON would make an empty object of, and what to do instead; `undefined` for what it carries. */
export function lossOf(value: object): readonly [what: string, instead: string] | undefined {
  if (value instanceof Map) return ['a Map', 'return a plain object or a list'];
  if (value instanceof Set) return ['a Set', 'return a plain object or a list'];
  if (value instanceof WeakMap || value instanceof WeakSet) return ['a weak collection', 'return a plain object'];
  if (value instanceof Promise) return ['a Promise', 'wait for it, and return what it gives'];
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return ['binary data', 'return it as text, or as an image or file part of a tool result'];
  }
  return undefined;
}
