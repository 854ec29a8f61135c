/**
 * Tool definitions: data that knows how to build a tool, never the live tool. A definition is frozen and may be used by
 * any number of loops; each bind runs its factory once and owns what it built.
 */
import { DefinitionError } from '../errors.ts';
import type { JSONValue, ModelTool } from '../model/model.ts';
import type { BindingName, FactoryBindings } from './bindings.ts';
import { type InferSchema, type ResolvedSchema, resolveSchema, type SchemaLike, UnusableSchema } from './schema.ts';

/** The control tool by which a model gives structured output. No tool may have this name. */
export const STRUCTURED_OUTPUT_TOOL_NAME = '_looprig_final_output';

/** What providers accept as the name of a tool: all of the large ones refuse anything else. */
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** What a running tool knows about its call. */
export interface ToolCall {
  /** Unique, and the same again when the call is repeated after a crash: fit as an idempotency key. */
  readonly callId: string;
  readonly toolName: string;
  readonly sessionId: string;
  readonly loopId: string;
  readonly turnId: string;
  readonly stepId: string;
  /** Aborted when the call is interrupted or its time is over. A tool that ignores it is left behind. */
  readonly signal: AbortSignal;
  /** What is left of the turn's limits. */
  readonly budget: ToolBudget;
  /** Tells readers how far the tool is: an ephemeral `tool.progress` event. Does nothing once the call is answered. */
  progress(update: JSONValue): void;
}

/** What is left of a turn's limits after the batch that the call belongs to. */
export interface ToolBudget {
  readonly iterations: number;
  readonly calls: number;
  readonly tokens: number;
}

/** One part of a tool's result. `data` is base64 text or bytes. */
export type ToolContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: unknown }
  | { readonly type: 'image'; readonly data: string | Uint8Array; readonly mediaType: string }
  | {
      readonly type: 'file';
      readonly data: string | Uint8Array;
      readonly mediaType: string;
      readonly filename?: string;
    };

declare const toolResultBrand: unique symbol;
const TOOL_RESULT = Symbol.for('looprig.tool-result');

/** A tool's result in full. Made by `toolResult` or `toolError`, so that it is never confused with a tool's own data. */
export interface ToolResult {
  readonly [toolResultBrand]: true;
  readonly content: readonly ToolContent[];
  /** The model is told that the call failed. */
  readonly isError: boolean;
  /** The turn ends with this result once its whole batch is answered and committed, without another model call. */
  readonly endTurn: boolean;
}

/** What a tool may return: text, anything that JSON can carry, or a `ToolResult`. Nothing at all is answered as an empty result. */
// biome-ignore lint/suspicious/noConfusingVoidType: an executor that returns nothing is written as one that returns void
export type ToolReturn = string | number | boolean | object | null | undefined | void;

/** A result in full: text or parts, and whether it is an error or ends the turn. */
export function toolResult(
  content: string | readonly ToolContent[],
  options: { readonly isError?: boolean; readonly endTurn?: boolean } = {},
): ToolResult {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : [...content];
  const result = {
    content: Object.freeze(parts),
    isError: options.isError === true,
    endTurn: options.endTurn === true,
  };
  Object.defineProperty(result, TOOL_RESULT, { value: true });
  return Object.freeze(result) as unknown as ToolResult;
}

/** An error result: the model reads the message, and the turn goes on. */
export function toolError(message: string): ToolResult {
  return toolResult(message, { isError: true });
}

/** Whether `value` was made by `toolResult` or `toolError`, of any copy of the package. */
export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, TOOL_RESULT);
}

/** What a call works on: calls of one batch on one key keep call order where one of them writes. A bare key writes. */
export type Resource = string | { readonly key: string; readonly mode: 'read' | 'write' };

