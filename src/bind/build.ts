/** One definition's factory, run and checked: what it returned becomes bound tools, or the bind is refused. */
import type { BindingName, FactoryBindings } from '../define/bindings.ts';
import { type LiveTool, problemWithCapabilities } from '../define/live-tool.ts';
import { copyList } from '../define/options.ts';
import type { ResolvedSchema } from '../define/schema.ts';
import { BUILD, DECLARED, problemWithToolName, resolveInput, type ToolDefinition } from '../define/tool.ts';
import { BindError, type BindErrorKind } from '../errors.ts';
import { reasonOf } from '../reason.ts';
import { isList, show } from '../show.ts';
import { BoundTool } from './bound-loop.ts';

/** Whose tools they will be. */
export interface Owner {
  readonly sessionId: string;
  readonly loopId: string;
}

/** What a toolset's tool says it is, as it was read. */
type ReadInfo = { readonly [Part in 'name' | 'description' | 'input']?: unknown };

interface CheckedInfo {
  readonly name: string;
  readonly description: string;
  readonly schema: ResolvedSchema;
}

/** Runs the factory once. Throws `BindError` `factory_failed`. */
export async function runFactory(definition: ToolDefinition, bindings: FactoryBindings<BindingName>): Promise<unknown> {
  try {
    return await definition[BUILD](bindings);
  } catch (cause) {
    const message = `the factory of "${definition.name}" failed: ${reasonOf(cause)}`;
    throw new BindError('factory_failed', message, { definition: definition.name, cause });
  }
}

/** Checks what a factory returned. Throws `BindError`: `invalid_tool`, `invalid_tool_info`, `produced_names_mismatch`, looked for in this order. */
export function checkBuilt(definition: ToolDefinition, returned: unknown, owner: Owner): readonly BoundTool[] {
  const declared = definition[DECLARED];
  const live = declared === undefined ? toolsetTools(definition, returned) : [liveTool(definition, returned, 0)];
  const read = declared === undefined ? live.map((tool, index) => readInfo(definition, tool, index)) : undefined;
  const infos = read?.map((info, index) => checkInfo(definition, info, index)) ?? [
    { ...declared!, name: definition.name },
  ];
  requireDeclaredNames(
    definition,
    infos.map(({ name }) => name),
  );
  return infos.map((info, index) => {
    const tool = live[index]!;
    const build = (told: CheckedInfo, renew?: () => BoundTool | undefined): BoundTool => {
      const { name, description, schema } = told;
      const shown = Object.freeze({ name, description, inputSchema: schema.jsonSchema });
      return new BoundTool(shown, definition.name, schema, tool, owner, renew);
    };
    return build(info, read && renewal(definition, tool, index, read[index]!, build));
  });
}

/**
 * Looks again at what a toolset's tool says of itself: gives the tool that it has become since, the same one until it changes again. It keeps
 * its name, and what it was before where it says nothing that can be used.
 */
function renewal(
  definition: ToolDefinition,
  tool: object,
  index: number,
  bound: ReadInfo,
  build: (told: CheckedInfo) => BoundTool,
): () => BoundTool | undefined {
  let last = bound;
  let renewed: BoundTool | undefined;
  return () => {
    try {
      const read = readInfo(definition, tool, index);
      if (read.input === last.input && read.description === last.description) return renewed;
      last = read;
      renewed = build(checkInfo(definition, { ...read, name: bound.name }, index));
    } catch {
      // whoever calls the tool is told what is wrong with it
    }
    return renewed;
  };
}

function toolsetTools(definition: ToolDefinition, returned: unknown): readonly LiveTool<unknown>[] {
  const tools = copyList(returned);
  if (tools === undefined) {
    throw refuse('invalid_tool', definition, 0, `must return a list of live tools, not ${show(returned)}`);
  }
  return tools.map((tool, index) => {
    if (typeof tool !== 'function') return liveTool(definition, tool, index);
    throw refuse('invalid_tool', definition, index, `returned a function at index ${index}, not { info, execute }`);
  });
}

