/** What the model is shown of each call, whatever a model asked for and whatever a tool did. */
import {
  type CallOutcome,
  defineTool,
  type JsonSchema,
  type SchemaLike,
  type StandardSchema,
  type ToolContent,
  type ToolReturn,
  toolError,
  toolResult,
} from 'looprig';
import { assertPaired, manualClock, type ScriptedCall, type ScriptedToolOptions, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expectNextTurn, expectSound, open, outcomes, play, resultsIn, saying } from './cases/setup.ts';

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
const input = { type: 'object' } as const;
const description = 'Does what a test says.';

/** Runs one call beside a second, well-behaved one, and gives what the model was shown of the first. */
async function shown(
  tool: ReturnType<typeof defineTool>,
  call: Omit<ScriptedCall, 'tool'> & { readonly tool?: string } = {},
  resultBytes?: number,
) {
  const other = scriptedTool('other', 'other result');
  const first = { tool: 't', id: 'c1', ...call } as ScriptedCall;
  const opened = await open({
    model: saying({ calls: [first, { tool: 'other', id: 'c2' }] }, { text: 'done' }),
    tools: [tool, other],
    limits: { resultBytes, callTimeoutMs: 1_000 },
    clock: manualClock(),
  });
  const { events, result } = await play(opened);
  expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
  const [[, value], second] = resultsIn(opened.session.history) as [[string, unknown], unknown];
  expect(second).toEqual(['c2', 'other result']);
  expect(other.count).toBe(1);
  const outcome = new Map(outcomes(events)).get('c1') as CallOutcome;
  const completed = events.find(event => event.type === 'tool.completed' && event.callId === 'c1');
  expect(completed).toMatchObject({ isError: outcome !== 'done' });
  expectSound(opened);
  await expectNextTurn(opened);
  const message = opened.session.history.find(({ role }) => role === 'tool');
  const part = message?.role === 'tool' ? message.content[0] : undefined;
  const output = part?.type === 'tool-result' ? part.output : undefined;
  return { value, text: typeof value === 'string' ? value : JSON.stringify(value), outcome, output };
}

function returning(returns: () => unknown): ReturnType<typeof defineTool> {
  return defineTool({ name: 't', description, input, execute: () => returns() as ToolReturn });
}

function throwing(thrown: () => unknown): ReturnType<typeof defineTool> {
  return returning(() => {
    throw thrown();
  });
}

describe('an unknown tool', () => {
  it('gets an error that says so and lists the near names, at most five', async () => {
    const names = ['read_file', 'read_files', 'read_dir', 'write_file', 'delete_file', 'list_files', 'send_mail'];
    const tools = names.map(name => scriptedTool(name));
    const opened = await open({ model: saying({ calls: [{ tool: 'readFile', id: 'c1' }] }, { text: 'done' }), tools });
    await play(opened);
    const [[, text] = []] = resultsIn(opened.session.history);
    expect(text).toMatch(/^unknown tool "readFile"/);
    const listed = String(text).match(/"\w+"/g)?.slice(1) ?? [];
    expect(listed[0]).toMatch(/read_file/);
    expect(listed.length).toBeLessThanOrEqual(5);
    expect(text).not.toContain('send_mail');
    for (const { count } of tools) expect(count).toBe(0);
  });

  it.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    ' ',
    't ',
    'T',
    'x'.repeat(500),
    'a\u0000b',
    '💥',
  ])('named %j is just that', async tool => {
    const t = scriptedTool('t');
    const { text, outcome } = await shown(t.definition, { tool });
    expect(text).toMatch(/unknown tool/);
    expect(outcome).toBe('refused');
    expect(bytesOf(text)).toBeLessThanOrEqual(1_024);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be in it
    expect(text).not.toMatch(/[\u0000-\u0008]/);
    expect(t.count).toBe(0);
  });
});

