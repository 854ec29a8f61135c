/** Copies of what tools return: what JSON would carry of it, sharing nothing with it. */
import { isBoxed, LARGEST_COPY, lossOf, toJsonOf, VALUE_COST } from '../json-kinds.ts';
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

class JsonCopy {
  readonly #ancestors: object[] = [];
  /** The keys and places that lead to the value being copied. */
  readonly #path: (string | number)[] = [];
  #room = LARGEST_COPY;

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
    const toJson = toJsonOf(value);
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
