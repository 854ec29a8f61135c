import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import type { Workspace } from './bindings.ts';
import { defineTool, defineToolset, liveTool, type ToolCall, type ToolDefinition } from './tool.ts';

interface Input {
  path: string;
  line?: number | undefined;
}
const common = { name: 'read', description: 'Reads.' };

test('the input of execute is inferred from zod', () => {
  const definition = defineTool({
    ...common,
    input: z.object({ path: z.string(), line: z.number().optional() }),
    execute(input, call) {
      expectTypeOf(input).toEqualTypeOf<Input>();
      expectTypeOf(call).toEqualTypeOf<ToolCall>();
      return input.path;
    },
    resource: ({ path }) => path,
    summary: ({ path }) => `read ${path}`,
    access: ({ path }) => [{ action: 'fs.read', target: path }],
  });

  expectTypeOf(definition).toEqualTypeOf<ToolDefinition>();
});

test('the input is what a schema makes of it, not what it takes', () => {
  defineTool({
    ...common,
    input: z.object({ n: z.coerce.number<string>().default(1) }),
    execute: input => {
      expectTypeOf(input).toEqualTypeOf<{ n: number }>();
    },
  });
});

test('the input of execute is inferred from valibot', () => {
  defineTool({
    ...common,
    input: toStandardJsonSchema(v.object({ path: v.string(), line: v.optional(v.number()) })),
    execute: input => {
      expectTypeOf(input).toEqualTypeOf<Input>();
    },
  });
});

test('the input of execute is inferred from arktype', () => {
  defineTool({
    ...common,
    input: type({ path: 'string', 'line?': 'number' }),
    execute: input => {
      expectTypeOf(input).toEqualTypeOf<{ path: string; line?: number }>();
    },
  });
});

test('the input of execute is inferred from a JSON Schema literal', () => {
  defineTool({
    ...common,
    input: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        line: { type: 'integer' },
        mode: { enum: ['fast', 'slow'] },
        fixed: { const: 3 },
        either: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        tags: { type: 'array', items: { type: 'boolean' } },
        anything: { type: 'array' },
        nested: { type: 'object', properties: { deep: { type: 'number' } }, required: ['deep'] },
        open: { type: 'object' },
        odd: { description: 'untyped' },
      },
      required: ['path', 'nested'],
    },
    execute: input => {
      expectTypeOf(input).toEqualTypeOf<{
        path: string;
        nested: { deep: number };
        line?: number;
        mode?: 'fast' | 'slow';
        fixed?: 3;
        either?: string | null;
        tags?: boolean[];
        anything?: unknown[];
        open?: Record<string, unknown>;
        odd?: unknown;
      }>();
    },
  });
});

test('create may return a function or a live tool, both typed from the input', () => {
  const input = z.object({ path: z.string() });

  defineTool({
    ...common,
    input,
    create: () => read => {
      expectTypeOf(read).toEqualTypeOf<{ path: string }>();
      return read.path;
    },
  });
  defineTool({
    ...common,
    input,
    create: async () => ({
      sequential: true,
      execute: read => {
        expectTypeOf(read).toEqualTypeOf<{ path: string }>();
        return read.path;
      },
      [Symbol.dispose]() {},
    }),
  });
});

test('create gets the two ids and exactly what it requires', () => {
  defineTool({
    ...common,
    input: { type: 'object' },
    requires: ['workspace'],
    create: bindings => {
      expectTypeOf(bindings.sessionId).toEqualTypeOf<string>();
      expectTypeOf(bindings.loopId).toEqualTypeOf<string>();
      expectTypeOf(bindings.workspace).toEqualTypeOf<Workspace>();
      // @ts-expect-error it did not ask for secrets
      void bindings.secrets;
      return () => '';
    },
  });
  defineTool({
    ...common,
    input: { type: 'object' },
    // @ts-expect-error nothing was asked for
    create: ({ workspace }) => {
      return () => String(workspace);
    },
  });
  defineToolset({
    name: 'files',
    produces: ['read'],
    requires: ['secrets'],
    create: bindings => {
      expectTypeOf(bindings.secrets.get('key')).toEqualTypeOf<string | undefined>();
      // @ts-expect-error it did not ask for a workspace
      void bindings.workspace;
      return [];
    },
  });
});

test('the tools of a toolset are typed each from its own input', () => {
  defineToolset({
    name: 'files',
    produces: ['read', 'count'],
    create: () => [
      liveTool({
        info: { name: 'read', description: '', input: z.object({ path: z.string() }) },
        execute: ({ path }) => {
          expectTypeOf(path).toEqualTypeOf<string>();
          return path;
        },
      }),
      liveTool({
        info: { name: 'count', description: '', input: { type: 'object', properties: { n: { type: 'number' } } } },
        execute: input => {
          expectTypeOf(input).toEqualTypeOf<{ n?: number }>();
        },
      }),
    ],
  });
});

test('wrong uses do not compile', () => {
  const input = { type: 'object' } as const;
  const define = () => {
    // @ts-expect-error both create and execute
    defineTool({ ...common, input, create: () => () => '', execute: () => '' });
    // @ts-expect-error neither create nor execute
    defineTool({ ...common, input });
    // @ts-expect-error an unknown option
    defineTool({ ...common, input, execute: () => '', timeout: 5 });
    // @ts-expect-error a capability beside create
    defineTool({ ...common, input, create: () => () => '', sequential: true });
    // @ts-expect-error no description
    defineTool({ name: 'read', input, execute: () => '' });
    // @ts-expect-error no input
    defineTool({ ...common, execute: () => '' });
    // @ts-expect-error an input that is no schema
    defineTool({ ...common, input: 'object', execute: () => '' });
    // @ts-expect-error an executor of another input
    defineTool({ ...common, input: z.object({ n: z.number() }), execute: ({ n }: { n: string }) => n });
    // @ts-expect-error a binding that nobody knows
    defineTool({ ...common, input, requires: ['databse'], create: () => () => '' });
    // @ts-expect-error create returns no tool
    defineTool({ ...common, input, create: () => ({ run: () => '' }) });
    // @ts-expect-error a toolset without names
    defineToolset({ name: 'files', create: () => [] });
    // @ts-expect-error a toolset's tool without info
    defineToolset({ name: 'files', produces: ['read'], create: () => [{ execute: () => '' }] });
    // @ts-expect-error a definition cannot be written by hand
    const byHand: ToolDefinition = { name: 'read', produces: ['read'], requires: [] };
    return byHand;
  };

  expectTypeOf(define).toBeFunction();
});

test('a definition is read-only', () => {
  const change = (definition: ToolDefinition) => {
    // @ts-expect-error frozen
    definition.name = 'other';
    // @ts-expect-error frozen
    definition.produces.push('other');
  };

  expectTypeOf(change).toBeFunction();
});
