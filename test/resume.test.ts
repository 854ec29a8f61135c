/** A turn that was cut short anywhere is taken up by another process: nothing that was recorded runs again, nothing that may have happened is hidden. */
import {
  defineLoop,
  defineRig,
  defineTool,
  EVENT_DURABILITY,
  isTerminal,
  JournalConflictError,
  type JournalRecord,
  type JournalStore,
  type LoopOptions,
  type Message,
  memoryStore,
  type RigOptions,
  type Session,
  STRUCTURED_OUTPUT_TOOL_NAME,
  type ToolDefinition,
} from 'looprig';
import {
  assertPaired,
  collect,
  type ManualClock,
  manualClock,
  type ScriptedReply,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resultsIn } from './cases/setup.ts';

interface Play extends Omit<LoopOptions, 'name' | 'model' | 'tools' | 'modes' | 'initialMode'> {
  readonly replies: readonly ScriptedReply[];
  readonly tools?: (runs: string[], clock: ManualClock) => readonly ToolDefinition[];
  readonly rig?: Partial<RigOptions<never>>;
}

/** Processes that share nothing but a store: each has its own tools, model and clock. The model answers by what it is shown. */
function world({ replies, tools = () => [], rig, ...options }: Play) {
  const runs: string[] = [];
  const openOn = async (store: JournalStore, sessionId?: string) => {
    const clock = manualClock();
    let asked = 0;
    const model = scriptedModel({
      forever: request => {
        asked += 1;
        const index = request.prompt.filter(({ role }) => role === 'assistant').length;
        return replies[index] ?? { text: 'out of script' };
      },
    });
    const loop = defineLoop({ name: 'l', model, repeat: false, ...options, tools: tools(runs, clock) });
    const opened = defineRig({ ...rig, loops: [loop], store, clock });
    const session = (await opened.open(sessionId === undefined ? {} : { sessionId })) as Session;
    return { session, clock, model, asked: () => asked };
  };
  return { openOn, runs };
}

async function recordsOf(store: JournalStore, sessionId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  return records;
}

/** A store that holds the first `length` records of another. */
async function cutStore(records: readonly JournalRecord[], sessionId: string, length: number): Promise<JournalStore> {
  const store = memoryStore();
  await store.append(sessionId, 0, structuredClone(records.slice(0, length)) as JournalRecord[]);
  return store;
}

/** Runs a turn to its end, and gives all that it left; `ends` are the lengths of the journal after each append: a process may end there. */
async function whole(play: Play) {
  const { openOn, runs } = world(play);
  const store = memoryStore();
  const ends: number[] = [];
  const append = store.append.bind(store);
  store.append = (sessionId, expectedSeq, records) => {
    ends.push(expectedSeq + records.length);
    return append(sessionId, expectedSeq, records);
  };
  const { session, clock } = await openOn(store);
  const { result } = await clock.runUntil(collect(session.submit('go')));
  const { history, id } = session;
  await session.close();
  return { result, history, runs, sessionId: id, records: await recordsOf(store, id), ends };
}

/** History without what differs from run to run. */
const comparable = (history: readonly Message[]) => JSON.parse(JSON.stringify(history)) as unknown;

const idempotent = (name: string, runs: string[], clock: ManualClock, more: object = {}): ToolDefinition =>
  scriptedTool(name, {
    clock,
    idempotent: true,
    returns: (input, { callId }) => {
      runs.push(callId);
      return `${name} ${JSON.stringify(input)}`;
    },
    ...more,
  }).definition;

