/** Rigs and sessions: opening, restoring, listing, taking over a history, closing. */
import {
  BindError,
  defineLoop,
  defineRig,
  defineTool,
  HistoryError,
  type Message,
  memoryStore,
  SessionError,
  type SessionEvent,
} from 'looprig';
import { assertPaired, collect, forever, manualClock, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';

const say = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] });

function talker<const Name extends string = 'talker'>(name: Name = 'talker' as Name) {
  return defineLoop({ name, model: scriptedModel(forever({ text: 'hello' })) });
}

describe('opening', () => {
  it('gives each session ids of its own, of version 7', async () => {
    const rig = defineRig({ loops: [talker()] });
    const [one, two] = [await rig.open(), await rig.open()];
    expect(one.id).not.toBe(two.id);
    for (const id of [one.id, one.loopId, two.loopId]) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
  });

  it('asks which loop where there are several, and takes it by name', async () => {
    const rig = defineRig({ loops: [talker('one'), talker('two')] });
    await expect(rig.open()).rejects.toMatchObject({ kind: 'unknown_loop' });
    const session = await rig.open({ loop: 'two' });
    expect(session.loop).toBe('two');
    // @ts-expect-error the rig has no such loop
    await expect(rig.open({ loop: 'three' })).rejects.toThrow('it has "one", "two"');
  });

  it.each([
    [{ loops: [] }, '"loops" must list at least one loop definition, and is empty'],
    [{}, '"loops" must list at least one loop definition, not undefined'],
    [{ loops: [{ name: 'x' }] }, 'loops[0] must come from defineLoop'],
    [{ loops: [talker(), talker()] }, 'loops[1] repeats the name "talker"'],
    [{ loops: [talker()], stores: 1 }, 'no option "stores": it takes loops, store, workspace'],
    [{ loops: [talker()], onDrift: 'maybe' }, '"onDrift" must be'],
    [
      { loops: [talker()], store: 'sessions.db' },
      '"store" must be a journal store, such as sqliteStore({ file }), not "',
    ],
    [{ loops: [talker()], store: { append: () => {} } }, '"store" must be a journal store'],
    [{ loops: [talker()], gate: { rules: [{ action: 'fs.write' }] } }, 'gate.rules[0]'],
  ])('refuses the options %j', (options, message) => {
    expect(() => defineRig(options as never)).toThrow(message);
  });

  it('gives a factory the bindings that it requires and no others', async () => {
    const seen: object[] = [];
    const tool = (name: string, requires: readonly ('secrets' | 'captures')[]) =>
      defineTool({
        name,
        description: 'Notes its bindings.',
        input: { type: 'object' },
        requires,
        create(bindings) {
          seen.push(bindings);
          return () => 'ok';
        },
      });
    const model = scriptedModel([]);
    const loop = defineLoop({
      name: 'l',
      model,
      tools: [tool('a', []), tool('b', ['secrets']), tool('c', ['captures'])],
    });
    const session = await defineRig({ loops: [loop], secrets: { key: 'value' } }).open();
    expect(seen.map(bindings => Object.keys(bindings).sort())).toEqual([
      ['loopId', 'sessionId'],
      ['loopId', 'secrets', 'sessionId'],
      ['captures', 'loopId', 'sessionId'],
    ]);
    expect((seen[1] as { secrets: { get(name: string): unknown } }).secrets.get('key')).toBe('value');
    expect((seen[1] as { secrets: { get(name: string): unknown } }).secrets.get('constructor')).toBeUndefined();
    expect(seen[0]).toMatchObject({ sessionId: session.id, loopId: session.loopId });
  });

  it('refuses a tool that needs a workspace where the rig has none', async () => {
    const tool = defineTool({
      name: 'w',
      description: 'Needs a workspace.',
      input: { type: 'object' },
      requires: ['workspace'],
      create: () => () => 'ok',
    });
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model: scriptedModel([]), tools: [tool] })] });
    await expect(rig.open()).rejects.toSatisfy(error => BindError.is(error) && error.kind === 'missing_binding');
  });

  it('adds extra tools for one session alone', async () => {
    const extra = scriptedTool('extra', { returns: 'x' });
    const model = scriptedModel([
      { calls: [{ tool: 'extra', input: {} }] },
      { text: 'a' },
      { calls: [{ tool: 'extra', input: {} }] },
      { text: 'b' },
    ]);
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model })] });
    await (await rig.open({ extraTools: [extra.definition] })).run('one');
    expect(extra.count).toBe(1);
    await (await rig.open()).run('two');
    expect(extra.count).toBe(1);
  });
});