describe('arguments that are not JSON, or not an object', () => {
  it.each([
    ['{"a": 1', /not JSON.*position \d+/],
    ['{a: 1}', /not JSON.*position \d+/],
    ['nonsense', /not JSON.*position \d+|not JSON/],
    ['{} trailing', /not JSON.*position \d+/],
    ['{"a": undefined}', /not JSON.*position \d+/],
    ['[1]', /must be a JSON object.*list.*position 0/],
    ['null', /must be a JSON object.*null.*position 0/],
    ['"text"', /must be a JSON object.*string.*position 0/],
    ['42', /must be a JSON object.*number.*position 0/],
  ])('%s: an error says so, with the position, and the call is not run', async (inputText, says) => {
    const t = scriptedTool('t');
    const { text, outcome, output } = await shown(t.definition, { inputText });
    expect(text).toMatch(says);
    expect(text).toMatch(/position \d+/);
    expect(text).toMatch(/not run/);
    expect([outcome, output?.type]).toEqual(['refused', 'error-text']);
    expect(bytesOf(text)).toBeLessThanOrEqual(1_024);
    expect(t.count).toBe(0);
  });

  it.each([3_000, 50_000])(
    'nested %i levels deep are refused as well: a history that held them could not be sent or stored',
    async depth => {
      const t = scriptedTool('t');
      const { outcome } = await shown(t.definition, { inputText: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}` });
      expect(outcome).toBe('refused');
      expect(t.count).toBe(0);
    },
  );

  it('what the model wrote stays out of the history where it is no object: the call has {}', async () => {
    const opened = await open({
      model: saying({ calls: [{ tool: 't', inputText: '[1' }] }, { text: 'done' }),
      tools: [scriptedTool('t')],
    });
    await play(opened);
    expect(opened.session.history[1]?.content).toEqual([expect.objectContaining({ type: 'tool-call', input: {} })]);
  });
});

describe('arguments that do not fit the schema', () => {
  const schemas: readonly (readonly [string, SchemaLike])[] = [
    [
      'JSON Schema',
      {
        type: 'object',
        properties: { path: { type: 'string' }, opts: { type: 'object', properties: { n: { type: 'integer' } } } },
        required: ['path'],
        additionalProperties: false,
      },
    ],
    ['zod', z.strictObject({ path: z.string(), opts: z.object({ n: z.int() }).optional() })],
  ];

  it.each(schemas)('get the issues, path by path (%s)', async (_, schema) => {
    let ran = 0;
    const execute = (): string => String(ran++);
    const tool = defineTool({ name: 't', description, input: schema as JsonSchema, execute });
    const wrong = await shown(tool, { input: { path: 7, opts: { n: 'x' } } });
    expect(wrong.text).toMatch(/do not fit the schema of "t"/);
    expect(wrong.text).toMatch(/path: .*; opts\.n: /);
    expect(wrong.outcome).toBe('refused');
    expect((await shown(tool, { input: {} })).text).toMatch(/path/);
    expect((await shown(tool, { input: { path: 'x', extra: 1 } })).text).toMatch(
      /extra|not allowed|nothing is allowed/i,
    );
    expect(ran).toBe(0);
    expect((await shown(tool, { input: { path: 'x' } })).outcome).toBe('done');
    expect(ran).toBe(1);
  });

  it('get at most 1 KiB of issues', async () => {
    const properties = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field_${n}`, { type: 'string' }]));
    const tool = defineTool({ name: 't', description, input: { type: 'object', properties }, execute: () => 'ok' });
    const wrong = Object.fromEntries(Object.keys(properties).map(name => [name, 1]));
    const { text } = await shown(tool, { input: wrong });
    expect(bytesOf(text)).toBeLessThanOrEqual(1_024);
    expect(text).toMatch(/field_0/);
  });

  it.each<readonly [string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('schema broke');
      },
    ],
    [
      'throws null',
      () => {
        throw null;
      },
    ],
    ['rejects', () => Promise.reject(new Error('schema broke'))],
    ['gives nothing', () => undefined],
    ['gives nothing later', async () => undefined],
    ['never settles', () => new Promise(() => {})],
    ['gives issues that are no list', () => ({ issues: 7 })],
    ['gives issues without a message', () => ({ issues: [{}] })],
    [
      'gives issues later whose paths cannot be read',
      async () => ({
        issues: [
          {
            get message(): never {
              throw new Error('hostile');
            },
          },
        ],
      }),
    ],
  ])('a schema that %s refuses the call, and nothing else breaks', async (_, validate) => {
    const schema = {
      '~standard': {
        ...{ version: 1, vendor: 'odd', validate },
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    } as unknown as StandardSchema;
    let ran = 0;
    const tool = defineTool({ name: 't', description, input: schema, execute: () => String(ran++) });
    const { outcome } = await shown(tool, { input: {} });
    expect(outcome).toBe('refused');
    expect(ran).toBe(0);
  });

  it('__proto__ and constructor are data as argument keys, and pollute nothing', async () => {
    let got: unknown;
    const tool = defineTool({
      ...{ name: 't', description, input: { type: 'object', additionalProperties: true } as const },
      execute: given => {
        got = given;
        return 'ok';
      },
    });
    const inputText = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
    expect((await shown(tool, { inputText })).outcome).toBe('done');
    expect(Object.keys(got as object).sort()).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(got)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });
});

