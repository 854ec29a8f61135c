/** Cases of what a model gets wrong, and of results that cannot be passed on. */
import { defineTool, type ToolMiddleware, type ToolResult, toolResult } from 'looprig';
import { manualClock, type ScriptedCall, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, insisting, open, outcomes, play, reached, resultsIn, saying } from './setup.ts';

const done: ScriptedReply = { text: 'done' };

/** The calls of the first reply as the history has them: id and arguments. */
function callsIn(history: readonly { role: string; content: unknown }[]): readonly (readonly [string, unknown])[] {
  return history.flatMap(({ role, content }) =>
    role !== 'assistant'
      ? []
      : (content as { type: string; toolCallId: string; input: unknown }[]).flatMap(part =>
          part.type === 'tool-call' ? [[part.toolCallId, part.input] as const] : [],
        ),
  );
}

describe('names that the model makes up', () => {
  it.each([true, false])(
    'case 13: a call to an unknown tool is answered with the names there are, and its neighbour runs (stream: %s)',
    async stream => {
      const ok = scriptedTool('ok', 'fine');
      const model = saying(
        {
          calls: [
            { tool: 'ghost', id: 'c1' },
            { tool: 'ok', id: 'c2' },
          ],
        },
        done,
      );
      const opened = await open({ model, tools: [ok], stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect([ok.count, model.count]).toEqual([1, 2]);
      expect(outcomes(events)).toEqual([
        ['c1', 'refused'],
        ['c2', 'done'],
      ]);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', 'unknown tool "ghost": did you mean "ok"?'],
        ['c2', 'fine'],
      ]);
      await expectNextTurn(opened);
    },
  );

  it('case 13: a near name is listed first, at most five are listed, and a loop without tools says so', async () => {
    const names = ['read_file', 'read_dir', 'read_url', 'read_mail', 'read_log', 'read_file_again', 'unlike'];
    const tools = names.map(name => scriptedTool(name));
    const opened = await open({ model: saying({ calls: [{ tool: 'readFile', id: 'c1' }] }, done), tools });
    await play(opened);
    const [[, text] = []] = resultsIn(opened.session.history);
    expect(text).toContain('unknown tool "readFile": did you mean "read_file"');
    expect(names.filter(name => String(text).includes(`"${name}"`)).length).toBeLessThanOrEqual(5);
    expect(text).not.toContain('unlike');
    expectSound(opened);

    const bare = await open({ model: saying({ calls: [{ tool: 'ghost', id: 'c1' }] }, done) });
    await play(bare);
    expect(resultsIn(bare.session.history)).toEqual([['c1', 'unknown tool "ghost": there are no tools here']]);
    await expectNextTurn(bare);
  });

  it.each(['', ' ', 'a'.repeat(100_000), 'bad\u0000name\u001b[31m', '\ud800', 'OK', ' ok '])(
    'case 13: the name %j is unknown, and its answer is short and clean',
    async name => {
      const ok = scriptedTool('ok');
      const opened = await open({ model: saying({ calls: [{ tool: name, id: 'c1' }] }, done), tools: [ok] });
      expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
      const text = String(resultsIn(opened.session.history)[0]![1]);
      expect(text).toContain('unknown tool');
      expect(text.length).toBeLessThan(200);
      expect(text.isWellFormed()).toBe(true);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
      expect(text).not.toMatch(/[\u0000-\u001f]/);
      expect(ok.count).toBe(0);
    },
  );

  it('case 18: calls named like members of the object prototype are unknown tools', async () => {
    const names = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf', 'prototype', 'then'];
    const ok = scriptedTool('ok');
    const calls = names.map((tool, index) => ({ tool, id: `c${index}` }));
    const opened = await open({ model: saying({ calls }, done), tools: [ok] });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', calls: names.length });
    expect(resultsIn(opened.session.history)).toEqual(
      names.map((name, index) => [`c${index}`, `unknown tool "${name}": did you mean "ok"?`]),
    );
    expect(outcomes(events).every(([, outcome]) => outcome === 'refused')).toBe(true);
    expect(ok.count).toBe(0);
    await expectNextTurn(opened);
  });

  it('case 18: a tool that really has such a name runs, and such argument keys are data', async () => {
    const tool = scriptedTool('constructor', input => Object.getOwnPropertyNames(input).join(' '));
    const inputText = '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}';
    const opened = await open({
      model: saying({ calls: [{ tool: 'constructor', id: 'c1', inputText }] }, done),
      tools: [tool],
    });
    await play(opened);
    expect(resultsIn(opened.session.history)).toEqual([['c1', '__proto__ constructor']]);
    expect(JSON.stringify(callsIn(opened.session.history)[0]![1])).toBe(JSON.stringify(JSON.parse(inputText)));
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    expect(Object.getPrototypeOf(tool.runs[0]!.input)).toBe(Object.prototype);
    expectSound(opened);
  });
});