describe('binding without a session', () => {
  it('shows what a new session would have, with the bindings of the rig, and records nothing', async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const keeper = defineTool({
      ...{ name: 'keeper', description: 'Keeps.', input: { type: 'object' }, requires: ['secrets'] },
      create: ({ secrets }) => {
        seen.push(secrets.get('key'));
        return { execute: () => '', idempotent: true, [Symbol.dispose]: () => void seen.push('disposed') };
      },
    });
    const one = defineLoop({ name: 'one', model: scriptedModel([]), tools: [keeper], limits: { calls: 3 } });
    const rig = defineRig({ loops: [one, talker('two')], store, secrets: { key: 'k' } });
    const bound = await rig.bind('one');
    expect(bound.tools.map(({ info, live }) => [info.name, live.idempotent])).toEqual([['keeper', true]]);
    expect(bound.limits.calls).toBe(3);
    await bound[Symbol.asyncDispose]();
    expect(seen).toEqual(['k', 'disposed']);
    expect(await store.list()).toEqual([]);
  });

  it('is refused as a session would be', async () => {
    await expect(defineRig({ loops: [talker('one'), talker('two')] }).bind()).rejects.toMatchObject({
      kind: 'unknown_loop',
    });
    const lost = defineTool({
      ...{ name: 'lost', description: 'Is lost.', input: { type: 'object' }, requires: ['workspace'] },
      create: () => () => '',
    });
    const rig = defineRig({ loops: [defineLoop({ name: 'one', model: scriptedModel([]), tools: [lost] })] });
    await expect(rig.bind()).rejects.toMatchObject({ kind: 'missing_binding' });
  });
});

describe('restoring', () => {
  it('brings back the history, the mode and the ids of a closed session', async () => {
    const tool = scriptedTool('look', { returns: 'seen' });
    const model = scriptedModel([{ calls: [{ tool: 'look', input: { n: 1 } }] }, { text: 'one' }, { text: 'two' }]);
    const loop = defineLoop({
      name: 'l',
      model,
      tools: [tool.definition],
      modes: { plain: {}, other: {} },
      initialMode: 'plain',
    });
    const rig = defineRig({ loops: [loop] });
    const first = await rig.open();
    await first.run('first');
    await first.setMode('other');
    const { id, loopId, history } = first;
    await first.close();

    const second = await rig.open({ sessionId: id });
    expect(second).toMatchObject({ id, loopId, mode: 'other', history });
    await second.run('second');
    assertPaired(second.history);
    expect(model.requests[2]?.prompt).toEqual([...history, say('second')]);
  });

  it('refuses a session that the store does not have', async () => {
    const rig = defineRig({ loops: [talker()] });
    await expect(rig.open({ sessionId: 'nobody' })).rejects.toMatchObject({ kind: 'unknown_session' });
  });

  it('tells of a definition that behaves differently, or refuses it', async () => {
    const store = memoryStore();
    const open = defineRig({ loops: [talker()], store });
    const { id } = await open.open();
    const changed = defineLoop({ name: 'talker', model: scriptedModel([]), system: 'Be brief.' });
    const events: SessionEvent[] = [];
    const lenient = defineRig({ loops: [changed], store, observers: [event => void events.push(event)] });
    const session = await lenient.open({ sessionId: id });
    expect(session.drift?.current).toBe(changed.policyRevision);
    expect(events.map(event => event.type)).toEqual(['session.drift']);
    await session.close();
    const strict = defineRig({ loops: [changed], store, onDrift: 'refuse' });
    await expect(strict.open({ sessionId: id })).rejects.toMatchObject({ kind: 'drift' });
  });

  it('ends a turn that another process left in the middle at the next input, and says what is unknown', async () => {
    const store = memoryStore();
    const fast = scriptedTool('fast', { returns: 'done' });
    const slow = scriptedTool('slow', { hangs: true });
    const script = [
      {
        calls: [
          { tool: 'fast', input: {}, id: 'c1' },
          { tool: 'slow', input: {}, id: 'c2' },
          { tool: 'slow', input: {}, id: 'c3' },
        ],
      },
      { text: 'ok' },
    ];
    const model = scriptedModel(script);
    const tools = [fast.definition, slow.definition];
    const clock = manualClock();
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model, tools, limits: { parallel: 2 } })], store, clock });
    const lost = await rig.open();
    const turn = lost.submit('go');
    for await (const event of turn) if (event.type === 'tool.started' && event.callId === 'c3') break;
    // The first process is gone without a word; the slow calls never came back.
    const next = await rig.open({ sessionId: lost.id });
    assertPaired(next.history);
    await next.run('go on');
    const results = next.history.flatMap(message => (message.role === 'tool' ? message.content : []));
    expect(results.map(part => part.type === 'tool-result' && part.output)).toEqual([
      { type: 'text', value: 'done' },
      { type: 'error-text', value: 'interrupted; it may or may not have taken effect' },
      { type: 'error-text', value: 'interrupted; it may or may not have taken effect' },
    ]);
    expect(fast.count).toBe(1);
    // The first writer is stale now: whatever it still does is refused.
    turn.interrupt();
    const result = await clock.runUntil(turn.result);
    expect(result).toMatchObject({ status: 'failed', error: { kind: 'conflict' } });
  });
});

