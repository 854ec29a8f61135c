import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isStandardSchema, type ResolvedSchema, resolveSchema, UnusableSchema, type Validation } from './schema.ts';

const problemOf = (schema: unknown): string => {
  try {
    resolveSchema(schema);
  } catch (error) {
    if (error instanceof UnusableSchema) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
};

const check = async (schema: ResolvedSchema, value: unknown): Promise<Validation> => schema.validate(value);

const issuesOf = async (schema: unknown, value: unknown): Promise<readonly string[]> => {
  const { issues } = await check(resolveSchema(schema), value);
  return (issues ?? []).map(({ path, message }) => `${path}: ${message}`);
};

/** A Standard Schema of no known library. */
const standard = (props: Partial<StandardSchemaV1.Props & StandardJSONSchemaV1.Props>) => ({
  '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }), ...props },
});

describe.each([
  { library: 'zod', schema: z.object({ path: z.string(), line: z.number().optional() }) },
  {
    library: 'valibot',
    schema: toStandardJsonSchema(v.object({ path: v.string(), line: v.optional(v.number()) })),
  },
  { library: 'arktype', schema: type({ path: 'string', 'line?': 'number' }) },
  {
    library: 'JSON Schema',
    schema: {
      type: 'object',
      properties: { path: { type: 'string' }, line: { type: 'number' } },
      required: ['path'],
    },
  },
])('a schema of $library', ({ schema }) => {
  test('tells the model its properties and what is required', () => {
    expect(resolveSchema(schema).jsonSchema).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' }, line: { type: 'number' } },
      required: ['path'],
    });
  });

  test('lets a fitting value through', async () => {
    expect(await check(resolveSchema(schema), { path: 'a', line: 1 })).toEqual({ value: { path: 'a', line: 1 } });
  });

  test('says which path does not fit', async () => {
    const { issues } = await check(resolveSchema(schema), { path: 5 });

    expect(issues?.map(({ path }) => path)).toEqual(['path']);
    expect(issues?.[0]?.message).not.toBe('');
  });

  test('is frozen all through', () => {
    const { jsonSchema } = resolveSchema(schema);

    expect(Object.isFrozen(jsonSchema)).toBe(true);
    expect(Object.isFrozen(jsonSchema.properties)).toBe(true);
    expect(Object.isFrozen(jsonSchema.required)).toBe(true);
  });
});

describe('a Standard Schema', () => {
  test('gives what it made of the value', async () => {
    const schema = z.object({ n: z.coerce.number().default(3) });

    expect(await check(resolveSchema(schema), { n: '7' })).toEqual({ value: { n: 7 } });
    expect(await check(resolveSchema(schema), {})).toEqual({ value: { n: 3 } });
  });

  test('may check asynchronously', async () => {
    const schema = z.object({ n: z.number().refine(async n => n > 0, 'must be positive') });

    expect(await issuesOf(schema, { n: -1 })).toEqual(['n: must be positive']);
    expect(await check(resolveSchema(schema), { n: 1 })).toEqual({ value: { n: 1 } });
  });

  test('names the path of a nested issue', async () => {
    expect(
      await issuesOf(z.object({ list: z.array(z.object({ n: z.number('no number') })) }), { list: [{ n: 'x' }] }),
    ).toEqual(['list.0.n: no number']);
  });

  test('may say a path in segments', async () => {
    const issues = [{ message: 'no', path: [{ key: 'a' }, 'b', 0] }, { message: 'at the root' }];
    const schema = standard({
      validate: () => ({ issues }),
      jsonSchema: { input: () => ({ type: 'object' }), output: () => ({}) },
    });

    expect(await issuesOf(schema, {})).toEqual(['a.b.0: no', ': at the root']);
  });

  test('is asked for 2020-12 where it does not speak draft-07', () => {
    const asked: string[] = [];
    const input = ({ target }: StandardJSONSchemaV1.Options) => {
      asked.push(target);
      if (target !== 'draft-2020-12') throw new Error('unknown target');
      return { type: 'object' };
    };

    expect(resolveSchema(standard({ jsonSchema: { input, output: input } })).jsonSchema).toEqual({ type: 'object' });
    expect(asked).toEqual(['draft-07', 'draft-2020-12']);
  });

  test('keeps its own JSON Schema unfrozen', () => {
    const shared = { type: 'object', properties: {} };
    resolveSchema(standard({ jsonSchema: { input: () => shared, output: () => shared } }));

    expect(Object.isFrozen(shared)).toBe(false);
    expect(Object.isFrozen(shared.properties)).toBe(false);
  });

  test('is refused without JSON Schema, for valibot with the remedy', () => {
    expect(problemOf(v.object({ a: v.string() }))).toBe(
      'a Standard Schema that cannot give JSON Schema: wrap it in toStandardJsonSchema of @valibot/to-json-schema',
    );
    expect(problemOf(standard({}))).toBe('a Standard Schema that cannot give JSON Schema');
  });

  test('is refused where JSON Schema cannot express it', () => {
    expect(problemOf(z.object({ when: z.date() }))).toBe('a schema with a part that JSON Schema cannot express');
  });

  test.each([
    { what: 'nothing', given: undefined },
    { what: 'a text', given: 'object' },
    { what: 'null', given: null },
  ])('is refused where it gives $what as JSON Schema', ({ given }) => {
    const input = (): never => given as never;

    expect(problemOf(standard({ jsonSchema: { input, output: input } }))).not.toBe('');
  });

  test.each([
    { root: 'a string', schema: z.string() },
    { root: 'a list', schema: z.array(z.object({})) },
    { root: 'a union', schema: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) },
    { root: 'a nullable object', schema: z.object({}).nullable() },
    { root: 'a string of arktype', schema: type('string') },
  ])('is refused with $root as its root', ({ schema }) => {
    expect(problemOf(schema)).toBe('the root must have the type "object"');
  });

  test('is known by its parts, functions included', () => {
    expect(isStandardSchema(z.string())).toBe(true);
    expect(isStandardSchema(type('string'))).toBe(true);
    expect([null, undefined, 'x', {}, { '~standard': 1 }, { '~standard': {} }].map(isStandardSchema)).toEqual(
      Array.from({ length: 6 }, () => false),
    );
  });
});

