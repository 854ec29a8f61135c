import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { DefinitionError } from '../errors.ts';
import type { FactoryBindings } from './bindings.ts';
import {
  BUILD,
  DECLARED,
  defineTool,
  defineToolset,
  isToolDefinition,
  isToolResult,
  liveTool,
  modelTool,
  resolveInput,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type ToolContent,
  toolError,
  toolResult,
} from './tool.ts';

const input = { type: 'object' } as const;
const execute = () => 'done';
const ids = { sessionId: 's1', loopId: 'l1' };

/** What a `define…` function refuses, given options that its types refuse too. */
const refusal = (define: (options: never) => unknown, options: unknown): DefinitionError => {
  try {
    define(options as never);
  } catch (error) {
    if (DefinitionError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

const toolRefusal = (changes: object): DefinitionError =>
  refusal(defineTool, { name: 'read', description: 'Reads.', input, execute, ...changes });
const toolsetRefusal = (changes: object): DefinitionError =>
  refusal(defineToolset, { name: 'files', produces: ['read'], create: () => [], ...changes });

const build = (definition: ReturnType<typeof defineTool>): Promise<unknown> =>
  definition[BUILD](ids as FactoryBindings<never> as never);

const BAD_NAMES = ['with space', 'a.b', 'basic/search', 'ä', 'x'.repeat(65), ' read', 'read\n', 'read\u0000'];

describe('defineTool with create', () => {
  test('gives a frozen definition with name, produces and requires', () => {
    const definition = defineTool({ name: 'read', description: 'Reads.', input, create: () => execute });

    expect(definition).toEqual({ name: 'read', produces: ['read'], requires: [] });
    expect(Object.isFrozen(definition)).toBe(true);
    expect(Object.isFrozen(definition.produces)).toBe(true);
    expect(Object.isFrozen(definition.requires)).toBe(true);
  });

  test('runs create once per build, and never at definition', async () => {
    const seen: unknown[] = [];
    const definition = defineTool({
      name: 'read',
      description: 'Reads.',
      input,
      create: bindings => {
        seen.push(bindings);
        return execute;
      },
    });
    expect(seen).toEqual([]);

    await build(definition);
    await build(definition);

    expect(seen).toEqual([ids, ids]);
  });

  test('gives what create returns, a promise of it too, and rejects with what it throws', async () => {
    const options = { name: 'read', description: 'Reads.', input };

    expect(await build(defineTool({ ...options, create: () => execute }))).toBe(execute);
    expect(await build(defineTool({ ...options, create: async () => execute }))).toBe(execute);
    await expect(
      build(
        defineTool({
          ...options,
          create: () => {
            throw new Error('no disk');
          },
        }),
      ),
    ).rejects.toThrow('no disk');
  });

  test('refuses capabilities, which belong on the live tool', () => {
    const error = refusal(defineTool, {
      name: 'read',
      description: 'Reads.',
      input,
      create: execute,
      sequential: true,
    });

    expect(error).toMatchObject({ kind: 'invalid_tool', field: 'sequential' });
    expect(error.message).toBe('"sequential" of tool "read" belongs on the live tool that "create" returns');
  });

  test('is needed for what a tool requires', () => {
    const error = refusal(defineTool, { name: 'read', description: 'Reads.', input, requires: ['workspace'], execute });

    expect(error).toMatchObject({ kind: 'invalid_tool', field: 'requires' });
    expect(error.message).toBe(
      '"requires" of tool "read" needs "create", which gets what it names: "execute" does not',
    );
  });
});

describe('defineTool with execute', () => {
  test('builds one live tool with that executor and the capabilities given', async () => {
    const resource = () => 'key';
    const summary = () => 'line';
    const access = () => [];
    const given = { sequential: true, idempotent: true, timeoutMs: 50, resource, summary, access };
    const definition = defineTool({ name: 'read', description: 'Reads.', input, execute, ...given });

    expect(await build(definition)).toEqual({ ...given, execute });
  });

  test('leaves out the capabilities that are not given', async () => {
    const definition = defineTool({ name: 'read', description: 'Reads.', input, execute });

    expect(Object.keys((await build(definition)) as object)).toEqual(['execute']);
  });

  test.each([
    { field: 'sequential', value: 'yes', expected: 'true or false' },
    { field: 'idempotent', value: 1, expected: 'true or false' },
    { field: 'resource', value: 'key', expected: 'a function of the input' },
    { field: 'access', value: [], expected: 'a function of the input' },
    { field: 'summary', value: 'text', expected: 'a function of the input' },
    { field: 'timeoutMs', value: -1, expected: 'a positive number of milliseconds' },
    { field: 'timeoutMs', value: 0, expected: 'a positive number of milliseconds' },
    { field: 'timeoutMs', value: Number.NaN, expected: 'a positive number of milliseconds' },
    { field: 'timeoutMs', value: '50', expected: 'a positive number of milliseconds' },
    { field: 'timeoutMs', value: null, expected: 'a positive number of milliseconds' },
  ])('refuses $value for $field', ({ field, value, expected }) => {
    const error = toolRefusal({ [field]: value });

    expect(error).toMatchObject({ kind: 'invalid_tool', field, value });
    expect(error.message).toContain(`"${field}" of tool "read" must be ${expected}, not `);
  });
});

describe('defineTool', () => {
  test('refuses both create and execute, and neither', () => {
    expect(toolRefusal({ create: () => execute })).toMatchObject({
      kind: 'invalid_tool',
      field: 'create',
      message: 'tool "read" has both "execute" and "create": give one of them',
    });
    expect(toolRefusal({ execute: undefined })).toMatchObject({
      kind: 'invalid_tool',
      field: 'execute',
      message: 'tool "read" has neither "execute" nor "create": give one of them',
    });
  });

  test.each([
    { field: 'execute', changes: { execute: 'run' } },
    { field: 'execute', changes: { execute: null } },
    { field: 'create', changes: { execute: undefined, create: {} } },
    { field: 'create', changes: { execute: undefined, create: null } },
  ])('refuses a $field that is no function', ({ field, changes }) => {
    expect(toolRefusal(changes)).toMatchObject({ kind: 'invalid_tool', field });
  });

  test.each(['', '  ', '\t\n', undefined, null, 5, Symbol('x'), ['read']])('refuses %j as a name', name => {
    expect(toolRefusal({ name })).toMatchObject({ kind: 'invalid_tool', field: 'name', value: name });
  });

  test('refuses the reserved control name, and only exactly that', () => {
    expect(STRUCTURED_OUTPUT_TOOL_NAME).toBe('_looprig_final_output');
    expect(toolRefusal({ name: STRUCTURED_OUTPUT_TOOL_NAME })).toMatchObject({
      kind: 'reserved_tool_name',
      field: 'name',
      value: '_looprig_final_output',
    });
    expect(defineTool({ name: '_looprig_final_output2', description: 'Reads.', input, execute }).name).toBe(
      '_looprig_final_output2',
    );
    expect(defineTool({ name: '_LOOPRIG_FINAL_OUTPUT', description: 'Reads.', input, execute }).produces).toEqual([
      '_LOOPRIG_FINAL_OUTPUT',
    ]);
  });

  test.each(BAD_NAMES)('refuses the name %j, which providers refuse, and says the rule', name => {
    const error = toolRefusal({ name });

    expect(error).toMatchObject({ kind: 'invalid_tool_name', field: 'name', value: name });
    expect(error.message).toContain('use letters, digits, "_" and "-", at most 64 of them');
  });

  test.each(['a', 'A-z_09', 'x'.repeat(64), 'constructor', '__proto__', 'toString'])('takes the name %s', name => {
    expect(defineTool({ name, description: 'Reads.', input, execute }).produces).toEqual([name]);
  });

  test.each(['', '  ', undefined, 5])('refuses %s as a description', description => {
    expect(toolRefusal({ description })).toMatchObject({ kind: 'invalid_tool', field: 'description' });
  });

  test.each([
    { what: 'no schema', input: undefined },
    { what: 'a text', input: 'object' },
    { what: 'a root that is no object', input: z.string() },
    { what: 'a JSON Schema of a list', input: { type: 'array' } },
    { what: 'no JSON Schema', input: z.object({ at: z.date() }) },
  ])('refuses an input with $what', ({ input: refused }) => {
    const error = toolRefusal({ input: refused });

    expect(error).toMatchObject({ kind: 'invalid_tool_schema', field: 'input' });
    expect(error.message).toContain('"input" of tool "read" cannot be used as a schema: ');
    expect(error.cause).toBeInstanceOf(Error);
  });

  test('keeps the description and the schema for the model', () => {
    const declared = defineTool({ name: 'read', description: 'Reads.', input: z.object({ n: z.number() }), execute })[
      DECLARED
    ];

    expect(declared?.description).toBe('Reads.');
    expect(declared?.schema.jsonSchema).toMatchObject({ type: 'object', required: ['n'] });
  });

  test('refuses an unknown option, and lists those that there are', () => {
    const error = toolRefusal({ timeout: 5 });

    expect(error).toMatchObject({ kind: 'invalid_tool', field: 'timeout' });
    expect(error.message).toContain('a tool has no option "timeout": it takes name, description, input, requires');
  });

  test.each([undefined, null, 'read', 5, ['read'], () => 'read'])('refuses %s in place of options', options => {
    expect(refusal(defineTool, options)).toMatchObject({ kind: 'invalid_tool', field: 'options' });
    expect(refusal(defineToolset, options)).toMatchObject({ kind: 'invalid_tool', field: 'options' });
  });

  test('refuses options that throw when they are read, with what they threw as the cause', () => {
    const cause = new Error('no');
    const hostile = {
      get description(): never {
        throw cause;
      },
      name: 'read',
      input,
      execute,
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();

    expect(refusal(defineTool, hostile)).toMatchObject({ kind: 'invalid_tool', field: 'description', cause });
    expect(refusal(defineTool, proxy)).toMatchObject({ kind: 'invalid_tool', field: 'options' });
  });

  test('takes options that stand on a prototype, such as those of a class', async () => {
    class ReadTool {
      name = 'read';
      description = 'Reads.';
      input = input;
      execute(): string {
        return 'from the prototype';
      }
    }

    const live = (await build(defineTool(new ReadTool()))) as { execute(): string };

    expect(live.execute()).toBe('from the prototype');
  });
});

describe('requires', () => {
  test('lists each binding once, as a frozen copy', () => {
    const requires: ('workspace' | 'secrets')[] = ['workspace', 'secrets', 'workspace'];
    const definition = defineTool({ name: 'read', description: 'Reads.', input, requires, create: () => execute });
    requires.push('secrets');

    expect(definition.requires).toEqual(['workspace', 'secrets']);
    expect(Object.isFrozen(definition.requires)).toBe(true);
  });

  test.each(['workspace', null, { 0: 'workspace' }, 5])('refuses %s', requires => {
    expect(toolRefusal({ requires })).toMatchObject({ kind: 'invalid_tool', field: 'requires' });
    expect(toolsetRefusal({ requires })).toMatchObject({ kind: 'invalid_tool', field: 'requires' });
  });

  test.each([
    { requires: ['workspace', ''], field: 'requires[1]' },
    { requires: [5], field: 'requires[0]' },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { requires: ['workspace', , 'secrets'], field: 'requires[1]' },
  ])('refuses $requires at $field', ({ requires, field }) => {
    expect(toolRefusal({ requires })).toMatchObject({ kind: 'invalid_tool', field });
  });
});

describe('defineToolset', () => {
  test('gives a frozen definition whose produces is a copy', () => {
    const produces = ['read', 'write'];
    const definition = defineToolset({ name: 'the files', produces, requires: ['workspace'], create: () => [] });
    produces.push('delete');

    expect(definition).toEqual({ name: 'the files', produces: ['read', 'write'], requires: ['workspace'] });
    expect(Object.isFrozen(definition)).toBe(true);
    expect(Object.isFrozen(definition.produces)).toBe(true);
    expect(definition[DECLARED]).toBeUndefined();
  });

  test('gives what create returns', async () => {
    const tools = [liveTool({ info: { name: 'read', description: '', input }, execute })];

    expect(await build(defineToolset({ name: 'files', produces: ['read'], create: async () => tools }))).toBe(tools);
  });

  test.each(['', ' ', undefined, 5])('refuses %j as a name', name => {
    expect(toolsetRefusal({ name })).toMatchObject({ kind: 'invalid_tool', field: 'name', value: name });
  });

  test.each([
    { produces: [] },
    { produces: undefined },
    { produces: 'read' },
    { produces: { 0: 'read' } },
    { produces: new Set(['read']) },
  ])('refuses $produces as produces', ({ produces }) => {
    expect(toolsetRefusal({ produces })).toMatchObject({ kind: 'invalid_tool', field: 'produces' });
  });

  test.each([
    { what: 'a blank entry', produces: ['read', ' '], field: 'produces[1]' },
    { what: 'an empty entry', produces: [''], field: 'produces[0]' },
    { what: 'an entry that is no string', produces: ['read', 5], field: 'produces[1]' },
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
    { what: 'a hole', produces: ['read', , 'write'], field: 'produces[1]' },
    { what: 'a repeat', produces: ['read', 'write', 'read'], field: 'produces[2]' },
  ])('refuses produces with $what', ({ produces, field }) => {
    expect(toolsetRefusal({ produces })).toMatchObject({ kind: 'invalid_tool', field });
  });

  test('refuses the reserved control name among produces', () => {
    expect(toolsetRefusal({ produces: ['read', STRUCTURED_OUTPUT_TOOL_NAME] })).toMatchObject({
      kind: 'reserved_tool_name',
      field: 'produces[1]',
    });
  });

  test.each(BAD_NAMES)('refuses %j among produces', name => {
    expect(toolsetRefusal({ produces: ['read', name] })).toMatchObject({
      kind: 'invalid_tool_name',
      field: 'produces[1]',
      value: name,
    });
  });

  test('refuses a create that is no function, and an unknown option', () => {
    expect(toolsetRefusal({ create: undefined })).toMatchObject({ kind: 'invalid_tool', field: 'create' });
    expect(toolsetRefusal({ description: 'Files.' })).toMatchObject({ kind: 'invalid_tool', field: 'description' });
  });
});

test('a definition is told from anything else', () => {
  const definition = defineTool({ name: 'read', description: 'Reads.', input, execute });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();

  expect(isToolDefinition(definition)).toBe(true);
  expect([null, undefined, {}, { ...definition, name: 5 }, execute, proxy, 'read'].map(isToolDefinition)).toEqual([
    ...Array.from({ length: 7 }, () => false),
  ]);
});

describe('a tool result', () => {
  test('is text or parts, copied and frozen, with its flags', () => {
    const parts: ToolContent[] = [{ type: 'json', value: { n: 1 } }];
    const result = toolResult(parts, { endTurn: true });
    parts.push({ type: 'text', text: 'later' });

    expect(result).toEqual({ content: [{ type: 'json', value: { n: 1 } }], isError: false, endTurn: true });
    expect(Object.isFrozen(result)).toBe(true);
    expect(Object.isFrozen(result.content)).toBe(true);
    expect(toolResult('hello')).toEqual({ content: [{ type: 'text', text: 'hello' }], isError: false, endTurn: false });
    expect(toolError('no')).toEqual({ content: [{ type: 'text', text: 'no' }], isError: true, endTurn: false });
  });

  test('is never confused with data of the same shape', () => {
    expect(isToolResult(toolResult('x'))).toBe(true);
    expect([{ content: [], isError: false, endTurn: false }, null, 'x', undefined].map(isToolResult)).toEqual([
      ...Array.from({ length: 4 }, () => false),
    ]);
  });
});

test('a model is told name, description and JSON Schema of a tool, frozen', () => {
  const schema = resolveInput({ type: 'object', properties: {} }, 'input', 'read');
  const told = modelTool('read', 'Reads.', schema);

  expect(told).toEqual({
    type: 'function',
    name: 'read',
    description: 'Reads.',
    inputSchema: { type: 'object', properties: {} },
  });
  expect(Object.isFrozen(told)).toBe(true);
});
