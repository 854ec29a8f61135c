/** A loop as a tool of another: its own session, a shared budget, a bounded depth, one end for the whole tree, and the same child after a crash. */
import {
  defineLoop,
  defineRig,
  delegate,
  delegateEventOf,
  type JournalRecord,
  type JournalStore,
  type LoopDefinition,
  memoryStore,
  type RigOptions,
  type Session,
  type ToolLimits,
  type TurnEvent,
} from 'looprig';
import {
  assertPaired,
  collect,
  forever,
  manualClock,
  type ScriptedReply,
  type ScriptedTool,
  scriptedModel,
  scriptedTool,
} from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { resultsIn } from './cases/setup.ts';

/** A loop whose model goes by how many answers it has given in its own history, so that any process of it says the same. */
function loopOf(
  name: string,
  replies: readonly ScriptedReply[],
  tools: readonly ScriptedTool[] = [],
  more: object = {},
) {
  const model = scriptedModel(
    forever(request => {
      const given = request.prompt.filter(({ role }) => role === 'assistant').length;
      return replies[given] ?? { text: `${name} is done` };
    }),
  );
  return {
    model,
    loop: defineLoop({
      name,
      model,
      tools: tools.map(tool => tool.definition),
      repeat: false,
      ...more,
    }) as LoopDefinition,
  };
}

const asks = (tool: string, ...tasks: string[]): ScriptedReply => ({
  calls: tasks.map((task, index) => ({ tool, id: `${tool}-${task}-${index}`, input: { task } })),
});

async function open(parent: LoopDefinition, options: Partial<RigOptions<never>> = {}) {
  const clock = manualClock();
  const store = options.store ?? memoryStore();
  const rig = defineRig({ ...options, loops: [parent], store, clock });
  const session = (await rig.open()) as Session;
  return { clock, store, rig, session };
}

describe('a delegate', () => {
  it('works in a session of its own, and its answer is the result of the call', async () => {
    const search = scriptedTool('search', { returns: 'found' });
    const { loop: child } = loopOf(
      'child',
      [{ calls: [{ tool: 'search', id: 's' }] }, { text: 'the answer' }],
      [search],
    );
    const { loop, model } = loopOf('parent', [asks('child', 'find it')], [], {
      tools: [delegate(child, { description: 'Finds things.' })],
    });
    const { session, clock, rig } = await open(loop);
    const { result } = await clock.runUntil(collect(session.submit('go')));
    expect(result).toMatchObject({ status: 'done', text: 'parent is done', calls: 1 });
    expect(search.runs).toHaveLength(1);
    expect(resultsIn(model.requests[1]!.prompt)).toEqual([['child-find it-0', 'the answer']]);
    expect(session.history).toHaveLength(4);
    const all = await rig.sessions({ delegates: true });
    expect(all.map(({ loop: name, title, parentId }) => [name, title, parentId])).toEqual(
      expect.arrayContaining([
        ['child', 'find it', session.id],
        ['parent', 'go', undefined],
      ]),
    );
    expect(await rig.sessions()).toHaveLength(1);
  });

  it('gives a typed answer as JSON, takes an input of its own, and says when a limit stopped it', async () => {
    const typed = loopOf('typed', [{ text: '{"n": 1}' }], [], {
      output: z.object({ n: z.number() }),
      outputMode: 'native',
    });
    const asking = scriptedTool('ask');
    const bounded = loopOf(
      'bounded',
      [{ calls: [{ tool: 'ask' }] }, { calls: [{ tool: 'ask' }] }, { text: 'so far' }],
      [asking],
      { atLimit: 'answer' },
    );
    const { loop, model } = loopOf(
      'parent',
      [
        {
          calls: [
            { tool: 'typed', id: 'a', input: { a: 1, b: 2 } },
            { tool: 'bounded', id: 'b', input: { task: 'x' } },
          ],
        },
      ],
      [],
      {
        tools: [
          delegate(typed.loop, {
            description: 'Adds.',
            input: z.object({ a: z.number(), b: z.number() }),
            prompt: ({ a, b }) => `${a} + ${b}`,
          }),
          delegate(bounded.loop, { description: 'Asks.', limits: { iterations: 1 } }),
        ],
      },
    );
    const { session, clock } = await open(loop);
    await clock.runUntil(session.submit('go').result);
    expect(JSON.stringify(typed.model.requests[0]!.prompt)).toContain('1 + 2');
    expect(resultsIn(model.requests[1]!.prompt)).toEqual([
      ['a', { n: 1 }],
      ['b', 'so far (it stopped early: the model asked for tools in 2 steps, 1 is allowed in one turn)'],
    ]);
  });

  it('that fails is an error result, and nothing else', async () => {
    const failing = loopOf('failing', [{ error: Object.assign(new Error('no credit'), { isRetryable: false }) }]);
    const { loop, model } = loopOf('parent', [asks('failing', 'x')], [], {
      tools: [delegate(failing.loop, { description: 'Fails.' })],
    });
    const { session, clock } = await open(loop);
    expect(await clock.runUntil(session.submit('go').result)).toMatchObject({ status: 'done' });
    expect(resultsIn(model.requests[1]!.prompt)).toEqual([
      ['failing-x-0', 'the delegate failed: the model request failed: no credit'],
    ]);
  });

  it.each([
    [{ description: 'x', maxDepth: 0 }, '"maxDepth" must be a positive integer, not 0'],
    [{ description: 'x', input: z.object({}) }, 'a delegate with an input of its own needs "prompt"'],
    [{}, 'description'],
  ])('that cannot be made is refused: %j', (options, message) => {
    const { loop } = loopOf('child', []);
    expect(() => delegate(loop, options as never)).toThrow(message);
  });

  it('needs a rig: a loop that is bound by hand has nobody to run it', async () => {
    const { loop: child } = loopOf('child', []);
    const { loop } = loopOf('parent', [], [], { tools: [delegate(child, { description: 'x' })] });
    await expect(loop.bind({ sessionId: 's', loopId: 'l' })).rejects.toMatchObject({ kind: 'missing_binding' });
  });
});

