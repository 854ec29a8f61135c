/** Values that are known to be frozen all through: they are their own copy, and need not be looked through again. */
const frozenThroughout = new WeakSet<object>();

/**
 * A deep-frozen copy of plain data. What is frozen throughout already is not copied, so that recording the requests of a loop costs
 * no more for the history that they share. Bytes and URLs are copied; what is no plain data (a signal) stays the same object.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || frozenThroughout.has(value)) return value;
  if (value instanceof Uint8Array) return value.slice();
  if (value instanceof URL) return new URL(value);
  if (Array.isArray(value)) {
    const items = value.map(copy);
    return keep(
      value,
      items,
      items.every((item, index) => item === value[index]),
    );
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, copy(item)] as const);
  const same = entries.every(([key, item]) => item === Reflect.get(value, key));
  // `fromEntries` defines fields, so that a key such as `__proto__` stays data.
  return keep(value, Object.fromEntries(entries), same);
}

function keep(original: object, copied: object, sameItems: boolean): object {
  const kept = sameItems && Object.isFrozen(original) ? original : Object.freeze(copied);
  frozenThroughout.add(kept);
  return kept;
}