describe('a tool that throws', () => {
  const unreadable = new Proxy(new Error('secret'), {
    get: () => {
      throw new Error('hostile get');
    },
    getPrototypeOf: () => {
      throw new Error('hostile prototype');
    },
    has: () => {
      throw new Error('hostile has');
    },
  });

  it.each([
    ['throws', () => throwing(() => new Error('disk is full'))],
    ['rejects', () => returning(() => Promise.reject(new Error('disk is full')))],
    [
      'throws after a while',
      () =>
        returning(async () => {
          await null;
          throw new Error('disk is full');
        }),
    ],
    ['returns an error', () => returning(() => new Error('disk is full'))],
    ['returns an error result', () => returning(() => toolError('disk is full'))],
    ['throws text', () => throwing(() => 'disk is full')],
    ['throws an object with a message', () => throwing(() => ({ message: 'disk is full' }))],
  ])('one that %s gives its message as an error result, never a stack', async (_, tool) => {
    const { value, outcome, output } = await shown(tool());
    expect(value).toBe('disk is full');
    expect([outcome, output?.type]).toEqual(['failed', 'error-text']);
  });

  it('its message is at most 1 KiB, without control characters, whole characters only', async () => {
    const { text } = await shown(
      throwing(() => new Error(`\u001b[31mred\u0000\u0007\u009b ${'💥é'.repeat(2_000)} end`)),
    );
    expect(bytesOf(text)).toBeLessThanOrEqual(1_024);
    expect(text).toMatch(/^\[31mred /);
    expect(text).toMatch(/ end$/);
    expect(text.isWellFormed()).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be in it
    expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
  });

  it.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 42],
    ['a symbol', Symbol('s')],
    ['a bigint', 1n],
    ['a function', () => 'x'],
    ['an empty object', {}],
    ['an object without a prototype', Object.create(null)],
    ['an error with an empty message', new Error('')],
    [
      'an error whose message is no text',
      Object.assign(new Error(), {
        message: {
          toString: () => {
            throw new Error('x');
          },
        },
      }),
    ],
    [
      'an error whose message throws',
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('x');
        },
      }),
    ],
    ['a proxy that cannot be looked at', unreadable],
    ['lone surrogates', '\ud800 broken \udc00'],
    ['a promise', Promise.resolve(1)],
  ])('%s thrown is an error result all the same', async (_, thrown) => {
    for (const tool of [throwing(() => thrown), returning(() => Promise.reject(thrown))]) {
      const { text, outcome } = await shown(tool);
      expect(outcome).toBe('failed');
      expect(text.trim()).not.toBe('');
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/\bat .*\.ts/);
    }
  });
});

describe('a tool that returns nothing', () => {
  it.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['empty text', ''],
    ['a result without parts', toolResult([])],
    ['a result of empty text', toolResult('')],
    ['a promise of nothing', Promise.resolve()],
  ])('%s is an empty result, which is an error', async (_, returned) => {
    const { value, outcome, output } = await shown(returning(() => returned));
    expect(value).toBe('empty result');
    expect([outcome, output?.type]).toEqual(['failed', 'error-text']);
  });

  it.each<readonly [string, unknown]>([
    ['false', false],
    ['zero', 0],
    ['an empty list', []],
    ['an empty object', {}],
  ])('%s is something', async (_, returned) => {
    const { value, outcome, output } = await shown(returning(() => returned));
    expect(value).toEqual(returned);
    expect([outcome, output?.type]).toEqual(['done', 'json']);
  });
});

describe('a tool that runs over its time', () => {
  it.each([
    ['of the loop', {}, 1_000],
    ['of its own', { timeoutMs: 200 }, 200],
  ])(
    '%s is answered, its signal is aborted, and what it returns later is dropped',
    async (_, capabilities: ScriptedToolOptions, ms) => {
      const clock = manualClock();
      const t = scriptedTool('t', { ...capabilities, sleepMs: 5_000, deaf: true, clock, returns: 'late result' });
      const other = scriptedTool('other', { sleepMs: 8_000, clock, timeoutMs: 9_000 });
      const opened = await open({
        ...{
          model: saying({ calls: [{ tool: 't' }] }, { calls: [{ tool: 'other' }] }, { text: 'done' }),
          tools: [t, other],
          clock,
        },
        limits: { callTimeoutMs: capabilities.timeoutMs === undefined ? 1_000 : 10_000 },
      });
      const turn = opened.session.submit('go');
      await clock.advance(ms);
      expect(t.runs).toMatchObject([{ aborted: true }]);
      await clock.runUntil(turn.result);
      const [[, text] = []] = resultsIn(opened.session.history);
      expect(text).toMatch(new RegExp(`^timed out after ${ms} ms`));
      expect(outcomes(opened.events)[0]).toEqual(['call-0-0', 'timed_out']);
      expect(JSON.stringify([opened.session.history, opened.events])).not.toContain('late result');
      assertPaired(opened.session.history);
    },
  );
});

