/** Reading the options of the ready-made middlewares. Whatever is wrong is a `DefinitionError` of the kind `invalid_middleware`. */
import { type Clock, systemClock } from '../clock.ts';
import { copyList, readOptions } from '../define/options.ts';
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';

/** The options of one middleware, each read once and checked as it is asked for. */
export class Options<Name extends string> {
  readonly #owner: string;
  readonly #given: { readonly [Option in Name]: unknown };

  /** `owner` is the middleware's own name, for messages. */
  constructor(owner: string, given: unknown, known: readonly Name[]) {
    this.#owner = owner;
    this.#given = readOptions(given, known, owner, (field, message, details) => {
      return new DefinitionError('invalid_middleware', { field: field === '' ? owner : field, message, ...details });
    });
  }

  /** A whole number from `least`, or the default. */
  count(name: Name, least: number, fallback?: number): number {
    return this.#number(name, fallback, `a whole number from ${least}`, value => {
      return Number.isSafeInteger(value) && value >= least;
    });
  }

  /** Milliseconds from `least`, `Infinity` too where that is allowed, or the default. */
  milliseconds(name: Name, least: number, fallback?: number, allowed: { readonly infinity?: boolean } = {}): number {
    const endless = allowed.infinity === true;
    const expected = `a number of milliseconds from ${least}${endless ? ', or Infinity' : ''}`;
    return this.#number(name, fallback, expected, value => {
      return value >= least && (endless || value !== Number.POSITIVE_INFINITY);
    });
  }

  flag(name: Name, fallback: boolean): boolean {
    const value = this.#given[name];
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    throw this.refusal(name, `must be true or false, not ${show(value)}`, { value });
  }

  text(name: Name, fallback: string): string {
    const value = this.#given[name];
    if (value === undefined) return fallback;
    if (typeof value === 'string') return value;
    throw this.refusal(name, `must be a text, not ${show(value)}`, { value });
  }

  /** A function, taken as the type that is asked for, or the default. */
  callback<Callback extends (...args: never[]) => unknown>(name: Name, fallback: Callback): Callback {
    const value = this.#given[name];
    if (value === undefined) return fallback;
    if (typeof value === 'function') return value as Callback;
    throw this.refusal(name, `must be a function, not ${show(value)}`, { value });
  }

  clock(name: Name): Clock {
    const value = this.#given[name];
    if (value === undefined) return systemClock;
    if (isClock(value)) return value;
    throw this.refusal(name, `must be a clock with now, setTimer and clearTimer, not ${show(value)}`, { value });
  }

  /** A list, copied, each item checked; `undefined` where none is given. The refusal of a secret item does not hold it. */
  list<Item>(
    name: Name,
    expected: string,
    fits: (item: unknown) => item is Item,
    { isSecret = false }: { readonly isSecret?: boolean } = {},
  ): readonly Item[] | undefined {
    const value = this.#given[name];
    if (value === undefined) return undefined;
    const items = copyList(value);
    if (items === undefined) {
      throw this.refusal(name, `must be a list, not ${isSecret ? `a ${typeof value}` : show(value)}`);
    }
    items.forEach((item, index) => {
      if (fits(item)) return;
      const got = isSecret ? '' : `, not ${show(item)}`;
      throw this.refusal(`${name}[${index}]`, `must be ${expected}${got}`, isSecret ? {} : { value: item });
    });
    return Object.freeze(items) as readonly Item[];
  }

  /** The names of tools; `undefined` where none are given. An empty list is refused: it would be about nothing. */
  tools(name: Name): ReadonlySet<string> | undefined {
    const names = this.list(name, 'the name of a tool', isName);
    if (names === undefined) return undefined;
    if (names.length > 0) return new Set(names);
    throw this.refusal(name, 'must name at least one tool', { value: [] });
  }

  /** As `tools`, for a middleware that must not be about every tool. */
  requiredTools(name: Name, why: string): ReadonlySet<string> {
    const names = this.tools(name);
    if (names !== undefined) return names;
    throw this.refusal(name, `must list the tools by name: ${why}`);
  }

  /** What stands there, for a check of the middleware's own. */
  raw(name: Name): unknown {
    return this.#given[name];
  }

  refusal(
    field: string,
    problem: string,
    details: { readonly value?: unknown; readonly cause?: unknown } = {},
  ): DefinitionError {
    const message = `"${field}" of ${this.#owner} ${problem}`;
    return new DefinitionError('invalid_middleware', { field, message, ...details });
  }

  #number(name: Name, fallback: number | undefined, expected: string, fits: (value: number) => boolean): number {
    const given = this.#given[name];
    const value = given === undefined ? fallback : given;
    if (typeof value === 'number' && fits(value)) return value;
    throw this.refusal(name, `must be ${expected}, not ${show(value)}`, { value });
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isClock(value: unknown): value is Clock {
  try {
    return (
      typeof value === 'object' &&
      value !== null &&
      ['now', 'setTimer', 'clearTimer'].every(method => typeof Reflect.get(value, method) === 'function')
    );
  } catch {
    return false; // a proxy that will not be looked at
  }
}
