/**
 * Input and output schemas: what a model is told (JSON Schema) and how what it sent is checked. A schema is a Standard
 * Schema that can also give JSON Schema (zod 4, arktype, valibot through `toStandardJsonSchema`), or a JSON Schema object.
 */
import { type Schema as CheckedSchema, dereference, type OutputUnit, validate } from '@cfworker/json-schema';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { deepFreeze } from '../freeze.ts';
import type { ModelTool } from '../model/model.ts';
import { isList } from '../show.ts';

/** A schema that validates and can say itself as JSON Schema: zod 4, arktype, valibot through `toStandardJsonSchema`. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** A JSON Schema object, draft-07 or 2020-12. A reference leads to a place within it; nothing is ever fetched. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What `input` and `output` options take. */
export type SchemaLike = StandardSchema | JsonSchema;

/** The type of the values that a schema lets through: inferred for a Standard Schema and for a literal JSON Schema. */
export type InferSchema<S> =
  S extends StandardSchema<infer _Input, infer Output> ? Output : S extends JsonSchema ? FromJsonSchema<S> : unknown;

/** The common part of JSON Schema, as types; what it does not know is `unknown`. */
type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : S extends { readonly anyOf: readonly (infer Member)[] }
      ? FromJsonSchema<Member>
      : S extends { readonly type: infer Type }
        ? FromType<S, Type>
        : unknown;

type FromType<S, Type> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? S extends { readonly items: infer Items }
            ? FromJsonSchema<Items>[]
            : unknown[]
          : Type extends 'object'
            ? FromObject<S>
            : unknown;

type FromObject<S> = S extends { readonly properties: infer Properties }
  ? Flatten<
      { -readonly [Key in RequiredKeys<S, Properties>]: FromJsonSchema<Properties[Key]> } & {
        -readonly [Key in Exclude<keyof Properties, RequiredKeys<S, Properties>>]?: FromJsonSchema<Properties[Key]>;
      }
    >
  : Record<string, unknown>;

type RequiredKeys<S, Properties> = S extends { readonly required: readonly (infer Key)[] }
  ? Extract<Key, keyof Properties>
  : never;

type Flatten<T> = { [Key in keyof T]: T[Key] };

/** The outcome of a check: the value to use, or what did not fit, path by path. */
export type Validation =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One thing that did not fit: where (empty at the root), and why. */
export interface SchemaIssue {
  /** Where, with dots; empty at the root. */
  readonly path: string;
  /** Why, in words for the model. */
  readonly message: string;
}

/** A schema ready for use. `validate` must be given a value that nobody else holds: it may be handed on as it is. */
export interface ResolvedSchema {
  /** Frozen, and for the model as it is. */
  readonly jsonSchema: ModelTool['inputSchema'];
  validate(value: unknown): Validation | Promise<Validation>;
}

/** A schema that cannot be used. The caller turns it into its own error, with its own field. */
export class UnusableSchema extends Error {}

/** Whether `value` is a Standard Schema of any kind (arktype's are functions). */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = Reflect.get(value, '~standard');
  return typeof standard === 'object' && standard !== null && typeof Reflect.get(standard, 'validate') === 'function';
}

/** Makes a schema ready for use, or throws `UnusableSchema` with a reason that never quotes the schema. */
export function resolveSchema(schema: unknown): ResolvedSchema {
  try {
    if (isStandardSchema(schema)) return resolveStandardSchema(schema);
    if (typeof schema === 'object' && schema !== null && !isList(schema))
      return resolveJsonSchema(schema as JsonSchema);
  } catch (cause) {
    throw cause instanceof UnusableSchema ? cause : new UnusableSchema('a schema that cannot be read', { cause });
  }
  throw new UnusableSchema('expected a Standard Schema (zod, valibot, arktype) or a JSON Schema object');
}

function resolveStandardSchema(schema: StandardSchema): ResolvedSchema {
  const { '~standard': standard } = schema;
  if (typeof standard.jsonSchema?.input !== 'function') {
    const remedy = standard.vendor === 'valibot' ? ': wrap it in toStandardJsonSchema of @valibot/to-json-schema' : '';
    throw new UnusableSchema(`a Standard Schema that cannot give JSON Schema${remedy}`);
  }
  return Object.freeze({
    jsonSchema: objectSchema(plainCopy(convert(standard.jsonSchema))),
    validate(value: unknown) {
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(fromStandard) : fromStandard(result);
    },
  });
}

/** Providers are told draft-07; a library that does not speak it is asked for 2020-12. */
function convert(converter: StandardJSONSchemaV1.Converter): JsonSchema {
  try {
    return converter.input({ target: 'draft-07' });
  } catch (first) {
    try {
      return converter.input({ target: 'draft-2020-12' });
    } catch {
      throw new UnusableSchema('a schema with a part that JSON Schema cannot express', { cause: first });
    }
  }
}

function fromStandard(result: StandardSchemaV1.Result<unknown>): Validation {
  if (result.issues === undefined) return { value: result.value };
  return { issues: result.issues.map(issue => ({ path: dotted(issue.path ?? []), message: issue.message })) };
}

