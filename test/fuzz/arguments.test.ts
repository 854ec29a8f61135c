/** Whatever a model writes as arguments: the tool gets just that, where it fits, and else the model is told in words. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type AnyLanguageModel, defineLoop, defineRig, defineTool, type JsonSchema } from 'looprig';
import { assertPaired } from 'looprig/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { resolveSchema } from '../../src/define/schema.ts';
import { USAGE } from '../support/fuzzed-reply.ts';
import { streamOf } from '../support/stream-of.ts';
import { altered, damaged, deepTexts, json, texts } from './drawn.ts';
import { fuzz } from './fuzz.ts';

/** A schema of the plain kind, with a check of our own beside it that knows nothing of validators. */
interface Plain {
  readonly schema: JsonSchema;
  fits(value: unknown): boolean;
}

const leafs: fc.Arbitrary<Plain> = fc.constantFrom<Plain>(
  { schema: { type: 'string' }, fits: value => typeof value === 'string' },
  { schema: { type: 'number' }, fits: value => typeof value === 'number' },
  { schema: { type: 'integer' }, fits: value => Number.isInteger(value) },
  { schema: { type: 'boolean' }, fits: value => typeof value === 'boolean' },
  { schema: { type: 'null' }, fits: value => value === null },
  { schema: { enum: ['a', 1, null] }, fits: value => ['a', 1, null].includes(value as never) },
  {
    schema: { type: 'string', minLength: 2, maxLength: 3 },
    fits: value => typeof value === 'string' && [2, 3].includes([...value].length),
  },
  { schema: {}, fits: () => true },
);
const names = fc.oneof(fc.constantFrom('a', 'b', 'constructor', 'toString', '%', 'a/b', '~'), texts);

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(members: readonly (readonly [string, Plain, boolean])[], isClosed: boolean): Plain {
  const known = new Map(members.map(([name, plain, isNeeded]) => [name.toWellFormed(), { plain, isNeeded }]));
  const properties = Object.fromEntries([...known].map(([name, { plain }]) => [name, plain.schema]));
  const required = [...known].flatMap(([name, { isNeeded }]) => (isNeeded ? [name] : []));
  return {
    schema: { type: 'object', properties, required, ...(isClosed ? { additionalProperties: false } : {}) },
    fits(value) {
      if (!isObject(value)) return false;
      if (isClosed && Object.keys(value).some(name => !known.has(name))) return false;
      return [...known].every(([name, { plain, isNeeded }]) => {
        return Object.hasOwn(value, name) ? plain.fits(Reflect.get(value, name)) : !isNeeded;
      });
    },
  };
}

const { object } = fc.letrec<{ object: Plain; plain: Plain }>(tie => ({
  object: fc
    .tuple(fc.array(fc.tuple(names, tie('plain'), fc.boolean()), { maxLength: 3 }), fc.boolean())
    .map(([members, isClosed]) => objectOf(members, isClosed)),
  plain: fc.oneof(
    { maxDepth: 3 },
    leafs,
    tie('object'),
    tie('plain').map(({ schema, fits }) => ({
      schema: { type: 'array', items: schema },
      fits: (value: unknown) => Array.isArray(value) && value.every(fits),
    })),
  ),
}));

/** Values that have to do with the schema's names. */
const values = fc.oneof(fc.dictionary(names, fc.oneof(json, fc.constantFrom('a', 'ab', 1, 1.5, null, true))), json);

fuzz(
  'a JSON Schema lets through what it says, and nothing else',
  { runs: 1_500, input: fc.tuple(object, values) },
  ([plain, value]) => {
    // A member of this name cannot be declared in a schema that is an ordinary object.
    if (JSON.stringify(plain.schema).includes('"__proto__"')) return;
    const isText = !JSON.stringify(value).match(/\\ud[89a-f]/);
    // By its own text: the platform may read an escaped name wrongly (`JSON.parse` of Node 24 does, of shapes that it has seen).
    const given: unknown = JSON.parse(JSON.stringify(value));
    const before = JSON.stringify(given);
    const checked = resolveSchema(plain.schema).validate(given);
    if (checked instanceof Promise) throw new Error('a JSON Schema needs no time');
    // A name that is no text is refused, or nobody asked about it.
    if (isText || checked.issues === undefined) expect(checked.issues === undefined).toBe(plain.fits(given));
    if (checked.issues === undefined) expect(JSON.stringify(checked.value)).toBe(before);
    else
      for (const { path, message } of checked.issues)
        expect([typeof path, typeof message]).toEqual(['string', 'string']);
  },
);