describe('a result over resultBytes', () => {
  it.each([
    ['ASCII', 'abcdefghij'],
    ['two bytes', 'é'],
    ['three bytes', '€'],
    ['four bytes', '💥'],
    ['mixed', 'aé€💥'],
    ['emoji of several parts', '👩‍👩‍👧'],
  ])(
    '%s is cut to head and tail on character boundaries, within the limit, and says how much was left out',
    async (_, unit) => {
      for (const resultBytes of [256, 257, 258, 259, 1_000]) {
        const whole = `HEAD ${unit.repeat(2_000)} TAIL`;
        const { text, outcome } = await shown(
          returning(() => whole),
          {},
          resultBytes,
        );
        expect(outcome).toBe('done');
        expect(bytesOf(text)).toBeLessThanOrEqual(resultBytes);
        expect(bytesOf(text)).toBeGreaterThan(resultBytes - 24);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toContain('\ufffd');
        const [, head = '', omitted, total, tail = ''] =
          /^([\s\S]*)\n\[... (\d+) of (\d+) bytes[^\]]*...\]\n([\s\S]*)$/.exec(text) ?? [];
        expect(Number(total)).toBe(bytesOf(whole));
        expect(Number(omitted) + bytesOf(head) + bytesOf(tail)).toBe(bytesOf(whole));
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        expect(head).toMatch(/^HEAD/);
        expect(tail).toMatch(/TAIL$/);
      }
    },
  );

  it('exactly the limit is shown whole, one byte more is cut', async () => {
    expect(
      (
        await shown(
          returning(() => 'x'.repeat(256)),
          {},
          256,
        )
      ).text,
    ).toBe('x'.repeat(256));
    expect(
      (
        await shown(
          returning(() => 'x'.repeat(257)),
          {},
          256,
        )
      ).text,
    ).toMatch(/left out/);
  });

  it('JSON is cut as its text', async () => {
    const { text, output } = await shown(
      returning(() => ({ list: Array.from({ length: 500 }, (_, n) => n) })),
      {},
      300,
    );
    expect(output?.type).toBe('text');
    expect(text).toMatch(/^\{"list":\[0,1/);
    expect(bytesOf(text)).toBeLessThanOrEqual(300);
  });

  it('an error result is cut too, and stays an error', async () => {
    const { text, outcome, output } = await shown(
      returning(() => toolError('x'.repeat(5_000))),
      {},
      300,
    );
    expect([outcome, output?.type]).toEqual(['failed', 'error-text']);
    expect(bytesOf(text)).toBeLessThanOrEqual(300);
  });

  it('several parts share the limit, and what is left out is said', async () => {
    const parts: ToolContent[] = [
      { type: 'text', text: 'first' },
      { type: 'image', data: new Uint8Array(2_000), mediaType: 'image/png' },
      { type: 'text', text: 'x'.repeat(2_000) },
    ];
    const { text } = await shown(
      returning(() => toolResult(parts)),
      {},
      600,
    );
    expect(text).toMatch(/first/);
    expect(text).toMatch(/left out here/);
    expect(bytesOf(text)).toBeLessThan(1_000);
  });

  it('a very long result costs no more than its limit in history', async () => {
    const { text } = await shown(returning(() => 'x'.repeat(5_000_000)));
    expect(bytesOf(text)).toBeLessThanOrEqual(102_400);
  });
});

function hostile(): never {
  throw new Error('hostile');
}

/** Something that looks like a promise. */
function thenable(then: (resolve: (value: unknown) => void, reject: (error: Error) => void) => void): object {
  return Object.fromEntries([['then', then]]);
}

describe('a result that the provider cannot carry', () => {
  const cycle = (): unknown => {
    const value: { self?: unknown; deep: { list: unknown[] } } = { deep: { list: [] } };
    value.deep.list.push({ value });
    return value;
  };
  const deep = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = { value };
    return value;
  };

  it.each<readonly [string, () => unknown, RegExp]>([
    ['a symbol', () => ({ a: { b: [Symbol('s')] } }), /symbol at "a\.b\[0\]"/],
    ['a symbol alone', () => Symbol('s'), /symbol/],
    ['a bigint', () => ({ big: 1n }), /bigint at "big"/],
    ['a bigint alone', () => 1n, /bigint/],
    ['a function', () => ({ f: () => 1 }), /function at "f"/],
    ['a cycle', cycle, /cycle at "deep\.list\[0\]\.value"/],
    ['a map', () => ({ m: new Map([[1, 2]]) }), /Map at "m"/],
    ['a set', () => new Set([1]), /Set/],
    ['a promise inside', () => ({ p: Promise.resolve(1) }), /Promise at "p"/],
    ['bytes', () => ({ data: new Uint8Array(4) }), /binary data at "data"/],
    ['ten thousand levels', () => deep(10_000), /nested more than/],
    ['a cycle in a part', () => toolResult([{ type: 'json', value: cycle() }]), /cycle/],
    ['a part of an unknown type', () => toolResult([{ type: 'audio' } as never]), /unknown type "audio"/],
    ['a part that is null', () => toolResult([null as never]), /./],
    [
      'a part of text that is no text',
      () => toolResult([{ type: 'text', text: 7 } as never, { type: 'text', text: 'x' }]),
      /./,
    ],
    ['a part of text without text', () => toolResult([{ type: 'text' } as never]), /./],
    ['an image without data', () => toolResult([{ type: 'image', mediaType: 'image/png' } as never]), /./],
  ])('%s is an error result that names it', async (_, returned, names) => {
    for (const tool of [returning(returned), returning(async () => returned())]) {
      const { text, outcome, output } = await shown(tool);
      expect(text).toMatch(names);
      expect([outcome, output?.type]).toEqual(['failed', 'error-text']);
    }
  });

  it.each<readonly [string, () => unknown]>([
    [
      'a getter that throws',
      () => ({
        get x(): never {
          throw new Error('hostile');
        },
      }),
    ],
    [
      'a toJSON that throws',
      () => ({
        toJSON: () => {
          throw new Error('hostile');
        },
      }),
    ],
    [
      'a toJSON that gives itself',
      () => {
        const value = { toJSON: () => value };
        return value;
      },
    ],
    [
      'a toJSON that never ends',
      () => {
        const make = (): unknown => ({ toJSON: make });
        return make();
      },
    ],
    [
      'a proxy that throws',
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('hostile');
            },
          },
        ),
    ],
    [
      'a revoked proxy',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      },
    ],
    ['a then that throws', () => Object.defineProperty({}, 'then', { get: hostile, enumerable: true })],
    ['a then that throws when it is called', () => thenable(hostile)],
    ['a thenable that rejects', () => thenable((_, reject) => reject(new Error('hostile')))],
    [
      'a thenable that settles twice',
      () =>
        thenable((resolve, reject) => {
          resolve(Object.defineProperty({}, 'x', { get: hostile, enumerable: true }));
          reject(new Error('second'));
          resolve('third');
        }),
    ],
    [
      'a getter that throws what cannot be looked at',
      () => ({
        get x(): never {
          throw new Proxy(
            {},
            {
              getPrototypeOf: () => {
                throw new Error('hostile');
              },
            },
          );
        },
      }),
    ],
    [
      'an error result whose content cannot be read',
      () =>
        toolResult([
          {
            type: 'text',
            get text(): never {
              throw new Error('hostile');
            },
          } as never,
        ]),
    ],
  ])('%s is an error result, whether it comes at once or later', async (_, returned) => {
    for (const tool of [
      returning(returned),
      returning(async () => ({ wrapped: returned() }) as ToolReturn),
      returning(() => new Promise(resolve => queueMicrotask(() => resolve(returned())))),
    ]) {
      const { outcome } = await shown(tool);
      // Wrapped, a thenable is a plain object with a function in it.
      expect(outcome).toBe('failed');
    }
  });

  it('what JSON would carry is carried: dates, toJSON, undefined members, numbers without end', async () => {
    const returned = {
      date: new Date(0),
      gone: undefined,
      list: [undefined, Number.NaN],
      own: { toJSON: () => 'mine' },
    };
    const { value, outcome } = await shown(returning(() => returned));
    expect(value).toEqual({ date: '1970-01-01T00:00:00.000Z', list: [null, null], own: 'mine' });
    expect(outcome).toBe('done');
  });

  it('__proto__ as a key of a result stays data', async () => {
    const { text } = await shown(returning(() => JSON.parse('{"__proto__":{"polluted":1},"a":1}')));
    expect(text).toBe('{"__proto__":{"polluted":1},"a":1}');
    expect('polluted' in {}).toBe(false);
  });

  it('lone surrogates do not reach the model', async () => {
    expect((await shown(returning(() => 'a\ud800b'))).text).toBe('a\ufffdb');
    expect((await shown(returning(() => ({ text: 'a\udc00b' })))).text).toBe('{"text":"a\ufffdb"}');
    expect(
      (
        await shown(
          returning(() =>
            toolResult([
              { type: 'text', text: 'a\ud800' },
              { type: 'text', text: 'b' },
            ]),
          ),
        )
      ).text.isWellFormed(),
    ).toBe(true);
  });
});

