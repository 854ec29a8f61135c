/** Tools written for AI SDK, as definitions of looprig. */
import type { InferToolInput, Tool, ToolSet } from 'ai';
import { type Refusal, readTyped } from '../define/options.ts';
import {
  type AccessRequest,
  DefinitionError,
  defineTool,
  defineToolset,
  type LiveTool,
  type MaybePromise,
  type SchemaLike,
  type ToolCapabilities,
  type ToolDefinition,
} from '../index.ts';
import { reasonOf } from '../reason.ts';
import { type RunnableTool, runnableTool } from './ai-tool.ts';
import { isThenable, jsonText, schemaOf } from './input-schema.ts';

/** Options of `fromAISDK`, each a record by the name of a tool. */
export interface FromAISDKOptions<Tools extends ToolSet = ToolSet> {
  /** What a tool is handed as `context`. It is shared by all sessions. Default: none. */
  readonly toolsContext?: { readonly [Name in keyof Tools]?: unknown };
  /**
   * What looprig can be told of a tool beyond what AI SDK knows: `access`, `resource`, `sequential`, `idempotent`, `timeoutMs`, `summary`.
   * A tool whose `needsApproval` says yes asks all the same if its `access` here names nothing.
   */
  readonly capabilities?: { readonly [Name in keyof Tools]?: ToolCapabilities<InputOf<Tools[Name]>> };
}

type InputOf<T> = T extends Tool ? InferToolInput<T> : unknown;

/**
 * Makes a definition of each `tool()` or `dynamicTool()`, in the order of the record, for the `tools` of a loop. Its arguments are checked by its own
 * schema, `execute` may stream (each value is progress, the last one is the result), `toModelOutput` is what the model is shown, and `needsApproval`
 * is an access request with the action `tool.<name>` and the arguments, as JSON, as its target.
 *
 * Throws `DefinitionError` for a name that providers refuse, a schema that cannot be used, a tool without `description` or `execute`, a tool that a
 * provider defines, and callbacks that a loop never calls (`onInputStart`, `onInputDelta`, `onInputAvailable`).
 */
export function fromAISDK<Tools extends ToolSet>(
  tools: Tools,
  options: FromAISDKOptions<Tools> = {},
): readonly ToolDefinition[] {
  if (typeof tools !== 'object' || tools === null || Array.isArray(tools)) {
    throw new DefinitionError('invalid_tool', {
      field: 'tools',
      message: '"tools" must be a record of AI SDK tools by their names, as streamText takes it',
      value: tools,
    });
  }
  const { toolsContext, capabilities } = readTyped(options, OPTIONS, 'fromAISDK', refuse);
  requireNamed(tools, { toolsContext, capabilities });
  const definitions = Object.keys(tools).map(name => {
    const context = own(toolsContext, name);
    const tool = runnableTool(name, tools[name], context);
    return definitionOf(name, tool, own(capabilities, name) as ToolCapabilities<never> | undefined);
  });
  return Object.freeze(definitions);
}

const OPTIONS = ['toolsContext', 'capabilities'] as const;

const refuse: Refusal = (field, message, details = {}) =>
  new DefinitionError('invalid_tool', { field: field === '' ? 'options' : field, message, ...details });

/** A name that is no tool's is a slip: what was said for it would be lost. */
function requireNamed(
  tools: ToolSet,
  given: { readonly [Option in (typeof OPTIONS)[number]]: object | undefined },
): void {
  for (const option of OPTIONS) {
    const unknown = Object.keys(given[option] ?? {}).find(name => !Object.hasOwn(tools, name));
    if (unknown === undefined) continue;
    const message = `"${option}" names the tool "${unknown}", but there is none: there is ${Object.keys(tools).join(', ') || 'no tool at all'}`;
    throw new DefinitionError('invalid_tool', { field: `${option}.${unknown}`, message });
  }
}

function own(record: { readonly [name: string]: unknown } | undefined, name: string): unknown {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

function definitionOf(
  name: string,
  tool: RunnableTool,
  capabilities: ToolCapabilities<never> | undefined,
): ToolDefinition {
  const { description } = tool;
  const live = { ...capabilities, ...accessOf(name, tool, capabilities), execute: tool.execute } as LiveTool<unknown>;
  const schema = readSchema(name, tool);
  if (!isThenable(schema)) return defineTool({ ...live, name, description, input: schema });
  const input = Promise.resolve(schema);
  input.catch(() => {}); // told by whoever binds the tool, once it is needed
  const create = async () => [{ ...live, info: { name, description, input: await input } }];
  return defineToolset({ name, produces: [name], create });
}

function readSchema(name: string, tool: RunnableTool): MaybePromise<SchemaLike> {
  try {
    return schemaOf(tool.inputSchema);
  } catch (cause) {
    const reason = reasonOf(cause, 'it cannot be read');
    const message = `"inputSchema" of tool "${name}" cannot be used: ${reason}`;
    throw new DefinitionError('invalid_tool_schema', { field: 'inputSchema', message, cause });
  }
}

type Access = (input: unknown) => Promise<readonly AccessRequest[]>;

/** What the tool says for itself goes first; that it needs an approval is never lost. */
function accessOf(
  name: string,
  { needsApproval }: RunnableTool,
  capabilities: ToolCapabilities<never> | undefined,
): { readonly access?: Access } {
  if (needsApproval === undefined) return {};
  const said = capabilities?.access as ((input: unknown) => MaybePromise<readonly AccessRequest[]>) | undefined;
  return {
    access: async input => {
      const wanted = (await said?.(input)) ?? [];
      if (wanted.length > 0 || !(await needsApproval(input))) return wanted;
      return [{ action: `tool.${name}`, target: jsonText(input) }];
    },
  };
}