describe('a JSON Schema object', () => {
  test('is copied: changing it later changes nothing', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const resolved = resolveSchema(schema);
    schema.properties.a.type = 'number';

    expect(resolved.jsonSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    expect(await check(resolved, { a: 'x' })).toEqual({ value: { a: 'x' } });
  });

  test('gives back the value itself, uncopied', async () => {
    const value = { a: 1 };

    expect((await check(resolveSchema({ type: 'object' }), value)) as { value: unknown }).toHaveProperty(
      'value',
      value,
    );
  });

  test('says every part that does not fit, and no level above it', async () => {
    const schema = {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
        name: { type: 'string', minLength: 2 },
      },
      required: ['list'],
      additionalProperties: false,
    };

    expect(await issuesOf(schema, { list: [{ n: 1 }, { n: 'x' }, {}], name: 'a', extra: 1 })).toEqual([
      'list.1.n: expected "number", not "string"',
      'list.2: the property "n" is missing',
      'name: String is too short (1 < 2)',
      'extra: not allowed here',
    ]);
    expect(await issuesOf(schema, {})).toEqual([': the property "list" is missing']);
  });

  test('names a property as it is written, slashes, tildes and spaces included', async () => {
    const schema = { type: 'object', additionalProperties: { type: 'number' } };

    expect(await issuesOf(schema, { 'a/b ~c%': 'x' })).toEqual(['a/b ~c%: expected "number", not "string"']);
  });

  test('treats __proto__ and constructor as properties like others', async () => {
    const schema = { type: 'object', properties: { constructor: { type: 'string' } }, additionalProperties: false };

    expect(await issuesOf(schema, JSON.parse('{"__proto__": {"x": 1}}'))).toEqual(['__proto__: not allowed here']);
    expect(await issuesOf({ ...schema, required: ['constructor'] }, {})).toEqual([
      ': the property "constructor" is missing',
    ]);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });

  test('may be of draft-07 with definitions', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      definitions: { point: { type: 'object', properties: { x: { type: 'number' } } } },
      properties: { at: { $ref: '#/definitions/point' } },
    };

    expect(await issuesOf(schema, { at: { x: 'no' } })).toEqual(['at.x: expected "number", not "string"']);
  });

  test('may be of 2020-12 with prefixItems and unevaluatedProperties', async () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { pair: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }], items: false } },
      properties: { pair: { $ref: '#/$defs/pair' } },
      unevaluatedProperties: false,
    };

    expect(await issuesOf(schema, { pair: [1, 2] })).toEqual([]);
    expect(await issuesOf(schema, { pair: [1, 2, 3] })).toEqual(['pair.2: not allowed here']);
    expect(await issuesOf(schema, { pair: 'x' })).toEqual(['pair: expected "array", not "string"']);
    expect(await issuesOf(schema, { other: 1 })).toEqual(['other: not allowed here']);
  });

  test('may refer to itself', async () => {
    const schema = {
      type: 'object',
      $defs: { node: { type: 'object', properties: { kids: { type: 'array', items: { $ref: '#/$defs/node' } } } } },
      properties: { root: { $ref: '#/$defs/node' } },
    };

    expect(await issuesOf(schema, { root: { kids: [{ kids: [] }, { kids: [3] }] } })).toEqual([
      'root.kids.1.kids.0: expected "object", not "number"',
    ]);
  });

  test('may refer by $id and by $anchor', async () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/root.json',
      type: 'object',
      $defs: { a: { $anchor: 'count', type: 'integer' }, b: { $id: 'other.json', type: 'string' } },
      properties: { n: { $ref: '#count' }, s: { $ref: 'https://example.com/other.json' } },
    };

    expect(await issuesOf(schema, { n: 1, s: 'x' })).toEqual([]);
    expect((await issuesOf(schema, { n: 'x', s: 1 })).map(issue => issue.split(':')[0])).toEqual(['n', 's']);
  });

  test('may hold anything in its data: a default that looks like a reference is none', () => {
    const schema = { type: 'object', properties: { a: { default: { $ref: '#/nowhere' }, const: { pattern: '(' } } } };

    expect(resolveSchema(schema).jsonSchema).toEqual(schema);
  });

  test('may have properties named like keywords', async () => {
    const schema = {
      type: 'object',
      properties: {
        $ref: { type: 'string' },
        pattern: { type: 'string' },
        id: { type: 'string' },
        required: { type: 'string' },
      },
    };

    expect(await issuesOf(schema, { $ref: 'x', pattern: '(', id: 'y', required: 'z' })).toEqual([]);
    expect((await issuesOf(schema, { id: 1 })).map(issue => issue.split(':')[0])).toEqual(['id']);
  });

  test.each(['#/$defs/nowhere', 'https://example.com/schema.json', '#anchor', 'other.json'])(
    'is refused with a $ref to %s that is not in it, which is never fetched nor quoted',
    $ref => {
      const problem = problemOf({ type: 'object', properties: { a: { $ref } } });

      expect(problem).toBe('a JSON Schema with a $ref that leads to no place in it (nothing is ever fetched)');
    },
  );

  test.each([
    { what: 'a pattern', schema: { type: 'object', properties: { a: { type: 'string', pattern: '(?P<x>[' } } } },
    { what: 'a name pattern', schema: { type: 'object', patternProperties: { '(': {} } } },
  ])('is refused with $what that is no regular expression', ({ schema }) => {
    expect(problemOf(schema)).toBe('a JSON Schema with a pattern that is no (Unicode) regular expression');
  });

  test.each([
    { schema: { type: 'object', properties: [] }, problem: 'a JSON Schema whose "properties" are no object' },
    { schema: { type: 'object', properties: 'a' }, problem: 'a JSON Schema whose "properties" are no object' },
    { schema: { type: 'object', required: 'name' }, problem: 'a JSON Schema whose "required" is no list' },
    { schema: { type: 'array' }, problem: 'the root must have the type "object"' },
    { schema: { type: ['object', 'null'] }, problem: 'the root must have the type "object"' },
    { schema: {}, problem: 'the root must have the type "object"' },
    { schema: { properties: { a: {} } }, problem: 'the root must have the type "object"' },
    {
      schema: { a: z.string() },
      problem: 'an object of schemas is none itself: make one of it, as z.object({ … }) does',
    },
  ])('is refused: $problem', ({ schema, problem }) => {
    expect(problemOf(schema)).toBe(problem);
  });

  test('is refused where it is not plain JSON', () => {
    const cyclic: Record<string, unknown> = { type: 'object' };
    cyclic.self = cyclic;

    expect(problemOf(cyclic)).toBe('a JSON Schema that is not plain JSON');
    expect(problemOf({ type: 'object', n: 1n })).toBe('a JSON Schema that is not plain JSON');
  });

  test('lets through no member whose name is no text, and says so', async () => {
    const closed = { type: 'object', properties: { a: {} }, additionalProperties: false };
    const nested = {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    };
    for (const half of ['\ud83d', '\ude42', 'a\ud83d']) {
      for (const [schema, value] of [
        [closed, { [half]: 1 }],
        [nested, { [half]: { b: 1 } }],
        [nested, { a: { [half]: 1 } }],
      ] as const) {
        expect(await resolveSchema(schema).validate(value)).toEqual({
          issues: [{ path: '', message: 'the name of a member holds half of a character' }],
        });
      }
    }
  });

  test('is refused where it is nested too deep to be read', () => {
    const nest = (schema: object): object => ({ type: 'object', properties: { a: schema } });
    let schema: object = { type: 'string' };
    for (let depth = 0; depth < 50_000; depth++) schema = nest(schema);

    expect(problemOf(schema)).not.toBe('');
  });
});

test.each([undefined, null, 5, 'string', true, [], [{ type: 'object' }], () => ({ type: 'object' })])(
  '%s is no schema',
  schema => {
    expect(problemOf(schema)).toBe('expected a Standard Schema (zod, valibot, arktype) or a JSON Schema object');
  },
);

test('a schema that throws when it is looked at is refused, with what it threw as the cause', () => {
  const cause = new Error('no');
  const hostile = {
    get '~standard'(): never {
      throw cause;
    },
  };

  expect(problemOf(hostile)).toBe('a schema that cannot be read');
  expect(() => resolveSchema(hostile)).toThrowError(expect.objectContaining({ cause }));
});
