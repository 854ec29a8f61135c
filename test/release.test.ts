/** A session that is released: this process leaves its turn as the journal has it, and another goes on. */
import {
  defineLoop,
  defineRig,
  defineTool,
  delegate,
  type JournalRecord,
  type JournalStore,
  type Message,
  memoryStore,
  type RigOptions,
  type Session,
  type SessionEvent,
  type ToolDefinition,
} from 'looprig';
import { assertPaired, collect, forever, manualClock, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resultsIn } from './cases/setup.ts';

const textsIn = (history: readonly Message[]) => resultsIn(history).map(([, text]) => text);

async function recordsOf(store: JournalStore, sessionId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  return records;
}

const typesOf = async (store: JournalStore, sessionId: string) =>
  (await recordsOf(store, sessionId)).map(({ type }) => type);

/** Opens sessions on one store, each in a process of its own; the model answers by what it is shown. */
function processes(
  replies: readonly ScriptedReply[],
  tools: readonly ToolDefinition[] = [],
  rig: Partial<RigOptions<never>> = {},
) {
  const store = memoryStore();
  const clock = manualClock();
  const open = async (sessionId?: string) => {
    const model = scriptedModel(
      forever(({ prompt }) => replies[prompt.filter(({ role }) => role === 'assistant').length] ?? { text: 'done' }),
      { clock },
    );
    const loop = defineLoop({ name: 'l', model, tools, drainTimeoutMs: 1_000 });
    const opened = defineRig({ ...rig, loops: [loop], store, clock });
    const session = (await opened.open(sessionId === undefined ? {} : { sessionId })) as Session;
    return { session, model };
  };
  return { store, clock, open };
}

/** A tool whose runs a test ends, and that tells what became of it. */
function heldTool(name = 'work') {
  const started = Promise.withResolvers<void>();
  const ends: PromiseWithResolvers<string>[] = [];
  const log: string[] = [];
  const definition = defineTool({
    name,
    description: 'Works.',
    input: z.object({}),
    create: () => ({
      execute: (_, { signal }) => {
        const end = Promise.withResolvers<string>();
        ends.push(end);
        log.push('run');
        signal.addEventListener('abort', () => log.push(`abort: ${signal.reason.message}`));
        started.resolve();
        return end.promise;
      },
      [Symbol.dispose]: () => void log.push('disposed'),
    }),
  });
  return { definition, started: started.promise, ends, log };
}

