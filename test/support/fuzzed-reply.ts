/**
 * Responses that were good once, and had parts dropped, repeated, moved, put in between and changed; and requests that fail in every way.
 * All of it is plain data, so that a counterexample can be printed.
 */
import fc from 'fast-check';
import { STRUCTURED_OUTPUT_TOOL_NAME } from 'looprig';
import { anyValue, nested, Veiled } from './odd-values.ts';

export type Part = Readonly<Record<string, unknown>>;

/** One change of a good response. Places count from its start, and round again. */
interface Change {
  readonly kind: 'drop' | 'repeat' | 'move' | 'insert' | 'set' | 'unset' | 'wrap' | 'veil';
  readonly at: number;
  readonly to: number;
  readonly field: string;
  readonly value: unknown;
}

/** What one request is answered with. */
export interface FuzzedReply {
  readonly parts: readonly Part[];
  readonly changes: readonly Change[];
  /** How the request goes; all but `goes well` give no response. */
  readonly start: (typeof STARTS)[number];
  /** What a stream does after its last part, and how many parts it gives before that. */
  readonly ending: 'closes' | 'errors' | 'hangs';
  readonly given: number;
  /** What is thrown, where something is. */
  readonly thrown: unknown;
  /** What else a whole response says, and what it says in the place of its content. */
  readonly around: { readonly warnings: unknown; readonly content: unknown; readonly isList: boolean };
}

const STARTS = [
  'goes well',
  'throws',
  'rejects',
  'gives nothing',
  'is locked',
  'is iterable',
  'is odd',
  'hangs',
] as const;

const FIELDS = [
  ...[
    'type',
    'id',
    'delta',
    'toolCallId',
    'toolName',
    'input',
    'inputEncoding',
    'providerExecuted',
    'dynamic',
    'title',
  ],
  ...[
    'providerMetadata',
    'result',
    'isError',
    'preliminary',
    'finishReason',
    'usage',
    'text',
    'data',
    'mediaType',
    'kind',
  ],
  ...['error', 'warnings', 'timestamp', 'rawValue', 'citations', 'sourceType', 'url', 'approvalId'],
];

const TYPES = [
  ...[
    'text-start',
    'text-delta',
    'text-end',
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
    'text',
    'reasoning',
  ],
  ...['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result', 'tool-approval-request'],
  ...[
    'file',
    'reasoning-file',
    'custom',
    'source',
    'stream-start',
    'response-metadata',
    'finish',
    'ping',
    'raw',
    'error',
  ],
  ...['surprise', '__proto__', 'constructor'],
];

const id = fc.constantFrom('0', '1', 'c1', 'c2', 'c3', '', '__proto__', 'call with spaces', 'half \ud83d');
const toolName = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'a', 'strict', 'unnamed', STRUCTURED_OUTPUT_TOOL_NAME) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'ghost', '__proto__', 'constructor', 'toString', 'a b', 'A', 'half \ud83d', '漢'),
  },
);

const words = fc.constantFrom('', 'Hel', 'lo', ' \n', '😀', '\ud83d', '\ude00', 'a b c');

/** Arguments as text: of every JSON kind, and broken ones. */
const argumentsText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ n: fc.integer() }).map(value => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map(value => JSON.stringify(value)),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(value => JSON.stringify(value)) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...[
        '',
        ' ',
        '{}',
        '{',
        '}',
        '{"n":1',
        '{"n":1}}',
        '{"n":1} {"n":2}',
        "{'n':1}",
        'null',
        '[]',
        '0',
        '"{}"',
        'undefined',
      ],
      ...[
        '{"n":1,"n":2}',
        '{"n":"\\ud83d"}',
        '{"n\\udc00":1}',
        '{"n":"\ud83d"}',
        '{"__proto__":{"polluted":1}}',
        '\u0000',
      ],
      ...[
        '{"constructor":{"prototype":{"polluted":1}}}',
        '{"n":1e999}',
        '{"n":-0}',
        '\ufeff{"n":1}',
        '{"n":1,}',
        '// {}',
      ],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[nested(400, 'object'), nested(600, 'object'), nested(600, 'list'), nested(20_000, 'object')],
      ...[`{"n":"${'x'.repeat(100_000)}"}`, '['.repeat(100_000)],
    ),
  },
);

