/**
 * Tool definitions: data that knows how to build a tool, never the live tool. A definition is frozen and may be used by
 * any number of loops; each bind runs its factory once and owns what it built.
 */
import { DefinitionError } from '../errors.ts';
import type { ModelTool } from '../model/model.ts';
import { isList, show } from '../show.ts';
import type { BindingName, FactoryBindings } from './bindings.ts';
import {
  CAPABILITIES,
  type LiveTool,
  type MaybePromise,
  problemWithCapabilities,
  type ToolCall,
  type ToolCapabilities,
  type ToolExecute,
  type ToolInfo,
  type ToolReturn,
  type ToolsetTool,
} from './live-tool.ts';
import { copyList, type Refusal, readOptions } from './options.ts';
import { type InferSchema, type ResolvedSchema, resolveSchema, type SchemaLike, UnusableSchema } from './schema.ts';

export type {
  AccessRequest,
  LiveTool,
  MaybePromise,
  Resource,
  ToolBudget,
  ToolCall,
  ToolCapabilities,
  ToolContent,
  ToolExecute,
  ToolInfo,
  ToolResult,
  ToolReturn,
  ToolsetTool,
} from './live-tool.ts';
export { isToolResult, toolError, toolResult } from './live-tool.ts';
export { show };

/** The control tool by which a model gives structured output. No tool may have this name. */
export const STRUCTURED_OUTPUT_TOOL_NAME = '_looprig_final_output';

/** The built-in tool by which a model reads on in a result that was too long to be shown whole. No tool may have this name. */
export const READ_TOOL_RESULT_TOOL_NAME = 'read_tool_result';

/** What providers accept as the name of a tool: all of the large ones refuse anything else. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Declares what can be built. Frozen; made by `defineTool` and `defineToolset` alone. */
export interface ToolDefinition {
  readonly name: string;
  /** The model-facing names of the tools that it builds. */
  readonly produces: readonly string[];
  /** The bindings that its factory needs. */
  readonly requires: readonly BindingName[];
  /** Runs the factory. For the binder alone; what comes back is not checked yet. */
  readonly [BUILD]: (bindings: FactoryBindings<BindingName>) => Promise<unknown>;
  /** For a tool: what it is, known before it is built. A toolset says so on each live tool. */
  readonly [DECLARED]: { readonly description: string; readonly schema: ResolvedSchema } | undefined;
}

/** The binder's way into a definition: not part of the public API. */
export const BUILD: unique symbol = Symbol.for('looprig.tool-definition.build') as never;
export const DECLARED: unique symbol = Symbol.for('looprig.tool-definition.declared') as never;

/** Whether `value` is a definition made by `defineTool` or `defineToolset`. */
export function isToolDefinition(value: unknown): value is ToolDefinition {
  try {
    return typeof value === 'object' && value !== null && typeof Reflect.get(value, BUILD) === 'function';
  } catch {
    return false; // a proxy that will not be looked at
  }
}

interface ToolDeclaration<Schema extends SchemaLike, Required extends BindingName> {
  /** The name that the model calls the tool by: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** What it takes: a Standard Schema that gives JSON Schema, or a JSON Schema object; an object at its root. */
  readonly input: Schema;
  /** The bindings that `create` needs, beside the two ids. Default none. */
  readonly requires?: readonly Required[];
}

/** The factory form of `defineTool`: `create` runs once per bind. */
export interface CreateToolOptions<Schema extends SchemaLike, Required extends BindingName>
  extends ToolDeclaration<Schema, Required> {
  /** Builds the live tool: its executor, or an object with `execute` and capabilities. */
  create(
    bindings: FactoryBindings<Required>,
  ): MaybePromise<ToolExecute<InferSchema<Schema>> | LiveTool<InferSchema<Schema>>>;
  readonly execute?: never;
}

/** The short form of `defineTool`, for a tool that holds no state. */
export interface ExecuteToolOptions<Schema extends SchemaLike>
  extends ToolDeclaration<Schema, never>,
    ToolCapabilities<InferSchema<Schema>> {
  /** Runs one call. */
  execute(input: InferSchema<Schema>, call: ToolCall): MaybePromise<ToolReturn>;
  readonly create?: never;
}

/**
 * Declares one tool. Give `create`, a factory that runs once per bind, or `execute` for a tool that holds no state.
 * Throws `DefinitionError`: `invalid_tool`, `invalid_tool_name`, `reserved_tool_name`, `invalid_tool_schema`.
 */
