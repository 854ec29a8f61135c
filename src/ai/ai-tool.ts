/** One AI SDK tool: what it is and whether a loop can run it, and its run. */
import { asSchema, type ToolSet } from 'ai';
import { DefinitionError, type ToolCall, type ToolReturn } from '../index.ts';
import { type ModelOutput, resultOfOutput } from './model-output.ts';

/** A tool that a loop can run. */
export interface RunnableTool {
  readonly description: string;
  readonly inputSchema: unknown;
  /** Whether a call with this input has to be approved; `undefined` for a tool that never asks. */
  readonly needsApproval: ((input: unknown) => Promise<boolean>) | undefined;
  readonly execute: (input: unknown, call: ToolCall) => Promise<ToolReturn>;
}

/** What is used of an AI SDK tool, whichever types it was made with. */
interface AITool {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly contextSchema?: Parameters<typeof asSchema>[0];
  readonly needsApproval?: unknown;
  execute?(input: unknown, options: object): unknown;
  toModelOutput?(options: object): ModelOutput | PromiseLike<ModelOutput>;
}

/** Callbacks of AI SDK that no loop calls. */
const CALLBACKS = ['onInputStart', 'onInputDelta', 'onInputAvailable'] as const;

/** Reads a tool, or throws `DefinitionError` `invalid_tool` with why no loop can run it. */
export function runnableTool(name: string, given: ToolSet[string] | undefined, context: unknown): RunnableTool {
  const refuse = (field: string, message: string): DefinitionError =>
    new DefinitionError('invalid_tool', { field: field === '' ? name : `${name}.${field}`, message });
  if (typeof given !== 'object' || given === null) {
    throw refuse('', `tool "${name}" must be made by tool() or dynamicTool() of AI SDK`);
  }
  const tool = given as AITool;
  const { type } = tool;
  if (type !== undefined && type !== 'function' && type !== 'dynamic') {
    const which = typeof tool.id === 'string' ? ` (${tool.id})` : '';
    throw refuse('type', `tool "${name}" is defined by a model provider${which}: a loop runs only tools of your own`);
  }
  if (typeof tool.execute !== 'function') {
    const why = 'a turn runs its tools on the server, and waits for no page';
    throw refuse('execute', `tool "${name}" has no "execute": give it one; ${why}`);
  }
  const callback = CALLBACKS.find(one => Reflect.get(tool, one) !== undefined);
  if (callback !== undefined) {
    const instead = 'leave it out, and read the events of the turn instead (tool.input.delta, tool.called)';
    throw refuse(callback, `tool "${name}" has "${callback}", which a loop never calls: ${instead}`);
  }
  const description = descriptionOf(tool, context);
  if (typeof description !== 'string' || description.trim() === '') {
    throw refuse('description', `"description" of tool "${name}" must say what the tool does`);
  }
  return {
    description,
    inputSchema: tool.inputSchema,
    needsApproval: approvalOf(name, tool, context),
    execute: (input, call) => run(name, tool, context, input, call),
  };
}

function descriptionOf({ description }: AITool, context: unknown): unknown {
  return typeof description === 'function' ? description({ context }) : description;
}

function approvalOf(name: string, tool: AITool, context: unknown): RunnableTool['needsApproval'] {
  const { needsApproval } = tool;
  if (needsApproval === undefined || needsApproval === false) return undefined;
  if (typeof needsApproval !== 'function') return async () => true; // `true`, or a slip: then it asks
  return async input => {
    const options = { toolCallId: '', messages: [], context: await checkedContext(name, tool, context) };
    return (await needsApproval.call(tool, input, { ...options, experimental_context: options.context })) !== false;
  };
}

async function run(name: string, tool: AITool, given: unknown, input: unknown, call: ToolCall): Promise<ToolReturn> {
  const { callId: toolCallId, signal } = call;
  const context = await checkedContext(name, tool, given);
  const options = { toolCallId, messages: [], abortSignal: signal, context, experimental_context: context };
  const returned = tool.execute?.(input, options);
  const output = isAsyncIterable(returned) ? await lastOf(returned, call) : await returned;
  if (typeof tool.toModelOutput !== 'function') return output as ToolReturn;
  return resultOfOutput(await tool.toModelOutput({ toolCallId, input, output }));
}

async function checkedContext(name: string, { contextSchema }: AITool, context: unknown): Promise<unknown> {
  if (contextSchema === undefined) return context;
  const checked = await asSchema(contextSchema).validate?.(context);
  if (checked === undefined) return context;
  if (checked.success) return checked.value;
  throw new TypeError(`"toolsContext" of tool "${name}" does not fit its contextSchema`);
}

/** Each value is progress; the last one is the output. Stops at the next value once the call is to stop. */
async function lastOf(values: AsyncIterable<unknown>, call: ToolCall): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    call.signal.throwIfAborted();
    last = value;
    call.progress(value as Parameters<ToolCall['progress']>[0]);
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
