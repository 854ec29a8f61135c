/** Writes over all that it can reach, as far as it is let, but for the abort signals that scripted models look at. */
export function tamper(value: unknown, seen: Set<object> = new Set()): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || value instanceof AbortSignal) return;
  seen.add(value);
  for (const key of Object.keys(value)) {
    if (key === 'abortSignal') continue;
    tamper(Reflect.get(value, key), seen);
    Reflect.set(value, key, 'tampered');
  }
  Reflect.set(value, 'tampered', true);
  if (Array.isArray(value)) Reflect.set(value, 'length', 0);
}
