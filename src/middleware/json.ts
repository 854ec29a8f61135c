/** Values that tools gave, as JSON sees them: copied, so that nobody else can change them, and changed on the way where that is wanted. */
import { isBoxed, LARGEST_COPY, lossOf, toJsonOf, VALUE_COST } from '../json-kinds.ts';

/** Deeper than any result is read when it is made ready for the model. */
const DEEPEST = 600;

/** A value that is too large to be copied. */
export class TooLarge extends Error {}

/** What is done to a value on its way into the copy. */
export interface Changes {
  /** What stands in place of a text, and of a key. */
  text(text: string): string;
  /** What stands in place of the whole value under this key, or `undefined` for the value itself. */
  member(key: string, value: unknown): string | undefined;
}

/** A copy of a value. */
export interface JsonCopy {
  /** Frozen all through, but for what JSON has no word for: that stands in it as it was, and the model is told so later. */
  readonly value: unknown;
  /** Whether JSON can carry all of it. */
  readonly isWhole: boolean;
}

/** Copies what JSON would carry of a value. Throws `TooLarge`, and what a getter or a proxy throws. */
export function copyJson(value: unknown, changes: Changes = UNCHANGED): JsonCopy {
  const copying = new Copying(changes);
  const copy = copying.of(value, '');
  return { value: copy, isWhole: copying.isWhole };
}

const UNCHANGED: Changes = { text: text => text, member: () => undefined };

/** What a cycle is copied as. */
const CYCLE: { self?: object } = {};
CYCLE.self = CYCLE;
Object.freeze(CYCLE);

class Copying {
  isWhole = true;
  #room = LARGEST_COPY;
  readonly #changes: Changes;
  /** The objects that are being copied, each with its copy. */
  readonly #open = new Map<object, object>();

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  of(value: unknown, key: string): unknown {
    this.#room -= VALUE_COST + (typeof value === 'string' ? value.length : 0);
    if (this.#room < 0) throw new TooLarge('it is too large: return less of it');
    if (typeof value === 'string') return this.#changes.text(value);
    if (typeof value === 'object' && value !== null) return this.#object(value, key);
    if (['bigint', 'symbol', 'function'].includes(typeof value)) this.isWhole = false;
    return value;
  }

  #object(value: object, key: string): unknown {
    const copied = this.#open.get(value);
    if (copied !== undefined || this.#open.size > DEEPEST) {
      this.isWhole = false;
      return copied ?? CYCLE;
    }
    const toJson = toJsonOf(value);
    try {
      this.#open.set(value, CYCLE);
      if (typeof toJson === 'function') return this.of(Reflect.apply(toJson, value, [key]), key);
      if (Array.isArray(value)) return this.#list(value);
      if (isBoxed(value)) return this.of(value.valueOf(), key);
      if (lossOf(value) === undefined) return this.#members(value);
      this.isWhole = false;
      return value;
    } finally {
      this.#open.delete(value);
    }
  }

  #list(list: readonly unknown[]): readonly unknown[] {
    const copy: unknown[] = [];
    this.#open.set(list, copy);
    for (let index = 0; index < list.length; index++) copy.push(this.of(list[index], String(index)));
    return Object.freeze(copy);
  }

  #members(value: object): object {
    const copy = {};
    this.#open.set(value, copy);
    for (const key of Object.keys(value)) {
      const member: unknown = Reflect.get(value, key);
      const carried = this.#changes.member(key, member) ?? this.of(member, key);
      const name = this.#changes.text(key);
      // Defined, since a plain assignment to `__proto__` would set the prototype instead of a member.
      Object.defineProperty(copy, free(copy, name), { value: carried, enumerable: true });
    }
    return Object.freeze(copy);
  }
}

/** The name, or the name with a number if another key has become the same text. */
function free(copy: object, name: string): string {
  let unused = name;
  for (let number = 2; Object.hasOwn(copy, unused); number++) unused = `${name} (${number})`;
  return unused;
}

/** Whether a value is plain JSON data, so that its canonical text says all of it, and a copy is as good as itself. */
export function isPlainJson(value: unknown, depth = 0): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return ['string', 'boolean', 'object'].includes(typeof value);
  if (depth > DEEPEST) return false;
  try {
    if (Array.isArray(value)) return Array.from(value).every(item => isPlainJson(item, depth + 1));
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return false;
    if (typeof Reflect.get(value, 'toJSON') === 'function') return false;
    return Object.values(value).every(item => item === undefined || isPlainJson(item, depth + 1));
  } catch {
    return false; // what cannot be read is not plain
  }
}