/** Few among many: a response with these costs as much as a hundred others. */
const hugeArguments = fc.constantFrom(`{"n":"${'x'.repeat(2_000_000)}"}`, '[0'.padEnd(2_000_000, ',0'));

const metadata = fc.option(fc.constantFrom({ p: { signature: 'x' } }, { p: { deep: { er: [1, null] } }, q: {} }), {
  nil: undefined,
  freq: 3,
});

const block = (kind: 'text' | 'reasoning'): fc.Arbitrary<readonly Part[]> =>
  fc
    .record({ id, deltas: fc.array(words, { maxLength: 3 }), providerMetadata: metadata })
    .map(({ id, deltas, providerMetadata }) => [
      { type: `${kind}-start`, id },
      ...deltas.map(delta => ({ type: `${kind}-delta`, id, delta })),
      { type: `${kind}-end`, id, ...(providerMetadata && { providerMetadata }) },
    ]);

const toolCall: fc.Arbitrary<readonly Part[]> = fc
  .record({
    ...{ id, toolName, providerMetadata: metadata },
    input: fc.oneof({ weight: 200, arbitrary: argumentsText }, { weight: 1, arbitrary: hugeArguments }),
    streamed: fc.constantFrom('no', 'agreeing', 'other text', 'other name', 'alone'),
  })
  .map(({ id, toolName, input, streamed, providerMetadata }) => {
    const call = { type: 'tool-call', toolCallId: id, toolName, input, ...(providerMetadata && { providerMetadata }) };
    if (streamed === 'no') return [call];
    const name = streamed === 'other name' ? 'a' : toolName;
    const text = streamed === 'other text' || streamed === 'alone' ? '{"n":"only streamed"}' : input;
    const cut = Math.floor(text.length / 2);
    const deltas = [
      { type: 'tool-input-start', id, toolName: name },
      { type: 'tool-input-delta', id, delta: text.slice(0, cut) },
      { type: 'tool-input-delta', id, delta: text.slice(cut) },
      { type: 'tool-input-end', id },
    ];
    return streamed === 'alone' ? deltas : [...deltas, call];
  });

const providerRan: fc.Arbitrary<readonly Part[]> = fc
  .record({ id, toolName, input: argumentsText, result: fc.jsonValue({ maxDepth: 2 }), isAnswered: fc.boolean() })
  .map(({ id, toolName, input, result, isAnswered }) => {
    const call = { type: 'tool-call', toolCallId: id, toolName, input, providerExecuted: true };
    return isAnswered ? [call, { type: 'tool-result', toolCallId: id, toolName, result }] : [call];
  });

const aside: fc.Arbitrary<readonly Part[]> = fc
  .constantFrom<Part>(
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'r', modelId: 'm' },
    { type: 'raw', rawValue: { any: 1 } },
    { type: 'ping' },
    { type: 'source', sourceType: 'url', id: 's', url: 'https://example.test/' },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAEC' } },
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.test/a.png' } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAEC' } },
    { type: 'custom', kind: 'p.mark', providerMetadata: { p: { mark: 1 } } },
    { type: 'tool-approval-request', approvalId: 'y', toolCallId: 'c1' },
    { type: 'error', error: 'odd' },
  )
  .map(part => [part]);

export const USAGE = {
  inputTokens: { total: 5, noCache: 3, cacheRead: 2, cacheWrite: 0 },
  outputTokens: { total: 4, text: 3, reasoning: 1 },
};
export const FINISHES: readonly unknown[] = [
  ...['stop', 'tool-calls', 'length', 'content-filter', 'error', 'interrupted', 'other'].map(unified => ({
    unified,
    raw: unified,
  })),
  { unified: 'stop', raw: 'pause_turn' },
];
const finishReason = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(FINISHES[0], FINISHES[1]) },
  {
    weight: 5,
    arbitrary: fc.constantFrom(...FINISHES, 'stop', 'length', 'unknown', { unified: 'surprise', raw: 7 }),
  },
  { weight: 1, arbitrary: anyValue },
  { weight: 1, arbitrary: anyValue.map(value => ({ unified: value, raw: value })) },
);

