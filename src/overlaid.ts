/** Something that does what another does, but for what is said. */

/**
 * The same object, but for the members of `own` that are there. All others are the object's own, methods too: one that is made of a class keeps its private
 * parts.
 */
export function overlaid<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(inner, name) {
      const replaced: unknown = Object.hasOwn(own, name) ? Reflect.get(own, name) : undefined;
      if (replaced !== undefined) return replaced;
      const value: unknown = Reflect.get(inner, name, inner);
      return typeof value === 'function' ? value.bind(inner) : value;
    },
  });
}
