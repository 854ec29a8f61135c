/** Results too long to be shown whole: kept beside the journal, and read on by the model, across the loop. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  defineLoop,
  defineRig,
  defineTool,
  type JournalStore,
  type LoopOptions,
  type Message,
  memoryStore,
  READ_TOOL_RESULT_TOOL_NAME,
  type Session,
  type SessionEvent,
  type ToolMiddleware,
  type ToolReturn,
  toolError,
  toolResult,
} from 'looprig';
import {
  assertPaired,
  forever,
  type ManualClock,
  manualClock,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedReply,
  scriptedModel,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { resultsIn } from './cases/setup.ts';

const done: ScriptedReply = { text: 'done' };
const encoder = new TextEncoder();
const bytesOf = (text: string): number => encoder.encode(text).length;

type Limits = NonNullable<LoopOptions['limits']>;

interface SetUp {
  readonly returns: ToolReturn | ((input: { readonly n?: number }) => ToolReturn | Promise<ToolReturn>);
  readonly model: ScriptedModel;
  readonly limits?: Limits;
  readonly store?: JournalStore;
  readonly clock?: ManualClock;
  readonly middlewares?: readonly ToolMiddleware[];
  readonly sessionId?: string;
}

interface Opened {
  readonly session: Session;
  readonly store: JournalStore;
  readonly clock: ManualClock;
  readonly events: SessionEvent[];
  /** Runs a turn to its end. */
  turn(): Promise<void>;
  /** The texts of all results so far. */
  results(): string[];
}

async function open({ returns, model, limits, middlewares, sessionId, ...given }: SetUp): Promise<Opened> {
  const { store = memoryStore(), clock = manualClock() } = given;
  const big = defineTool({
    name: 'big',
    description: 'Gives much.',
    input: { type: 'object', properties: { n: { type: 'number' } } },
    execute: input => (typeof returns === 'function' ? (returns as (input: object) => ToolReturn)(input) : returns),
  });
  const loop = defineLoop({ name: 'reader', model, tools: [big], limits, middlewares });
  const events: SessionEvent[] = [];
  const rig = defineRig({ loops: [loop], store, clock, observers: [event => void events.push(event)] });
  const session = await rig.open(sessionId === undefined ? {} : { sessionId });
  const turn = async (): Promise<void> => {
    expect(await clock.runUntil(session.submit('go').result)).toMatchObject({ status: 'done', text: 'done' });
    assertPaired(session.history);
  };
  return { session, store, clock, events, turn, results: () => resultTexts(session.history) };
}

function resultTexts(messages: readonly Message[]): string[] {
  return resultsIn(messages).map(([, value]) =>
    typeof value === 'string' ? value : (value as { text?: string }[]).map(part => part.text ?? '').join('\n'),
  );
}

/** A model that makes these calls, one response each, then answers, in every turn. */
function calling(...steps: readonly (ScriptedCall | readonly ScriptedCall[])[]): ScriptedModel {
  return scriptedModel(
    forever(request => {
      const asked = request.prompt.slice(request.prompt.findLastIndex(({ role }) => role === 'user'));
      const step = steps[asked.filter(({ role }) => role === 'assistant').length];
      return step === undefined ? done : { calls: Array.isArray(step) ? step : [step as ScriptedCall] };
    }),
  );
}

const read = (input: object): ScriptedCall => ({ tool: READ_TOOL_RESULT_TOOL_NAME, input });

interface NoteCall {
  readonly id: string;
  readonly offset: number;
}

/** What the note of a cut result tells a model to call. */
function noteIn(text: string): NoteCall | undefined {
  const found = /read on: read_tool_result (\{[^}]*\})/.exec(text);
  return found === null ? undefined : (JSON.parse(found[1]!) as NoteCall);
}

