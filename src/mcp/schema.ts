/**
 * Schemas as servers give them, made fit for use. A model is told what a server says, without what is no JSON Schema or leads out of it;
 * arguments are checked against the same, without patterns: an expression of a stranger's is not run here, the server checks it itself.
 */
import { type JsonSchema, type ResolvedSchema, resolveSchema, type Validation } from '../define/schema.ts';
import { isDeeperThan } from '../depth.ts';
import { isList } from '../show.ts';
import { affordable, placeIn } from './schema-cost.ts';
import { cutTo } from './text.ts';

/** An input schema that can be used. */
export interface UsableSchema {
  /** For the model: an object at its root, nothing there that providers refuse. */
  readonly told: JsonSchema;
  /** What the root also demands, in words for the description; empty for nothing. */
  readonly aside: string;
  validate(value: unknown): Validation | Promise<Validation>;
  /** What of the server's schema is left out, and why; `undefined` for nothing. */
  readonly leftOut: string | undefined;
}

/** Larger schemas are none that a model should be told. */
const LARGEST = 131_072;
const DEEPEST = 64;
/** What is nested so deep is not even looked through: schemas of schemas take a few levels each. */
const DEEPEST_DATA = 500;
const LONGEST_ASIDE = 2_000;

const ANY_OBJECT: JsonSchema = Object.freeze({ type: 'object' });
const DEFAULT_DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** At the root, some providers refuse these; they are told in words, and checked all the same. */
const REFUSED_AT_ROOT = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const'];

/** Makes an input schema fit for use, whatever the server sent. Never throws. */
export function usableSchema(given: unknown): UsableSchema {
  const whole = asObjectSchema(given);
  if (typeof whole === 'string') return anyObject(whole);
  const pruning = new Pruning(whole);
  const withPatterns = pruning.of(whole) as JsonSchema;
  const withoutPatterns = new Pruning(whole, { patterns: false }).of(whole) as JsonSchema;
  const check = checkOf(withoutPatterns);
  if (check === undefined) return anyObject('it cannot be used as a JSON Schema');
  const isUsable = checkOf(withPatterns) !== undefined;
  const schema = { ...(isUsable ? withPatterns : withoutPatterns), type: 'object' };
  const moved = REFUSED_AT_ROOT.filter(keyword => Object.hasOwn(schema, keyword));
  const rest = Object.fromEntries(moved.map(keyword => [keyword, Reflect.get(schema, keyword)]));
  const told = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !moved.includes(keyword)));
  if (checkOf(told) === undefined) return anyObject('it leads into what cannot be told');
  return {
    told,
    aside: moved.length === 0 ? '' : cutTo(`The arguments must also fit ${JSON.stringify(rest)}`, LONGEST_ASIDE),
    validate: value => check.validate(value),
    leftOut: pruning.leftOut ?? (isUsable ? undefined : 'patterns that cannot be used'),
  };
}

/** A check of structured content against a tool's output schema: what does not fit, or `undefined`. No check for a schema that is none. */
export function outputCheck(given: unknown): ((value: unknown) => Promise<string | undefined>) | undefined {
  const whole = asObjectSchema(given);
  if (typeof whole === 'string') return undefined;
  const check = checkOf(new Pruning(whole, { patterns: false }).of(whole) as JsonSchema);
  if (check === undefined) return undefined;
  return async value => {
    const { issues } = await check.validate(structuredClone(value));
    return issues?.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  };
}

function anyObject(leftOut: string): UsableSchema {
  return { told: ANY_OBJECT, aside: '', validate: value => ({ value }), leftOut };
}

/** The schema, or why it is none for an object. */
function asObjectSchema(given: unknown): JsonSchema | string {
  if (typeof given !== 'object' || given === null || isList(given)) return 'it is no JSON Schema object';
  const { type } = given as JsonSchema;
  const isForObjects = type === undefined || type === 'object' || (isList(type) && type.includes('object'));
  if (!isForObjects) return 'its root is not for objects';
  if (isDeeperThan(given, DEEPEST_DATA)) return `it is nested more than ${DEEPEST_DATA} levels deep`;
  if (JSON.stringify(given).length > LARGEST) return `it is longer than ${LARGEST} characters`;
  return given as JsonSchema;
}

/** The check of a value; one that could take too long is passed, and left to the server. */
function checkOf(given: JsonSchema): Pick<ResolvedSchema, 'validate'> | undefined {
  const schema = { $schema: DEFAULT_DRAFT, ...given, type: 'object' };
  try {
    const resolved = resolveSchema(schema);
    const isAffordable = affordable(schema);
    return { validate: value => (isAffordable(value) ? resolved.validate(value) : { value }) };
  } catch {
    return undefined;
  }
}