describe('a session that is released', () => {
  it('in a call tells it to stop, disposes it and records nothing: the next process says that its outcome is unknown', async () => {
    const work = heldTool();
    const { store, clock, open } = processes([{ calls: [{ tool: 'work', input: {} }] }], [work.definition]);
    const { session } = await open();
    const turn = session.submit('Go.');
    const collected = collect(turn);
    await work.started;
    const before = await typesOf(store, session.id);
    const releasing = session.release();
    await clock.advance(1_000);
    await releasing;
    work.ends[0]!.resolve('too late');
    expect((await turn.result).status).toBe('released');
    expect((await collected).events.at(-1)).toMatchObject({ type: 'turn.released', turnId: turn.id });
    expect(work.log).toEqual(['run', 'abort: the turn was interrupted: the session was released', 'disposed']);
    expect(await typesOf(store, session.id)).toEqual(before);
    expect(() => session.submit('more')).toThrow('is closed');

    const { session: next } = await open(session.id);
    expect(next.unfinished).toMatchObject({ turnId: turn.id });
    const result = await next.resume().result;
    expect(result).toMatchObject({ status: 'done', text: 'done' });
    expect(textsIn(next.history)).toEqual([
      'interrupted: the process ended while it ran; it may or may not have taken effect',
    ]);
    assertPaired(next.history);
  });

  it('with a grace time lets calls end, begins nothing, and the next process repeats nothing', async () => {
    const work = heldTool();
    const calls = [1, 2, 3].map(() => ({ tool: 'work', input: {} }));
    const { store, clock, open } = processes([{ calls }], [work.definition]);
    const { session } = await open();
    const turn = session.submit('Go.', { limits: { parallel: 2 } });
    await work.started;
    const releasing = session.release({ graceMs: 5_000 });
    await clock.advance(100);
    work.ends[0]!.resolve('one');
    work.ends[1]!.resolve('two');
    await releasing;
    expect((await turn.result).status).toBe('released');
    const types = await typesOf(store, session.id);
    expect(types.filter(type => type === 'tool.started')).toHaveLength(2);
    expect(types.filter(type => type === 'tool.completed')).toHaveLength(2);

    const { session: next } = await open(session.id);
    const resumed = next.resume();
    while (work.ends.length < 3) await clock.advance(1);
    work.ends[2]!.resolve('three');
    await resumed.result;
    expect(textsIn(next.history)).toEqual(['one', 'two', 'three']);
    expect(work.log.filter(entry => entry === 'run')).toHaveLength(3);
  });

  it('with a grace time records the response that came, and asks no model again for it', async () => {
    const work = heldTool();
    const { store, clock, open } = processes(
      [{ calls: [{ tool: 'work', input: {} }], delayMs: 10 }],
      [work.definition],
    );
    const { session, model } = await open();
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'step.started') break;
    const releasing = session.release({ graceMs: 5_000 });
    await clock.advance(10);
    await releasing;
    expect((await turn.result).status).toBe('released');
    expect(model.requests).toHaveLength(1);
    expect((await typesOf(store, session.id)).at(-1)).toBe('tool.called');
    const { session: next, model: other } = await open(session.id);
    const resumed = next.resume();
    await work.started;
    work.ends[0]!.resolve('one');
    expect((await resumed.result).status).toBe('done');
    expect(other.requests).toHaveLength(1);
  });

  it('whose turn ends within the grace time has its result', async () => {
    const { clock, open } = processes([{ text: 'here', delayMs: 10 }]);
    const { session } = await open();
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'step.started') break;
    const releasing = session.release({ graceMs: 5_000 });
    await clock.advance(10);
    await releasing;
    expect(await turn.result).toMatchObject({ status: 'done', text: 'here' });
  });

  it('at a gate leaves it open, for an answer in another process', async () => {
    const ask = defineTool({
      name: 'write',
      description: 'Writes.',
      input: z.object({}),
      create: () => ({ access: () => [{ action: 'write', target: 'x' }], execute: () => 'written' }),
    });
    const { store, open } = processes([{ calls: [{ tool: 'write', input: {} }] }], [ask], { gate: { ask: true } });
    const { session } = await open();
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'gate.opened') break;
    const before = await typesOf(store, session.id);
    await session.release({ graceMs: 60_000 });
    expect((await turn.result).status).toBe('released');
    expect(await typesOf(store, session.id)).toEqual(before);
    const { session: next } = await open(session.id);
    await next.answer(next.gates[0]!.gateId, { decision: 'approve' });
    expect((await next.resume().result).status).toBe('done');
    expect(textsIn(next.history)).toEqual(['written']);
  });

  it('leaves inputs that wait in the journal, under the ids that their turns had here', async () => {
    const work = heldTool();
    const { clock, open } = processes([{ calls: [{ tool: 'work', input: {} }] }], [work.definition]);
    const { session } = await open();
    session.submit('Go.', { turnId: 'first' });
    await work.started;
    const queued = session.submit('And then?', { turnId: 'second', limits: { calls: 3 } });
    const steered = expect(session.steer('Quickly.')).rejects.toMatchObject({ kind: 'released' });
    await clock.advance(1);
    const releasing = session.release();
    await clock.advance(1_000);
    await releasing;
    expect((await queued.result).status).toBe('released');
    await steered;
    const { session: next } = await open(session.id);
    expect(next.unfinished).toMatchObject({ turnId: 'first', queued: 1 });
    expect(() => next.submit('Again.', { turnId: 'second' })).toThrow('has a turn "second" already');
    await next.resume().result;
    const records: string[] = [];
    for await (const event of next.turn!) {
      records.push(event.type);
      if (event.type === 'turn.started') expect(event).toMatchObject({ turnId: 'second', limits: { calls: 3 } });
    }
    expect(records[0]).toBe('turn.started');
    expect(next.history.filter(({ role }) => role === 'user')).toHaveLength(3);
  });

  it('is left in bounded time, whatever its tools do', async () => {
    const stubborn = defineTool({
      name: 'stubborn',
      description: 'Never ends.',
      input: z.object({}),
      create: () => ({
        execute: () => new Promise<never>(() => {}),
        [Symbol.asyncDispose]: () => new Promise<never>(() => {}),
      }),
    });
    const { store, clock, open } = processes([{ calls: [{ tool: 'stubborn', input: {} }] }], [stubborn]);
    const { session } = await open();
    const turn = session.submit('Go.');
    for await (const event of turn) if (event.type === 'tool.started') break;
    const before = await typesOf(store, session.id);
    const releasing = session.release({ graceMs: 1_000 });
    for (let round = 0; round < 4; round++) await clock.advance(1_000);
    await releasing;
    expect((await turn.result).status).toBe('released');
    expect(await typesOf(store, session.id)).toEqual(before);
  });

  it('releases its delegates too, which go on with it', async () => {
    const work = heldTool();
    const store = memoryStore();
    const open = async (sessionId?: string) => {
      const child = defineLoop({
        name: 'child',
        model: scriptedModel(
          forever(({ prompt }) =>
            prompt.some(({ role }) => role === 'tool') ? { text: 'found' } : { calls: [{ tool: 'work', input: {} }] },
          ),
        ),
        tools: [work.definition],
      });
      const parent = defineLoop({
        name: 'parent',
        model: scriptedModel(
          forever(({ prompt }) =>
            prompt.some(({ role }) => role === 'tool')
              ? { text: 'all' }
              : { calls: [{ tool: 'child', input: { task: 'look' } }] },
          ),
        ),
        tools: [delegate(child, { description: 'Looks.' })],
      });
      return (await defineRig({ loops: [parent], store }).open(
        sessionId === undefined ? {} : { sessionId },
      )) as Session;
    };
    const session = await open();
    const turn = session.submit('Go.');
    await work.started;
    const releasing = session.release({ graceMs: 60_000 });
    work.ends[0]!.resolve('result');
    await releasing;
    expect((await turn.result).status).toBe('released');
    for (const { sessionId } of await store.list()) {
      const types = await typesOf(store, sessionId);
      expect(types).not.toContain('turn.interrupted');
      expect(types).not.toContain('turn.done');
    }
    const next = await open(session.id);
    expect(await next.resume().result).toMatchObject({ status: 'done', text: 'all' });
    expect(textsIn(next.history)).toEqual(['found']);
    expect(work.log.filter(entry => entry === 'run')).toHaveLength(1);
  });

  it('and then closed, or released twice, is released once', async () => {
    const { open } = processes([]);
    const { session } = await open();
    await Promise.all([session.release(), session.release(), session.close()]);
    expect(session.isRunning).toBe(false);
  });

  it('makes session.run throw, since there is no answer here', async () => {
    const work = heldTool();
    const { clock, open } = processes([{ calls: [{ tool: 'work', input: {} }] }], [work.definition]);
    const { session } = await open();
    const running = session.run('Go.');
    await work.started;
    const releasing = session.release();
    const refused = expect(running).rejects.toMatchObject({ name: 'SessionError', kind: 'released' });
    await clock.advance(1_000);
    await releasing;
    await refused;
  });
});