/** A model that reads on to the end by what it is told alone, and what it has put together by then. */
function readingModel(bytes?: number): { readonly model: ScriptedModel; readonly seen: string[] } {
  const seen: string[] = [];
  let id = '';
  const model = scriptedModel(
    forever((request): ScriptedReply => {
      const [last] = resultTexts(request.prompt).slice(-1);
      if (last === undefined) return { calls: [{ tool: 'big' }] };
      const [line = '', ...rest] = last.split('\n');
      const part = /^\[bytes \d+ to \d+ of \d+(?:; read on with offset (\d+))?/.exec(line);
      const note = noteIn(last);
      seen.push(part === null ? last.slice(0, last.indexOf('\n[... ')) : rest.join('\n'));
      id = part === null ? note!.id : id;
      const offset = part === null ? note?.offset : part[1] && Number(part[1]);
      return offset === undefined ? done : { calls: [read({ id, offset, ...(bytes === undefined ? {} : { bytes }) })] };
    }),
    { record: false },
  );
  return { model, seen };
}

/** Letters of one to four bytes, in an order that never repeats itself at the same offset. */
function mixed(characters: number): string {
  const letters = ['a', 'é', '漢', '😀', '\n', '"', '\ufeff'];
  let state = 7;
  let text = '';
  for (let n = 0; n < characters; n++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    text += letters[state % letters.length];
  }
  return text;
}

const UNBOUND = { iterations: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY };

describe('a result over resultBytes', () => {
  it('of 2,000,000 characters is put together again, byte for byte, by a model that follows the notes alone', async () => {
    const whole = mixed(2_000_000);
    const { model, seen } = readingModel();
    const opened = await open({ returns: whole, model, limits: UNBOUND });
    await opened.turn();
    expect(seen.join('') === whole).toBe(true);
    for (const text of opened.results()) expect(bytesOf(text)).toBeLessThanOrEqual(102_400);
  });

  it.each([
    [256, undefined],
    [300, 7],
    [1_000, 2],
    [5_000, 999],
  ])(
    'with resultBytes of %d and parts of %s bytes is read whole, each part within the limit',
    async (resultBytes, bytes) => {
      const whole = mixed(resultBytes === 5_000 ? 9_000 : 1_200);
      const { model, seen } = readingModel(bytes);
      const opened = await open({ returns: whole, model, limits: { ...UNBOUND, resultBytes } });
      await opened.turn();
      expect(seen.join('')).toBe(whole);
      for (const text of opened.results()) {
        expect(bytesOf(text)).toBeLessThanOrEqual(resultBytes);
        expect(text.isWellFormed()).toBe(true);
      }
    },
  );

  it.each<readonly [string, ToolReturn, string]>([
    ['JSON', { list: Array.from({ length: 3_000 }, (_, n) => `é${n}`) }, ''],
    ['an error', toolError(`first ${mixed(3_000)}`), ''],
    ['halves of pairs', `\ud83d${'x'.repeat(3_000)}\ude00`, ''],
  ])('is kept as the text that the model is shown: %s', async (_, returns) => {
    const { model, seen } = readingModel();
    const opened = await open({ returns, model, limits: { ...UNBOUND, resultBytes: 600 } });
    await opened.turn();
    const whole = typeof returns === 'string' ? returns.toWellFormed() : textOf(returns);
    expect(seen.join('')).toBe(whole);
    expect(opened.session.history.find(({ role }) => role === 'tool')).toMatchObject({
      content: [{ output: { type: _ === 'an error' ? 'error-text' : 'text' } }],
    });
  });

  const textOf = (value: unknown): string => {
    const parts = (value as { content?: { text: string }[] }).content;
    return parts === undefined ? JSON.stringify(value) : parts.map(({ text }) => text).join('');
  };

  it('of several parts is kept as one text; a note stands for what is no text', async () => {
    const returns = toolResult([
      { type: 'text', text: 'first' },
      { type: 'image', data: new Uint8Array(5_000), mediaType: 'image/png' },
      { type: 'json', value: { long: 'é'.repeat(900) } },
      { type: 'text', text: 'last'.repeat(300) },
    ]);
    const model = calling({ tool: 'big' });
    const opened = await open({ returns, model, limits: { resultBytes: 1_200 } });
    await opened.turn();
    const [shown = ''] = opened.results();
    expect(shown).toMatch(/^first\n\{"long":"é+\n\[... \d+ of 1811 bytes left out here/);
    const notes = [...shown.matchAll(/read_tool_result (\{[^}]*\})/g)].map(
      ([, input]) => JSON.parse(input!) as NoteCall,
    );
    expect(notes).toHaveLength(2);
    const [capture] = capturesIn(opened.events);
    const kept = new TextDecoder().decode(await opened.store.getCapture(opened.session.id, capture!.id));
    expect(kept).toBe(
      `first\n\n[a file of type image/png, not kept]\n\n{"long":"${'é'.repeat(900)}"}\n\n${'last'.repeat(300)}`,
    );
    const bytes = encoder.encode(kept);
    const from = (offset: number): string => new TextDecoder().decode(bytes.subarray(offset));
    const head = /\n(\{"long":"é+)\n/.exec(shown)![1]!;
    expect(`${head}${from(notes[0]!.offset)}`).toBe(kept.slice(kept.indexOf('{')));
    expect(from(notes[1]!.offset)).toBe('last'.repeat(300));
  });

  it('of which only an image is left out is not kept', async () => {
    const returns = toolResult([
      { type: 'text', text: 'first' },
      { type: 'image', data: new Uint8Array(5_000), mediaType: 'image/png' },
    ]);
    const opened = await open({ returns, model: calling({ tool: 'big' }), limits: { resultBytes: 1_200 } });
    await opened.turn();
    expect(opened.results()[0]).toMatch(/^first\n\[... 1 of 2 parts left out here.* Ask for less to see them\. ...\]$/);
    expect(capturesIn(opened.events)).toEqual([]);
  });

  it('is told with its place to those who watch, and stands whole in the store', async () => {
    const whole = 'é'.repeat(200_000);
    const opened = await open({ returns: whole, model: calling({ tool: 'big' }) });
    await opened.turn();
    const [capture] = capturesIn(opened.events);
    expect(capture).toEqual({ id: expect.stringMatching(/^[0-9a-f]{64}$/), bytes: 400_000, totalBytes: 400_000 });
    const bytes = await opened.store.getCapture(opened.session.id, capture!.id);
    expect(new TextDecoder().decode(bytes) === whole).toBe(true);
    expect(noteIn(opened.results()[0]!)?.id).toBe(capture!.id.slice(0, 16));
  });

  it('is kept before it is recorded', async () => {
    const order: string[] = [];
    const inner = memoryStore();
    const store = storeOver(inner, {
      append: (...args) => {
        order.push(...args[2].flatMap(({ type }) => (type === 'tool.completed' ? ['recorded'] : [])));
        return inner.append(...args);
      },
      putCapture: async (...args) => {
        const id = await inner.putCapture(...args);
        order.push('kept');
        return id;
      },
    });
    await (await open({ returns: 'x'.repeat(300_000), model: calling({ tool: 'big' }), store })).turn();
    expect(order).toEqual(['kept', 'recorded']);
  });

  it('is kept as the middlewares leave it, not as the tool gave it', async () => {
    const redact: ToolMiddleware = async (_, next) => {
      const { content } = await next();
      return toolResult(
        content.map(part => (part.type === 'text' ? { ...part, text: part.text.replaceAll('secret', '***') } : part)),
      );
    };
    const { model, seen } = readingModel();
    const opened = await open({
      returns: 'a secret. '.repeat(1_000),
      model,
      middlewares: [redact],
      limits: { ...UNBOUND, resultBytes: 2_000 },
    });
    await opened.turn();
    expect(seen.join('')).toBe('a ***. '.repeat(1_000));
  });

  it('is the same capture however often it is given, and another for another text of the same head and tail', async () => {
    const returns = ({ n = 0 }) => `${'x'.repeat(2_000)}${n}${'y'.repeat(2_000)}`;
    const calls = [1, 1, 2].map((n): ScriptedCall => ({ tool: 'big', input: { n } }));
    const opened = await open({ returns, model: calling(...calls), limits: { resultBytes: 500 } });
    await opened.turn();
    const [first, second, third] = opened.results().map(text => noteIn(text)?.id);
    expect(first).toBe(second);
    expect(third).not.toBe(first);
  });

  it('results of one batch are each kept and read', async () => {
    const returns = ({ n = 0 }) => `${n}`.repeat(2_000);
    const batch = [1, 2, 3, 4].map((n): ScriptedCall => ({ tool: 'big', input: { n } }));
    const opened = await open({ returns, model: calling(batch), limits: { resultBytes: 500, parallel: 4 } });
    await opened.turn();
    const notes = opened.results().map(text => noteIn(text)!);
    expect(new Set(notes.map(({ id }) => id)).size).toBe(4);
    const again = await open({
      ...{ returns, store: opened.store, sessionId: opened.session.id, limits: { resultBytes: 500 } },
      model: calling(notes.map(({ id }) => read({ id, offset: 1_990 }))),
    });
    await again.turn();
    expect(again.results().slice(-4)).toEqual(
      [1, 2, 3, 4].map(n => `[bytes 1990 to 2000 of 2000: the end]\n${`${n}`.repeat(10)}`),
    );
  });

  it('leaves nothing in memory but what the model was shown', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const heap = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const steps = Array.from({ length: 20 }, (_, n): ScriptedCall => ({ tool: 'big', input: { n } }));
    // What the store holds is bytes, and stands outside of the heap.
    const returns = ({ n = 0 }) => `${n} ${'x'.repeat(2_000_000)}`;
    const { session, turn } = await open({
      returns,
      model: calling(...steps),
      limits: { ...UNBOUND, resultBytes: 1_000 },
    });
    const before = heap();
    await turn();
    expect(heap() - before).toBeLessThan(20_000_000);
    expect(session.history).toHaveLength(42);
  });

  it('a line that is added to it leaves the note true', async () => {
    const whole = mixed(3_000);
    const steps = Array.from({ length: 3 }, (): ScriptedCall => ({ tool: 'big' }));
    const opened = await open({ returns: whole, model: calling(...steps), limits: { resultBytes: 700 } });
    await opened.turn();
    const last = opened.results().at(-1)!;
    expect(last).toMatch(/for the 3rd time in a row/);
    expect(bytesOf(last)).toBeLessThanOrEqual(700);
    const { offset } = noteIn(last)!;
    expect(last.slice(0, last.indexOf('\n[... '))).toBe(
      new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoder.encode(whole).subarray(0, offset)),
    );
  });
});

describe('captureBytes', () => {
  it('of a larger result the first bytes are kept, on a whole character, and both note and reader say so', async () => {
    const whole = 'é'.repeat(10_000);
    const { model, seen } = readingModel();
    const limits = { ...UNBOUND, resultBytes: 1_000, captureBytes: 9_001 };
    const opened = await open({ returns: whole, model, limits });
    await opened.turn();
    expect(opened.results()[0]).toMatch(/"offset":\d+\}; only the first 9000 bytes were kept\. ...\]\n/);
    expect(opened.results().at(-1)).toMatch(
      /^\[bytes \d+ to 9000 of 9000: the end of what was kept; the whole result had 20000 bytes\]\n/,
    );
    expect(seen.join('')).toBe('é'.repeat(4_500));
    expect(capturesIn(opened.events)[0]).toMatchObject({ bytes: 9_000, totalBytes: 20_000 });
  });

  it('less than what is shown leads nowhere, and the note says so', async () => {
    const opened = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }),
      limits: { resultBytes: 1_000, captureBytes: 10 },
    });
    await opened.turn();
    expect(opened.results()[0]).toMatch(/this was not kept: ask for a smaller part to see it\. ...\]/);
    expect(bytesOf(opened.results()[0]!)).toBeLessThanOrEqual(1_000);
  });

  it('of 0 keeps nothing and offers nothing', async () => {
    const model = calling({ tool: 'big' });
    const opened = await open({ returns: 'x'.repeat(5_000), model, limits: { resultBytes: 1_000, captureBytes: 0 } });
    await opened.turn();
    expect(opened.results()[0]).toMatch(
      /bytes left out here\. The call itself was complete; the rest was not kept: ask for a smaller part to see it\. ...\]/,
    );
    expect(capturesIn(opened.events)).toEqual([]);
    expect(offered(model)).toEqual([['big'], ['big']]);
  });
});