const PLAYS: Readonly<Record<string, Play>> = {
  'two steps of several calls, good and bad': {
    replies: [
      {
        text: 'I look.',
        calls: [
          { tool: 'a', id: 'c1', input: { n: 1 } },
          { tool: 'slow', id: 'c2', input: { n: 2 } },
          { tool: 'ghost', id: 'c3' },
          { tool: 'a', id: 'c4', inputText: '{"n": ' },
        ],
      },
      { calls: [{ tool: 'slow', id: 'c5', input: { n: 5 } }] },
      { text: 'done' },
    ],
    tools: (runs, clock) => [
      idempotent('a', runs, clock),
      idempotent('slow', runs, clock, { sleepMs: 50, resource: () => 'k' }),
    ],
  },
  'the limit of iterations with a closing answer': {
    replies: [{ calls: [{ tool: 'a', id: 'c1' }] }, { calls: [{ tool: 'a', id: 'c2' }] }, { text: 'so far' }],
    limits: { iterations: 1 },
    atLimit: 'answer',
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  },
  'a limit that fails the turn': {
    replies: [{ calls: [{ tool: 'a', id: 'c1' }] }, { calls: [{ tool: 'a', id: 'c2' }] }],
    limits: { calls: 1 },
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  },
  'the same call again and again': {
    replies: Array.from({ length: 8 }, (_, index) => ({ calls: [{ tool: 'a', id: `c${index}`, input: { n: 1 } }] })),
    repeat: { warn: 2, stop: 4 },
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  },
  'typed answers by the control tool that do not fit': {
    replies: [
      { calls: [{ tool: STRUCTURED_OUTPUT_TOOL_NAME, id: 'o1', inputText: '{"n": "x"}' }] },
      {
        calls: [
          { tool: 'a', id: 'c1' },
          { tool: STRUCTURED_OUTPUT_TOOL_NAME, id: 'o2', inputText: '{"n": 1}' },
        ],
      },
      { calls: [{ tool: STRUCTURED_OUTPUT_TOOL_NAME, id: 'o3', inputText: '{"n": 2}' }] },
    ],
    output: z.object({ n: z.number() }),
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  },
  'typed answers as text that never fit': {
    replies: Array.from({ length: 4 }, () => ({ text: '{"n": "x"}' })),
    output: z.object({ n: z.number() }),
    outputMode: 'native',
    outputRetries: 2,
  },
  'a provider that pauses, and a response that is cut off': {
    replies: [
      { text: 'I ', finishReason: 'other', rawFinishReason: 'pause_turn' },
      { calls: [{ tool: 'a', id: 'c1', inputText: '{"n' }], finishReason: 'length' },
      { calls: [{ tool: 'a', id: 'c2' }] },
      { text: 'done' },
    ],
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  },
  'a tool that ends the turn': {
    replies: [
      {
        calls: [
          { tool: 'end', id: 'c1' },
          { tool: 'slow', id: 'c2' },
        ],
      },
      { text: 'never' },
    ],
    tools: (runs, clock) => [
      defineTool({
        name: 'end',
        description: 'Ends.',
        input: { type: 'object' },
        idempotent: true,
        execute: () => ({ content: [{ type: 'text', text: 'that is all' }], endTurn: true }) as never,
      }),
      idempotent('slow', runs, clock, { sleepMs: 20 }),
    ],
  },
};

describe.each(Object.entries(PLAYS))('%s', (_, play) => {
  it('ends in the same history and result, wherever the process ended and however often', async () => {
    const unbroken = await whole(play);
    const { openOn, runs } = world(play);
    for (const length of unbroken.ends.slice(1, -1)) {
      const store = await cutStore(unbroken.records, unbroken.sessionId, length);
      const completed = unbroken.records
        .slice(0, length)
        .flatMap(record => (record.type === 'tool.completed' ? [record.callId] : []));
      runs.length = 0;
      // The second process ends at once too: before anything of its own is recorded.
      const second = await openOn(store, unbroken.sessionId);
      assertPaired(second.session.history);
      const { session, clock } = await openOn(store, unbroken.sessionId);
      expect(session.unfinished?.turnId).toBeDefined();
      const { result, events } = await clock.runUntil(collect(session.resume()));
      expect({ length, history: comparable(session.history) }).toEqual({
        length,
        history: comparable(unbroken.history),
      });
      const { status, text, steps, iterations, calls, usage } = unbroken.result;
      expect({ length, ...result }).toMatchObject({ length, status, text, steps, iterations, calls, usage });
      expect(runs.filter(callId => completed.includes(callId))).toEqual([]);
      expect(events.filter(isTerminal)).toHaveLength(1);
      expect(events.some(({ type }) => type === 'turn.resumed')).toBe(true);
      expect(session.unfinished).toBeUndefined();
      await session.close();
    }
  });
});

