import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resolveSchema } from '../define/schema.ts';
import { nativeSchema } from './native-schema.ts';

const of = (schema: unknown) => nativeSchema(resolveSchema(schema).jsonSchema);

const plain = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };

describe('a schema that providers hold to', () => {
  it.each([
    ['zod', z.object({ n: z.number() })],
    ['zod, strict', z.strictObject({ n: z.number() })],
    ['valibot', toStandardJsonSchema(v.object({ n: v.number() }))],
    ['arktype', type({ n: 'number' })],
    ['JSON Schema', { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
  ])('is closed: %s', (_, schema) => {
    expect(of(schema)).toEqual(plain);
  });

  it('keeps descriptions, lists, choices, and objects within them', () => {
    const schema = z.object({
      kind: z.enum(['a', 'b']).describe('Which.'),
      items: z.array(z.object({ n: z.int().min(1).max(5) })).min(1),
      other: z.union([z.string(), z.null()]),
      either: z.discriminatedUnion('is', [z.object({ is: z.literal('x') }), z.object({ is: z.literal('y') })]),
    });
    const one = (is: string) => ({
      type: 'object',
      properties: { is: { type: 'string', const: is } },
      required: ['is'],
      additionalProperties: false,
    });
    expect(of(schema)).toEqual({
      type: 'object',
      properties: {
        kind: { type: 'string', enum: ['a', 'b'], description: 'Which.' },
        items: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'object',
            properties: { n: { type: 'integer', minimum: 1, maximum: 5 } },
            required: ['n'],
            additionalProperties: false,
          },
        },
        other: { type: ['string', 'null'] },
        either: { anyOf: [one('x'), one('y')] },
      },
      required: ['kind', 'items', 'other', 'either'],
      additionalProperties: false,
    });
  });

  it('says in words what providers refuse to be told', () => {
    const schema = {
      ...plain,
      properties: { n: { type: 'string', minLength: 2, format: 'uri', description: 'Where.' } },
    };
    expect(of(schema)?.properties?.n).toEqual({ type: 'string', description: 'Where. (minLength: 2, format: "uri")' });
  });

  it('is not the schema that was given', () => {
    const { jsonSchema } = resolveSchema(plain);
    expect(nativeSchema(jsonSchema)).not.toBe(jsonSchema);
    expect(jsonSchema).toEqual(plain);
  });
});

describe('a schema that they do not hold to is unfit', () => {
  const within = (n: object) => ({ ...plain, properties: { n } });
  it.each([
    ['an optional member', z.object({ n: z.number().optional() })],
    ['a record', z.object({ n: z.record(z.string(), z.number()) })],
    ['a loose object', z.looseObject({ n: z.number() })],
    ['an object of anything', { type: 'object' }],
    ['an object of anything, as one of several types', within({ type: ['object', 'null'] })],
    ['members by pattern', { ...plain, patternProperties: { '^x': { type: 'string' } } }],
    ['a conjunction', { ...plain, allOf: [plain] }],
    ['a condition', { ...plain, if: plain }],
    ['a tuple', within({ type: 'array', prefixItems: [{ type: 'string' }] })],
    ['lists of items', within({ type: 'array', items: [{ type: 'string' }] })],
    ['anything at all', within({ not: { type: 'string' } })],
    ['a schema that leads to itself', within({ anyOf: [{ $ref: '#' }, { type: 'null' }] })],
  ])('%s', (_, schema) => {
    expect(of(schema)).toBeUndefined();
  });

  it('one that is very deep', () => {
    let deep: object = { type: 'string' };
    for (let depth = 0; depth < 2_000; depth++) deep = { type: 'array', items: deep };
    expect(nativeSchema({ ...plain, properties: { n: deep } } as never)).toBeUndefined();
  });

  it('a member called as the prototype is a member like any other', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    );
    const native = of(schema);
    expect(Object.keys(native?.properties ?? {})).toEqual(['__proto__']);
    expect(native?.required).toEqual(['__proto__']);
  });
});
