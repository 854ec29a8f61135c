import { describe, expect, test } from 'vitest';
import { DefinitionError } from '../errors.ts';
import { composeMiddlewares, type MiddlewareCall, resolveMiddlewares, type ToolMiddleware } from './middleware.ts';
import { type ToolResult, toolError, toolResult } from './tool.ts';

const call = (changes: Partial<MiddlewareCall> = {}): MiddlewareCall => ({
  callId: 'c1',
  toolName: 'read',
  sessionId: 's1',
  loopId: 'l1',
  turnId: 't1',
  stepId: 'st1',
  signal: new AbortController().signal,
  budget: { iterationsLeft: 1, callsLeft: 1, tokensLeft: 1 },
  progress: () => undefined,
  input: { path: 'a' },
  ...changes,
});

const terminal = async (input: unknown): Promise<ToolResult> => toolResult(JSON.stringify(input));
const textOf = ({ content }: ToolResult): unknown => content.map(part => (part.type === 'text' ? part.text : part));

const run = (list: readonly ToolMiddleware[], to = terminal, with_ = call()): Promise<ToolResult> => {
  const composed = composeMiddlewares(list);
  if (composed === undefined) throw new Error('an empty list');
  return composed(with_, to);
};

describe('a list of middlewares', () => {
  test('is copied and frozen', () => {
    const first: ToolMiddleware = (_, next) => next();
    const list = [first];
    const resolved = resolveMiddlewares(list);
    list.pop();

    expect(resolved).toEqual([first]);
    expect(Object.isFrozen(resolved)).toBe(true);
    expect(resolveMiddlewares(undefined)).toEqual([]);
  });

  test.each([
    { list: null, field: 'middlewares' },
    { list: terminal, field: 'middlewares' },
    { list: { 0: terminal }, field: 'middlewares' },
    { list: [terminal, null], field: 'middlewares[1]' },
    { list: [undefined], field: 'middlewares[0]' },
    { list: [{ execute: terminal }], field: 'middlewares[0]' },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { list: [terminal, , terminal], field: 'middlewares[1]' },
  ])('is refused at $field', ({ list, field }) => {
    const refused = () => resolveMiddlewares(list);

    expect(refused).toThrowError(DefinitionError);
    expect(refused).toThrowError(expect.objectContaining({ kind: 'invalid_middleware', field }));
  });
});

describe('a chain of middlewares', () => {
  test('is nothing for an empty list', () => {
    expect(composeMiddlewares([])).toBeUndefined();
  });

  test('runs the first listed outermost', async () => {
    const order: string[] = [];
    const named =
      (name: string): ToolMiddleware =>
      async (_, next) => {
        order.push(`${name} in`);
        const result = await next();
        order.push(`${name} out`);
        return result;
      };

    const result = await run([named('outer'), named('inner')], async input => {
      order.push('tool');
      return terminal(input);
    });

    expect(order).toEqual(['outer in', 'inner in', 'tool', 'inner out', 'outer out']);
    expect(textOf(result)).toEqual(['{"path":"a"}']);
  });

  test('hands a changed input on to the inner ones and the tool, and leaves the rest of the call as it is', async () => {
    const seen: MiddlewareCall[] = [];
    const original = call();
    const change: ToolMiddleware = (_, next) => next({ path: 'b' });
    const watch: ToolMiddleware = (inner, next) => {
      seen.push(inner);
      return next();
    };

    const result = await run([watch, change, watch], terminal, original);

    expect(textOf(result)).toEqual(['{"path":"b"}']);
    expect(seen[0]).toBe(original);
    expect(seen[1]).toMatchObject({ ...original, input: { path: 'b' }, progress: expect.any(Function) });
    expect(seen[1]?.signal).toBe(original.signal);
  });

  test('passes progress of a call with another input on', async () => {
    const updates: unknown[] = [];
    const report: ToolMiddleware = (inner, next) => {
      inner.progress('half');
      return next();
    };

    await run([(_, next) => next({}), report], terminal, call({ progress: update => updates.push(update) }));

    expect(updates).toEqual(['half']);
  });

  test('takes undefined as a changed input', async () => {
    const seen: unknown[] = [];
    await run([(_, next) => next(undefined)], async input => {
      seen.push(input);
      return toolResult('');
    });

    expect(seen).toEqual([undefined]);
  });

  test('may answer without running the tool', async () => {
    let runs = 0;
    const result = await run([async () => toolResult('cached')], async () => {
      runs += 1;
      return toolResult('');
    });

    expect(textOf(result)).toEqual(['cached']);
    expect(runs).toBe(0);
  });

  test('may run the rest again', async () => {
    let runs = 0;
    const retry: ToolMiddleware = async (_, next) => {
      const first = await next();
      return first.isError ? next() : first;
    };

    const result = await run([retry, (_, next) => next()], async () => {
      runs += 1;
      return runs === 1 ? toolError('not yet') : toolResult('now');
    });

    expect(textOf(result)).toEqual(['now']);
    expect(runs).toBe(2);
  });

  test('rejects with what a middleware throws, at once or later', async () => {
    const atOnce: ToolMiddleware = () => {
      throw new Error('at once');
    };

    await expect(run([atOnce])).rejects.toThrow('at once');
    await expect(run([(_, next) => next(), atOnce])).rejects.toThrow('at once');
    await expect(run([() => Promise.reject(new Error('later'))])).rejects.toThrow('later');
  });

  test('lets a middleware catch what the tool throws', async () => {
    const guard: ToolMiddleware = async (_, next) => next().catch(() => toolError('translated'));

    expect(textOf(await run([guard], () => Promise.reject(new Error('raw'))))).toEqual(['translated']);
  });
});