describe('results of several parts', () => {
  it('text, JSON, images and files go to the model as parts', async () => {
    const { value, outcome } = await shown(
      returning(() =>
        toolResult([
          { type: 'text', text: 'seen' },
          { type: 'json', value: { a: 1 } },
          { type: 'image', data: new Uint8Array([0, 1, 2]), mediaType: 'image/png' },
          { type: 'file', data: 'AAEC', mediaType: 'application/pdf', filename: 'a.pdf' },
        ]),
      ),
    );
    expect(outcome).toBe('done');
    expect(value).toEqual([
      { type: 'text', text: 'seen' },
      { type: 'text', text: '{"a":1}' },
      { type: 'file', data: { type: 'data', data: 'AAEC' }, mediaType: 'image/png' },
      { type: 'file', data: { type: 'data', data: 'AAEC' }, mediaType: 'application/pdf', filename: 'a.pdf' },
    ]);
  });

  it.each<readonly [string, () => ToolReturn]>([
    ['text', () => toolResult('x')],
    ['JSON', () => toolResult([{ type: 'json', value: { a: [1] } }])],
    [
      'parts',
      () =>
        toolResult([
          { type: 'text', text: 'x' },
          { type: 'json', value: { a: 1 } },
        ]),
    ],
    [
      'parts that were cut',
      () =>
        toolResult([
          { type: 'text', text: 'x'.repeat(900) },
          { type: 'text', text: 'y'.repeat(900) },
        ]),
    ],
    ['a plain object', () => ({ a: { b: [1] } })],
    ['text that is plain', () => 'x'],
    [
      'an error of parts',
      () =>
        toolResult(
          [
            { type: 'text', text: 'x' },
            { type: 'text', text: 'y' },
          ],
          { isError: true },
        ),
    ],
  ])('what is kept of %s is frozen all through: nobody can rewrite it', async (_, returned) => {
    const { output } = await shown(returning(returned), {}, 600);
    const expectFrozen = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value), `frozen: ${JSON.stringify(value)}`).toBe(true);
      for (const member of Object.values(value)) expectFrozen(member);
    };
    expectFrozen(output);
  });

  it('what a tool changes after it returned changes nothing', async () => {
    const kept = { a: { list: [1] } };
    const bytes = new Uint8Array([0, 1, 2]);
    const parts: ToolContent[] = [
      { type: 'json', value: kept },
      { type: 'image', data: bytes, mediaType: 'image/png' },
    ];
    let calls = 0;
    const tool = defineTool({
      ...{ name: 't', description, input },
      execute: () => {
        calls += 1;
        return calls === 1 ? kept : toolResult(parts);
      },
    });
    const opened = await open({
      model: saying({ calls: [{ tool: 't' }, { tool: 't' }] }, { text: 'done' }),
      tools: [tool],
    });
    await play(opened);
    kept.a.list.push(2);
    bytes.fill(9);
    parts.length = 0;
    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([
      { a: { list: [1] } },
      [
        { type: 'text', text: '{"a":{"list":[1]}}' },
        { type: 'file', data: { type: 'data', data: 'AAEC' }, mediaType: 'image/png' },
      ],
    ]);
  });

  it('endTurn ends the turn with this result once the whole batch is answered, without another model call', async () => {
    const clock = manualClock();
    const end = defineTool({
      name: 'end',
      description,
      input,
      execute: () => toolResult('the end', { endTurn: true }),
    });
    const slow = scriptedTool('slow', { sleepMs: 50, clock });
    const opened = await open({
      model: saying({ calls: [{ tool: 'end' }, { tool: 'slow' }] }),
      tools: [end, slow],
      clock,
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'the end', calls: 2, steps: 1 });
    expect(opened.model.count).toBe(1);
    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual(['the end', 'ok']);
    await expectNextTurn(opened);
  });
});