describe('the budget', () => {
  const looping = (work: ScriptedTool) =>
    loopOf(
      'child',
      Array.from({ length: 50 }, (_, n) => ({ calls: [{ tool: 'work', input: { n } }] })),
      [work],
    ).loop;

  it('case 8: is shared: delegates side by side together make no more calls than their caller has left', async () => {
    const work = scriptedTool('work');
    const { loop } = loopOf('parent', [asks('child', 'one', 'two', 'three')], [], {
      tools: [delegate(looping(work), { description: 'Works.' })],
      limits: { calls: 10 },
    });
    const { session, clock } = await open(loop);
    const result = await clock.runUntil(session.submit('go').result);
    expect(work.runs).toHaveLength(7);
    expect(result).toMatchObject({ status: 'done', calls: 3 });
    const results = resultsIn(session.history).map(([, text]) => text);
    expect(results).toEqual(Array(3).fill(expect.stringContaining('the delegate failed:')));
  });

  it('of tokens is shared too, and what delegates used is in the usage of the turn', async () => {
    const work = scriptedTool('work');
    const { loop } = loopOf('parent', [asks('child', 'one'), asks('child', 'two')], [], {
      tools: [delegate(looping(work), { description: 'Works.', limits: { iterations: 2 } })],
      limits: { tokens: 100 },
    });
    const { session, clock } = await open(loop);
    const result = await clock.runUntil(session.submit('go').result);
    // 15 tokens a response: 15 of the caller, 45 of the first delegate, 15 of the caller; the second delegate goes beyond with its second one.
    expect(result).toMatchObject({ status: 'done', usage: { totalTokens: 120 } });
    expect(resultsIn(session.history).map(([, text]) => text)).toEqual([
      'the delegate failed: turn stopped at a limit: the model asked for tools in 3 steps, 2 are allowed in one turn',
      expect.stringMatching(/^the delegate failed: .*tokens/),
    ]);
    expect(work.runs).toHaveLength(3);
  });

  it('counts what delegates did before a crash', async () => {
    const work = scriptedTool('work', { idempotent: true });
    const make = () =>
      loopOf('parent', [asks('child', 'one'), asks('child', 'two')], [], {
        tools: [delegate(looping(work), { description: 'Works.', limits: { iterations: 3 } })],
        limits: { calls: 6 },
      }).loop;
    const log = loggingStore();
    const whole = await open(make(), { store: log.store });
    const unbroken = await whole.clock.runUntil(whole.session.submit('go').result);
    for (let appends = 2; appends < log.appends.length; appends++) {
      const store = await log.after(appends);
      const clock = manualClock();
      const session = (await defineRig({ loops: [make()], store, clock }).open({
        sessionId: whole.session.id,
      })) as Session;
      const result = await clock.runUntil(session.resume().result);
      expect({ appends, status: result.status, calls: result.calls, usage: result.usage }).toEqual({
        ...{ appends, status: unbroken.status, calls: unbroken.calls, usage: unbroken.usage },
      });
      expect(session.history).toEqual(whole.session.history);
      await clock.runUntil(session.close());
    }
    expect(log.appends.length).toBeGreaterThan(15);
  });
});

