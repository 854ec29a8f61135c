/**
 * Middlewares: an onion around the validated execution of a call. One tool call is followed through four files: the turn
 * decides to go on (`run/turn.ts`), the batch decides whether and when it starts (`run/batch.ts`), the call is run and
 * finished (`run/call.ts`), and between those stand the middlewares of this file.
 */
import { DefinitionError } from '../errors.ts';
import { show } from '../show.ts';
import type { ToolCall, ToolResult } from './live-tool.ts';
import { copyList } from './options.ts';

/** What a middleware is told about the call that it wraps. `input` has been validated. */
export interface MiddlewareCall extends ToolCall {
  /** The arguments, as the schema of the tool made them. */
  readonly input: unknown;
}

/**
 * Runs the rest of the chain and the tool. Without an argument the input stays; an argument replaces it, and is not validated
 * again. May be called again (a retry) or not at all (an answer instead). Once the call is stopped it runs nothing, and throws the signal's reason.
 */
export type MiddlewareNext = (input?: unknown) => Promise<ToolResult>;

/** Wraps each call of a loop. What it throws becomes the call's error result, and touches no other call. */
export type ToolMiddleware = (call: MiddlewareCall, next: MiddlewareNext) => Promise<ToolResult>;

/** A chain of middlewares as one function: runs them round `terminal`, which runs the tool. */
export type ComposedMiddleware = (
  call: MiddlewareCall,
  terminal: (input: unknown) => Promise<ToolResult>,
) => Promise<ToolResult>;

/** Takes a list of middlewares, or throws `invalid_middleware` with the place of what is none. */
export function resolveMiddlewares(list: unknown): readonly ToolMiddleware[] {
  if (list === undefined) return Object.freeze([]);
  const middlewares = copyList(list);
  if (middlewares === undefined) {
    const message = `"middlewares" must be a list of functions, not ${show(list)}`;
    throw new DefinitionError('invalid_middleware', { field: 'middlewares', message, value: list });
  }
  middlewares.forEach((middleware, index) => {
    if (typeof middleware === 'function') return;
    const field = `middlewares[${index}]`;
    const message = `${field} must be a function (call, next) => result, not ${show(middleware)}`;
    throw new DefinitionError('invalid_middleware', { field, message, value: middleware });
  });
  return Object.freeze(middlewares) as readonly ToolMiddleware[];
}

/** Makes one function of a list, the first outermost. `undefined` for an empty list, so that a call without middlewares pays for none. */
export function composeMiddlewares(list: readonly ToolMiddleware[]): ComposedMiddleware | undefined {
  if (list.length === 0) return undefined;
  return (call, terminal) => {
    const dispatch = async (index: number, input: unknown): Promise<ToolResult> => {
      const middleware = list[index];
      if (middleware === undefined) return terminal(input);
      const seen = input === call.input ? call : withInput(call, input);
      return middleware(seen, (...changed) => dispatch(index + 1, changed.length > 0 ? changed[0] : input));
    };
    return dispatch(0, call.input);
  };
}

/** The same call with another input. Everything else is read through, the signal only when it is asked for. */
function withInput(call: MiddlewareCall, input: unknown): MiddlewareCall {
  const { callId, toolName, sessionId, loopId, turnId, stepId, budget } = call;
  return {
    ...{ callId, toolName, sessionId, loopId, turnId, stepId, budget, input },
    get signal() {
      return call.signal;
    },
    progress: update => call.progress(update),
  };
}