/** What a call wants to do, for the gate. */
export interface AccessRequest {
  /** `fs.write`, `net.fetch`, `process.run`, or a word of the tool's own. */
  readonly action: string;
  /** What it is done to: a path, a host, a command. Rules match it as a pattern. */
  readonly target: string;
  /** One line for the person who is asked. */
  readonly description?: string;
}

/** What a live tool can say about itself, beyond running. Each is asked once per call, after its input was validated. */
export interface ToolCapabilities<Input> {
  /** Never runs beside any other call of its batch. Default false. */
  readonly sequential?: boolean;
  /** What the call works on. Default: nothing that another call could disturb. */
  resource?(input: Input): MaybePromise<Resource | readonly Resource[] | undefined>;
  /** May be run again after a crash. Default false. */
  readonly idempotent?: boolean;
  /** What the call wants to do. Default: nothing that needs permission. */
  access?(input: Input): MaybePromise<readonly AccessRequest[]>;
  /** The longest a call may run, in milliseconds; at most the loop's `callTimeoutMs`. */
  readonly timeoutMs?: number;
  /** The call in one line, for people. Must not hold secrets. */
  summary?(input: Input): MaybePromise<string>;
}

export type MaybePromise<T> = T | Promise<T>;

/** Runs one call. What it throws becomes an error result, by its message. */
export type ToolExecute<Input> = (input: Input, call: ToolCall) => MaybePromise<ToolReturn>;

/** A live tool: built by a factory, owned by one binding, disposed with it. */
export interface LiveTool<Input> extends ToolCapabilities<Input> {
  execute(input: Input, call: ToolCall): MaybePromise<ToolReturn>;
  [Symbol.asyncDispose]?(): PromiseLike<void>;
  [Symbol.dispose]?(): void;
}

/** What a model is told about a tool. */
export interface ToolInfo<Schema extends SchemaLike = SchemaLike> {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
}

/** A live tool of a toolset, which also says what it is. */
export interface ToolsetTool<Input = unknown> extends LiveTool<Input> {
  readonly info: ToolInfo;
}