describe('arguments', () => {
  const wrong = [
    ['{"x": 1', 'not JSON'],
    ['{} trailing', 'not JSON'],
    ["{'x': 1}", 'not JSON'],
    ['undefined', 'not JSON'],
    ['NaN', 'not JSON'],
    ['\u0000', 'not JSON'],
    ['null', 'must be a JSON object, not null'],
    ['[]', 'must be a JSON object, not a list'],
    ['"x"', 'must be a JSON object, not a string'],
    ['12', 'must be a JSON object, not a number'],
  ] as const;

  it.each(wrong.flatMap(([text, says]) => [[text, says, true] as const, [text, says, false] as const]))(
    'case 14: the arguments %j are refused: %s (stream: %s)',
    async (inputText, says, stream) => {
      const a = scriptedTool('a');
      const model = saying(
        {
          calls: [
            { tool: 'a', id: 'c1', inputText },
            { tool: 'a', id: 'c2' },
          ],
        },
        done,
      );
      const opened = await open({ model, tools: [a], stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect(a.runs.map(({ callId }) => callId)).toEqual(['c2']);
      expect(outcomes(events)).toEqual([
        ['c1', 'refused'],
        ['c2', 'done'],
      ]);
      const [[, text] = []] = resultsIn(opened.session.history);
      expect(text).toContain(says);
      expect(text).toMatch(/position \d+/);
      expect(callsIn(opened.session.history)[0]).toEqual(['c1', {}]);
      expect(model.count).toBe(2);
      await expectNextTurn(opened);
    },
  );

  it.each(['', ' \n'])(
    'case 14: the empty text %j counts as {} where the schema takes an empty object, and is refused where not',
    async inputText => {
      const [open_, strict] = [
        scriptedTool('open'),
        scriptedTool('strict', { input: { type: 'object', required: ['x'] } }),
      ];
      const calls = [
        { tool: 'open', id: 'c1', inputText },
        { tool: 'strict', id: 'c2', inputText },
      ];
      const opened = await open({ model: saying({ calls }, done), tools: [open_, strict] });
      expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
      expect(open_.runs.map(({ input }) => input)).toEqual([{}]);
      expect(strict.count).toBe(0);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', 'ok'],
        ['c2', expect.stringContaining('do not fit the schema of "strict"')],
      ]);
      await expectNextTurn(opened);
    },
  );

  it('case 22: arguments are checked before anybody is asked for permission', async () => {
    const asked: unknown[] = [];
    const pay = scriptedTool('pay', {
      input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
      access: input => {
        asked.push(input);
        return [{ action: 'pay', target: String(input.amount) }];
      },
    });
    const calls: ScriptedCall[] = [
      { tool: 'pay', id: 'c1', input: { amount: 'abc' } },
      { tool: 'pay', id: 'c2', inputText: '{"amount": 1' },
      { tool: 'pay', id: 'c3', input: {} },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [pay], rig: { gate: { ask: true } } });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(events.some(({ type }) => type === 'gate.opened')).toBe(false);
    expect([asked, pay.count]).toEqual([[], 0]);
    const texts = resultsIn(opened.session.history).map(([, text]) => text);
    expect(texts).toEqual([
      expect.stringContaining('amount'),
      expect.stringContaining('not JSON'),
      expect.stringContaining('amount'),
    ]);
    await expectNextTurn(opened);
  });

  it('case 22: of a batch only the call that fits is asked for', async () => {
    const pay = scriptedTool('pay', {
      input: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
      access: input => [{ action: 'pay', target: String(input.amount) }],
    });
    const calls = [
      { tool: 'pay', id: 'c1', input: { amount: 'abc' } },
      { tool: 'pay', id: 'c2', input: { amount: 2 } },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [pay], rig: { gate: { ask: true } } });
    const turn = opened.session.submit('go');
    const gate = await reached(turn, 'gate.opened');
    expect(gate).toMatchObject({ callId: 'c2', requests: [{ action: 'pay', target: '2' }] });
    await opened.session.answer('gateId' in gate ? gate.gateId : '', { decision: 'approve' });
    expect(await turn.result).toMatchObject({ status: 'done' });
    expect(pay.runs.map(({ callId }) => callId)).toEqual(['c2']);
    expect(opened.events.filter(({ type }) => type === 'gate.opened')).toHaveLength(1);
    await expectNextTurn(opened);
  });
});

