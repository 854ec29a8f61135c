/** Copies of what tools return: what JSON would carry of it, sharing nothing with it. */
import type { JSONValue } from '../model/model.ts';
import { wellFormed } from './cut.ts';

/** A value that JSON cannot carry. The message names it and where it stands. */
export class Uncarriable extends Error {}

/** What JSON would carry of a value, frozen all through. Throws `Uncarriable` for what JSON would lose or refuse, and what a getter or a proxy throws. */
export function copyJson(value: unknown): JSONValue {
  return new JsonCopy().of(value);
}

/** Deeper than any result is read. */
const DEEPEST = 500;

/** What one copy may take, in UTF-16 units of its texts, each value counting for this many more: about a million values. */
const LARGEST = 2 ** 28;
const VALUE_COST = 256;

class JsonCopy {
  readonly #ancestors: object[] = [];
  /** The keys and places that lead to the value being copied. */
  readonly #path: (string | number)[] = [];
  #room = LARGEST;

  of(value: unknown): JSONValue {
    this.#room -= VALUE_COST;
    if (this.#room < 0) throw new Uncarriable('it is too large: return less of it');
    switch (typeof value) {
      case 'string':
        this.#room -= value.length;
        return wellFormed(value);
      case 'number':
        return Number.isFinite(value) ? value : null;
      case 'boolean':
        return value;
      case 'bigint':
      case 'symbol':
      case 'function':
        throw new Uncarriable(`it holds a ${typeof value}${this.#place()}`);
      case 'undefined':
        return null;
      default:
        return value === null ? null : this.#object(value as object);
    }
  }

  #object(value: object): JSONValue {
    if (this.#ancestors.includes(value)) throw new Uncarriable(`it holds a cycle${this.#place()}`);
    if (this.#ancestors.length > DEEPEST) throw new Uncarriable(`it is nested more than ${DEEPEST} levels deep`);
    this.#ancestors.push(value);
    // Node's buffers would say their bytes as a list of numbers.
    const toJson: unknown = ArrayBuffer.isView(value) ? undefined : Reflect.get(value, 'toJSON');
    let copy: JSONValue;
    if (typeof toJson === 'function') copy = this.of(Reflect.apply(toJson, value, [String(this.#path.at(-1) ?? '')]));
    else if (Array.isArray(value)) copy = this.#list(value);
    else copy = this.#members(value);
    this.#ancestors.pop();
    return Object.freeze(copy);
  }

  #list(list: readonly unknown[]): JSONValue {
    const copy: JSONValue[] = [];
    const depth = this.#path.length;
    for (let index = 0; index < list.length; index++) {
      this.#path[depth] = index;
      copy.push(this.of(list[index]));
    }
    this.#path.length = depth;
    return copy;
  }

  #members(value: object): JSONValue {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) {
      if (isBoxed(value)) return this.of(value.valueOf());
      const loss = lossOf(value);
      if (loss !== undefined) throw new Uncarriable(`it holds ${loss[0]}${this.#place()}: ${loss[1]}`);
    }
    const copy: Record<string, JSONValue> = {};
    const depth = this.#path.length;
    for (const key of Object.keys(value)) {
      const member: unknown = Reflect.get(value, key);
      if (member === undefined) continue;
      this.#path[depth] = key;
      const carried = this.of(member);
      // A plain assignment to this one name would set the prototype instead of a member.
      if (key === '__proto__') Object.defineProperty(copy, key, { value: carried, enumerable: true });
      else copy[wellFormed(key)] = carried;
    }
    this.#path.length = depth;
    return copy;
  }

  /** Where the value stands, for a message. */
  #place(): string {
    if (this.#path.length === 0) return '';
    let place = '';
    for (const key of this.#path) place += typeof key === 'number' ? `[${key}]` : place === '' ? key : `.${key}`;
    return ` at "${place.length > 80 ? `${place.slice(0, 80)}…` : place}"`;
  }
}

function isBoxed(value: object): boolean {
  return (
    value instanceof String ||
    value instanceof Number ||
    value instanceof Boolean ||
    value instanceof BigInt ||
    value instanceof Symbol
  );
}

/** What JSON would make an empty object of, and what to do instead. */
function lossOf(value: object): readonly [what: string, instead: string] | undefined {
  if (value instanceof Map) return ['a Map', 'return a plain object or a list'];
  if (value instanceof Set) return ['a Set', 'return a plain object or a list'];
  if (value instanceof WeakMap || value instanceof WeakSet) return ['a weak collection', 'return a plain object'];
  if (value instanceof Promise) return ['a Promise', 'wait for it, and return what it gives'];
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return ['binary data', 'return it as text, or as an image or file part of a tool result'];
  }
  return undefined;
}