describe('the depth', () => {
  it('case 9: at the depth limit the delegate is not offered, a forced call gets an error result, and no session more is made', async () => {
    // Every model at every level delegates to the one below, whatever it is offered.
    const requests: string[][] = [];
    const model = scriptedModel(
      forever(request => {
        requests.push((request.tools ?? []).map(({ name }) => name));
        const given = request.prompt.filter(({ role }) => role === 'assistant').length;
        return given === 0 ? { calls: [{ tool: 'deeper', id: 'd', input: { task: 'go on' } }] } : { text: 'enough' };
      }),
    );
    const base = defineLoop({ name: 'base', model });
    const third = base.extend({
      name: 'third',
      tools: [delegate(base as LoopDefinition, { description: 'x', name: 'deeper' })],
    });
    const second = base.extend({
      name: 'second',
      tools: [delegate(third as LoopDefinition, { description: 'x', name: 'deeper' })],
    });
    const first = base.extend({
      name: 'first',
      tools: [delegate(second as LoopDefinition, { description: 'x', name: 'deeper' })],
    });
    const { session, clock, rig } = await open(first as LoopDefinition);
    expect(await clock.runUntil(session.submit('go').result)).toMatchObject({ status: 'done', text: 'enough' });
    expect(await rig.sessions({ delegates: true })).toHaveLength(3);
    expect(requests[0]).toEqual(['deeper']);
    expect(requests[1]).toEqual(['deeper']);
    expect(requests[2]).toEqual([]);
    const deepest = (await rig.sessions({ delegates: true })).find(({ loop }) => loop === 'third');
    expect(deepest).toMatchObject({ calls: 1, state: 'done' });
  });
});

describe('an interrupt', () => {
  it('stops the whole tree, and every history is paired', async () => {
    const slow = scriptedTool('slow', { hangs: true });
    const { loop: child } = loopOf('child', [{ calls: [{ tool: 'slow', id: 's' }] }], [slow]);
    const { loop } = loopOf('parent', [asks('child', 'one')], [], { tools: [delegate(child, { description: 'x' })] });
    const { session, clock, rig, store } = await open(loop);
    const turn = session.submit('go');
    await clock.advance(1);
    expect(slow.runs).toHaveLength(1);
    turn.interrupt('enough');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', reason: 'enough' });
    await clock.advance(5_000);
    assertPaired(session.history);
    const [theirs] = (await rig.sessions({ delegates: true })).filter(({ parentId }) => parentId === session.id);
    expect(theirs).toMatchObject({ state: 'interrupted' });
    expect((await recordsOf(store, theirs!.sessionId)).at(-1)).toMatchObject({
      type: 'turn.interrupted',
      reason: 'the turn that delegated was stopped',
    });
  });
});

