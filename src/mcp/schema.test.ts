import fc from 'fast-check';
import { expect, it } from 'vitest';
import { resolveSchema } from '../define/schema.ts';
import { outputCheck, usableSchema } from './schema.ts';

const isTaken = async (schema: unknown, value: unknown): Promise<boolean> =>
  (await usableSchema(schema).validate(value)).issues === undefined;

it('a schema that can be used is told as it is', async () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { p: { type: 'array', prefixItems: [{ type: 'number' }], items: false } },
    properties: { p: { $ref: '#/$defs/p' }, s: { type: 'string', pattern: '^a+$', enum: ['a', 'aa'] } },
    patternProperties: { '^x-': { type: 'string' } },
    required: ['p'],
    additionalProperties: false,
  };
  expect(usableSchema(schema)).toMatchObject({ told: schema, aside: '', leftOut: undefined });
  expect(await isTaken(schema, { p: [1] })).toBe(true);
  expect(await isTaken(schema, { p: [1, 2] })).toBe(false);
  expect(await isTaken(schema, {})).toBe(false);
});

it.each([
  ['nothing', undefined],
  ['text', 'object'],
  ['a list', [{}]],
  ['a schema of lists', { type: 'array' }],
  ['a schema too long to be told', { type: 'object', description: 'x'.repeat(140_000) }],
])('%s is told as any object', async (_what, schema) => {
  const { told, leftOut } = usableSchema(schema);
  expect(told).toEqual({ type: 'object' });
  expect(leftOut).toBeDefined();
  expect(await isTaken(schema, { any: 1 })).toBe(true);
});

it.each([
  ['a reference to the network', { $ref: 'http://127.0.0.1:1/x.json' }, {}],
  ['a reference to nowhere', { $ref: '#/$defs/none' }, {}],
  ['a reference by anchor', { $ref: '#anchor' }, {}],
  ['a pattern that is none', { type: 'string', pattern: '(?P<x>[' }, { type: 'string' }],
  ['a type that is none', { type: 7, title: 'x' }, { title: 'x' }],
  ['an enumeration that is none', { enum: 'x' }, {}],
  ['a bound that is no number', { maxLength: '5', minLength: 1 }, { minLength: 1 }],
  ['no schema at all', 7, true],
  ['an empty choice', { anyOf: [] }, {}],
])('%s is left out, and the rest is told and checked', async (_what, property, told) => {
  const schema = { type: 'object', properties: { x: property, y: { type: 'number' } } };
  expect(usableSchema(schema).told).toEqual({ type: 'object', properties: { x: told, y: { type: 'number' } } });
  expect(usableSchema(schema).leftOut).toBeDefined();
  expect(await isTaken(schema, { x: 'anything', y: 1 })).toBe(true);
  expect(await isTaken(schema, { x: 'anything', y: 'one' })).toBe(false);
});

it('what some providers refuse at the root is said in the description, and checked all the same', async () => {
  const schema = { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
  const { told, aside, leftOut } = usableSchema(schema);
  expect(told).toEqual({ type: 'object', properties: { a: {}, b: {} } });
  expect(aside).toBe('The arguments must also fit {"anyOf":[{"required":["a"]},{"required":["b"]}]}');
  expect(leftOut).toBeUndefined();
  expect(await isTaken(schema, { c: 1 })).toBe(false);
  expect(await isTaken(schema, { b: 1 })).toBe(true);
});

it('a schema that leads into what cannot be told is told as any object', () => {
  const schema = { type: 'object', properties: { a: { $ref: '#/anyOf/0' } }, anyOf: [{ type: 'object' }] };
  expect(usableSchema(schema)).toMatchObject({
    told: { type: 'object' },
    leftOut: 'it leads into what cannot be told',
  });
});

it('a pattern is told, and left to the server to check: a bad one could take for ever', async () => {
  const schema = {
    type: 'object',
    properties: { s: { type: 'string', pattern: '^(a+)+$' } },
    patternProperties: { '^(b+)+$': {} },
    additionalProperties: false,
  };
  expect(usableSchema(schema).told).toEqual(schema);
  expect(await isTaken(schema, { s: `${'a'.repeat(60)}!`, [`${'b'.repeat(60)}!`]: 1 })).toBe(true);
});

it('a schema whose check could take for ever is left to the server to check', async () => {
  const doubling = (keyword: string, wrap: (schema: object) => object) =>
    Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => {
        const next = wrap(index === 39 ? { type: 'number' } : { $ref: `#/$defs/d${index + 1}` });
        return [`d${index}`, { [keyword]: [next, next] }];
      }),
    );
  const same = {
    type: 'object',
    $defs: doubling('allOf', schema => schema),
    properties: { x: { $ref: '#/$defs/d0' } },
  };
  expect(await isTaken(same, { x: 'no number' })).toBe(true);
  const inside = {
    type: 'object',
    $defs: doubling('anyOf', items => ({ items })),
    properties: { x: { $ref: '#/$defs/d0' } },
  };
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  expect(await isTaken(inside, { x: nested(39) })).toBe(true);
  expect(await isTaken(inside, { x: nested(400) })).toBe(true);
  const circle = { type: 'object', allOf: [{ $ref: '#' }] };
  expect(await isTaken(circle, {})).toBe(true);
});

