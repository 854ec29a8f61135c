/** Cases of time and size: tools that never end, and results too large to show. */
import { DEFAULT_TOOL_LIMITS, type ToolMiddleware, type ToolReturn, toolError, toolResult } from 'looprig';
import {
  forever,
  manualClock,
  type ScriptedReply,
  type ScriptedToolOptions,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, insisting, open, outcomes, play, reached, resultsIn, saying } from './setup.ts';

const done: ScriptedReply = { text: 'done' };
const LIMIT = DEFAULT_TOOL_LIMITS.resultBytes;
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

describe('a tool that never settles', () => {
  const calls = [
    { tool: 'hang', id: 'c1' },
    { tool: 'ok', id: 'c2' },
  ];
  const warns = expect.stringMatching(/^timed out after 100 ms: it may still be running/);

  it.each([
    ['the limit of the loop', {}, { callTimeoutMs: 100 }],
    ["the tool's own", { timeoutMs: 100 }, {}],
    ["the tool's own, longer than the limit", { timeoutMs: 5_000 }, { callTimeoutMs: 100 }],
    ['the limit, one call at a time', {}, { callTimeoutMs: 100, parallel: 1 }],
    ['the limit, alone in its batch', { sequential: true }, { callTimeoutMs: 100 }],
  ] as const)(
    'case 44: is answered when its time is over, and nothing else is held up (%s)',
    async (_, capabilities, limits) => {
      const clock = manualClock();
      const hang = scriptedTool('hang', { hangs: true, clock, ...capabilities });
      const ok = scriptedTool('ok', { clock });
      const opened = await open({ model: saying({ calls }, done), tools: [hang, ok], clock, limits });
      const { result, events } = await play(opened);
      expect(result).toMatchObject({ status: 'done', text: 'done', calls: 2 });
      expect(clock.now()).toBe(100);
      expect(resultsIn(opened.session.history)).toEqual([
        ['c1', warns],
        ['c2', 'ok'],
      ]);
      expect(events.find(event => event.type === 'tool.completed' && event.callId === 'c1')).toMatchObject({
        outcome: 'timed_out',
        isError: true,
        durationMs: 100,
      });
      expect(hang.runs).toMatchObject([{ aborted: true }]);
      expect([ok.count, ok.runs[0]?.aborted]).toEqual([1, false]);
      await expectNextTurn(opened);
    },
  );

  it('case 44: beside it the others are not even late', async () => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { hangs: true });
    const ok = scriptedTool('ok', { sleepMs: 20, clock });
    const opened = await open({
      model: saying({ calls }, done),
      tools: [hang, ok],
      clock,
      limits: { callTimeoutMs: 100 },
    });
    await play(opened);
    expect(ok.runs[0]).toMatchObject({ startedAt: 0, endedAt: 20 });
    expect(outcomes(opened.events)).toEqual([
      ['c2', 'done'],
      ['c1', 'timed_out'],
    ]);
  });

  it('case 44: with nothing set it is answered after ten minutes', async () => {
    const clock = manualClock();
    const opened = await open({
      model: saying({ calls: [{ tool: 'hang' }] }, done),
      tools: [scriptedTool('hang', { hangs: true })],
      clock,
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect(clock.now()).toBe(600_000);
    await expectNextTurn(opened);
  });

  it('case 44: a middleware that never settles is the same, but that the tool was not run is known', async () => {
    const clock = manualClock();
    const ok = scriptedTool('ok');
    const stuck: ToolMiddleware = (call, next) => (call.callId === 'c1' ? new Promise<never>(() => {}) : next());
    const opened = await open({
      model: saying({ calls }, done),
      tools: [scriptedTool('hang'), ok],
      middlewares: [stuck],
      clock,
      limits: { callTimeoutMs: 100 },
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done', text: 'done' });
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'timed out after 100 ms while a middleware held the call: the tool was not run'],
      ['c2', 'ok'],
    ]);
    await expectNextTurn(opened);
  });

  it.each(['returns', 'throws'] as const)('case 44: what it %s later is dropped, and told as an event', async how => {
    const clock = manualClock();
    const late = Promise.withResolvers<string>();
    const hang = scriptedTool('hang', { returns: () => late.promise });
    const slow = scriptedTool('ok', { sleepMs: 500, clock });
    const opened = await open({
      model: saying({ calls }, done),
      tools: [hang, slow],
      clock,
      limits: { callTimeoutMs: 1_000 },
    });
    const turn = opened.session.submit('go');
    await reached(turn, 'tool.started', event => 'callId' in event && event.callId === 'c2');
    await clock.advance(1_000);
    if (how === 'returns') late.resolve('after all');
    else late.reject(new Error('after all'));
    await clock.runUntil(turn.result);
    await clock.advance(0);
    expect(JSON.stringify(opened.session.history)).not.toContain('after all');
    expect(opened.events.filter(({ type }) => type === 'tool.late')).toMatchObject([
      { callId: 'c1', isError: how === 'throws' },
    ]);
    expect(outcomes(opened.events)).toEqual([
      ['c2', 'done'],
      ['c1', 'timed_out'],
    ]);
    await expectNextTurn(opened);
  });

  it('case 44: the time of the turn ends it too, says so to the model later, and the turn can be taken up', async () => {
    const clock = manualClock();
    const hang = scriptedTool('hang', { hangs: true });
    const opened = await open({
      model: saying({ calls }, done),
      tools: [hang, scriptedTool('ok')],
      clock,
      limits: { turnTimeoutMs: 100 },
      drainTimeoutMs: 50,
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({
      status: 'failed',
      error: { kind: 'turn_timeout', timeoutMs: 100 },
      leftBehind: [{ callId: 'c1', toolName: 'hang' }],
    });
    expect(clock.now()).toBe(150);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', expect.stringMatching(/time of 100 ms was over; it may or may not have taken effect/)],
      ['c2', 'ok'],
    ]);
    expect(await clock.runUntil(opened.session.continue().result)).toMatchObject({ status: 'done', text: 'done' });
    await expectNextTurn(opened);
  });

  const never = (): Promise<never> => new Promise(() => {});
  it.each([
    ['its access', { access: never }],
    ['its resource', { resource: never }],
    ['its summary', { summary: never }],
  ])('case 44: a tool that never says %s does not hang the turn for ever', async (_, capability) => {
    const clock = manualClock();
    const limits = { callTimeoutMs: 100, turnTimeoutMs: 10_000 };
    const opened = await open({
      model: saying({ calls }, done),
      tools: [scriptedTool('hang', capability), scriptedTool('ok')],
      clock,
      limits,
    });
    const { result } = await play(opened);
    expect(['done', 'failed']).toContain(result.status);
    expect(clock.now()).toBeLessThanOrEqual(12_000);
    await expectNextTurn(opened);
  });
});