describe('events and gates', () => {
  const gated = () =>
    scriptedTool('gated', { returns: 'sent', access: () => [{ action: 'send', target: 'x' }], idempotent: true });

  it('of a delegate come as progress of its call', async () => {
    const { loop: child } = loopOf('child', [{ text: 'hello' }]);
    const { loop } = loopOf('parent', [asks('child', 'one')], [], { tools: [delegate(child, { description: 'x' })] });
    const { session, clock } = await open(loop);
    const { events } = await clock.runUntil(collect(session.submit('go')));
    const theirs = events.flatMap(event => delegateEventOf(event as TurnEvent) ?? []);
    expect(theirs.map(({ event }) => event.type)).toEqual([
      ...['turn.started', 'step.started', 'text.delta', 'step.done', 'turn.done'],
    ]);
    expect(new Set(theirs.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  it('of a delegate are answered at its caller, also by another process', async () => {
    const tool = gated();
    const make = () => {
      const { loop: child } = loopOf('child', [{ calls: [{ tool: 'gated', id: 'g' }] }], [tool]);
      return loopOf('parent', [asks('child', 'one')], [], { tools: [delegate(child, { description: 'x' })] }).loop;
    };
    const log = loggingStore();
    const first = await open(make(), { gate: { ask: true }, store: log.store });
    first.session.submit('go');
    await first.clock.advance(1);
    const [gate] = first.session.gates;
    expect(gate).toMatchObject({ toolName: 'gated' });
    const store = await log.after(log.appends.length);

    const clock = manualClock();
    const rig = defineRig({ loops: [make()], store, clock, gate: { ask: true } });
    const session = (await rig.open({ sessionId: first.session.id })) as Session;
    const turn = session.resume();
    await clock.advance(1);
    expect(session.gates.map(({ gateId }) => gateId)).toEqual([gate!.gateId]);
    await session.answer(gate!.gateId, { decision: 'approve' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(tool.runs).toHaveLength(1);
    await expect(session.answer(gate!.gateId, { decision: 'approve' })).rejects.toMatchObject({ kind: 'unknown_gate' });
  });

  /** A delegate of a delegate that waits for a person, under callers with limits of their own. */
  async function waitingDelegate(limits: ToolLimits, besides: readonly ScriptedTool[] = []) {
    const tool = gated();
    const { loop: grandchild } = loopOf('grandchild', [{ calls: [{ tool: 'gated', id: 'g' }] }], [tool]);
    const nested = { tools: [delegate(grandchild, { description: 'x' })], limits };
    const { loop: child } = loopOf('child', [asks('grandchild', 'two')], [], nested);
    const first = asks('child', 'one');
    const calls = [...first.calls!, ...besides.map(({ definition: { name } }) => ({ tool: name, id: name }))];
    const tools = [delegate(child, { description: 'x' }), ...besides.map(({ definition }) => definition)];
    const { loop } = loopOf('parent', [{ calls }], [], { tools, limits });
    const opened = await open(loop, { gate: { ask: true } });
    return { ...opened, tool, turn: opened.session.submit('go') };
  }

  it('count neither for the time of the calls that wait for them nor for that of their turns', async () => {
    const { session, clock, tool, turn } = await waitingDelegate({ callTimeoutMs: 1_000, turnTimeoutMs: 1_500 });
    await clock.advance(100_000);
    expect(clock.pending, 'nothing keeps the process alive meanwhile').toBe(0);
    const [gate] = session.gates;
    await session.answer(gate!.gateId, { decision: 'approve' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'parent is done' });
    expect(tool.runs).toHaveLength(1);
    expect(resultsIn(session.history)).toEqual([['child-one-0', 'child is done']]);
  });

  it('leave the time of the turn as it is while another call of it runs', async () => {
    const busy = scriptedTool('busy', { hangs: true });
    const { clock, turn } = await waitingDelegate({ turnTimeoutMs: 1_500 }, [busy]);
    await clock.advance(1_499);
    expect(busy.runs[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(busy.runs[0]?.aborted).toBe(true);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'failed', error: { kind: 'turn_timeout' } });
  });
});

async function recordsOf(store: JournalStore, sessionId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  return records;
}

/** A store that keeps the order of all appends, and gives the disk as it was after the first so many of them. */
function loggingStore() {
  const inner = memoryStore();
  const appends: { sessionId: string; expectedSeq: number; records: readonly JournalRecord[] }[] = [];
  const store: JournalStore = {
    append(sessionId, expectedSeq, records) {
      appends.push({ sessionId, expectedSeq, records: structuredClone(records) as JournalRecord[] });
      return inner.append(sessionId, expectedSeq, records);
    },
    read: (sessionId, fromSeq) => inner.read(sessionId, fromSeq),
    list: options => inner.list(options),
    delete: (sessionId, expectedSeq) => inner.delete(sessionId, expectedSeq),
    find: sessionId => inner.find(sessionId),
    putCapture: (sessionId, bytes) => inner.putCapture(sessionId, bytes),
    getCapture: (sessionId, id) => inner.getCapture(sessionId, id),
  };
  const after = async (count: number): Promise<JournalStore> => {
    const copy = memoryStore();
    for (const { sessionId, expectedSeq, records } of appends.slice(0, count)) {
      await copy.append(sessionId, expectedSeq, structuredClone(records) as JournalRecord[]);
    }
    return copy;
  };
  return { store, appends, after };
}