function liveTool(definition: ToolDefinition, returned: unknown, index: number): LiveTool<unknown> {
  if (typeof returned === 'function') return Object.freeze({ execute: returned as LiveTool<unknown>['execute'] });
  const at = `at index ${index}`;
  if (typeof returned !== 'object' || returned === null || isList(returned)) {
    throw refuse('invalid_tool', definition, index, `returned ${show(returned)} ${at}, not a live tool`);
  }
  let problem: string | undefined;
  try {
    problem = problemWithLiveTool(returned);
  } catch (cause) {
    throw refuse('invalid_tool', definition, index, `returned an object ${at} that cannot be read`, { cause });
  }
  if (problem !== undefined) throw refuse('invalid_tool', definition, index, `returned a tool ${at} ${problem}`);
  return returned as LiveTool<unknown>;
}

function problemWithLiveTool(tool: object): string | undefined {
  const execute: unknown = Reflect.get(tool, 'execute');
  if (typeof execute !== 'function') return `whose "execute" is ${show(execute)}, not a function`;
  const problem = problemWithCapabilities(tool);
  return problem && `whose "${problem.field}" ${problem.reason}`;
}

/** What a toolset's tool says it is, from one reading of its `info`, so that it cannot say one thing here and another to the model. */
function checkInfo(definition: ToolDefinition, { name, description, input }: ReadInfo, index: number): CheckedInfo {
  if (typeof name !== 'string' || name.trim() === '') {
    throw refuse('invalid_tool_info', definition, index, `built a tool at index ${index} whose name is ${show(name)}`);
  }
  const wrong = (reason: string, cause?: unknown): BindError =>
    refuse('invalid_tool_info', definition, index, `built a tool at index ${index}: ${reason}`, {
      tool: name,
      ...(cause === undefined ? {} : { cause }),
    });
  const problem = problemWithToolName(name);
  if (problem !== undefined) throw wrong(problem.reason);
  if (typeof description !== 'string') {
    throw wrong(`the description of "${name}" must be a string, not ${show(description)}`);
  }
  try {
    return { name, description, schema: resolveInput(input, 'input', name) };
  } catch (cause) {
    throw wrong(reasonOf(cause), cause);
  }
}

function readInfo(definition: ToolDefinition, tool: object, index: number): ReadInfo {
  let info: unknown;
  try {
    info = Reflect.get(tool, 'info');
    if (typeof info === 'object' && info !== null) {
      const { name, description, input } = info as ReadInfo;
      return { name, description, input };
    }
  } catch (cause) {
    const message = `built a tool at index ${index} whose "info" cannot be read`;
    throw refuse('invalid_tool_info', definition, index, message, { cause });
  }
  const message = `built a tool at index ${index} whose "info" is ${show(info)}, not { name, description, input }`;
  throw refuse('invalid_tool_info', definition, index, message);
}

function requireDeclaredNames(definition: ToolDefinition, actual: readonly string[]): void {
  const declared = definition.produces;
  const isSame = actual.length === declared.length && declared.every(name => actual.includes(name));
  if (isSame) return;
  const listed = (names: readonly string[]): string => `[${names.join(', ')}]`;
  const message = `the factory of "${definition.name}" built ${listed(actual)}, but declares ${listed(declared)}`;
  throw new BindError('produced_names_mismatch', message, {
    definition: definition.name,
    declared,
    actual: Object.freeze([...actual]),
  });
}

/** The error for what the factory returned at `index`. `what` ends a sentence that begins with the factory. */
function refuse(
  kind: BindErrorKind,
  definition: ToolDefinition,
  index: number,
  what: string,
  details: { readonly tool?: string; readonly cause?: unknown } = {},
): BindError {
  const declared = definition[DECLARED] === undefined ? undefined : definition.name;
  const tool = details.tool ?? declared;
  const message = `the factory of "${definition.name}" ${what}`;
  return new BindError(kind, message, { ...details, definition: definition.name, tool, index });
}