export function defineTool<const Schema extends SchemaLike>(options: ExecuteToolOptions<Schema>): ToolDefinition;
/** Declares one tool with a factory: `create` runs once per bind, and what it returns may hold state of the session. */
export function defineTool<const Schema extends SchemaLike, const Required extends BindingName = never>(
  options: CreateToolOptions<Schema, Required>,
): ToolDefinition;
export function defineTool(
  options: ExecuteToolOptions<SchemaLike> | CreateToolOptions<SchemaLike, BindingName>,
): ToolDefinition {
  const given = readOptions(options, TOOL_OPTIONS, 'a tool', invalidTool);
  const { name, description, input, create, execute } = given;
  requireName(name);
  requireToolName(name, 'name');
  requireText(description, 'description', name);
  const produces = [name];
  const requires = resolveRequires(given.requires, name);
  const factory = create === undefined ? stateless(name, execute, given) : ownFactory(name, create, given);
  const schema = resolveInput(input, 'input', name);
  return definition({ name, produces, requires }, factory, Object.freeze({ description, schema }));
}

/**
 * Declares one factory that builds several tools. `produces` lists the model-facing names; the factory must build exactly those.
 * Throws `DefinitionError`: `invalid_tool`, `invalid_tool_name`, `reserved_tool_name`.
 */
export function defineToolset<const Required extends BindingName = never>(options: {
  /** The name of the definition, for errors and for people. */
  readonly name: string;
  /** The names of the tools that `create` builds. */
  readonly produces: readonly string[];
  /** The bindings that `create` needs, beside the two ids. Default none. */
  readonly requires?: readonly Required[];
  /** Builds the live tools, each with its `info`. Runs once per bind. */
  create(bindings: FactoryBindings<Required>): MaybePromise<readonly ToolsetTool<never>[]>;
}): ToolDefinition {
  const { name, produces, requires, create } = readOptions(options, TOOLSET_OPTIONS, 'a toolset', invalidTool);
  requireName(name);
  const names = resolveProduces(produces, name);
  if (typeof create !== 'function') {
    throw invalidTool('create', `"create" of toolset "${name}" must be a function, not ${show(create)}`, {
      value: create,
    });
  }
  return definition({ name, produces: names, requires: resolveRequires(requires, name) }, create as Factory, undefined);
}

/** A toolset's live tool with the type of its input inferred into its `execute`: `tool({ info: { …, input: schema }, execute(input) {…} })`. */
export function liveTool<const Schema extends SchemaLike>(
  tool: { readonly info: ToolInfo<Schema> } & LiveTool<InferSchema<Schema>>,
): ToolsetTool<never> {
  return tool as ToolsetTool<never>;
}

/** Why a model-facing name is refused, or `undefined` for one that providers take. */
export function problemWithToolName(
  name: string,
): { kind: 'reserved_tool_name' | 'invalid_tool_name'; reason: string } | undefined {
  if (name === STRUCTURED_OUTPUT_TOOL_NAME) {
    return { kind: 'reserved_tool_name', reason: `"${name}" is reserved for structured output: choose another name` };
  }
  if (name === READ_TOOL_RESULT_TOOL_NAME) {
    return { kind: 'reserved_tool_name', reason: `"${name}" is reserved for long results: choose another name` };
  }
  if (!TOOL_NAME.test(name)) {
    return {
      kind: 'invalid_tool_name',
      reason: `${show(name)} is a name that model providers refuse: use letters, digits, "_" and "-", at most 64 of them`,
    };
  }
  return undefined;
}

/** Resolves the input schema of the tool `name`, or throws `invalid_tool_schema` for `field`. */
export function resolveInput(input: unknown, field: string, name: string): ResolvedSchema {
  try {
    return resolveSchema(input);
  } catch (cause) {
    if (!(cause instanceof UnusableSchema)) throw cause;
    const message = `"${field}" of tool "${name}" cannot be used as a schema: ${cause.message}`;
    throw new DefinitionError('invalid_tool_schema', { field, message, cause });
  }
}

const TOOL_OPTIONS = [
  ...(['name', 'description', 'input', 'requires', 'create', 'execute'] as const),
  ...CAPABILITIES,
] as const;
const TOOLSET_OPTIONS = ['name', 'produces', 'requires', 'create'] as const;

type Factory = (bindings: FactoryBindings<BindingName>) => unknown;
type GivenOptions = { readonly [Option in (typeof TOOL_OPTIONS)[number]]: unknown };

