/** Delegates: a loop as a tool of another. The child is a session of its own, bounded by its own limits and by what its caller has left. */
import type { Delegation } from '../define/bindings.ts';
import type { ToolLimits } from '../define/limits.ts';
import type { LoopDefinition } from '../define/loop.ts';
import { type Refusal, readTyped } from '../define/options.ts';
import type { InferSchema, SchemaLike } from '../define/schema.ts';
import { defineTool, type ToolCall, type ToolDefinition } from '../define/tool.ts';
import { DefinitionError } from '../errors.ts';
import type { SessionEvent, TurnEvent } from '../events/events.ts';
import { show } from '../show.ts';

/** What `delegate` takes. */
export interface DelegateOptions<Schema extends SchemaLike = SchemaLike> {
  /** What the delegate is good for, for the model that may call it. */
  readonly description: string;
  /** The name of the tool. Default: the loop's. */
  readonly name?: string;
  /** What the model gives it. Default: `{ task: string }`; another one needs `prompt`. */
  readonly input?: Schema;
  /** The user message of the child, from the input. Default: the task. */
  readonly prompt?: (input: InferSchema<Schema>) => string;
  /** Limits of the child's turn, over the loop's own. It is bounded by what its caller has left in any case. */
  readonly limits?: ToolLimits;
  /**
   * How deep delegates may nest: a session that nobody delegated to is at depth 0, and at `maxDepth` the tool is not offered. Default 2.
   */
  readonly maxDepth?: number;
}

const TASK = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What is to be done, with all that one has to know for it.' } },
  required: ['task'],
  additionalProperties: false,
} as const;

const OPTIONS = ['description', 'name', 'input', 'prompt', 'limits', 'maxDepth'] as const;

interface Delegate {
  readonly loop: LoopDefinition;
  readonly maxDepth: number;
}

const delegates = new WeakMap<ToolDefinition, Delegate>();

/** The depth at which a definition is not offered any more; Infinity for one that is no delegate. */
export function maxDepthOf(definition: ToolDefinition): number {
  return delegates.get(definition)?.maxDepth ?? Number.POSITIVE_INFINITY;
}

/** The loop of this name that `caller` may delegate to. Of several, that of the same behaviour. */
export function delegateOf(caller: LoopDefinition, name: string, policyRevision: string): LoopDefinition | undefined {
  const loops = caller.tools().flatMap(tool => delegates.get(tool)?.loop ?? []);
  const named = loops.filter(loop => loop.name === name);
  return named.find(loop => loop.policyRevision === policyRevision) ?? named[0];
}

/**
 * Makes a loop a tool of another. A call opens a child session in the same store, with a history of its own, and gives its answer, or an error
 * result if it got none. Its calls and tokens count for the caller's turn as well as for its own, together with those of other delegates; it is
 * interrupted with its caller, and taken up again with it after a crash, where it stood. Its events come as progress of the call
 * (`delegateEventOf`), and its gates are among `session.gates` of the caller. Throws `DefinitionError`.
 */
export function delegate<const Schema extends SchemaLike = typeof TASK>(
  loop: LoopDefinition,
  options: DelegateOptions<Schema>,
): ToolDefinition {
  const given = readTyped(options, OPTIONS, 'a delegate', invalid);
  const { description, name = loop?.name, input, prompt, limits, maxDepth = 2 } = given;
  if (input !== undefined && typeof prompt !== 'function') {
    throw invalid(
      'prompt',
      'a delegate with an input of its own needs "prompt", which makes the child’s message of it',
    );
  }
  if (!Number.isInteger(maxDepth) || maxDepth < 1) {
    throw invalid('maxDepth', `"maxDepth" must be a positive integer, not ${show(maxDepth)}`);
  }
  const message = (given: unknown): string =>
    prompt === undefined ? (given as { task: string }).task : prompt(given as InferSchema<Schema>);
  const definition = defineTool({
    ...{ name, description, input: (input ?? TASK) as SchemaLike },
    requires: ['delegation'],
    create: ({ delegation }: { readonly delegation: Delegation }) => ({
      idempotent: true, // the child session has the call's id: it is taken up, not begun again
      summary: (given: unknown) => message(given),
      execute: (given: unknown, call: ToolCall) =>
        delegation.run({ loop, message: message(given), ...(limits === undefined ? {} : { limits }) }, call),
    }),
  });
  delegates.set(definition, { loop, maxDepth });
  return definition;
}

/** An event of a delegate, as its caller's turn tells it. */
export interface DelegateEvent {
  /** The child session. */
  readonly sessionId: string;
  readonly event: SessionEvent;
}

/** The delegate's event that a `tool.progress` event carries; `undefined` for any other event. Those of a delegate's delegate are within. */
export function delegateEventOf(event: TurnEvent): DelegateEvent | undefined {
  if (event.type !== 'tool.progress') return undefined;
  const { update } = event;
  const isDelegates = typeof update === 'object' && update !== null && Reflect.get(update, 'type') === DELEGATE_EVENT;
  return isDelegates ? (update as unknown as DelegateEvent) : undefined;
}

/** What marks the progress of a delegate. */
export const DELEGATE_EVENT = 'looprig.delegate';

const invalid: Refusal = (field, message, details = {}) =>
  new DefinitionError('invalid_tool', { field: field === '' ? 'options' : field, message, ...details });