const SINGLE = new Set([
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const MAPS = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties']);
const NUMBERS = new Set([
  ...['exclusiveMaximum', 'exclusiveMinimum', 'maxContains', 'maxItems', 'maxLength', 'maxProperties', 'maximum'],
  ...['minContains', 'minItems', 'minLength', 'minProperties', 'minimum', 'multipleOf'],
]);
/** What holds values, and never schemas. */
const DATA = new Set(['const', 'default', 'examples']);
/** What changes where a reference leads. Without it, all lead into this one schema. */
const ADDRESSES = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  'id',
]);

/** A copy of a schema, of what can be used of it. */
class Pruning {
  /** What was left out first; it says enough. */
  leftOut: string | undefined;
  readonly #root: JsonSchema;
  readonly #patterns: boolean;

  constructor(root: JsonSchema, { patterns = true } = {}) {
    this.#root = root;
    this.#patterns = patterns;
  }

  of(given: unknown, depth = 0): JsonSchema | boolean {
    if (typeof given === 'boolean') return given;
    if (depth > DEEPEST) return this.#lose('what is nested too deep', true);
    if (typeof given !== 'object' || given === null || isList(given)) {
      return this.#lose('what is no schema where one has to be', true);
    }
    const entries = Object.entries(given).flatMap(([keyword, value]) => {
      const kept = this.#keyword(keyword, value, depth);
      return kept === undefined ? [] : [[keyword, kept] as const];
    });
    const copy = Object.fromEntries(entries);
    if (!this.#patterns && 'patternProperties' in given) {
      // Without its patterns, nothing can be told to be additional.
      delete copy.additionalProperties;
      delete copy.unevaluatedProperties;
    }
    return copy;
  }

  #keyword(keyword: string, value: unknown, depth: number): unknown {
    if (SINGLE.has(keyword)) return isList(value) ? this.#list(value, depth) : this.of(value, depth + 1);
    if (LISTS.has(keyword)) return isList(value) && value.length > 0 ? this.#list(value, depth) : this.#lose(keyword);
    if (MAPS.has(keyword)) return this.#map(keyword, value, depth);
    if (ADDRESSES.has(keyword)) return this.#address(keyword);
    if (keyword === '$ref') return this.#isWithin(value) ? value : this.#lose('a $ref that leads to no place in it');
    if (keyword === 'pattern') return this.#pattern(value) ? value : undefined;
    if (keyword === 'required') return isList(value) ? value.filter(name => typeof name === 'string') : undefined;
    if (keyword === 'enum') return isList(value) ? value : this.#lose(keyword);
    if (keyword === 'type') return isType(value) ? value : this.#lose(keyword);
    if (NUMBERS.has(keyword)) return typeof value === 'number' ? value : this.#lose(keyword);
    return DATA.has(keyword) ? value : this.#unknown(value, depth);
  }

  /** What a validator that does not know the keyword still looks through for schemas: a reference may lead there. */
  #unknown(value: unknown, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return value;
    return isList(value) ? value.map(member => this.#unknown(member, depth + 1)) : this.of(value, depth + 1);
  }

  #list(members: readonly unknown[], depth: number): unknown[] {
    return members.map(member => this.of(member, depth + 1));
  }

  #map(keyword: string, value: unknown, depth: number): unknown {
    if (keyword === 'patternProperties' && !this.#patterns) return undefined;
    if (typeof value !== 'object' || value === null || isList(value)) return this.#lose(keyword);
    const entries = Object.entries(value).flatMap(([key, member]) => {
      if (key === '__proto__') return this.#lose('a property named __proto__') ?? [];
      if (keyword === 'patternProperties' && !this.#pattern(key)) return [];
      return [[key, isList(member) && keyword === 'dependencies' ? member : this.of(member, depth + 1)] as const];
    });
    return Object.fromEntries(entries);
  }

  #pattern(pattern: unknown): boolean {
    if (!this.#patterns) return false;
    try {
      new RegExp(String(pattern), 'u');
      return true;
    } catch {
      this.#lose('a pattern that is no (Unicode) regular expression');
      return false;
    }
  }

  #address(keyword: string): undefined {
    if (keyword !== 'id' && keyword !== '$id') this.#lose(keyword);
    return undefined;
  }

  /** Whether a reference leads to a place in this schema. Nothing is ever fetched. */
  #isWithin(reference: unknown): boolean {
    if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return false;
    const place = placeIn(this.#root, reference);
    return typeof place === 'boolean' || (typeof place === 'object' && place !== null && !isList(place));
  }

  #lose(what: string): undefined;
  #lose(what: string, instead: true): true;
  #lose(what: string, instead?: true): true | undefined {
    this.leftOut ??= what;
    return instead;
  }
}

function isType(value: unknown): boolean {
  return typeof value === 'string' || (isList(value) && value.every(type => typeof type === 'string'));
}