it('a schema that leads back to itself deeper in the value is checked', async () => {
  const node = {
    type: 'object',
    properties: { not: { $ref: '#/$defs/q' }, and: { type: 'array', items: { $ref: '#/$defs/q' } } },
  };
  const schema = {
    type: 'object',
    $defs: { q: { anyOf: [node, { type: 'string' }, { type: 'number' }] } },
    properties: { q: { $ref: '#/$defs/q' } },
  };
  const query = (depth: number, end: unknown): unknown =>
    depth === 0 ? end : { and: [{ not: query(depth - 1, end) }, 'x'] };
  expect(await isTaken(schema, { q: query(6, 'y') })).toBe(true);
  expect(await isTaken(schema, { q: query(6, true) })).toBe(false);
});

it('a schema that is nested without an end is told as any object, wherever in it that is', async () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`);
  for (const schema of [deep, { type: 'object', properties: { a: deep } }, { type: 'object', default: deep }]) {
    const { told, leftOut, validate } = usableSchema(schema);
    expect([told, leftOut]).toEqual([{ type: 'object' }, 'it is nested more than 500 levels deep']);
    expect(await validate({ a: 1 })).toEqual({ value: { a: 1 } });
    expect(outputCheck(schema)).toBeUndefined();
  }
});

it('a property named __proto__ is left out', () => {
  const schema: unknown = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"a":{}}}');
  expect(JSON.stringify(usableSchema(schema).told)).toBe('{"type":"object","properties":{"a":{}}}');
});

it('whatever a server sends as a schema, what is told of it is one, and checking ends', async () => {
  const keyword = fc.constantFrom(
    ...['type', 'properties', 'items', 'anyOf', '$ref', 'required', 'enum', 'pattern', 'allOf', 'not', '$defs', '$id'],
    ...['additionalProperties', 'patternProperties', 'dependencies', 'minLength', 'const', 'if', 'prefixItems'],
  );
  const leaf = fc.oneof(
    fc.constantFrom('object', 'string', '#', '#/$defs/a', 'http://x', '['),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  );
  const { schema } = fc.letrec(tie => ({
    value: fc.oneof({ depthSize: 'small' }, leaf, tie('schema'), fc.array(tie('value'), { maxLength: 3 })),
    schema: fc.dictionary(fc.oneof(keyword, fc.constantFrom('a', 'b')), tie('value'), { maxKeys: 5 }),
  }));
  await fc.assert(
    fc.asyncProperty(schema, fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), async (given, value) => {
      const { told, validate } = usableSchema({ ...(given as object), type: 'object' });
      expect(told.type).toBe('object');
      expect(() => resolveSchema(told)).not.toThrow();
      await validate(structuredClone(value));
    }),
    { numRuns: 300 },
  );
});

it('structured content is checked against the schema that the tool promises, where that is one', async () => {
  const check = outputCheck({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] });
  expect(await check?.({ n: 1 })).toBeUndefined();
  expect(await check?.({ n: 'x' })).toMatch(/^n: /);
  expect(outputCheck(undefined)).toBeUndefined();
  expect(outputCheck({ type: 'array' })).toBeUndefined();
});
