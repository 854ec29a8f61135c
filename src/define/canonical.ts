/** One text for all values that mean the same in JSON, for comparing them and for hashing them. */

/** A list or an object that is being written. */
interface Open {
  readonly source: object;
  /** The keys of an object in order; `undefined` for a list. */
  readonly keys: readonly string[] | undefined;
  readonly length: number;
  next: number;
  isEmpty: boolean;
}

/**
 * The JSON text of `value` without white space and with the keys of every object sorted. Never throws, at any depth: what JSON leaves
 * out is left out, and what it cannot say (a cycle, a getter that throws) is `null`; a bigint is its digits.
 */
export function canonicalJson(value: unknown): string {
  return simpleJson(value) ?? carefulJson(value);
}

/** The text of an object that holds scalars alone, in the order of their keys, as most arguments of tools do: JSON has it right. */
function simpleJson(value: unknown): string | undefined {
  try {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return undefined;
    let previous: string | undefined;
    for (const key in value) {
      const item: unknown = Reflect.get(value, key);
      const isScalar = item === null || ['string', 'number', 'boolean'].includes(typeof item);
      if (!isScalar || (previous !== undefined && key < previous)) return undefined;
      previous = key;
    }
    return JSON.stringify(value);
  } catch {
    return undefined; // a getter that throws
  }
}

function carefulJson(value: unknown): string {
  const open: Open[] = [];
  const entered = new Set<object>();
  let text = '';

  const write = (candidate: unknown): void => {
    if (typeof candidate !== 'object' || candidate === null) {
      text += scalar(candidate);
      return;
    }
    const container = entered.has(candidate) ? undefined : opened(candidate);
    if (container === undefined) {
      text += 'null';
      return;
    }
    entered.add(candidate);
    open.push(container);
    text += container.keys === undefined ? '[' : '{';
  };

  write(read({ value }, 'value'));
  for (let current = open.at(-1); current !== undefined; current = open.at(-1)) {
    if (current.next === current.length) {
      text += current.keys === undefined ? ']' : '}';
      entered.delete(current.source);
      open.pop();
      continue;
    }
    const index = current.next++;
    const key = current.keys?.[index];
    const item = read(current.source, key ?? String(index));
    if (key !== undefined && isLeftOut(item)) continue;
    if (!current.isEmpty) text += ',';
    current.isEmpty = false;
    if (key !== undefined) text += `${JSON.stringify(key)}:`;
    write(item);
  }
  return text;
}

function opened(source: object): Open | undefined {
  try {
    if (Array.isArray(source)) return { source, keys: undefined, length: source.length, next: 0, isEmpty: true };
    const keys = Object.keys(source).sort();
    return { source, keys, length: keys.length, next: 0, isEmpty: true };
  } catch {
    return undefined;
  }
}

/** The item as JSON sees it: what its `toJSON` gives, where it has one. */
function read(source: object, key: string): unknown {
  try {
    const item: unknown = Reflect.get(source, key);
    if (typeof item !== 'object' || item === null) return item;
    const toJson: unknown = Reflect.get(item, 'toJSON');
    return typeof toJson === 'function' ? toJson.call(item, key) : item;
  } catch {
    return null;
  }
}

function isLeftOut(item: unknown): boolean {
  return item === undefined || typeof item === 'function' || typeof item === 'symbol';
}

function scalar(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  return JSON.stringify(value) ?? 'null';
}
