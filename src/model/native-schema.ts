/**
 * A schema as providers take it for their own structured output. They know a part of JSON Schema only, and refuse a request with
 * any other: what is only a narrower wish is said in words instead, and what cannot be said makes the schema unfit. The answer is
 * checked against the whole schema in any case.
 */
import type { ModelTool } from './model.ts';

type JSONSchema = ModelTool['inputSchema'];
type Place = { readonly [keyword: string]: unknown };

/**
 * Keywords that all three know. OpenAI: "Supported schemas" of its guide on structured outputs; Anthropic's and Google's packages
 * take out themselves what their models do not know of these.
 */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'description',
  'title',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
]);

/** Keywords that say nothing about what fits. */
const SILENT: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  'default',
  'examples',
  'readOnly',
  'writeOnly',
  'deprecated',
  'id',
]);

/** Narrower wishes: told in the description. */
const TOLD: ReadonlySet<string> = new Set([
  ...['minLength', 'maxLength', 'pattern', 'format', 'multipleOf', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['uniqueItems', 'contentEncoding', 'contentMediaType', 'minProperties', 'maxProperties'],
]);

/** Deeper than this no schema of an answer is; one that is could be made to use up the stack. */
const DEEPEST = 100;

/**
 * The schema for a request, or `undefined` where providers could not hold the model to it or would refuse it: an object with
 * optional or unnamed members, references (libraries use them where a schema leads to itself), conditions, conjunctions.
 */
export function nativeSchema(schema: JSONSchema): JSONSchema | undefined {
  try {
    return convert(schema as Place, 0) as JSONSchema;
  } catch (error) {
    if (error instanceof Unfit) return undefined;
    throw error;
  }
}

class Unfit extends Error {}

function convert(value: unknown, depth: number): Place {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth > DEEPEST) throw new Unfit();
  const place = value as Place;
  const converted: Record<string, unknown> = {};
  const told: string[] = [];
  for (const [keyword, said] of Object.entries(place)) {
    if (KEPT.has(keyword)) converted[keyword] = said;
    else if (TOLD.has(keyword)) told.push(`${keyword}: ${JSON.stringify(said)}`);
    else if (keyword === 'items') converted.items = convert(said, depth + 1);
    else if (keyword === 'anyOf' || keyword === 'oneOf') converted.anyOf = alternatives(said, depth);
    else if (keyword === 'properties') converted.properties = named(said, depth);
    else if (keyword === 'required' || keyword === 'additionalProperties') continue;
    else if (!SILENT.has(keyword)) throw new Unfit();
  }
  if (isObject(place)) Object.assign(converted, closed(place as ObjectPlace));
  if (told.length > 0) converted.description = [place.description, `(${told.join(', ')})`].filter(Boolean).join(' ');
  return converted;
}

type ObjectPlace = {
  readonly properties?: object;
  readonly required?: unknown;
  readonly additionalProperties?: unknown;
};

function isObject({ type, properties }: Place): boolean {
  return properties !== undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** Providers take an object only if it has exactly its named members, all of them. */
function closed({ properties = {}, required = [], additionalProperties = false }: ObjectPlace): Place {
  const names = Object.keys(properties);
  const isOpen = additionalProperties !== false || names.length === 0;
  if (isOpen || !Array.isArray(required) || !names.every(name => required.includes(name))) throw new Unfit();
  return { required: names, additionalProperties: false };
}

function named(places: unknown, depth: number): Place {
  if (typeof places !== 'object' || places === null) throw new Unfit();
  const entries = Object.entries(places).map(([name, place]) => [name, convert(place, depth + 1)] as const);
  return Object.fromEntries(entries);
}

function alternatives(places: unknown, depth: number): Place[] {
  if (!Array.isArray(places)) throw new Unfit();
  return places.map(place => convert(place, depth + 1));
}
