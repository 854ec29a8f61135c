/** What an MCP server lists and answers: bounded, checked, and told in words where it cannot be used. */
import fc from 'fast-check';
import { McpError } from 'looprig/mcp';
import { expect } from 'vitest';
import { problemWithToolName } from '../../src/define/tool.ts';
import { LineReader } from '../../src/mcp/lines.ts';
import { readListing } from '../../src/mcp/listing.ts';
import { modelNames } from '../../src/mcp/names.ts';
import type { ResolvedMcpServer } from '../../src/mcp/options.ts';
import { resultFrom } from '../../src/mcp/result.ts';
import { outputCheck, usableSchema } from '../../src/mcp/schema.ts';
import { altered, type Deep, deep, deepValue, json, texts } from './drawn.ts';
import { fuzz } from './fuzz.ts';

const base64 = fc.uint8Array({ maxLength: 12 }).map(bytes => Buffer.from(bytes).toString('base64'));
const media = fc.oneof(
  fc.constantFrom('image/png', 'text/plain', 'application/json', 'audio/wav', 'application/pdf', 'IMAGE/PNG; q=1'),
  texts,
);
const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: texts }),
  fc.record({ type: fc.constantFrom('image', 'audio'), data: fc.oneof(base64, texts), mimeType: media }),
  fc.record({
    type: fc.constant('resource'),
    resource: fc.record({ uri: texts, text: texts, blob: base64, mimeType: media }, { requiredKeys: [] }),
  }),
  fc.record({ type: fc.constant('resource_link'), uri: texts, name: texts, size: fc.double(), description: texts }),
  json,
);
const answers = fc.record(
  {
    content: fc.oneof(fc.array(part, { maxLength: 5 }), json),
    structuredContent: json,
    isError: fc.oneof(fc.boolean(), json),
    _meta: json,
  },
  { requiredKeys: [] },
);
const anyAnswer = fc.oneof(answers, altered(answers), json);
const rules = {
  passMedia: ['audio/'],
  checkOutput: outputCheck({ type: 'object', properties: { a: { type: 'number' } } }),
};

fuzz('any answer of a server is a result for the model', { runs: 1_500, input: anyAnswer }, async answer => {
  const { content, isError } = await resultFrom(answer, rules);
  expect(typeof isError).toBe('boolean');
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  expect(parts.length).toBeGreaterThan(0);
  for (const one of parts) {
    if (one.type !== 'text') continue;
    expect(one.text.isWellFormed()).toBe(true);
    expect(one.text.replace(/[\t\n\r]/g, '')).not.toMatch(/\p{Cc}/u);
  }
});

const keywords = fc.constantFrom(
  ...[
    'type',
    'properties',
    'required',
    'items',
    'anyOf',
    'allOf',
    'not',
    'enum',
    'const',
    '$ref',
    '$id',
    '$defs',
    'pattern',
    'minimum',
    'multipleOf',
  ],
  ...[
    'patternProperties',
    'additionalProperties',
    'dependencies',
    'if',
    'then',
    'prefixItems',
    'unevaluatedProperties',
    '__proto__',
    'format',
    '$dynamicRef',
  ],
);
const { schema: innerSchemas } = fc.letrec<{ schema: unknown }>(tie => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      json,
      fc.boolean(),
      fc.constantFrom('object', 'string', '#', '#/properties/a', '#/$defs/a', '(a+)+$', '[', 'https://a.example/'),
    ),
    fc.array(tie('schema'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(keywords, fc.constantFrom('a', 'b')), tie('schema')), { maxLength: 5 })
      .map(entries => Object.fromEntries(entries)),
  ),
}));
const schemas = fc.oneof(
  innerSchemas.map(rest => ({ ...(typeof rest === 'object' ? rest : {}), type: 'object' })),
  fc
    .tuple(innerSchemas, innerSchemas)
    .map(([a, b]) => ({ type: 'object', properties: { a, b }, $defs: { a: b }, anyOf: [a, b] })),
  innerSchemas,
);