describe('read_tool_result', () => {
  it('is offered from the request after the first kept result on, and never before', async () => {
    const model = calling(
      { tool: 'big', input: { n: 1 } },
      { tool: 'big', input: { n: 2 } },
      { tool: 'big', input: { n: 3 } },
    );
    const opened = await open({
      returns: ({ n = 0 }) => 'x'.repeat(n === 1 ? 10 : 5_000),
      model,
      limits: { resultBytes: 1_000 },
    });
    await opened.turn();
    await opened.turn();
    const both = ['big', 'read_tool_result'];
    expect(offered(model)).toEqual([['big'], ['big'], both, both, both, both, both, both]);
  });

  it('is unknown while there is nothing to read', async () => {
    const opened = await open({ returns: 'small', model: calling({ tool: 'big' }, read({ id: '0'.repeat(16) })) });
    await opened.turn();
    expect(opened.results()[1]).toMatch(/^unknown tool "read_tool_result"/);
  });

  /** Keeps one result of `whole`, then calls the reader with what `input` makes of its id, and gives what it says. */
  async function said(
    input: (id: string) => object,
    whole = 'x'.repeat(5_000),
    store = memoryStore(),
  ): Promise<string> {
    const limits = { resultBytes: 1_000 };
    const first = await open({ returns: whole, model: calling({ tool: 'big' }), limits, store });
    await first.turn();
    await first.session.close();
    const [capture] = capturesIn(first.events);
    const model = calling(read(input(capture!.id)));
    const second = await open({ returns: whole, model, limits, store, sessionId: first.session.id });
    await second.turn();
    expect(capturesIn(second.events)).toEqual([]);
    return second.results().at(-1)!;
  }

  it('begins at 0 without an offset, and gives as much as a result may hold', async () => {
    const text = await said(id => ({ id }), mixed(5_000));
    expect(text).toMatch(/^\[bytes 0 to \d+ of \d+; read on with offset \d+\]\n/);
    expect(bytesOf(text)).toBeGreaterThan(980);
    expect(bytesOf(text)).toBeLessThanOrEqual(1_000);
  });

  it('an offset inside a character is that of its start, and a part is never less than a character', async () => {
    const whole = '😀'.repeat(2_000);
    expect(await said(id => ({ id, offset: 6, bytes: 1 }), whole)).toBe(
      '[bytes 4 to 8 of 8000; read on with offset 8]\n😀',
    );
    expect(await said(id => ({ id, offset: 7, bytes: 7 }), whole)).toBe(
      '[bytes 4 to 8 of 8000; read on with offset 8]\n😀',
    );
    expect(await said(id => ({ id, offset: 7_999 }), whole)).toBe('[bytes 7996 to 8000 of 8000: the end]\n😀');
  });

  it.each([5_000, 5_001, Number.MAX_SAFE_INTEGER])(
    'an offset of %d, beyond the end, is told with the size',
    async offset => {
      expect(await said(id => ({ id, offset }))).toBe(
        `nothing is at offset ${offset}: the result has 5000 bytes, so the last one is at offset 4999`,
      );
    },
  );

  it.each<readonly [string, object]>([
    ['a negative offset', { offset: -1 }],
    ['half a byte', { offset: 0.5 }],
    ['an offset in words', { offset: 'end' }],
    ['no bytes', { bytes: 0 }],
  ])('refuses %s by its schema', async (_, input) => {
    expect(await said(id => ({ id, ...input }))).toMatch(
      /^the arguments do not fit the schema of "read_tool_result": (offset|bytes)/,
    );
  });

  it('takes the whole SHA-256 as well, in letters of either case', async () => {
    expect(await said(id => ({ id: ` ${id.toUpperCase()} `, offset: 4_999 }))).toBe(
      '[bytes 4999 to 5000 of 5000: the end]\nx',
    );
  });

  it.each<readonly [string, (id: string) => string]>([
    ['too short', id => id.slice(0, 15)],
    ['empty', () => ''],
    ['not there', id => id.replace(/^./, digit => (digit === '0' ? '1' : '0'))],
    ['no id', () => '../../etc/passwd'],
    ['a name of an object', () => '__proto__________'],
    ['longer than one', id => `${id}0`],
  ])('an id that is %s is an error result', async (_, wrong) => {
    const text = await said(id => ({ id: wrong(id) }));
    expect(text).toMatch(/^no result of this session has the id ".*": take it from the note of a result that was cut$/);
  });

  it("another session's id is unknown, even where that session has results of its own", async () => {
    const store = memoryStore();
    const limits = { resultBytes: 1_000 };
    const one = await open({ returns: 'secret '.repeat(1_000), model: calling({ tool: 'big' }), limits, store });
    await one.turn();
    const { id } = noteIn(one.results()[0]!)!;
    const other = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }, read({ id })),
      limits,
      store,
    });
    await other.turn();
    expect(other.results()[1]).toMatch(/^no result of this session has the id/);
    expect(JSON.stringify(other.session.history)).not.toContain('secret');
  });

  it('what a tool keeps by its own binding is no result, and is not read', async () => {
    const store = memoryStore();
    let id = '';
    const inner = storeOver(store, {
      putCapture: async (sessionId, bytes) => {
        id = await store.putCapture(sessionId, encoder.encode('private'));
        return store.putCapture(sessionId, bytes);
      },
    });
    const first = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }),
      limits: { resultBytes: 1_000 },
      store: inner,
    });
    await first.turn();
    const again = await open({ returns: '', model: calling(read({ id })), store, sessionId: first.session.id });
    await again.turn();
    expect(again.results().at(-1)).toMatch(/^no result of this session has the id/);
  });

  it.each<readonly [string, (bytes: Uint8Array | undefined) => unknown, RegExp]>([
    ['damaged', bytes => bytes?.fill(65, 17, 18), /cannot be read: what was kept of it is damaged$/],
    ['cut off', bytes => bytes?.slice(0, -1), /cannot be read: what was kept of it is damaged$/],
    ['gone', () => undefined, /cannot be read: what was kept of it is not there$/],
    [
      'kept by a store that fails',
      () => Promise.reject(new Error('password in here')),
      /cannot be read: what was kept of it is not there$/,
    ],
  ])('a result that is %s is an error result', async (_, spoil, says) => {
    const inner = memoryStore();
    const store = storeOver(inner, {
      getCapture: async (...args) => (await spoil(await inner.getCapture(...args))) as Uint8Array | undefined,
    });
    expect(await said(id => ({ id }), 'x'.repeat(5_000), store)).toMatch(says);
  });

  it('fetches and checks a result once a turn, however often it is read', async () => {
    let gets = 0;
    const inner = memoryStore();
    const getCapture: JournalStore['getCapture'] = (...args) => {
      gets += 1;
      return inner.getCapture(...args);
    };
    const { model } = readingModel(500);
    const store = storeOver(inner, { getCapture });
    const opened = await open({ returns: 'x'.repeat(5_000), model, limits: { resultBytes: 1_000 }, store });
    await opened.turn();
    expect(opened.results().length).toBeGreaterThan(8);
    expect(gets).toBe(1);
    await opened.session.close();
    const limits = { resultBytes: 1_000 };
    const again = await open({
      returns: '',
      model: calling(read({ id: noteIn(opened.results()[0]!)!.id })),
      limits,
      store,
      sessionId: opened.session.id,
    });
    await again.turn();
    await again.turn();
    expect(gets).toBe(3);
  });

  it('a store that never gives a result back does not hold the turn', async () => {
    const inner = memoryStore();
    const store = storeOver(inner, { getCapture: () => new Promise(() => {}) });
    expect(await said(id => ({ id }), 'x'.repeat(5_000), store)).toMatch(/^timed out after 30000 ms/);
  });

  it('is a call like any other: counted, told, seen by middlewares, and run without asking anybody', async () => {
    const seen: string[] = [];
    const watch: ToolMiddleware = (call, next) => {
      seen.push(call.toolName);
      return next();
    };
    const { model } = readingModel();
    const opened = await open({
      returns: 'x'.repeat(2_000),
      model,
      middlewares: [watch],
      limits: { resultBytes: 1_000 },
    });
    const result = await opened.clock.runUntil(opened.session.submit('go').result);
    expect(seen[0]).toBe('big');
    expect(seen.slice(1)).toEqual(seen.slice(1).map(() => READ_TOOL_RESULT_TOOL_NAME));
    expect(result).toMatchObject({ status: 'done', calls: seen.length });
    const completed = opened.events.filter(event => event.type === 'tool.completed');
    expect(completed.map(({ toolName, outcome }) => [toolName, outcome])).toEqual(seen.map(name => [name, 'done']));
  });

  it('what a middleware makes of its answer is cut, and not kept once more', async () => {
    const grow: ToolMiddleware = async (call, next) => {
      const result = await next();
      return call.toolName === READ_TOOL_RESULT_TOOL_NAME ? toolResult('y'.repeat(9_000)) : result;
    };
    const store = memoryStore();
    const first = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }),
      limits: { resultBytes: 1_000 },
      store,
    });
    await first.turn();
    const { id } = noteIn(first.results()[0]!)!;
    const model = calling(read({ id }));
    const again = await open({
      returns: '',
      model,
      middlewares: [grow],
      limits: { resultBytes: 1_000 },
      store,
      sessionId: first.session.id,
    });
    await again.turn();
    expect(again.results().at(-1)).toMatch(/the rest was not kept: ask for a smaller part to see it/);
    expect(capturesIn(again.events)).toEqual([]);
  });

  it('no tool of a loop can have its name', () => {
    const define = () =>
      defineTool({
        name: READ_TOOL_RESULT_TOOL_NAME,
        description: 'Mine.',
        input: { type: 'object' },
        execute: () => 1,
      });
    expect(define).toThrow(expect.objectContaining({ kind: 'reserved_tool_name', field: 'name' }));
  });

  it('reads what was kept by a process that ended before its step was whole', async () => {
    const whole = mixed(3_000);
    const first = await open({ returns: whole, model: calling({ tool: 'big' }), limits: { resultBytes: 1_000 } });
    await first.turn();
    const { id } = first.session;
    const store = memoryStore();
    for await (const record of first.store.read(id, 1)) {
      await store.append(id, record.seq - 1, [record]);
      if (record.type === 'tool.completed') break;
    }
    await store.putCapture(id, encoder.encode(whole));
    let runs = 0;
    const returns = (): string => {
      runs += 1;
      return 'again';
    };
    const { model, seen } = readingModel();
    const again = await open({ returns, model, store, sessionId: id, limits: { ...UNBOUND, resultBytes: 1_000 } });
    expect(await again.clock.runUntil(again.session.resume().result)).toMatchObject({ status: 'done' });
    expect(seen.join('')).toBe(whole);
    expect(runs).toBe(0);
  });

  it('is there in a session that is opened again, and in each of its modes', async () => {
    const store = memoryStore();
    const first = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }),
      limits: { resultBytes: 1_000 },
      store,
    });
    await first.turn();
    await first.session.close();
    const { id, offset } = noteIn(first.results()[0]!)!;
    const model = calling(read({ id, offset }));
    const tool = defineTool({ name: 'other', description: 'Another.', input: { type: 'object' }, execute: () => 'ok' });
    const loop = defineLoop({
      name: 'reader',
      model,
      tools: [tool],
      modes: { narrow: { limits: { resultBytes: 300 } } },
      initialMode: 'narrow',
    });
    const clock = manualClock();
    const session = await defineRig({ loops: [loop], store, clock }).open({ sessionId: first.session.id });
    await clock.runUntil(session.submit('go').result);
    await session.setMode('narrow');
    await clock.runUntil(session.submit('go').result);
    const [wide = '', narrow = ''] = resultTexts(session.history).slice(-2);
    expect(offered(model)).toEqual(Array.from({ length: 4 }, () => ['other', 'read_tool_result']));
    expect(wide).toBe(`[bytes ${offset} to 5000 of 5000: the end]\n${'x'.repeat(5_000 - offset)}`);
    expect(narrow).toMatch(new RegExp(`^\\[bytes ${offset} to \\d+ of 5000; read on with offset \\d+\\]\\nx+$`));
    expect(bytesOf(narrow)).toBeLessThanOrEqual(300);
  });
});