const count = fc.oneof(fc.constantFrom<unknown>(0, 7, -1, 0.5, 1e308, Number.MAX_VALUE, '7'), anyValue);
const usage: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constant(USAGE) },
  {
    weight: 1,
    arbitrary: fc.tuple(count, count).map(([total, part]) => ({
      inputTokens: { total, noCache: part, cacheRead: part, cacheWrite: part },
      outputTokens: { total, text: part, reasoning: part },
    })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(count, count).map(([inputTokens, outputTokens]) => ({ inputTokens, outputTokens })),
  },
);

const finish: fc.Arbitrary<readonly Part[]> = fc
  .tuple(finishReason, usage)
  .map(([reason, used]) => [{ type: 'finish', finishReason: reason, usage: used }]);

/** The parts of a whole response say all at once what those of a stream say bit by bit. */
export function whole(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part): readonly Part[] => {
    const { type } = part;
    if (type === 'text-end' || type === 'reasoning-end' || /^tool-input|^finish$/.test(String(type))) return [];
    if (type === 'text-delta') return [{ type: 'text', text: part.delta }];
    if (type === 'reasoning-delta') return [{ type: 'reasoning', text: part.delta }];
    return type === 'text-start' || type === 'reasoning-start' ? [] : [part];
  });
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('drop', 'repeat', 'move', 'insert', 'set', 'set', 'set', 'unset', 'wrap', 'veil'),
  at: fc.nat({ max: 30 }),
  to: fc.nat({ max: 30 }),
  field: fc.constantFrom(...FIELDS),
  value: fc.oneof(
    { weight: 6, arbitrary: anyValue },
    { weight: 2, arbitrary: fc.constantFrom(...TYPES).map(type => ({ type })) },
    { weight: 1, arbitrary: fc.constantFrom(...TYPES) },
    { weight: 1, arbitrary: argumentsText },
  ),
});

export function changed(parts: readonly Part[], changes: readonly Change[]): unknown[] {
  const list: unknown[] = [...parts];
  for (const { kind, at, to, field, value } of changes) {
    const place = list.length === 0 ? 0 : at % list.length;
    const part = Object(list[place]) as Part;
    if (kind === 'insert') list.splice(place, 0, value);
    else if (list.length === 0) continue;
    else if (kind === 'drop') list.splice(place, 1);
    else if (kind === 'repeat') list.splice(to % (list.length + 1), 0, list[place]);
    else if (kind === 'move') list.splice(to % list.length, 0, ...list.splice(place, 1));
    else if (kind === 'set') list[place] = { ...part, [present(part, field, to)]: value };
    else if (kind === 'unset') list[place] = { ...part, [present(part, field, to)]: undefined };
    else if (kind === 'wrap') list[place] = [part];
    else list[place] = new Veiled(part);
  }
  return list;
}

/** A field of the part, mostly one that it has. */
function present(part: Part, field: string, to: number): string {
  const own = Object.keys(part);
  return field in part || own.length === 0 || to % 4 === 0 ? field : (own[to % own.length] as string);
}

/** Any response. */
export const replies: fc.Arbitrary<FuzzedReply> = fc.record({
  parts: fc
    .tuple(
      fc.array(fc.oneof(block('text'), block('reasoning'), toolCall, toolCall, toolCall, providerRan, aside), {
        minLength: 1,
        maxLength: 5,
      }),
      finish,
    )
    .map(([blocks, end]) => [...blocks.flat(), ...end]),
  changes: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(change, { minLength: 1, maxLength: 2 }) },
    { weight: 1, arbitrary: fc.array(change, { minLength: 3, maxLength: 12 }) },
  ),
  start: fc.oneof(
    { weight: 20, arbitrary: fc.constant<FuzzedReply['start']>('goes well') },
    { weight: 1, arbitrary: fc.constantFrom(...STARTS) },
  ),
  ending: fc.oneof(
    { weight: 8, arbitrary: fc.constant<FuzzedReply['ending']>('closes') },
    { weight: 1, arbitrary: fc.constantFrom<FuzzedReply['ending']>('errors', 'hangs') },
  ),
  given: fc.oneof({ weight: 4, arbitrary: fc.constant(1_000) }, { weight: 1, arbitrary: fc.nat({ max: 8 }) }),
  thrown: anyValue,
  around: fc.record({
    warnings: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: anyValue }),
    content: anyValue,
    isList: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  }),
});
