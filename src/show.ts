/** A value in a message: short, and never more than its kind for what is no plain value. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (value === null || ['number', 'boolean', 'undefined', 'bigint'].includes(typeof value)) return String(value);
  if (typeof value !== 'object') return `a ${typeof value}`;
  return isList(value) ? 'an array' : 'an object';
}

/** `Array.isArray`, which throws for a revoked proxy. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