describe('a reply cut off at the output limit', () => {
  const cut: ScriptedReply = {
    finishReason: 'length',
    calls: [
      { tool: 'a', id: 'c1', input: { x: 1 } },
      { tool: 'write', id: 'c2', inputText: '{"text": "half of i' },
    ],
  };

  it.each([true, false])(
    'case 16: none of its calls runs, not even the whole one, and each is answered (stream: %s)',
    async stream => {
      const [a, write] = [scriptedTool('a'), scriptedTool('write')];
      const model = saying(cut, done);
      const opened = await open({ model, tools: [a, write], stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', iterations: 1, calls: 2 });
      expect([a.count, write.count, model.count]).toEqual([0, 0, 2]);
      expect(outcomes(events)).toEqual([
        ['c1', 'refused'],
        ['c2', 'refused'],
      ]);
      const says = expect.stringMatching(/cut off by the output limit.*Send it again, in smaller parts/);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', says],
        ['c2', says],
      ]);
      await expectNextTurn(opened);
    },
  );

  it('case 16: cut replies without end are iterations, and end in a typed failure', async () => {
    const a = scriptedTool('a');
    const model = insisting(index => ({ finishReason: 'length', calls: [{ tool: 'a', input: { index } }] }));
    const opened = await open({ model, tools: [a], limits: { iterations: 4 } });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'tool_limit', limit: 'iterations' } });
    expect([a.count, model.count]).toEqual([0, 5]);
    await expectNextTurn(opened);
  });

  it('case 16: a cut answer without calls ends the turn, and says that it was cut', async () => {
    const opened = await open({ model: saying({ text: 'half of', finishReason: 'length' }) });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'half of', finishReason: { unified: 'length' } });
    expect(events.at(-1)).toMatchObject({ type: 'turn.done', finishReason: { unified: 'length' } });
    await expectNextTurn(opened);
  });
});

describe('ids of calls', () => {
  it.each([true, false])(
    'case 19: repeated and empty ids get ids of their own, and result n belongs to call n (stream: %s)',
    async stream => {
      const a = scriptedTool('a', ({ n }) => `result ${n}`);
      const calls = [
        { tool: 'a', id: 'x', input: { n: 1 } },
        { tool: 'a', id: 'x', input: { n: 2 } },
        { tool: 'a', id: '', input: { n: 3 } },
      ];
      const opened = await open({ model: saying({ calls }, done), tools: [a], stream });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 3 });
      expect(a.count).toBe(3);
      const asked = callsIn(opened.session.history);
      const ids = asked.map(([id]) => id);
      expect(new Set(ids).size).toBe(3);
      expect(ids[0]).toBe('x');
      expect(ids).not.toContain('');
      expect(asked.map(([, input]) => input)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
      expect(resultsIn(opened.session.history)).toEqual(ids.map((id, index) => [id, `result ${index + 1}`]));
      expect(events.flatMap(event => (event.type === 'tool.called' ? [[event.callId, event.input]] : []))).toEqual(
        asked,
      );
      expect(a.runs.map(({ callId, input }) => [callId, input])).toEqual(asked);
      await expectNextTurn(opened);
    },
  );

  it('case 19: an id that stands in an earlier step, an earlier turn or a history taken over is replaced too', async () => {
    const a = scriptedTool('a', ({ n }) => `result ${n}`);
    const call = (n: number): ScriptedReply => ({ calls: [{ tool: 'a', id: 'x', input: { n } }] });
    const opened = await open({ model: saying(call(1), call(2), done, call(3), done), tools: [a] });
    await play(opened);
    await play(opened);
    const ids = callsIn(opened.session.history).map(([id]) => id);
    expect(new Set(ids).size).toBe(3);
    expect(resultsIn(opened.session.history)).toEqual(ids.map((id, index) => [id, `result ${index + 1}`]));
    expect(a.runs.map(({ callId }) => callId)).toEqual(ids);
    await expectNextTurn(opened);
  });

  it('case 19: the id of a call that the provider ran itself is taken too', async () => {
    const a = scriptedTool('a');
    const own = { type: 'tool-call', toolCallId: 'x', toolName: 'web', input: '{}', providerExecuted: true } as const;
    const found = { type: 'tool-result', toolCallId: 'x', toolName: 'web', result: { found: 1 } } as const;
    const opened = await open({
      model: saying({ content: [own, found], calls: [{ tool: 'a', id: 'x' }] }, done),
      tools: [a],
    });
    await play(opened);
    const ids = callsIn(opened.session.history).map(([id]) => id);
    expect(new Set(ids).size).toBe(2);
    expect(a.runs.map(({ callId }) => callId)).toEqual([ids[1]]);
    expectSound(opened);
  });

  it('case 20: the same call twice in one reply runs twice', async () => {
    const charge = scriptedTool('charge', { returns: () => `receipt ${charge.count}` });
    const calls = [
      { tool: 'charge', id: 'c1', input: { n: 1 } },
      { tool: 'charge', id: 'c2', input: { n: 1 } },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [charge] });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 2 });
    expect(charge.runs.map(({ callId }) => callId)).toEqual(['c1', 'c2']);
    expect(outcomes(events)).toEqual([
      ['c1', 'done'],
      ['c2', 'done'],
    ]);
    expect(resultsIn(opened.session.history).map(([id]) => id)).toEqual(['c1', 'c2']);
    await expectNextTurn(opened);
  });

  it("case 20: a middleware may answer the second with the first's result, and there are still two pairs", async () => {
    const charge = scriptedTool('charge', { returns: () => `receipt ${charge.count}` });
    const once: ToolMiddleware = (() => {
      const results = new Map<string, Promise<ToolResult>>();
      return ({ stepId, toolName, input }, next) => {
        const key = JSON.stringify([stepId, toolName, input]);
        const known = results.get(key) ?? next();
        results.set(key, known);
        return known;
      };
    })();
    const calls = [
      { tool: 'charge', id: 'c1', input: { n: 1 } },
      { tool: 'charge', id: 'c2', input: { n: 1 } },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [charge], middlewares: [once] });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', calls: 2 });
    expect(charge.count).toBe(1);
    expect(outcomes(events)).toEqual([
      ['c1', 'done'],
      ['c2', 'done'],
    ]);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'receipt 1'],
      ['c2', 'receipt 1'],
    ]);
    await expectNextTurn(opened);
  });
});

