/**
 * Input and output schemas: what a model is told (JSON Schema) and how what it sent is checked. A schema is a Standard
 * Schema that can also give JSON Schema (zod 4, arktype, valibot through `toStandardJsonSchema`), or a JSON Schema object.
 */
import { type Schema as CheckedSchema, Validator } from '@cfworker/json-schema';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { ModelTool } from '../model/model.ts';
import { deepFreeze } from './freeze.ts';

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
  readonly path: string;
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
  if (isStandardSchema(schema)) return resolveStandardSchema(schema);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new UnusableSchema('expected a Standard Schema (zod, valibot, arktype) or a JSON Schema object');
  }
  return resolveJsonSchema(schema as JsonSchema);
}

function resolveStandardSchema(schema: StandardSchema): ResolvedSchema {
  const { '~standard': standard } = schema;
  if (typeof standard.jsonSchema?.input !== 'function') {
    const remedy = standard.vendor === 'valibot' ? ': wrap it in toStandardJsonSchema of @valibot/to-json-schema' : '';
    throw new UnusableSchema(`a ${standard.vendor} schema that cannot give JSON Schema${remedy}`);
  }
  return {
    jsonSchema: objectSchema(convert(standard.jsonSchema)),
    validate(value) {
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(fromStandard) : fromStandard(result);
    },
  };
}

/** Providers are told draft-07; a library that does not speak it is asked for 2020-12. */
function convert(converter: StandardJSONSchemaV1.Converter): Record<string, unknown> {
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
  let copy: JsonSchema;
  try {
    copy = JSON.parse(JSON.stringify(schema));
  } catch (cause) {
    throw new UnusableSchema('a JSON Schema object that is not plain JSON', { cause });
  }
  const jsonSchema = objectSchema(copy);
  const validator = validatorOf(copy);
  return {
    jsonSchema,
    validate(value) {
      const { valid, errors } = validator.validate(value);
      if (valid) return { value };
      return { issues: leaves(errors) };
    },
  };
}

/** The validator marks the schema it is given, so it gets a copy of its own. It is tried once, since a reference that leads nowhere only shows on use. */
function validatorOf(schema: JsonSchema): Validator {
  const draft = String(schema.$schema ?? '').includes('2020-12') ? '2020-12' : '7';
  const unresolved = unresolvedReference(schema);
  if (unresolved !== undefined) throw new UnusableSchema(`a $ref that leads to no place in the schema: ${unresolved}`);
  try {
    return new Validator(structuredClone(schema) as CheckedSchema, draft, false);
  } catch (cause) {
    throw new UnusableSchema('a JSON Schema object that is not well formed', { cause });
  }
}

/** The first `$ref` that the schema itself does not hold. An `$id` or `$anchor` in it may serve as a target. */
function unresolvedReference(root: JsonSchema): string | undefined {
  const targets = new Set<string>();
  const references: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      if (key === '$ref' && typeof value === 'string') references.push(value);
      else if (key === '$id' && typeof value === 'string') targets.add(value);
      else if (key === '$anchor' && typeof value === 'string') targets.add(`#${value}`);
      visit(value);
    }
  };
  visit(root);
  return references.find(reference => {
    if (targets.has(reference)) return false;
    if (!reference.startsWith('#')) return ![...targets].some(target => reference.startsWith(`${target}#`));
    return reference !== '#' && !(reference.startsWith('#/') && pointsInto(root, reference));
  });
}

function pointsInto(root: JsonSchema, reference: string): boolean {
  let node: unknown = root;
  for (const token of reference.slice(2).split('/')) {
    const key = decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false;
    node = Reflect.get(node, key);
  }
  return true;
}

/** A failure deep in the value is reported once for it and once for each level above it: only the deepest say anything. */
function leaves(errors: readonly { instanceLocation: string; keyword: string; error: string }[]): SchemaIssue[] {
  const isOuter = (keyword: string): boolean =>
    ['properties', 'items', 'prefixItems', 'additionalProperties', 'patternProperties', '$ref'].includes(keyword);
  const deepest = errors.filter(error => !isOuter(error.keyword));
  return (deepest.length > 0 ? deepest : errors).map(error => ({
    path: error.instanceLocation.replace(/^#\/?/, '').replaceAll('/', '.'),
    message: error.error,
  }));
}

function objectSchema(schema: Record<string, unknown>): ResolvedSchema['jsonSchema'] {
  if (schema.type !== 'object') throw new UnusableSchema('the root must have the type "object"');
  return deepFreeze(schema) as ResolvedSchema['jsonSchema'];
}
