/** Live tools: what a factory builds, what it is told about a call, and what it gives back. */
import type { JSONValue } from '../model/model.ts';
import { show } from '../show.ts';
import type { SchemaLike } from './schema.ts';

/** What a running tool knows about its call. */
export interface ToolCall {
  /** Unique, and the same again when the call is repeated after a crash: fit as an idempotency key. */
  readonly callId: string;
  /** The name that the model called. */
  readonly toolName: string;
  /** The session that it runs in. */
  readonly sessionId: string;
  /** The id of the loop in this session, the same after a restart. */
  readonly loopId: string;
  /** The turn that it belongs to. */
  readonly turnId: string;
  /** The step that it belongs to: one response of the model, with its calls. */
  readonly stepId: string;
  /** Aborted when the call is interrupted or its time is over. A tool that ignores it is left behind. */
  readonly signal: AbortSignal;
  /** What is left of the turn's limits. */
  readonly budget: ToolBudget;
  /** Tells readers how far the tool is: an ephemeral `tool.progress` event. Does nothing once the call is answered. */
  progress(update: JSONValue): void;
}

/** What is left of a turn's limits after the batch that the call belongs to; 0 for nothing. Give it to a turn of another session as its `budget`. */
export interface ToolBudget {
  /** How often the model may still ask for tools. */
  readonly iterationsLeft: number;
  /** How many calls it may still ask for. */
  readonly callsLeft: number;
  /** How many tokens it may still use; Infinity where there is no such limit. */
  readonly tokensLeft: number;
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
  /** What the model is shown, part by part. */
  readonly content: readonly ToolContent[];
  /** The model is told that the call failed. */
  readonly isError: boolean;
  /** The turn ends with this result once its whole batch is answered and committed, without another model call. */
  readonly endTurn: boolean;
}

/** What a tool may return: text, anything that JSON can carry, or a `ToolResult`. Nothing at all is an empty result, which the model reads as an error: a tool that only acts returns a word, such as `saved`. */
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

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** Runs one call. What it throws becomes an error result, by its message. */
export type ToolExecute<Input> = (input: Input, call: ToolCall) => MaybePromise<ToolReturn>;

/** A live tool: built by a factory, owned by one binding, disposed with it. */
export interface LiveTool<Input> extends ToolCapabilities<Input> {
  /** Runs one call, with the arguments as the tool's schema made them. */
  execute(input: Input, call: ToolCall): MaybePromise<ToolReturn>;
  [Symbol.asyncDispose]?(): PromiseLike<void>;
  [Symbol.dispose]?(): void;
}

/** What a model is told about a tool. */
export interface ToolInfo<Schema extends SchemaLike = SchemaLike> {
  /** The name that the model calls. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** What it takes: an object at its root. */
  readonly input: Schema;
}

/**
 * A live tool of a toolset, which also says what it is. `info` is read when it is bound, and again as each turn begins: its description and its
 * input may change meanwhile, its name stays.
 */
export interface ToolsetTool<Input = unknown> extends LiveTool<Input> {
  readonly info: ToolInfo;
}

/** Why what a live tool says about itself cannot be used, or `undefined`. Each capability is looked at once. */
export function problemWithCapabilities(tool: object): { readonly field: string; readonly reason: string } | undefined {
  for (const field of CAPABILITIES) {
    const value: unknown = Reflect.get(tool, field);
    const { fits, expected } = EXPECTED[field];
    if (value !== undefined && !fits(value)) return { field, reason: `must be ${expected}, not ${show(value)}` };
  }
  return undefined;
}

type CapabilityName = keyof ToolCapabilities<never>;

interface Check {
  fits(value: unknown): boolean;
  readonly expected: string;
}

const isBoolean: Check = { fits: value => typeof value === 'boolean', expected: 'true or false' };
const isFunction: Check = { fits: value => typeof value === 'function', expected: 'a function of the input' };
const EXPECTED: { readonly [Capability in CapabilityName]-?: Check } = {
  sequential: isBoolean,
  resource: isFunction,
  idempotent: isBoolean,
  access: isFunction,
  timeoutMs: {
    fits: value => typeof value === 'number' && value > 0,
    expected: 'a positive number of milliseconds',
  },
  summary: isFunction,
};

/** The names of all capabilities. */
export const CAPABILITIES: readonly CapabilityName[] = Object.keys(EXPECTED) as CapabilityName[];