function ownFactory(name: string, create: unknown, given: GivenOptions): Factory {
  if (given.execute !== undefined) {
    throw invalidTool('create', `tool "${name}" has both "execute" and "create": give one of them`);
  }
  if (typeof create !== 'function') {
    throw invalidTool('create', `"create" of tool "${name}" must be a function, not ${show(create)}`, {
      value: create,
    });
  }
  const misplaced = CAPABILITIES.find(capability => given[capability] !== undefined);
  if (misplaced !== undefined) {
    throw invalidTool(misplaced, `"${misplaced}" of tool "${name}" belongs on the live tool that "create" returns`);
  }
  return create as Factory;
}

function stateless(name: string, execute: unknown, given: GivenOptions): Factory {
  if (execute === undefined) {
    throw invalidTool('execute', `tool "${name}" has neither "execute" nor "create": give one of them`);
  }
  if (isList(given.requires) && given.requires.length > 0) {
    const message = `"requires" of tool "${name}" needs "create", which gets what it names: "execute" does not`;
    throw invalidTool('requires', message, { value: given.requires });
  }
  if (typeof execute !== 'function') {
    throw invalidTool('execute', `"execute" of tool "${name}" must be a function, not ${show(execute)}`, {
      value: execute,
    });
  }
  const problem = problemWithCapabilities(given);
  if (problem !== undefined) {
    const { field, reason } = problem;
    throw invalidTool(field, `"${field}" of tool "${name}" ${reason}`, { value: Reflect.get(given, field) });
  }
  const said = CAPABILITIES.filter(capability => given[capability] !== undefined);
  const live = Object.freeze({
    ...Object.fromEntries(said.map(capability => [capability, given[capability]])),
    execute,
  });
  return () => live;
}

function definition(
  visible: Pick<ToolDefinition, 'name' | 'produces' | 'requires'>,
  factory: Factory,
  declared: ToolDefinition[typeof DECLARED],
): ToolDefinition {
  const made = { ...visible, produces: Object.freeze([...visible.produces]) };
  Object.defineProperty(made, BUILD, {
    value: async (bindings: FactoryBindings<BindingName>): Promise<unknown> => factory(bindings),
  });
  Object.defineProperty(made, DECLARED, { value: declared });
  return Object.freeze(made) as ToolDefinition;
}

function resolveProduces(produces: unknown, toolset: string): readonly string[] {
  const names = copyList(produces) ?? [];
  if (names.length === 0) {
    const message = `"produces" of toolset "${toolset}" must list at least one tool name, not ${show(produces)}`;
    throw invalidTool('produces', message, { value: produces });
  }
  names.forEach((name, index) => {
    const field = `produces[${index}]`;
    if (typeof name !== 'string' || name.trim() === '') {
      throw invalidTool(field, `${field} of toolset "${toolset}" must be a name, not ${show(name)}`, { value: name });
    }
    if (names.indexOf(name) !== index) {
      throw invalidTool(field, `${field} of toolset "${toolset}" repeats "${name}": list each name once`, {
        value: name,
      });
    }
    requireToolName(name, field);
  });
  return names as string[];
}

function resolveRequires(requires: unknown, owner: string): readonly BindingName[] {
  if (requires === undefined) return Object.freeze([]);
  const names = copyList(requires);
  if (names === undefined) {
    const message = `"requires" of "${owner}" must be a list of binding names, not ${show(requires)}`;
    throw invalidTool('requires', message, { value: requires });
  }
  names.forEach((name, index) => {
    if (typeof name === 'string' && name.trim() !== '') return;
    const field = `requires[${index}]`;
    throw invalidTool(field, `${field} of "${owner}" must be the name of a binding, not ${show(name)}`, {
      value: name,
    });
  });
  return Object.freeze([...new Set(names)]) as readonly BindingName[];
}

function requireName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name.trim() === '') {
    throw invalidTool('name', `"name" must be a nonblank string, not ${show(name)}`, { value: name });
  }
}

function requireText(value: unknown, field: string, tool: string): asserts value is string {
  if (typeof value !== 'string' || value.trim() === '') {
    throw invalidTool(field, `"${field}" of tool "${tool}" must say what the tool does, not ${show(value)}`, { value });
  }
}

function requireToolName(name: string, field: string): void {
  const problem = problemWithToolName(name);
  if (problem !== undefined)
    throw new DefinitionError(problem.kind, { field, message: `${field}: ${problem.reason}`, value: name });
}

const invalidTool: Refusal = (field, message, details = {}) =>
  new DefinitionError('invalid_tool', { field: field === '' ? 'options' : field, message, ...details });

/** What the model is told, from a name, a description and a schema. */
export function modelTool(name: string, description: string, schema: ResolvedSchema): ModelTool {
  return Object.freeze({ type: 'function', name, description, inputSchema: schema.jsonSchema });
}