fuzz(
  'any input schema is one that a model can be told, and that checks without a fault',
  { runs: 1_500, input: fc.tuple(schemas, json) },
  async ([schema, value]) => {
    const { told, aside, validate, leftOut } = usableSchema(schema);
    expect([told.type, typeof aside, ['string', 'undefined'].includes(typeof leftOut)]).toEqual([
      'object',
      'string',
      true,
    ]);
    JSON.stringify(told);
    const checked = await validate(structuredClone(value));
    expect('value' in checked || checked.issues.length > 0).toBe(true);
    const check = outputCheck(schema);
    if (check !== undefined) expect(['string', 'undefined']).toContain(typeof (await check(value)));
  },
);

const server = { name: 'odd', include: undefined, exclude: [], maxTools: 64 } as unknown as ResolvedMcpServer;
const tool = fc.record(
  {
    name: fc.oneof(texts, fc.constantFrom('a', 'b'), json),
    description: fc.oneof(texts, json),
    title: texts,
    inputSchema: schemas,
    outputSchema: schemas,
    annotations: json,
  },
  { requiredKeys: ['name'] },
);
const pages = fc.array(
  fc.oneof(
    fc.record(
      { tools: fc.array(fc.oneof(tool, json), { maxLength: 4 }), nextCursor: fc.oneof(texts, json) },
      { requiredKeys: ['tools'] },
    ),
    json,
  ),
  { minLength: 1, maxLength: 4 },
);

fuzz(
  'any list of a server is tools that can be used, or refused as what it is',
  { runs: 500, input: pages },
  async given => {
    let page = 0;
    const listing = await readListing(async () => given[page++ % given.length], server).catch(error => {
      if (!McpError.is(error)) throw error;
    });
    for (const [name, { description, input }] of listing?.tools ?? []) {
      expect([name.length > 0, input.type, description.isWellFormed()]).toEqual([true, 'object', true]);
    }
  },
);

fuzz(
  'any names of tools become as many names that models may call',
  { runs: 1_000, input: fc.tuple(fc.uniqueArray(texts, { maxLength: 12 }), fc.constantFrom('', 'mcp_', 'a.b')) },
  ([names, prefix]) => {
    const called = modelNames(names, prefix);
    expect([called.size, new Set(called.values()).size]).toEqual([names.length, names.length]);
    for (const name of called.values()) expect([name, problemWithToolName(name)]).toEqual([name, undefined]);
  },
);

const chunked = fc.tuple(fc.array(texts, { maxLength: 6 }), fc.array(fc.nat(200), { maxLength: 8 }));

fuzz(
  'lines come out as they went in, however their bytes were cut',
  { runs: 1_000, input: chunked },
  ([given, places]) => {
    const lines = given.map(text => text.replace(/[\r\n]/g, ' ').toWellFormed());
    const bytes = new TextEncoder().encode(lines.map(line => `${line}\n`).join(''));
    const cuts = [0, ...places.map(place => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
    const reader = new LineReader(65_536);
    const read = cuts.slice(1).flatMap((end, at) => [...reader.add(bytes.subarray(cuts[at], end))]);
    expect(read).toEqual(lines);
  },
);

/** Places at which something may be nested without an end. */
const places: readonly ((value: unknown) => object)[] = [
  value => ({ structuredContent: value }),
  value => ({ content: [value] }),
  value => ({ content: [{ type: 'text', text: 'a' }], structuredContent: { a: value } }),
  value => ({ content: [{ type: 'resource', resource: value }], isError: value }),
  value => ({ type: 'object', properties: { a: value } }),
  value => ({ type: 'object', default: value, anyOf: [value] }),
  value => ({ tools: [{ name: 'a', inputSchema: value, outputSchema: value, annotations: value }, value] }),
];
const deepPlaces: fc.Arbitrary<[number, Deep]> = fc.tuple(fc.nat(places.length - 1), deep);

fuzz(
  'what is nested without an end is told so, or left out',
  { runs: 60, input: deepPlaces },
  async ([place, drawn]) => {
    const given = places[place]!(deepValue(drawn));
    expect((await resultFrom(given, rules)).content.length).toBeGreaterThan(0);
    expect(usableSchema(given).told.type).toBe('object');
    await readListing(async () => given, server).catch(error => {
      if (!McpError.is(error)) throw error;
    });
  },
);