describe('a result that is too large', () => {
  const size = 2_000_000;
  const texts: readonly (readonly [string, string])[] = [
    ['plain letters', 'abcdefghij'.repeat(size / 10)],
    ['two-byte letters', 'é'.repeat(size)],
    ['three-byte letters', '漢字'.repeat(size / 2)],
    ['pairs', '😀'.repeat(size / 2)],
    ['pairs, one unit off', `x${'😀'.repeat(size / 2)}`],
    ['pairs, two units off', `xy${'😀'.repeat(size / 2)}z`],
    ['joined pictures', '👩‍👩‍👧‍👦'.repeat(size / 11)],
    ['lone surrogates', '\ud83d'.repeat(size)],
    ['surrogates the wrong way round', '\ude00\ud83d'.repeat(size / 2)],
    ['control characters', '\u0000\u001b[31m'.repeat(size / 6)],
  ];

  async function shown(returns: ToolReturn | ScriptedToolOptions, options: Partial<Parameters<typeof open>[0]> = {}) {
    const big = scriptedTool('big', returns as ScriptedToolOptions);
    const opened = await open({
      model: saying({ calls: [{ tool: 'big', id: 'c1' }] }, done),
      ...options,
      tools: [big],
    });
    const { result } = await play(opened);
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(big.count).toBe(1);
    const [, value] = resultsIn(opened.session.history)[0]!;
    await expectNextTurn(opened);
    return value;
  }

  const NOTE =
    /\n\[... (\d+) of (\d+) bytes left out here\. The call itself was complete; read on: read_tool_result \{"id":"[0-9a-f]{16}","offset":\d+\}\. ...\]\n/;

  describe.each([
    ['a text', (text: string): ToolReturn => text],
    ['a whole result', (text: string): ToolReturn => toolResult(text)],
    ['an error result', (text: string): ToolReturn => toolError(text)],
  ])('as %s', (_, returns) => {
    it.each(texts)(
      'case 45, case 46: of %s head and tail are shown, with the number of bytes left out, all within the limit',
      async (_, text) => {
        const value = String(await shown({ returns: returns(text) }));
        const whole = text.toWellFormed();
        expect(bytesOf(value)).toBeLessThanOrEqual(LIMIT);
        expect(bytesOf(value)).toBeGreaterThan(LIMIT - 20);
        expect(value.isWellFormed()).toBe(true);
        const [head = '', omitted, total, tail = ''] = value.split(NOTE);
        expect(head.length).toBeGreaterThan(1_000);
        expect(tail.length).toBeGreaterThan(1_000);
        expect(whole.startsWith(head)).toBe(true);
        expect(whole.endsWith(tail)).toBe(true);
        expect(Number(total)).toBe(bytesOf(whole));
        expect(Number(omitted)).toBe(bytesOf(whole) - bytesOf(head) - bytesOf(tail));
      },
    );
  });

  it.each([256, 257, 300, 1_000])(
    'case 45: the limit of %i bytes holds, note included, at each size around it',
    async resultBytes => {
      for (const letter of ['a', 'é', '漢', '😀']) {
        for (let over = -4; over <= 4; over++) {
          const text = letter.repeat(Math.ceil(resultBytes / bytesOf(letter)) + over);
          const value = String(await shown({ returns: text }, { limits: { resultBytes } }));
          expect(bytesOf(value)).toBeLessThanOrEqual(resultBytes);
          expect(value.isWellFormed()).toBe(true);
          expect(value === text).toBe(bytesOf(text) <= resultBytes);
        }
      }
    },
  );

  const long = 'x'.repeat(size);
  const values: readonly (readonly [string, ScriptedToolOptions])[] = [
    ['a value', { returns: { list: Array.from({ length: 100_000 }, (_, n) => ({ n, name: '漢字' })) } }],
    ['a key', { returns: { [long]: 1 } }],
    ['a value in a whole result', { returns: toolResult([{ type: 'json', value: { long } }]) }],
    [
      'two large parts',
      {
        returns: toolResult([
          { type: 'text', text: long },
          { type: 'text', text: long },
        ]),
      },
    ],
    [
      'an error of two large parts',
      {
        returns: toolResult(
          [
            { type: 'text', text: long },
            { type: 'text', text: long },
          ],
          { isError: true },
        ),
      },
    ],
    [
      'many small parts',
      {
        returns: toolResult(
          Array.from({ length: 20_000 }, () => ({ type: 'text' as const, text: 'a line of some text' })),
        ),
      },
    ],
    [
      'many pictures',
      {
        returns: toolResult(
          Array.from({ length: 5_000 }, () => ({
            type: 'image' as const,
            data: 'A'.repeat(1_000),
            mediaType: 'image/png',
          })),
        ),
      },
    ],
    [
      'a large picture',
      {
        returns: toolResult([
          { type: 'text', text: 'look' },
          { type: 'image', data: new Uint8Array(size), mediaType: 'image/png' },
        ]),
      },
    ],
    [
      'a file with a long name',
      { returns: toolResult([{ type: 'file', data: 'AAAA', mediaType: 'text/plain', filename: long }]) },
    ],
    [
      'a part of a long type',
      { returns: toolResult([{ type: 'image', data: 'A'.repeat(LIMIT + 1), mediaType: long }]) },
    ],
    ['an error that is thrown', { throws: new Error(long) }],
    ['a text that is thrown', { throws: long }],
    ['an error that is returned', { returns: new Error(long) }],
  ];

  it.each(values)('case 45: %s is shown within the limit', async (_, behaviour) => {
    const value = await shown(behaviour);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (!Array.isArray(value)) expect(bytesOf(text)).toBeLessThanOrEqual(LIMIT);
    else {
      const said = value.reduce(
        (sum: number, part) => sum + bytesOf(part.text ?? part.data.data + (part.filename ?? '') + part.mediaType),
        0,
      );
      expect(said).toBeLessThanOrEqual(LIMIT);
    }
    expect(text.isWellFormed()).toBe(true);
  });

  it('case 45, case 46: the note names the call that reads the rest, and with the head it is the whole', async () => {
    const long = Array.from({ length: 20_000 }, (_, n) => `line ${n} 漢😀`).join('\n');
    const big = scriptedTool('big', { returns: long });
    const model = scriptedModel(
      forever(request => {
        const told = resultsIn(request.prompt).map(([, value]) => String(value));
        const next = nextRead(told);
        if (told.length === 0) return { calls: [{ tool: 'big' }] };
        return next === undefined ? done : { calls: [{ tool: 'read_tool_result', input: next }] };
      }),
    );
    const opened = await open({ model, tools: [big] });
    expect((await play(opened)).result).toMatchObject({ status: 'done' });
    const [cut = '', ...parts] = resultsIn(opened.session.history).map(([, value]) => String(value));
    const [head = ''] = cut.split(NOTE);
    expect(head + parts.map(part => part.slice(part.indexOf('\n') + 1)).join('')).toBe(long);
    expect(parts.length).toBeGreaterThan(1);
    expect(big.count).toBe(1);
    expectSound(opened);
  });

  /** What a model that follows what it is told reads next. */
  function nextRead(told: readonly string[]): object | undefined {
    const first = /read_tool_result (\{[^}]*\})/.exec(told[0] ?? '')?.[1];
    if (first === undefined || told.length === 1) return first && JSON.parse(first);
    const offset = /^\[.*read on with offset (\d+)\]/.exec(told.at(-1) ?? '')?.[1];
    return offset === undefined ? undefined : { ...JSON.parse(first), offset: Number(offset) };
  }

  it('case 45: what a middleware made of a result is cut too', async () => {
    const grow: ToolMiddleware = async (_, next) => {
      await next();
      return toolResult('漢'.repeat(size));
    };
    const value = String(await shown({ returns: 'small' }, { middlewares: [grow] }));
    expect(bytesOf(value)).toBeLessThanOrEqual(LIMIT);
    expect(value).toMatch(NOTE);
  });

  it('case 45: a middleware still has the whole result', async () => {
    const seen: number[] = [];
    const look: ToolMiddleware = async (_, next) => {
      const result = await next();
      for (const part of result.content) if (part.type === 'text') seen.push(part.text.length);
      return result;
    };
    await shown({ returns: long }, { middlewares: [look] });
    expect(seen).toEqual([size]);
  });

  it.each([
    ['a text', { returns: 'x'.repeat(1_000) }],
    ['a value', { returns: { text: 'x'.repeat(1_000) } }],
    [
      'several parts',
      { returns: toolResult(['a', 'b'].map(letter => ({ type: 'text' as const, text: letter.repeat(500) }))) },
    ],
  ])('case 45: the line that says that a call is repeated counts too (%s)', async (_, behaviour) => {
    for (const resultBytes of [256, 300, 600, 1_000]) {
      const big = scriptedTool('big', behaviour);
      const opened = await open({
        model: insisting(() => ({ calls: [{ tool: 'big' }] })),
        tools: [big],
        limits: { resultBytes },
      });
      expect((await play(opened)).result).toMatchObject({ status: 'failed', error: { limit: 'repeat' } });
      const told = resultsIn(opened.session.history).map(([, value]) =>
        typeof value === 'string' ? value : (value as { text: string }[]).map(({ text }) => text).join(''),
      );
      expect(told.at(-1)).toContain('for the 6th time in a row');
      for (const text of told) expect(bytesOf(text)).toBeLessThanOrEqual(resultBytes);
      expectSound(opened);
    }
  });

  it.each([
    ['a target that a rule forbids', { rules: [{ action: '*', decision: 'deny' as const }] }],
    ['a target that nobody can be asked about', {}],
  ])('case 45: a refusal that names %s is shown within the limit', async (_, gate) => {
    const opened = await open({
      model: saying({ calls: [{ tool: 'big', id: 'c1' }] }, done),
      tools: [scriptedTool('big', { access: () => [{ action: 'run', target: long }] })],
      rig: { gate },
    });
    await play(opened);
    const [[, text] = []] = resultsIn(opened.session.history);
    expect(text).toMatch(/^permission denied/);
    expect(bytesOf(String(text))).toBeLessThanOrEqual(LIMIT);
    await expectNextTurn(opened);
  });

  it('case 45: arguments that do not fit, by a megabyte, are answered in a kilobyte', async () => {
    const strict = scriptedTool('big', { input: { type: 'object', properties: {}, additionalProperties: false } });
    const input = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`unknown_${n}_${'x'.repeat(1_000)}`, n]));
    const calls = [
      { tool: 'big', id: 'c1', input },
      { tool: 'big', id: 'c2', inputText: `{"x": ${long}` },
    ];
    const opened = await open({ model: saying({ calls }, done), tools: [strict] });
    await play(opened);
    for (const [, text] of resultsIn(opened.session.history)) expect(bytesOf(String(text))).toBeLessThanOrEqual(1_100);
    expect(strict.count).toBe(0);
    await expectNextTurn(opened);
  });
});