describe('a call that had started', () => {
  const play = (isIdempotent: boolean): Play => ({
    replies: [{ calls: [{ tool: 'a', id: 'c1' }] }, { text: 'done' }],
    tools: (runs, clock) => [idempotent('a', runs, clock, { idempotent: isIdempotent })],
  });

  it.each([true, false])('runs again only if its tool is idempotent: %s', async isIdempotent => {
    const unbroken = await whole(play(isIdempotent));
    const length = unbroken.records.findIndex(({ type }) => type === 'tool.started') + 1;
    const store = await cutStore(unbroken.records, unbroken.sessionId, length);
    const { openOn, runs } = world(play(isIdempotent));
    const { session, clock } = await openOn(store, unbroken.sessionId);
    const { result } = await clock.runUntil(collect(session.resume()));
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(runs).toEqual(isIdempotent ? ['c1'] : []);
    const shown = isIdempotent
      ? 'a {}'
      : 'interrupted: the process ended while it ran; it may or may not have taken effect';
    expect(resultsIn(session.history)).toEqual([['c1', shown]]);
  });
});

describe('resuming', () => {
  const play: Play = {
    replies: [{ calls: [{ tool: 'a', id: 'c1' }] }, { text: 'done' }, { text: 'next' }, { text: 'and next' }],
    tools: (runs, clock) => [idempotent('a', runs, clock, { idempotent: false })],
  };
  const cutAt = async (type: JournalRecord['type']) => {
    const unbroken = await whole(play);
    const length = unbroken.records.findIndex(record => record.type === type) + 1;
    return { store: await cutStore(unbroken.records, unbroken.sessionId, length), sessionId: unbroken.sessionId };
  };

  it('at the same time in two processes lets one win, and the other is told', async () => {
    const { store, sessionId } = await cutAt('step.started');
    const { openOn, runs } = world(play);
    const [one, other] = [await openOn(store, sessionId), await openOn(store, sessionId)];
    const results = await Promise.all([
      one.clock.runUntil(one.session.resume().result),
      other.clock.runUntil(other.session.resume().result),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['done', 'failed']);
    const failed = results.find(({ status }) => status === 'failed');
    expect(failed?.status === 'failed' && JournalConflictError.is(failed.error)).toBe(true);
    expect(runs).toEqual(['c1']);
  });

  it('in two processes runs no call twice, even one that may run again', async () => {
    const both: Play = { ...play, tools: (runs, clock) => [idempotent('a', runs, clock)] };
    const unbroken = await whole(both);
    const length = unbroken.records.findIndex(({ type }) => type === 'tool.started') + 1;
    const store = await cutStore(unbroken.records, unbroken.sessionId, length);
    const { openOn, runs } = world(both);
    const [one, other] = [await openOn(store, unbroken.sessionId), await openOn(store, unbroken.sessionId)];
    await Promise.all([
      one.clock.runUntil(one.session.resume().result),
      other.clock.runUntil(other.session.resume().result),
    ]);
    expect(runs).toEqual(['c1']);
  });

  it('is refused where there is nothing to resume, and while a turn runs', async () => {
    const { openOn } = world(play);
    const { session, clock } = await openOn(memoryStore());
    expect(() => session.resume()).toThrow(expect.objectContaining({ kind: 'nothing_to_resume' }));
    const turn = session.submit('go');
    expect(() => session.resume()).toThrow(expect.objectContaining({ kind: 'busy' }));
    await clock.runUntil(turn.result);
  });

  it('is done on opening with resume: auto', async () => {
    const { store, sessionId } = await cutAt('step.started');
    const clock = manualClock();
    const model = scriptedModel([{ text: 'done' }]);
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model })], store, clock });
    const session = await rig.open({ sessionId, resume: 'auto' });
    expect(await clock.runUntil(session.turn!.result)).toMatchObject({ status: 'done', text: 'done' });
    expect(session.turn).toBeUndefined();
  });

  it('is not needed: another input ends the turn, and says what may have happened', async () => {
    const { store, sessionId } = await cutAt('tool.started');
    const { openOn, runs } = world(play);
    const { session, clock } = await openOn(store, sessionId);
    assertPaired(session.history);
    const { result } = await clock.runUntil(collect(session.submit('something else')));
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(runs).toEqual([]);
    expect(resultsIn(session.history)).toEqual([['c1', 'interrupted; it may or may not have taken effect']]);
    const ends = (await recordsOf(store, sessionId)).filter(({ type }) => type.startsWith('turn.'));
    expect(ends.map(({ type }) => type)).toEqual(['turn.started', 'turn.interrupted', 'turn.started', 'turn.done']);
  });

  it('can be put off: a session that is opened and closed again leaves the turn as it was', async () => {
    const { store, sessionId } = await cutAt('tool.called');
    const before = await recordsOf(store, sessionId);
    const { openOn } = world(play);
    const { session } = await openOn(store, sessionId);
    expect(session.unfinished).toMatchObject({ gates: [], queued: 0 });
    await session.close();
    expect(await recordsOf(store, sessionId)).toEqual(before);
  });

  it('continue ends the unfinished turn too, and goes on from what is known', async () => {
    const { store, sessionId } = await cutAt('tool.started');
    const { openOn } = world(play);
    const { session, clock } = await openOn(store, sessionId);
    const { result } = await clock.runUntil(collect(session.continue()));
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    assertPaired(session.history);
  });

  it('shows a reader the whole turn, with what the other process recorded', async () => {
    const { store, sessionId } = await cutAt('tool.completed');
    const { openOn } = world(play);
    const { session, clock } = await openOn(store, sessionId);
    const { events } = await clock.runUntil(collect(session.resume()));
    const enduring = events.filter(({ type }) => EVENT_DURABILITY[type] === 'enduring').map(({ type }) => type);
    expect(enduring).toEqual([
      ...['turn.started', 'step.started', 'tool.called', 'tool.started', 'tool.completed', 'turn.resumed'],
      ...['step.done', 'step.started', 'step.done', 'turn.done'],
    ]);
    expect(events.find(({ type }) => type === 'tool.called')).toMatchObject({ callId: 'c1', input: {} });
  });

  it('with other limits in the definition keeps the limits that the turn began with', async () => {
    const asks: ScriptedReply = { calls: [{ tool: 'a' }] };
    const bounded: Play = { ...play, replies: [asks, asks, asks, asks], limits: { iterations: 2 } };
    const unbroken = await whole(bounded);
    const length = unbroken.records.findIndex(({ type }) => type === 'step.done') + 1;
    const store = await cutStore(unbroken.records, unbroken.sessionId, length);
    const { openOn } = world({ ...bounded, limits: { iterations: 20 } });
    const { session, clock } = await openOn(store, unbroken.sessionId);
    const { result } = await clock.runUntil(collect(session.resume()));
    expect(result).toMatchObject({ status: 'failed', error: { limit: 'iterations', iterations: 3, maxIterations: 2 } });
  });
});

