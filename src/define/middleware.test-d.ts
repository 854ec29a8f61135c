import { expectTypeOf, test } from 'vitest';
import type { MiddlewareCall, MiddlewareNext, ToolMiddleware } from './middleware.ts';
import { type ToolResult, toolError, toolResult } from './tool.ts';

test('a middleware is a function of the call and the rest of the chain', () => {
  const pass: ToolMiddleware = (call, next) => {
    expectTypeOf(call).toEqualTypeOf<MiddlewareCall>();
    expectTypeOf(call.input).toEqualTypeOf<unknown>();
    expectTypeOf(next).toEqualTypeOf<MiddlewareNext>();
    expectTypeOf(next({ changed: true })).toEqualTypeOf<Promise<ToolResult>>();
    return next();
  };
  const answer: ToolMiddleware = async () => toolResult('cached');
  const retry: ToolMiddleware = async (_, next) => {
    const first = await next();
    return first.isError ? next() : first;
  };

  expectTypeOf([pass, answer, retry]).toEqualTypeOf<ToolMiddleware[]>();
});

test('a middleware that does not return a result does not compile', () => {
  // @ts-expect-error the return is forgotten
  const forgotten: ToolMiddleware = async (_, next) => {
    await next();
  };
  // @ts-expect-error the return is forgotten in one branch
  const sometimes: ToolMiddleware = async (call, next) => {
    if (call.toolName === 'read') return next();
  };
  // @ts-expect-error a text is no result
  const text: ToolMiddleware = async () => 'done';
  // @ts-expect-error an object of the same look is no result: toolResult makes one
  const lookalike: ToolMiddleware = async () => ({ content: [], isError: false, endTurn: false });
  // @ts-expect-error a result that is not a promise
  const atOnce: ToolMiddleware = () => toolError('no');

  expectTypeOf([forgotten, sometimes, text, lookalike, atOnce]).toEqualTypeOf<ToolMiddleware[]>();
});
