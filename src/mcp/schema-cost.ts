/**
 * How much work a schema can make of a value. A few lines of references that double at each step keep a validator busy for years, and a
 * validator cannot be stopped: what could take too long is not checked here, and left to the server whose schema it is.
 */
import type { JsonSchema } from '../define/schema.ts';
import { isList } from '../show.ts';

/** Checks of one place of a value, at most: some milliseconds. */
const MOST_CHECKS = 20_000;

/** Values nested deeper are none that arguments are: to find out what they cost would itself cost too much. */
const DEEPEST_VALUE = 40;

/** Keywords that apply schemas to the value that the schema itself is applied to. */
const SAME_VALUE = [
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependencies',
] as const;
/** Keywords that apply schemas to what is in the value: each part of it meets one schema of each. */
const PARTS = [
  ...(['properties', 'additionalProperties', 'unevaluatedProperties', 'propertyNames'] as const),
  ...(['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'contains'] as const),
] as const;
/** Keywords whose value is a map of schemas. */
const MAPS: ReadonlySet<string> = new Set(['dependencies', 'dependentSchemas', 'properties']);

/** A function that says whether a value can be checked against the schema in good time. References must lead into the schema. */
export function affordable(root: JsonSchema): (value: unknown) => boolean {
  const cost = new SchemaCost(root);
  return value => {
    const depth = depthOf(value);
    return depth <= DEEPEST_VALUE && cost.of(root, depth) <= MOST_CHECKS;
  };
}

class SchemaCost {
  readonly #root: JsonSchema;
  readonly #known = new Map<number, Map<object, number>>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** Checks that a value nested so deep can take at one of its places. */
  of(schema: unknown, depth: number): number {
    if (typeof schema !== 'object' || schema === null) return 1;
    const known = this.#known.get(depth) ?? new Map<object, number>();
    this.#known.set(depth, known);
    const before = known.get(schema);
    if (before !== undefined) return before;
    known.set(schema, Number.POSITIVE_INFINITY); // what leads back to itself at the same value never ends
    let cost = 1;
    for (const keyword of SAME_VALUE) for (const part of schemasOf(schema, keyword)) cost += this.of(part, depth);
    const { $ref } = schema as JsonSchema;
    if (typeof $ref === 'string') cost += this.of(placeIn(this.#root, $ref), depth);
    for (const keyword of depth > 0 ? PARTS : []) {
      cost += Math.max(0, ...schemasOf(schema, keyword).map(part => this.of(part, depth - 1)));
    }
    known.set(schema, cost);
    return cost;
  }
}

function schemasOf(schema: object, keyword: string): readonly unknown[] {
  const value: unknown = Reflect.get(schema, keyword);
  if (typeof value !== 'object' || value === null) return [];
  if (isList(value)) return value;
  return MAPS.has(keyword) ? Object.values(value) : [value];
}

/** The place that a reference leads to; `undefined` where there is none. */
export function placeIn(root: JsonSchema, reference: string): unknown {
  let place: unknown = root;
  for (const token of reference.split('/').slice(1)) {
    const key = unescaped(token);
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, key)) return undefined;
    place = Reflect.get(place, key);
  }
  return place;
}

function unescaped(token: string): string {
  try {
    return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return token;
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, member) => Math.max(deepest, depthOf(member)), 0);
}