it('a turn that is taken up tells a reader all that it says, however long its journal takes to read', async () => {
  const before = Array.from(
    { length: 30 },
    (_, n): ScriptedReply => ({ calls: [{ tool: 'a', id: `c${n}`, input: { n } }] }),
  );
  const play: Play = {
    replies: [...before, { reasoning: 'I think.', text: 'word by word it comes', deltas: 20 }],
    limits: { iterations: 40 },
    tools: (runs, clock) => [idempotent('a', runs, clock)],
  };
  const { records, sessionId } = await whole(play);
  const store = await cutStore(
    records,
    sessionId,
    records.findLastIndex(({ type }) => type === 'step.started'),
  );
  const read = store.read.bind(store);
  // As a file or a database: what is read comes in its own time, while the turn goes on.
  store.read = async function* (...given) {
    for await (const record of read(...given)) {
      await new Promise(resolve => setImmediate(resolve));
      yield record;
    }
  };
  const { session } = await world(play).openOn(store, sessionId);
  const { events } = await collect(session.resume());
  expect(events.filter(({ type }) => type === 'events.dropped')).toEqual([]);
  const last = events.findLast(({ type }) => type === 'step.started');
  const said = events.slice(events.indexOf(last!));
  const texts = (type: 'text.delta' | 'reasoning.delta'): string =>
    said.map(event => (event.type === type ? event.text : '')).join('');
  expect(texts('text.delta')).toBe('word by word it comes');
  expect(texts('reasoning.delta')).toBe('I think.');
});