const sound = fc
  .record({ path: texts, lines: fc.array(fc.record({ from: fc.nat(), text: texts })), deep: json })
  .map(value => JSON.stringify(value));
const written = fc.oneof(
  sound,
  damaged(sound),
  altered(sound.map(text => JSON.parse(text))).map(value => JSON.stringify(value) ?? ''),
  json.map(value => JSON.stringify(value)),
  texts,
  deepTexts,
);

const SCHEMAS = {
  json: {
    type: 'object',
    properties: { path: { type: 'string' }, lines: { type: 'array', items: { type: 'object', required: ['from'] } } },
  },
  closed: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
  zod: z.object({ path: z.string(), lines: z.array(z.object({ from: z.number() })).optional() }),
} as const;

/** A model that makes these calls, and then answers. */
function modelOf(calls: readonly { readonly name: string; readonly input: string }[]): AnyLanguageModel {
  let request = 0;
  const parts = calls.map(({ name, input }, at) => ({
    type: 'tool-call',
    toolCallId: `c${at}`,
    toolName: name,
    input,
  }));
  const answer = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'Done.' },
    { type: 'text-end', id: '0' },
  ];
  const finish = (unified: string): object => ({
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: USAGE,
  });
  const model = {
    specificationVersion: 'v4',
    ...{ provider: 'fuzz', modelId: 'fuzz', supportedUrls: {} },
    doGenerate: async () => ({}),
    doStream: async () => ({
      stream: streamOf(request++ === 0 ? [...parts, finish('tool-calls')] : [...answer, finish('stop')]),
    }),
  };
  return model as unknown as AnyLanguageModel;
}

const calls = fc.array(fc.record({ name: fc.constantFrom('json', 'closed', 'zod'), input: written }), {
  minLength: 1,
  maxLength: 4,
});

fuzz('a tool runs with what the model wrote, or the model is told why not', { runs: 80, input: calls }, async asked => {
  const ran = new Map<string, unknown>();
  const tools = Object.entries(SCHEMAS).map(([name, input]) =>
    defineTool({
      ...{ name, description: 'Notes what it was given.', input },
      execute(given: unknown, { callId }) {
        ran.set(callId, structuredClone(given));
        return 'noted';
      },
    }),
  );
  const rig = defineRig({ loops: [defineLoop({ name: 'fuzz', model: modelOf(asked), tools })] });
  await using session = await rig.open();
  const result = await session.run('go');
  expect(result.status).toBe('done');
  assertPaired(session.history);
  const results = session.history.flatMap(({ role, content }) => (role === 'tool' ? content : []));
  expect(results).toHaveLength(asked.length);
  asked.forEach(({ name, input }, at) => {
    const part = results[at]!;
    const output = part.type === 'tool-result' ? part.output : undefined;
    if (output?.type === 'error-text') {
      expect(
        output.value.isWellFormed() &&
          output.value.length < 2_048 &&
          !/[\p{Cc}]/u.test(output.value.replace(/[\n\t]/g, '')),
      ).toBe(true);
      expect(ran.has(`c${at}`)).toBe(false);
      return;
    }
    const value: unknown = input.trim() === '' ? {} : JSON.parse(input);
    const given = ran.get(`c${at}`);
    // What zod does not know it leaves out.
    if (name === 'zod')
      expect(isObject(given) && Object.keys(given).every(key => ['path', 'lines'].includes(key))).toBe(true);
    else expect(isDeepStrictEqual(given, structuredClone(value))).toBe(true);
  });
});