describe('a list', () => {
  it('says which sessions are damaged, and is no longer than it is asked to be', async () => {
    const store = memoryStore();
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model: scriptedModel([]) })], store });
    const good = await rig.open();
    const record = { type: 'step.done' as const, turnId: 't', stepId: 's', seq: 1, at: 5 };
    await store.append('torn', 0, [{ ...record, seq: 1, type: 'history.imported', messages: null } as never]);
    expect(await rig.sessions()).toMatchObject([
      { sessionId: 'torn', state: 'damaged', turns: 0 },
      { sessionId: good.id, state: 'new' },
    ]);
    expect(await rig.sessions({ limit: 1 })).toHaveLength(1);
  });
});

describe('listing', () => {
  it('lists the last written session first, with title, state and counts', async () => {
    const clock = manualClock(1_000);
    const model = scriptedModel([{ text: 'one' }, { error: new Error('broken') }]);
    const rig = defineRig({ loops: [defineLoop({ name: 'l', model, modelRetries: 0 })], clock });
    const one = await rig.open();
    await one.run('the first question\nwith more');
    await clock.advance(10);
    const two = await rig.open();
    await two.submit('another').result;
    await clock.advance(10);
    const three = await rig.open();
    const list = await rig.sessions();
    expect(list.map(({ sessionId, title, state, turns }) => [sessionId, title, state, turns])).toEqual([
      [three.id, '', 'new', 0],
      [two.id, 'another', 'failed', 1],
      [one.id, 'the first question', 'done', 1],
    ]);
  });
});

describe('a history from elsewhere', () => {
  const call = { type: 'tool-call', toolCallId: 'a', toolName: 't', input: {} } as const;
  const result = { type: 'tool-result', toolCallId: 'a', toolName: 't', output: { type: 'text', value: 'x' } } as const;

  it('is shown to the model before the first input', async () => {
    const history: Message[] = [say('hi'), { role: 'assistant', content: [call] }, { role: 'tool', content: [result] }];
    const model = scriptedModel([{ text: 'ok' }]);
    const session = await defineRig({ loops: [defineLoop({ name: 'l', model })] }).open({ history });
    await session.run('now');
    expect(model.requests[0]?.prompt).toEqual([...history, say('now')]);
  });

  it('is refused with the index of the message that is wrong, or repaired', async () => {
    const history: Message[] = [say('hi'), { role: 'assistant', content: [call] }, say('still there?')];
    const rig = defineRig({ loops: [talker()] });
    await expect(rig.open({ history })).rejects.toSatisfy(error => HistoryError.is(error) && error.index === 1);
    const repairs: unknown[] = [];
    const session = await rig.open({ history, repair: true, onRepair: list => repairs.push(...list) });
    assertPaired(session.history);
    expect(session.history).toHaveLength(4);
    expect(repairs).toEqual([{ index: 1, change: 'answered the call "a" of "t"' }]);
  });
});

describe('closing', () => {
  it('interrupts the running turn, cancels queued ones, and disposes tools in reverse order', async () => {
    const clock = manualClock();
    const disposed: string[] = [];
    const tool = (name: string) =>
      defineTool({
        name,
        description: 'Hangs.',
        input: { type: 'object' },
        create: () => ({
          execute: () => new Promise<string>(() => {}),
          [Symbol.dispose]: () => void disposed.push(name),
        }),
      });
    const model = scriptedModel([{ calls: [{ tool: 'a', input: {} }] }]);
    const loop = defineLoop({ name: 'l', model, tools: [tool('a'), tool('b')] });
    const session = await defineRig({ loops: [loop], clock }).open();
    const turn = session.submit('go');
    const queued = session.submit('more');
    for await (const event of turn) if (event.type === 'tool.started') break;
    await clock.runUntil(session.close());
    expect(await turn.result).toMatchObject({
      status: 'interrupted',
      reason: 'the session was closed',
      leftBehind: [{ toolName: 'a' }],
    });
    expect((await collect(queued)).events.map(event => event.type)).toEqual(['turn.interrupted']);
    expect(disposed).toEqual(['b', 'a']);
    assertPaired(session.history);
    expect(() => session.submit('again')).toThrow(SessionError);
    await session.close();
    expect(disposed).toHaveLength(2);
  });
});