describe('what a tool says of its call before it runs', () => {
  /** An object whose member can be read once. */
  const once = (name: string, value: unknown): object => {
    let reads = 0;
    return Object.defineProperty({}, name, {
      enumerable: true,
      get: () => (reads++ === 0 ? value : hostile()),
    });
  };

  it.each<readonly [string, Record<string, unknown>, CallOutcome]>([
    ['a resource that throws', { resource: hostile }, 'refused'],
    ['a resource that rejects', { resource: () => Promise.reject(new Error('no')) }, 'refused'],
    ['a resource that is no key', { resource: () => 42 }, 'refused'],
    ['a resource without a key', { resource: () => [{ mode: 'read' }] }, 'refused'],
    [
      'a resource that cannot be read',
      {
        resource: () => ({
          get key() {
            return hostile();
          },
        }),
      },
      'refused',
    ],
    ['a list of resources that cannot be read', { resource: () => new Proxy([], { get: hostile }) }, 'refused'],
    ['a resource of null', { resource: () => null }, 'refused'],
    ['an access that throws', { access: hostile }, 'refused'],
    ['an access of nothing', { access: () => undefined }, 'refused'],
    ['an access without a target', { access: () => [{ action: 'act' }] }, 'refused'],
    [
      'an access that cannot be read',
      {
        access: () => [
          {
            action: 'act',
            get target() {
              return hostile();
            },
          },
        ],
      },
      'refused',
    ],
    ['a summary that throws', { summary: hostile }, 'done'],
    ['a summary that is no text', { summary: () => ({ toString: hostile }) }, 'done'],
    ['a summary that rejects', { summary: () => Promise.reject(new Error('no')) }, 'done'],
  ])('%s touches no other call', async (_, capabilities, expected) => {
    const tool = defineTool({ name: 't', description, input, execute: () => 'ok', ...capabilities } as never);
    expect((await shown(tool)).outcome).toBe(expected);
  });

  it.each<readonly [string, Record<string, unknown>]>([
    ['a resource whose key can be read once', { resource: () => once('key', 'k') }],
    [
      'an access whose action can be read once',
      { access: () => [Object.assign(once('action', 'act'), { target: 'x' })] },
    ],
    [
      'an access whose target can be read once',
      { access: () => [Object.assign(once('target', 'x'), { action: 'act' })] },
    ],
  ])('%s does not bring the turn down', async (_, capabilities) => {
    const tool = defineTool({ name: 't', description, input, execute: () => 'ok', ...capabilities } as never);
    expect(['done', 'denied', 'refused']).toContain((await shown(tool)).outcome);
  });

  it.each<readonly [string, Record<string, unknown>]>([
    [
      'an access request with something that JSON cannot hold',
      { access: () => [{ action: 'act', target: 'x', extra: 1n }] },
    ],
    [
      'an access request with a description that is no text',
      { access: () => [{ action: 'act', target: 'x', description: Symbol('s') }] },
    ],
  ])('%s is recorded as JSON, or refused', async (_, capabilities) => {
    const t = scriptedTool('t', capabilities as ScriptedToolOptions);
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 't' }] }, { text: 'done' }), tools: [t] },
      rig: { gate: { ask: true } },
    });
    const turn = opened.session.submit('go');
    for await (const event of turn) {
      if (event.type === 'gate.opened') await opened.session.answer(event.gateId, { decision: 'approve' });
      expect(JSON.parse(JSON.stringify(event))).toEqual(event);
    }
    expect(await turn.result).toMatchObject({ status: 'done' });
  });

  it('an access request that the tool changes later stays as it was shown', async () => {
    const kept = { action: 'act', target: 'harmless' };
    const t = scriptedTool('t', { access: () => [kept] });
    const opened = await open({
      ...{ model: saying({ calls: [{ tool: 't' }] }, { text: 'done' }), tools: [t] },
      rig: { gate: { ask: true } },
    });
    const turn = opened.session.submit('go');
    for await (const event of turn) {
      if (event.type !== 'gate.opened') continue;
      kept.target = 'everything';
      expect(event.requests[0]?.target).toBe('harmless');
      await opened.session.answer(event.gateId, { decision: 'deny' });
    }
    expect(t.count).toBe(0);
  });

  it('a live tool that changes what it says of itself after it was bound breaks nothing', async () => {
    let isBound = false;
    const live = {
      execute: () => 'ok',
      get timeoutMs(): number {
        return isBound ? hostile() : 10;
      },
      get sequential(): boolean {
        return isBound ? hostile() : false;
      },
    };
    const schema = {
      '~standard': {
        ...{ version: 1, vendor: 'async', validate: async (value: unknown) => ({ value }) },
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    } as unknown as StandardSchema;
    for (const given of [input, schema]) {
      isBound = false;
      const tool = defineTool({ name: 't', description, input: given as typeof input, create: () => live });
      const opened = await open({ model: saying({ calls: [{ tool: 't' }] }, { text: 'done' }), tools: [tool] });
      isBound = true;
      expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
      assertPaired(opened.session.history);
    }
  });
});