describe('results that cannot be passed on as they are', () => {
  class Point {
    readonly x = 1;
    readonly #secret = 2;
    get sum(): number {
      return this.x + this.#secret;
    }
  }
  const cycle = (): object => {
    const one: Record<string, unknown> = { name: 'one' };
    one.self = one;
    return one;
  };
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const throwing = (): object => ({
    get x(): never {
      throw new Error('no x');
    },
  });
  const hostile = (): object =>
    new Proxy(
      {},
      {
        get: () => {
          throw new Error('not readable');
        },
        ownKeys: () => {
          throw new Error('not listable');
        },
      },
    );

  const gives: readonly (readonly [string, () => unknown, unknown, 'done' | 'failed'])[] = [
    ['a cycle', cycle, expect.stringContaining('a cycle'), 'failed'],
    ['a cycle in a list', () => [[cycle()]], expect.stringContaining('a cycle'), 'failed'],
    [
      'the same object twice',
      () => {
        const one = { x: 1 };
        return [one, one];
      },
      [{ x: 1 }, { x: 1 }],
      'done',
    ],
    ['a BigInt', () => ({ n: 1n }), expect.stringContaining('a bigint at "n"'), 'failed'],
    ['a bare BigInt', () => 1n, expect.stringContaining('a bigint'), 'failed'],
    ['a symbol', () => [Symbol('s')], expect.stringContaining('a symbol at "[0]"'), 'failed'],
    ['a function', () => ({ f: () => 1 }), expect.stringContaining('a function at "f"'), 'failed'],
    ['a bare function', () => () => 1, expect.stringContaining('a function'), 'failed'],
    ['a Map', () => new Map([['a', 1]]), expect.stringContaining('a Map'), 'failed'],
    ['a Set within', () => ({ a: { b: new Set([1]) } }), expect.stringContaining('a Set at "a.b"'), 'failed'],
    ['bytes', () => new Uint8Array(4), expect.stringContaining('binary data'), 'failed'],
    ['undefined', () => undefined, 'empty result', 'failed'],
    ['null', () => null, 'empty result', 'failed'],
    ['an empty text', () => '', 'empty result', 'failed'],
    ['an empty text as a whole result', () => toolResult(''), 'empty result', 'failed'],
    ['no parts', () => toolResult([]), 'empty result', 'failed'],
    ['undefined within', () => ({ a: undefined, b: [undefined] }), { b: [null] }, 'done'],
    ['no number', () => [Number.NaN, Number.POSITIVE_INFINITY], [null, null], 'done'],
    ['an instance of a class', () => new Point(), { x: 1 }, 'done'],
    ['a date', () => ({ at: new Date(0) }), { at: '1970-01-01T00:00:00.000Z' }, 'done'],
    ['a getter that throws', throwing, expect.stringContaining('no x'), 'failed'],
    [
      'a toJSON that throws',
      () => ({
        toJSON: () => {
          throw new Error('no JSON');
        },
      }),
      expect.stringContaining('no JSON'),
      'failed',
    ],
    [
      'a toJSON that gives itself',
      () => {
        const one = { toJSON: (): unknown => one };
        return one;
      },
      expect.stringContaining('a cycle'),
      'failed',
    ],
    ['a proxy that throws', hostile, expect.any(String), 'failed'],
    ['a revoked proxy', revoked, expect.any(String), 'failed'],
    [
      'a deep nest',
      () => {
        let deep: unknown = 1;
        for (let n = 0; n < 20_000; n++) deep = [deep];
        return deep;
      },
      expect.stringContaining('nested more than'),
      'failed',
    ],
    ['lone surrogates', () => ({ text: 'a\ud800b' }), { text: 'a\ufffdb' }, 'done'],
    ['an Error', () => new Error('boom'), 'boom', 'failed'],
    [
      'a part of an unknown type',
      () => toolResult([{ type: 'audio' } as never]),
      expect.stringContaining('"audio"'),
      'failed',
    ],
    [
      'a part with a cycle',
      () => toolResult([{ type: 'json', value: cycle() }]),
      expect.stringContaining('a cycle'),
      'failed',
    ],
  ];

  const throws: readonly (readonly [string, () => unknown])[] = [
    ['undefined', () => undefined],
    ['null', () => null],
    ['a symbol', () => Symbol('s')],
    ['a BigInt', () => 1n],
    ['a cycle', cycle],
    ['a function', () => () => 1],
    ['a proxy that throws', hostile],
    ['a revoked proxy', revoked],
    [
      'an error whose message throws',
      () =>
        Object.defineProperty(new Error('x'), 'message', {
          get: () => {
            throw new Error('y');
          },
        }),
    ],
    ['an error without a message', () => new Error('')],
    [
      'an error whose message is no text',
      () =>
        Object.assign(new Error('x'), {
          message: {
            toString: () => {
              throw new Error('y');
            },
          },
        }),
    ],
  ];

  const through: ToolMiddleware = (_, next) => next();
  const ways = [
    ['a plain tool', true, []],
    ['an async tool', false, []],
    ['a middleware', false, [through]],
  ] as const;

  async function run(act: () => unknown, isPlain: boolean, middlewares: readonly ToolMiddleware[]) {
    let effects = 0;
    const execute = () => {
      effects += 1;
      return act() as object;
    };
    const input = { type: 'object' } as const;
    const a = isPlain
      ? defineTool({ name: 'a', description: 'Acts.', input, execute })
      : defineTool({ name: 'a', description: 'Acts.', input, execute: async () => execute() });
    const ok = scriptedTool('ok');
    const model = saying(
      {
        calls: [
          { tool: 'a', id: 'c1' },
          { tool: 'ok', id: 'c2' },
        ],
      },
      done,
    );
    const opened = await open({ model, tools: [a, ok], middlewares, clock: manualClock() });
    const { result, events } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
    expect([effects, ok.count, model.count]).toEqual([1, 1, 2]);
    const [[, shown] = [], [, neighbour] = []] = resultsIn(opened.session.history);
    expect(neighbour).toBe('ok');
    await expectNextTurn(opened);
    return { shown, outcome: new Map(outcomes(events)).get('c1') };
  }

  describe.each(ways)('by %s', (_, isPlain, middlewares) => {
    it.each(gives)('case 21: %s is shown safely, and the turn goes on', async (_, act, expected, outcome) => {
      const { shown, outcome: found } = await run(act, isPlain, middlewares);
      expect(shown).toEqual(expected);
      expect(found).toBe(outcome);
    });

    it.each(throws)('case 21: throwing %s is an error result, and the turn goes on', async (_, thrown) => {
      const { shown, outcome } = await run(
        () => {
          throw thrown();
        },
        isPlain,
        middlewares,
      );
      expect(shown).toBeTypeOf('string');
      expect(shown).not.toBe('');
      expect(outcome).toBe('failed');
    });
  });

  it('case 21: what was done is not denied: the result says that the tool ran', async () => {
    const { shown } = await run(cycle, false, []);
    expect(shown).toMatch(/^the tool ran, but its result cannot be passed on/);
  });
});