describe('a journal of a newer version', () => {
  const opened = {
    type: 'session.opened',
    loop: 'l',
    loopId: 'x',
    policyRevision: 'p',
    mode: '',
    seq: 1,
    at: 1,
  } as const;
  const openOf = async (records: readonly unknown[]) => {
    const { store, open } = processes([]);
    await store.append('s', 0, records as JournalRecord[]);
    return open('s');
  };

  it('is refused where it has a record that this one does not know', async () => {
    await expect(openOf([opened, { type: 'turn.forked', seq: 2, at: 2 }])).rejects.toMatchObject({
      name: 'JournalError',
      kind: 'newer_format',
      message: 'session s was written by a newer version of looprig: it has a record "turn.forked"; use that version',
    });
    await expect(openOf([opened, { type: 'toString', seq: 2, at: 2 }])).rejects.toMatchObject({ kind: 'newer_format' });
  });

  it('is refused where its format is higher, and read where it is the same or is not told', async () => {
    await expect(openOf([{ ...opened, format: 2 }])).rejects.toThrow(
      'session s was written by a newer version of looprig: it has format 2, and this version knows up to 1; use that version',
    );
    expect((await openOf([opened])).session.id).toBe('s');
    expect((await openOf([{ ...opened, format: 1 }])).session.id).toBe('s');
  });
});

describe('a reader that comes while a response is under way', () => {
  const deltas = (events: readonly SessionEvent[]) =>
    events.flatMap(event => (event.type === 'text.delta' ? [[event.text, event.isWhole ?? false]] : []));

  it('gets its text so far as one delta, and the rest as it comes', async () => {
    const { clock, open } = processes([{ text: 'one two three', deltas: ['one ', 'two ', 'three'], partDelayMs: 10 }]);
    const { session } = await open();
    const turn = session.submit('Go.');
    const first = collect(turn);
    const early = turn.subscribe();
    let seen = 0;
    const watching = (async () => {
      for await (const event of early) if (event.type === 'text.delta' && ++seen === 2) return;
    })();
    while (seen < 2) await clock.advance(10);
    await watching;
    const late = collect(turn);
    for (let round = 0; round < 5; round++) await clock.advance(10);
    expect(deltas((await first).events)).toEqual([
      ['one ', false],
      ['two ', false],
      ['three', false],
    ]);
    expect(deltas((await late).events)).toEqual([
      ['one two ', true],
      ['three', false],
    ]);
  });

  it('gets it while its calls run', async () => {
    const work = heldTool();
    const { clock, open } = processes([{ text: 'I work.', calls: [{ tool: 'work', input: {} }] }], [work.definition]);
    const { session } = await open();
    const turn = session.submit('Go.');
    await work.started;
    const late = collect(turn);
    const releasing = session.release();
    await clock.advance(1_000);
    await releasing;
    expect(deltas((await late).events)).toEqual([['I work.', true]]);
  });
});