describe('what a tool does with what it is handed', () => {
  it('changes neither the history, nor the limits, nor another call', async () => {
    const seen: unknown[] = [];
    const tool = defineTool({
      ...{ name: 't', description, input: { type: 'object', properties: { list: { type: 'array' } } } as const },
      execute: (given, call) => {
        seen.push(structuredClone(given));
        given.list?.push('tampered');
        for (const key of ['callId', 'turnId', 'budget', 'signal', 'toolName', 'progress'])
          Reflect.set(call, key, 'tampered');
        Reflect.set(call.budget, 'callsLeft', 1_000_000);
        Reflect.deleteProperty(call, 'callId');
        return 'ok';
      },
    });
    const calls = [1, 2].map(n => ({ tool: 't', id: `c${n}`, input: { list: [1] } }));
    const opened = await open({
      model: saying({ calls }, { calls: [{ tool: 't', input: { list: [1] } }] }, { text: 'done' }),
      tools: [tool],
    });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 3 });
    expect(seen).toEqual(Array(3).fill({ list: [1] }));
    expect(
      JSON.stringify([opened.session.history, events, opened.model.requests.map(({ prompt }) => prompt)]),
    ).not.toContain('tampered');
  });

  it('progress of any kind breaks nothing, and after the end does nothing', async () => {
    let late: (() => void) | undefined;
    const tool = defineTool({
      ...{ name: 't', description, input },
      execute: (_, call) => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        for (const update of [
          undefined,
          null,
          1n,
          Symbol('s'),
          cycle,
          {
            get x(): never {
              throw new Error('hostile');
            },
          },
          () => 1,
        ]) {
          call.progress(update as never);
        }
        call.progress({ done: 1 });
        late = () => call.progress('late');
        return 'ok';
      },
    });
    const opened = await open({ model: saying({ calls: [{ tool: 't' }] }, { text: 'done' }), tools: [tool] });
    await play(opened);
    late?.();
    const updates = opened.events.flatMap(event => (event.type === 'tool.progress' ? [event.update] : []));
    expect(updates).toContainEqual({ done: 1 });
    expect(updates).not.toContain('late');
    expectSound(opened);
  });
});

