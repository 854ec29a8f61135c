/** Reading of bodies that come in all shapes. */

/** A field, or `undefined` where there is none or the value is no object. */
export function at(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** The value if it is a list, else an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a text. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