describe('inputs that waited', () => {
  it('run in their order after the turn that is resumed, and what steered it goes in', async () => {
    const play: Play = {
      replies: [{ calls: [{ tool: 'slow', id: 'c1' }] }, { text: 'one' }, { text: 'two' }, { text: 'three' }],
      tools: (runs, clock) => [idempotent('slow', runs, clock, { sleepMs: 1_000 })],
    };
    const { openOn } = world(play);
    const store = memoryStore();
    const first = await openOn(store);
    const turn = first.session.submit('first');
    await first.clock.advance(10);
    first.session.submit('second');
    first.session.submit('third');
    void first.session.steer('by the way');
    await first.clock.advance(10);
    const copy = await cutStore(await recordsOf(store, first.session.id), first.session.id, 1_000);
    turn.interrupt();

    const second = await openOn(copy, first.session.id);
    expect(second.session.unfinished).toMatchObject({ turnId: turn.id, queued: 2 });
    const all: string[] = [];
    const reader = second.session.subscribe();
    const reading = (async () => {
      for await (const event of reader) if (event.type === 'turn.done') all.push(event.text);
    })();
    await second.clock.runUntil(second.session.resume().result);
    await second.clock.runUntil(
      (async () => {
        while (second.session.isRunning) await second.session.turn?.result;
      })(),
    );
    await second.session.close();
    await reading;
    expect(all).toEqual(['one', 'two', 'three']);
    const said = second.session.history.flatMap(message => (message.role === 'user' ? message.content : []));
    expect(said.map(part => (part.type === 'text' ? part.text : ''))).toEqual([
      'first',
      'by the way',
      'second',
      'third',
    ]);
  });

  it('and steered a turn that nobody resumes are turns of their own, with the limits that they were given', async () => {
    const { openOn } = world({
      replies: [{ calls: [{ tool: 'slow', id: 'c1' }] }],
      tools: (runs, clock) => [idempotent('slow', runs, clock, { sleepMs: 1_000 })],
    });
    const store = memoryStore();
    const first = await openOn(store);
    const turn = first.session.submit('first');
    await first.clock.advance(10);
    void first.session.steer('by the way', { limits: { calls: 3 } });
    await first.clock.advance(10);
    const copy = await cutStore(await recordsOf(store, first.session.id), first.session.id, 1_000);
    turn.interrupt();

    const { session, clock } = await openOn(copy, first.session.id);
    await clock.runUntil(session.submit('now', { limits: { calls: 4 } }).result);
    const begun = (await recordsOf(copy, session.id)).flatMap(record =>
      record.type === 'turn.started' ? [record] : [],
    );
    expect(begun.map(({ limits }) => limits.calls)).toEqual([100, 3, 4]);
  });

  it('are resumed by themselves where no turn is unfinished, and stay where nobody resumes them', async () => {
    const store = memoryStore();
    const { openOn } = world({ replies: [{ text: 'one' }] });
    const { session } = await openOn(store);
    await session.close();
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'waiting' }] };
    const received = { type: 'input.received' as const, inputId: 'i', as: 'turn' as const, message, seq: 2, at: 0 };
    await store.append(session.id, 1, [received]);
    const idle = await openOn(store, session.id);
    expect(idle.session.unfinished).toEqual({ turnId: undefined, gates: [], queued: 1 });
    await idle.session.close();
    const { session: again, clock } = await openOn(store, session.id);
    expect(await clock.runUntil(again.resume().result)).toMatchObject({ status: 'done', text: 'one' });
    expect(again.unfinished).toBeUndefined();
  });
});

