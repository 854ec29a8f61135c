/** The input schema of an AI SDK tool, in whichever of its many forms, as a schema that a looprig tool takes. */
import { asSchema, type FlexibleSchema } from 'ai';
import type { JsonSchema, SchemaLike, StandardSchema } from '../index.ts';

type StandardProps = StandardSchema['~standard'];
type Checked = Awaited<ReturnType<StandardProps['validate']>>;
type AISchema = ReturnType<typeof asSchema>;

/**
 * The schema for `defineTool`; a promise where the tool's own JSON Schema is one. The model is told the same JSON Schema as by AI SDK.
 * Arguments are checked by the tool's own validation, or against the JSON Schema where it has none. Throws what the schema throws.
 */
export function schemaOf(inputSchema: unknown): SchemaLike | Promise<SchemaLike> {
  const schema = asSchema(inputSchema as FlexibleSchema | undefined);
  const told: unknown = schema.jsonSchema;
  if (isThenable(told)) return Promise.resolve(told).then(json => usable(json as JsonSchema, inputSchema, schema));
  return usable(told as JsonSchema, inputSchema, schema);
}

function usable(jsonSchema: JsonSchema, given: unknown, schema: AISchema): SchemaLike {
  const validate = ownValidation(given) ?? validationOf(schema);
  if (validate === undefined) return jsonSchema;
  const told = (): Record<string, unknown> => ({ ...jsonSchema });
  return { '~standard': { version: 1, vendor: 'ai', validate, jsonSchema: { input: told, output: told } } };
}

/** A Standard Schema's own check says where something does not fit; AI SDK's wrapper only says that. */
function ownValidation(given: unknown): StandardProps['validate'] | undefined {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null || !('~standard' in given)) return;
  const standard = given['~standard'] as StandardProps;
  return value => standard.validate(value);
}

function validationOf({ validate }: AISchema): StandardProps['validate'] | undefined {
  if (validate === undefined) return undefined;
  return async value => {
    const result = await validate(value);
    return result.success ? { value: result.value } : { issues: issuesOf(result.error) };
  };
}

type Issue = NonNullable<Checked['issues']>[number];

/** What a library's error lists, itself or as its cause; else its message. */
function issuesOf(error: Error): readonly Issue[] {
  const listed: unknown = 'issues' in error ? error.issues : error.cause;
  if (Array.isArray(listed) && listed.length > 0 && listed.every(isIssue)) return listed;
  return [{ message: error.message }];
}

function isIssue(issue: unknown): issue is Issue {
  return typeof issue === 'object' && issue !== null && 'message' in issue && typeof issue.message === 'string';
}

/** Whether `value` is something to wait for. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** A value as JSON text, to show what a call is about. Throws for what JSON cannot carry. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}