/** A tool as a factory built it, before it is checked. */
export interface BuiltTool {
  readonly name: string;
  readonly description: string;
  readonly schema: ResolvedSchema;
  readonly live: LiveTool<unknown>;
}

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
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, BUILD) === 'function';
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
export function defineTool<const Schema extends SchemaLike, const Required extends BindingName = never>(
  options: CreateToolOptions<Schema, Required>,
): ToolDefinition;
export function defineTool(
  options: ExecuteToolOptions<SchemaLike> | CreateToolOptions<SchemaLike, BindingName>,
): ToolDefinition {
  requireObject(options, 'defineTool');
  const { name, description, input, requires, create, execute, ...capabilities } = options;
  requireName(name);
  requireToolName(name, 'name');
  requireText(description, 'description', name);
  if (create === undefined && execute === undefined) {
    throw invalidTool('execute', `tool "${name}" has neither "execute" nor "create": give one of them`);
  }
  if (create !== undefined && execute !== undefined) {
    throw invalidTool('create', `tool "${name}" has both "execute" and "create": give one of them`);
  }
  const factory = create ?? stateless(name, execute, capabilities);
  if (typeof factory !== 'function')
    throw invalidTool('create', `"create" of tool "${name}" must be a function`, create);
  if (create !== undefined)
    refuseUnknown(capabilities, `tool "${name}"`, 'belongs on the live tool that "create" returns');
  const declared = Object.freeze({ description, schema: resolveInput(input, 'input', name) });
  return definition(name, [name], requires ?? [], async bindings => factory(bindings as never), declared);
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
  requireObject(options, 'defineToolset');
  const { name, produces, requires, create, ...unknown } = options;
  requireName(name);
  refuseUnknown(unknown, `toolset "${name}"`, 'is no option of a toolset');
  if (!Array.isArray(produces) || produces.length === 0) {
    throw invalidTool('produces', `"produces" of toolset "${name}" must list at least one tool name`, produces);
  }
  const names = [...produces] as string[];
  names.forEach((produced, index) => {
    const field = `produces[${index}]`;
    if (typeof produced !== 'string' || produced.trim() === '') {
      throw invalidTool(field, `${field} of toolset "${name}" must be a name, not ${show(produced)}`, produced);
    }
    if (names.indexOf(produced) !== index) {
      throw invalidTool(field, `${field} of toolset "${name}" repeats "${produced}": list each name once`, produced);
    }
    requireToolName(produced, field);
  });
  if (typeof create !== 'function')
    throw invalidTool('create', `"create" of toolset "${name}" must be a function`, create);
  return definition(name, names, requires ?? [], async bindings => create(bindings as never), undefined);
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

const CAPABILITIES = ['sequential', 'resource', 'idempotent', 'access', 'timeoutMs', 'summary'] as const;

function stateless(name: string, execute: unknown, capabilities: Record<string, unknown>): () => LiveTool<unknown> {
  if (typeof execute !== 'function')
    throw invalidTool('execute', `"execute" of tool "${name}" must be a function`, execute);
  const { sequential, resource, idempotent, access, timeoutMs, summary, ...unknown } = capabilities;
  refuseUnknown(unknown, `tool "${name}"`, 'is no option of a tool');
  const live = Object.freeze({
    ...definedOf({ sequential, resource, idempotent, access, timeoutMs, summary }),
    execute,
  });
  return () => live as unknown as LiveTool<unknown>;
}

function definedOf(options: Record<(typeof CAPABILITIES)[number], unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function definition(
  name: string,
  produces: readonly string[],
  requires: readonly BindingName[],
  build: ToolDefinition[typeof BUILD],
  declared: ToolDefinition[typeof DECLARED],
): ToolDefinition {
  if (!Array.isArray(requires) || requires.some(binding => typeof binding !== 'string' || binding.trim() === '')) {
    throw invalidTool('requires', `"requires" of "${name}" must be a list of binding names`, requires);
  }
  const visible = { name, produces: Object.freeze([...produces]), requires: Object.freeze([...new Set(requires)]) };
  Object.defineProperty(visible, BUILD, { value: build });
  Object.defineProperty(visible, DECLARED, { value: declared });
  return Object.freeze(visible) as ToolDefinition;
}

function requireObject(options: unknown, caller: string): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidTool('options', `${caller} takes an object of options, not ${show(options)}`, options);
  }
}

function requireName(name: unknown): void {
  if (typeof name !== 'string' || name.trim() === '') {
    throw invalidTool('name', `"name" must be a nonblank string, not ${show(name)}`, name);
  }
}

function requireText(value: unknown, field: string, tool: string): void {
  if (typeof value !== 'string' || value.trim() === '') {
    throw invalidTool(field, `"${field}" of tool "${tool}" must say what the tool does, not ${show(value)}`, value);
  }
}

function requireToolName(name: string, field: string): void {
  const problem = problemWithToolName(name);
  if (problem !== undefined)
    throw new DefinitionError(problem.kind, { field, message: `${field}: ${problem.reason}`, value: name });
}

function refuseUnknown(rest: object, owner: string, why: string): void {
  const [key] = Object.keys(rest);
  if (key !== undefined) throw invalidTool(key, `"${key}" of ${owner} ${why}`, Reflect.get(rest, key));
}

function invalidTool(field: string, message: string, value?: unknown): DefinitionError {
  return new DefinitionError('invalid_tool', { field, message, value });
}

/** A value in a message: short, and never more than its kind for what is no plain value. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (value === null || ['number', 'boolean', 'undefined', 'bigint'].includes(typeof value)) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** What the model is told, from a name, a description and a schema. */
export function modelTool(name: string, description: string, schema: ResolvedSchema): ModelTool {
  return Object.freeze({ type: 'function', name, description, inputSchema: schema.jsonSchema });
}