describe('gates', () => {
  const gated: Play = {
    replies: [
      {
        calls: [
          { tool: 'free', id: 'f' },
          { tool: 'gated', id: 'g', input: { n: 1 } },
          { tool: 'gated', id: 'h', input: { n: 2 } },
        ],
      },
      { text: 'done' },
    ],
    tools: (runs, clock) => [
      idempotent('free', runs, clock, { idempotent: false }),
      idempotent('gated', runs, clock, {
        idempotent: false,
        access: ({ n }: { n: number }) => [{ action: 'act', target: `x${n}` }],
      }),
    ],
    rig: { gate: { ask: true } },
  };

  /** A session whose process ended while it waited for two people. */
  async function waiting(play = gated) {
    const { openOn, runs } = world(play);
    const store = memoryStore();
    const { session, clock } = await openOn(store);
    session.submit('go');
    await clock.advance(1);
    const gates = session.gates;
    expect(gates.map(({ callId }) => callId)).toEqual(['g', 'h']);
    const copy = await cutStore(await recordsOf(store, session.id), session.id, 1_000);
    await session.close();
    runs.length = 0;
    return { store: copy, sessionId: session.id, gates, openOn, runs };
  }

  it('are still open for another process, with the same ids, and each call runs once', async () => {
    const { store, sessionId, gates, openOn, runs } = await waiting();
    const { session, clock } = await openOn(store, sessionId);
    expect(session.gates).toEqual(gates);
    const turn = session.resume();
    await clock.advance(1);
    expect(runs).toEqual([]);
    await session.answer(gates[1]!.gateId, { decision: 'deny', reason: 'not that one' });
    await session.answer(gates[0]!.gateId, { decision: 'approve' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', calls: 3 });
    expect(runs).toEqual(['f', 'g']);
    expect(resultsIn(session.history)).toEqual([
      ['f', 'free {}'],
      ['g', 'gated {"n":1}'],
      ['h', 'permission denied: not that one'],
    ]);
  });

  it('can be answered by one process and used by a third', async () => {
    const { store, sessionId, gates, openOn, runs } = await waiting();
    const second = await openOn(store, sessionId);
    await second.session.answer(gates[0]!.gateId, { decision: 'edit', input: { n: 7 } });
    await second.session.answer(gates[1]!.gateId, { decision: 'deny' });
    await second.session.close();
    expect(runs).toEqual([]);
    const { session, clock } = await openOn(store, sessionId);
    expect(session.unfinished?.gates).toEqual([]);
    await expect(session.answer(gates[0]!.gateId, { decision: 'approve' })).rejects.toMatchObject({
      kind: 'closed_gate',
    });
    expect(await clock.runUntil(session.resume().result)).toMatchObject({ status: 'done' });
    expect(runs).toEqual(['f', 'g']);
    expect(resultsIn(session.history)[1]).toEqual([
      'g',
      'gated {"n":7}\n\nNote: a person changed the arguments of this call to {"n":7}',
    ]);
    await expect(session.answer(gates[0]!.gateId, { decision: 'approve' })).rejects.toMatchObject({
      kind: 'closed_gate',
    });
  });

  it('close as denied where the user says something else, and take no answer any more', async () => {
    const { store, sessionId, gates, openOn, runs } = await waiting();
    const { session, clock } = await openOn(store, sessionId);
    expect(await clock.runUntil(session.submit('never mind').result)).toMatchObject({ status: 'done' });
    expect(runs).toEqual([]);
    expect(resultsIn(session.history)).toEqual([
      ['f', 'not run: interrupted'],
      ['g', 'permission denied: the user moved on'],
      ['h', 'permission denied: the user moved on'],
    ]);
    await expect(session.answer(gates[0]!.gateId, { decision: 'approve' })).rejects.toMatchObject({
      kind: 'closed_gate',
    });
  });

  it('close in the same way in the process that waits', async () => {
    const { openOn, runs } = world(gated);
    const { session, clock } = await openOn(memoryStore());
    const turn = session.submit('go');
    await clock.advance(1);
    const [gate] = session.gates;
    const next = session.submit('never mind');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', reason: 'the user moved on' });
    expect(await clock.runUntil(next.result)).toMatchObject({ status: 'done', text: 'done' });
    expect(runs).toEqual([]);
    expect(resultsIn(session.history)[1]).toEqual(['g', 'permission denied: the user moved on']);
    await expect(session.answer(gate!.gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'closed_gate' });
  });

  it('that were edited are checked by what the new arguments want, when the turn is taken up too', async () => {
    for (const [target, ran] of [
      ['x1', true],
      ['x7', false],
    ] as const) {
      const { store, sessionId, gates, openOn } = await waiting();
      const second = await openOn(store, sessionId);
      await second.session.answer(gates[0]!.gateId, { decision: 'edit', input: { n: 7 } });
      await second.session.answer(gates[1]!.gateId, { decision: 'deny' });
      await second.session.close();
      const stricter = world({ ...gated, gate: { rules: [{ action: 'act', target, decision: 'deny' }] } });
      const { session, clock } = await stricter.openOn(store, sessionId);
      await clock.runUntil(session.resume().result);
      expect(stricter.runs.includes('g')).toBe(ran);
    }
  });

  it('that were open are closed for good where another input ends the turn while somebody answers', async () => {
    const { store, sessionId, gates, openOn, runs } = await waiting();
    const { session, clock } = await openOn(store, sessionId);
    const approved = session.answer(gates[0]!.gateId, { decision: 'approve' });
    const turn = session.submit('never mind');
    const late = session.answer(gates[1]!.gateId, { decision: 'approve' });
    await approved;
    await expect(late).rejects.toMatchObject({ kind: 'closed_gate' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(runs).toEqual([]);
    const resolved = (await recordsOf(store, sessionId)).filter(({ type }) => type === 'gate.resolved');
    expect(resolved).toMatchObject([{ decision: 'approved' }, { decision: 'denied', reason: 'the user moved on' }]);
    expect(resultsIn(session.history).slice(1)).toEqual([
      ['g', 'not run: interrupted'],
      ['h', 'permission denied: the user moved on'],
    ]);
  });

  it('keep what was allowed for always over a restart', async () => {
    const twice: Play = { ...gated, replies: [...gated.replies, gated.replies[0]!, { text: 'again' }] };
    const { store, sessionId, gates, openOn, runs } = await waiting(twice);
    const second = await openOn(store, sessionId);
    for (const { gateId } of gates) await second.session.answer(gateId, { decision: 'approveAlways' });
    await second.clock.runUntil(second.session.resume().result);
    await second.session.close();
    runs.length = 0;
    const { session, clock } = await openOn(store, sessionId);
    expect(await clock.runUntil(session.submit('again').result)).toMatchObject({ status: 'done', text: 'again' });
    expect(runs).toHaveLength(3);
  });

  it('that were used stay used: a call that had started with an approval is unknown, and not run', async () => {
    const unbroken = await (async () => {
      const { openOn } = world(gated);
      const store = memoryStore();
      const { session, clock } = await openOn(store);
      const turn = session.submit('go');
      await clock.advance(1);
      for (const { gateId } of session.gates) await session.answer(gateId, { decision: 'approve' });
      await clock.runUntil(turn.result);
      await session.close();
      return { records: await recordsOf(store, session.id), sessionId: session.id };
    })();
    const length = unbroken.records.findLastIndex(({ type }) => type === 'tool.started') + 1;
    const store = await cutStore(unbroken.records, unbroken.sessionId, length);
    const { openOn, runs } = world(gated);
    const { session, clock } = await openOn(store, unbroken.sessionId);
    await clock.runUntil(session.resume().result);
    expect(runs).toEqual([]);
    const unknown = 'interrupted: the process ended while it ran; it may or may not have taken effect';
    expect(resultsIn(session.history)).toEqual([
      ['f', unknown],
      ['g', unknown],
      ['h', unknown],
    ]);
  });
});
