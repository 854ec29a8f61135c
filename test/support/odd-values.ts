/** Values that no provider should send. They are generated as plain descriptions, so that a counterexample can be printed. */
import fc from 'fast-check';

const hostile = (): never => {
  throw new Error('hostile');
};

/** Nested so often, in lists or in objects. */
export function nested(levels: number, kind: 'list' | 'object'): string {
  const [open, close] = kind === 'list' ? ['[', ']'] : ['{"a":', '}'];
  return `${open.repeat(levels)}1${close.repeat(levels)}`;
}

const MAKERS = {
  undefined: () => undefined,
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  'minus zero': () => -0,
  bigint: () => 10n,
  symbol: () => Symbol('odd'),
  function: () => () => 'odd',
  class: () => class Odd {},
  date: () => new Date(0),
  map: () => new Map([['a', 1]]),
  set: () => new Set([1]),
  bytes: () => new Uint8Array([1, 2, 3]),
  url: () => new URL('https://example.test/odd'),
  promise: () => Promise.resolve('odd'),
  'boxed text': () => new String('{"n":1}'),
  'list with a hole': () => Object.assign(new Array<number>(3), { 1: 1 }),
  'object of no prototype': () => Object.assign(Object.create(null) as object, { n: 1 }),
  'half a surrogate pair': () => 'odd \ud83d',
  'text of megabytes': () => MEGABYTES,
  'deep list': () => JSON.parse(nested(3_000, 'list')) as unknown,
  'deep object': () => JSON.parse(nested(3_000, 'object')) as unknown,
  cycle: () => {
    const cycle: Record<string, unknown> = { n: 1 };
    cycle.self = cycle;
    return cycle;
  },
  'getter that throws': () => Object.defineProperty({}, 'n', { enumerable: true, get: hostile }),
  'proxy that throws': () =>
    new Proxy({}, { get: hostile, has: hostile, ownKeys: hostile, getPrototypeOf: hostile, set: hostile }),
  'revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'toJSON that throws': () => ({ toJSON: hostile }),
  'then that throws': () => Object.fromEntries([['then', hostile]]),
  prototype: () =>
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}') as unknown,
} as const satisfies Record<string, () => unknown>;

const MEGABYTES = 'x'.repeat(2_000_000);

/** What stands for an odd value in a description. */
class Odd {
  readonly odd: keyof typeof MAKERS;

  constructor(odd: keyof typeof MAKERS) {
    this.odd = odd;
  }
}

/** What stands for a value behind a proxy that lets everything through. */
export class Veiled {
  readonly veiled: unknown;

  constructor(veiled: unknown) {
    this.veiled = veiled;
  }
}

/** All but the one that costs as much as a hundred others. */
const odd = fc
  .constantFrom(...(Object.keys(MAKERS) as (keyof typeof MAKERS)[]).filter(name => name !== 'text of megabytes'))
  .map(name => new Odd(name));

/** Any value at all, as a description. */
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 60, arbitrary: odd },
  { weight: 1, arbitrary: fc.constant(new Odd('text of megabytes')) },
  { weight: 30, arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -1, 7, 1e300, '', ' ', 'x', [], {}) },
  { weight: 10, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  { weight: 10, arbitrary: odd.map(value => ({ n: [value] })) },
);

/** The value that a description describes: a fresh one each time. */
export function made(description: unknown): unknown {
  if (description instanceof Odd) return MAKERS[description.odd]();
  if (description instanceof Veiled) return new Proxy(Object(made(description.veiled)), {});
  if (typeof description !== 'object' || description === null) return description;
  if (Array.isArray(description)) return description.map(made);
  const value: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(description)) {
    Object.defineProperty(value, key, { value: made(member), enumerable: true, writable: true, configurable: true });
  }
  return value;
}