describe('call ids', () => {
  it.each([
    [
      'missing',
      [
        { tool: 't', id: '' },
        { tool: 't', id: '' },
      ],
    ],
    [
      'standing twice in one response',
      [
        { tool: 't', id: 'c1' },
        { tool: 't', id: 'c1' },
        { tool: 't', id: 'c1' },
      ],
    ],
  ])('%s get fresh ones, in the call and in its result', async (_, calls) => {
    const t = scriptedTool('t', (_input, call) => `result of ${call.callId}`);
    const opened = await open({ model: saying({ calls }, { text: 'done' }), tools: [t] });
    const { events } = await play(opened);
    const ids = resultsIn(opened.session.history).map(([id]) => id);
    expect(new Set(ids).size).toBe(calls.length);
    for (const [id, value] of resultsIn(opened.session.history)) {
      expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(value).toBe(`result of ${id}`);
    }
    expect(events.flatMap(event => (event.type === 'tool.called' ? [event.callId] : []))).toEqual(ids);
    if (calls.some(({ id }) => id === 'c1')) expect(ids[0]).toBe('c1');
    assertPaired(opened.session.history);
    await expectNextTurn(opened);
  });

  it('standing in the history already get fresh ones, in later steps and in later turns', async () => {
    const t = scriptedTool('t');
    const again = { calls: [{ tool: 't', id: 'c1' }] };
    const opened = await open({
      model: saying(again, again, { text: 'done' }, again, { text: 'done' }),
      tools: [t],
      repeat: false,
    });
    await play(opened);
    await play(opened);
    const ids = resultsIn(opened.session.history).map(([id]) => id);
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe('c1');
    expect(t.runs.map(({ callId }) => callId)).toEqual(ids);
    assertPaired(opened.session.history);
  });
});