describe('a store that does not keep', () => {
  const NOT_KEPT =
    /bytes left out here\. The call itself was complete; the rest was not kept: ask for a smaller part to see it\. ...\]/;
  const never = (): Promise<never> => new Promise(() => {});

  it.each<readonly [string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('password in here');
      },
    ],
    ['rejects', () => Promise.reject(new Error('password in here'))],
    ['gives no id', () => Promise.resolve(undefined)],
    ['gives an id that is none', () => Promise.resolve('__proto__')],
    ['never ends', never],
  ])('because it %s loses the rest, never the result', async (_, putCapture) => {
    const store = storeOver(memoryStore(), { putCapture: putCapture as JournalStore['putCapture'] });
    const model = calling({ tool: 'big' });
    const opened = await open({ returns: 'x'.repeat(5_000), model, limits: { resultBytes: 1_000 }, store });
    await opened.turn();
    const [shown = ''] = opened.results();
    expect(shown).toMatch(NOT_KEPT);
    expect(bytesOf(shown)).toBeLessThanOrEqual(1_000);
    expect(opened.clock.now()).toBe(_ === 'never ends' ? 10_000 : 0);
    expect(capturesIn(opened.events)).toEqual([]);
    expect(JSON.stringify([opened.session.history, opened.events])).not.toContain('password');
    expect(offered(model).at(-1)).toEqual(['big']);
  });

  it('holds no longer than the call may run', async () => {
    const store = storeOver(memoryStore(), { putCapture: never });
    const limits = { resultBytes: 1_000, callTimeoutMs: 500 };
    const opened = await open({ returns: 'x'.repeat(5_000), model: calling({ tool: 'big' }), limits, store });
    await opened.turn();
    expect(opened.results()[0]).toMatch(NOT_KEPT);
    expect(opened.clock.now()).toBe(500);
    expect(outcomesIn(opened.events)).toEqual(['done']);
  });

  it('and holds a turn that is interrupted not at all: the call is done, and says so', async () => {
    const keeping = Promise.withResolvers<void>();
    const kept = Promise.withResolvers<string>();
    const inner = memoryStore();
    const store = storeOver(inner, {
      putCapture: () => {
        keeping.resolve();
        return kept.promise;
      },
    });
    const opened = await open({
      returns: 'x'.repeat(5_000),
      model: calling({ tool: 'big' }),
      limits: { resultBytes: 1_000 },
      store,
    });
    const turn = opened.session.submit('go');
    await opened.clock.runUntil(keeping.promise);
    turn.interrupt('enough');
    const result = await opened.clock.runUntil(turn.result);
    kept.resolve('0'.repeat(64));
    await opened.clock.advance(0);
    expect(result).toMatchObject({ status: 'interrupted', leftBehind: [] });
    expect(opened.clock.now()).toBe(0);
    expect(opened.results()[0]).toMatch(NOT_KEPT);
    expect(outcomesIn(opened.events)).toEqual(['done']);
    expect(opened.events.some(({ type }) => type === 'tool.late')).toBe(false);
  });

  it('what a stopped tool still gives is not kept, so that the turn ends at once', async () => {
    let puts = 0;
    const inner = memoryStore();
    const store = storeOver(inner, {
      putCapture: (...args) => {
        puts += 1;
        return inner.putCapture(...args);
      },
    });
    const running = Promise.withResolvers<void>();
    const gives = Promise.withResolvers<string>();
    const returns = () => {
      running.resolve();
      return gives.promise;
    };
    const opened = await open({ returns, model: calling({ tool: 'big' }), limits: { resultBytes: 1_000 }, store });
    const turn = opened.session.submit('go');
    await opened.clock.runUntil(running.promise);
    turn.interrupt();
    gives.resolve('x'.repeat(5_000));
    await opened.clock.runUntil(turn.result);
    expect(opened.results()[0]).toMatch(NOT_KEPT);
    expect(puts).toBe(0);
  });

  it('calls of one batch do not wait for each other', async () => {
    const inner = memoryStore();
    const store = storeOver(inner, {
      putCapture: (sessionId, bytes) => (bytes[0] === 49 ? never() : inner.putCapture(sessionId, bytes)),
    });
    const batch = [1, 2, 3].map((n): ScriptedCall => ({ tool: 'big', input: { n } }));
    const opened = await open({
      returns: ({ n = 0 }) => `${n}`.repeat(5_000),
      model: calling(batch),
      limits: { resultBytes: 1_000 },
      store,
    });
    await opened.turn();
    expect(opened.results()[0]).toMatch(NOT_KEPT);
    expect(
      opened
        .results()
        .slice(1)
        .map(text => noteIn(text)?.id),
    ).toEqual([expect.any(String), expect.any(String)]);
  });
});

function storeOver(inner: JournalStore, changes: Partial<JournalStore>): JournalStore {
  return {
    append: (...args) => inner.append(...args),
    read: (...args) => inner.read(...args),
    list: options => inner.list(options),
    delete: (sessionId, expectedSeq) => inner.delete(sessionId, expectedSeq),
    find: sessionId => inner.find(sessionId),
    putCapture: (...args) => inner.putCapture(...args),
    getCapture: (...args) => inner.getCapture(...args),
    ...changes,
  };
}

function capturesIn(events: readonly SessionEvent[]) {
  return events.flatMap(event =>
    event.type === 'tool.completed' && event.capture !== undefined ? [event.capture] : [],
  );
}

function outcomesIn(events: readonly SessionEvent[]): string[] {
  return events.flatMap(event => (event.type === 'tool.completed' ? [event.outcome] : []));
}

function offered(model: ScriptedModel): string[][] {
  return model.requests.map(({ tools }) => (tools ?? []).map(({ name }) => name));
}