function dotted(path: ReadonlyArray<PropertyKey | StandardSchemaV1.PathSegment>): string {
  return path.map(segment => String(typeof segment === 'object' ? segment.key : segment)).join('.');
}

function resolveJsonSchema(schema: JsonSchema): ResolvedSchema {
  if (Object.values(schema).some(isStandardSchema))
    throw new UnusableSchema('an object of schemas is none itself: make one of it, as z.object({ … }) does');
  const jsonSchema = objectSchema(plainCopy(schema));
  const check = checkOf(jsonSchema as JsonSchema);
  return Object.freeze({
    jsonSchema,
    validate(value: unknown) {
      try {
        const { valid, errors } = check(value);
        return valid ? { value } : { issues: leaves(errors) };
      } catch (error) {
        // The validator writes places as URIs, which cannot name a key that is no text.
        if (!(error instanceof URIError)) throw error;
        return { issues: [{ path: '', message: 'the name of a member holds half of a character' }] };
      }
    },
  });
}

/** A copy that nobody else holds, of nothing but plain JSON. */
function plainCopy(schema: JsonSchema): JsonSchema {
  try {
    return JSON.parse(JSON.stringify(schema));
  } catch (cause) {
    throw new UnusableSchema('a JSON Schema that is not plain JSON', { cause });
  }
}

/** The validator marks the schema it is given, so it gets a copy of its own. What only shows on use, a lost reference or a bad pattern, is looked for here. */
function checkOf(schema: JsonSchema): (value: unknown) => ReturnType<typeof validate> {
  const marked = structuredClone(schema) as CheckedSchema;
  const draft = String(schema.$schema ?? '').includes('2020-12') ? '2020-12' : '7';
  let lookup: ReturnType<typeof dereference>;
  try {
    lookup = dereference(marked);
  } catch (cause) {
    throw new UnusableSchema('a JSON Schema that is not well formed', { cause });
  }
  for (const place of Object.values(lookup)) {
    if (typeof place === 'object') requireUsable(place, lookup);
  }
  return value => validate(value, marked, draft, lookup, false);
}

function requireUsable(place: CheckedSchema, lookup: ReturnType<typeof dereference>): void {
  const { $ref, __absolute_ref__: target, pattern, patternProperties, properties, required } = place;
  if ($ref !== undefined && (target === undefined || lookup[target] === undefined)) {
    throw new UnusableSchema('a JSON Schema with a $ref that leads to no place in it (nothing is ever fetched)');
  }
  if (pattern !== undefined) requirePattern(pattern);
  for (const key of Object.keys(patternProperties ?? {})) requirePattern(key);
  if (properties !== undefined && (typeof properties !== 'object' || isList(properties))) {
    throw new UnusableSchema('a JSON Schema whose "properties" are no object');
  }
  if (required !== undefined && !isList(required))
    throw new UnusableSchema('a JSON Schema whose "required" is no list');
}

function requirePattern(pattern: string): void {
  try {
    new RegExp(pattern, 'u');
  } catch (cause) {
    throw new UnusableSchema('a JSON Schema with a pattern that is no (Unicode) regular expression', { cause });
  }
}

/** Keywords whose failure only says that something further down failed. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', '$ref', 'if'],
  ...['items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'allOf', 'dependencies', 'dependentSchemas'],
]);

/** More are never shown, and a model may send thousands. */
const MOST_ERRORS = 200;

/** A failure deep in the value is reported for it and for each level above it: only the deepest say anything. */
function leaves(all: readonly OutputUnit[]): SchemaIssue[] {
  const errors = all.slice(0, MOST_ERRORS);
  const inner = errors.filter(error => !OUTER_KEYWORDS.has(error.keyword));
  const deepest = inner.filter(error => error.keyword !== 'false' || !inner.some(other => saysMore(other, error)));
  return (deepest.length > 0 ? deepest : errors).map(({ instanceLocation, keyword, error }) => ({
    path: instanceLocation
      .split('/')
      .slice(1)
      .map(token => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'))
      .join('.'),
    message: inWords(keyword, error),
  }));
}

/** Sentences of the validator that say little to a model, and what is said in their place. */
const SENTENCES: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^Instance does not have required property (.*)\.$/s, 'the property $1 is missing'],
  [/^Instance type (.*?) is invalid\. Expected (.*)\.$/s, 'expected $2, not $1'],
  [/\.$/, ''], // an issue stands in a list beside others
];

/** What a failure says, in words of its own. */
function inWords(keyword: string, error: string): string {
  if (keyword === 'false') return 'not allowed here';
  return SENTENCES.reduce((text, [theirs, ours]) => text.replace(theirs, ours), error);
}

/** A value that does not fit its own schema is refused by `unevaluatedProperties: false` too, as if nobody had declared it. */
function saysMore(other: OutputUnit, { instanceLocation }: OutputUnit): boolean {
  if (other.instanceLocation === instanceLocation) return other.keyword !== 'false';
  return other.instanceLocation.startsWith(`${instanceLocation}/`);
}

function objectSchema(schema: JsonSchema): ResolvedSchema['jsonSchema'] {
  if (schema.type !== 'object') throw new UnusableSchema('the root must have the type "object"');
  return deepFreeze(schema) as ResolvedSchema['jsonSchema'];
}
