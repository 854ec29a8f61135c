/** What is said to a session while a turn runs: queued, refused, cancelled, or folded in; and changes of its mode. */
import { defineLoop, defineRig, type Message, type Session, SessionBusyError, type Turn } from 'looprig';
import { assertPaired, collect, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectSound, open, openLoop, reached, saying } from './cases/setup.ts';

const done: ScriptedReply = { text: 'done' };
const works: ScriptedReply = { text: 'I work.', calls: [{ tool: 'slow' }] };

/** A session whose tool takes 100 ms, on these replies. */
async function working(replies: readonly ScriptedReply[], loop: object = {}) {
  const clock = manualClock();
  const slow = scriptedTool('slow', { sleepMs: 100, clock });
  const model = scriptedModel([...replies], { clock });
  const opened = await open({ model, tools: [slow], clock, ...loop });
  return { ...opened, slow };
}

/** All that the user said, in the order of the history. */
function said(messages: readonly Message[]): string[] {
  return messages.flatMap(message =>
    message.role === 'user' ? message.content.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  );
}

describe('the queue', () => {
  it('turns run one after the other, first in first out, never two at once', async () => {
    const opened = await working([works, done, works, done, works, done]);
    const { session, clock, events } = opened;
    const turns = ['one', 'two', 'three'].map(input => session.submit(input));
    const results = await clock.runUntil(Promise.all(turns.map(turn => turn.result)));
    expect(results.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
    expect(said(session.history)).toEqual(['one', 'two', 'three']);
    const order = events.flatMap(event =>
      event.type === 'turn.started' || event.type === 'turn.done' ? [`${event.type} ${event.turnId}`] : [],
    );
    expect(order).toEqual(turns.flatMap(({ id }) => [`turn.started ${id}`, `turn.done ${id}`]));
    expect(clock.now()).toBe(300);
    expectSound(opened);
  });

  it('a queued turn has its events for a reader that came while it waited', async () => {
    const { session, clock } = await working([works, done, done]);
    const first = session.submit('one');
    const second = session.submit('two');
    const reading = collect(second);
    await clock.runUntil(first.result);
    const { events } = await clock.runUntil(reading);
    expect(events.map(({ type }) => type)).toEqual([
      ...['turn.started', 'step.started', 'text.delta', 'step.done', 'turn.done'],
    ]);
    expect(events[0]).toMatchObject({ input: [{ type: 'text', text: 'two' }] });
    expect(new Set(events.map(event => 'turnId' in event && event.turnId))).toEqual(new Set([second.id]));
  });

  it('readers of the session see what waits, and what becomes of it', async () => {
    const { session, clock, events } = await working([works, works, done, done]);
    const first = session.submit('one');
    await reached(first, 'tool.started');
    session.submit('two');
    const taken = session.submit('three');
    const steered = session.steer('and this');
    taken.interrupt();
    await clock.runUntil(steered);
    await clock.runUntil(first.result);
    const of = (type: string) => events.filter(event => event.type === type);
    expect(of('input.received')).toMatchObject([
      { as: 'turn', input: [{ text: 'two' }] },
      { as: 'turn', input: [{ text: 'three' }] },
      { as: 'steer', input: [{ text: 'and this' }] },
    ]);
    const [two, three, steer] = of('input.received').map(event => event.type === 'input.received' && event.inputId);
    expect(of('input.steered')).toMatchObject([{ inputId: steer, turnId: first.id, input: [{ text: 'and this' }] }]);
    expect(of('input.cancelled')).toMatchObject([{ inputId: three }]);
    await clock.runUntil(new Promise<void>(resolve => clock.setTimer(resolve, 1)));
    expect(of('turn.started').at(-1)).toMatchObject({ inputId: two, input: [{ text: 'two' }] });
  });

  it('a turn that fails or is interrupted does not hold up the next', async () => {
    const { session, clock } = await working([works, done, { error: new Error('no') }, done]);
    const turns = ['one', 'two', 'three'].map(input => session.submit(input));
    await reached(turns[0]!, 'tool.started');
    turns[0]!.interrupt();
    const results = await clock.runUntil(Promise.all(turns.map(turn => turn.result)));
    expect(results.map(({ status }) => status)).toEqual(['interrupted', 'done', 'failed']);
    expect(await clock.runUntil(session.submit('four').result)).toMatchObject({ status: 'done' });
    assertPaired(session.history);
  });

  it('queue: reject refuses while a turn runs, with SessionBusyError, and changes nothing', async () => {
    const { session, clock } = await working([works, done, done]);
    const turn = session.submit('one', { queue: 'reject' });
    expect(() => session.submit('two', { queue: 'reject' })).toThrow(SessionBusyError);
    await expect(session.run('two', { queue: 'reject' })).rejects.toMatchObject({ kind: 'busy' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(said(session.history)).toEqual(['one']);
    expect(await clock.runUntil(session.submit('two', { queue: 'reject' }).result)).toMatchObject({ status: 'done' });
  });

  it('an option that is none is refused', async () => {
    const { session, clock } = await working([works, done]);
    const turn = session.submit('one');
    expect(() => session.submit('two', { queue: 'later' as never })).toThrowError(
      expect.objectContaining({ kind: 'invalid_option' }),
    );
    await clock.runUntil(turn.result);
  });

  it.each(['', '   ', [], [{ type: 'text' }], 42, null, [{ type: 'tool-result' }]])(
    'the input %j is refused at once',
    async input => {
      const { session } = await working([]);
      expect(() => session.submit(input as never)).toThrowError(expect.objectContaining({ kind: 'invalid_input' }));
      expect(session.history).toEqual([]);
    },
  );

  it('a queued turn can be cancelled: it never runs, and leaves nothing in the history', async () => {
    const { session, clock, model } = await working([works, done, done]);
    const [one, two, three] = ['one', 'two', 'three'].map(input => session.submit(input)) as [Turn, Turn, Turn];
    const reading = collect(two);
    two.interrupt('not needed');
    expect(await two.result).toMatchObject({
      status: 'interrupted',
      reason: 'not needed',
      steps: 0,
      calls: 0,
      leftBehind: [],
    });
    await clock.runUntil(Promise.all([one.result, three.result]));
    expect(said(session.history)).toEqual(['one', 'three']);
    expect(model.count).toBe(3);
    expect((await reading).events).toMatchObject([{ type: 'turn.interrupted', turnId: two.id, reason: 'not needed' }]);
    expect((await collect(two)).events).toMatchObject([{ type: 'turn.interrupted' }]);
    two.interrupt('again');
  });

  it('cancelling the first of the queue, all of it, or in any order leaves the rest', async () => {
    for (const cancelled of [[1], [1, 2, 3], [3, 1], [2, 3]]) {
      const { session, clock } = await working([works, done, done, done, done]);
      const turns = [0, 1, 2, 3].map(n => session.submit(`input ${n}`));
      for (const place of cancelled) turns[place]!.interrupt();
      await clock.runUntil(Promise.all(turns.map(turn => turn.result)));
      expect(said(session.history)).toEqual([0, 1, 2, 3].filter(n => !cancelled.includes(n)).map(n => `input ${n}`));
    }
  });

  it('an input can be submitted from within an event, a tool, and an observer', async () => {
    const clock = manualClock();
    let session: Session | undefined;
    const extra: Turn[] = [];
    const t = scriptedTool('t', () => {
      extra.push(session!.submit('from a tool'));
      return 'ok';
    });
    const observers = [
      ({ type }: { type: string }): void => {
        if (type === 'tool.called') extra.push(session!.submit('from an observer'));
      },
    ];
    const opened = await open({ model: saying({ calls: [{ tool: 't' }] }), tools: [t], clock, rig: { observers } });
    session = opened.session;
    await clock.runUntil(session.submit('go').result);
    await clock.runUntil(Promise.all(extra.map(turn => turn.result)));
    expect(said(session.history)).toEqual(['go', 'from an observer', 'from a tool']);
  });

  it('limits of a queued turn are checked when it is submitted', async () => {
    const { session, clock } = await working([works, done]);
    const turn = session.submit('one');
    expect(() => session.submit('two', { limits: { calls: -1 } })).toThrowError(
      expect.objectContaining({ kind: 'invalid_tool_limits', field: 'limits.calls' }),
    );
    await clock.runUntil(turn.result);
    expect(said(session.history)).toEqual(['one']);
  });
});

describe('steering', () => {
  it('is folded in as a user message before the next model call of the running turn', async () => {
    const opened = await working([works, done]);
    const { session, clock, model } = opened;
    const turn = session.submit('go');
    await reached(turn, 'tool.started');
    const steered = session.steer('rather left');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'done', steps: 2 });
    expect(await steered).toEqual({ kind: 'folded', turnId: turn.id });
    expect(model.requests[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(said(model.requests[1]?.prompt ?? [])).toEqual(['go', 'rather left']);
    expect(said(session.history)).toEqual(['go', 'rather left']);
    assertPaired(session.history);
    expectSound(opened);
  });

  it('never splits a call from its result, and several are folded in in their order', async () => {
    const { session, clock, model } = await working([works, works, done]);
    const turn = session.submit('go');
    await reached(turn, 'tool.started');
    const steered = ['a', 'b', 'c'].map(text => session.steer(text));
    await clock.runUntil(turn.result);
    expect((await Promise.all(steered)).map(({ kind }) => kind)).toEqual(['folded', 'folded', 'folded']);
    expect(said(model.requests[1]?.prompt ?? [])).toEqual(['go', 'a', 'b', 'c']);
    for (const { prompt } of model.requests) assertPaired(prompt);
  });

  it('after the final answer becomes the next turn, before those that were queued', async () => {
    const { session, clock, model } = await working([{ delayMs: 50, text: 'answer' }, done, done]);
    const turn = session.submit('go');
    const queued = session.submit('queued');
    await clock.advance(10);
    const steering = session.steer('too late');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', text: 'answer' });
    const steered = await steering;
    expect(steered.kind).toBe('submitted');
    const late = steered.kind === 'submitted' ? steered.turn : undefined;
    expect(await clock.runUntil(late!.result)).toMatchObject({ status: 'done' });
    await clock.runUntil(queued.result);
    expect(said(session.history)).toEqual(['go', 'too late', 'queued']);
    expect(model.requests[0]?.prompt).toHaveLength(1);
  });

  it('of a turn that fails or is interrupted becomes the next turn', async () => {
    for (const ending of ['fails', 'is interrupted'] as const) {
      const { session, clock } = await working([{ delayMs: 50, error: new Error('no') }, done]);
      const turn = session.submit('go');
      await clock.advance(10);
      const steering = session.steer('and then');
      await clock.advance(0);
      if (ending === 'is interrupted') turn.interrupt();
      expect((await clock.runUntil(turn.result)).status).toBe(ending === 'fails' ? 'failed' : 'interrupted');
      const steered = await steering;
      expect(steered.kind).toBe('submitted');
      if (steered.kind === 'submitted')
        expect(await clock.runUntil(steered.turn.result)).toMatchObject({ status: 'done' });
      expect(said(session.history)).toEqual(['go', 'and then']);
    }
  });

  describe.each(['nothing runs', 'the answer is there', 'the turn fails', 'the turn is interrupted'] as const)(
    'as %s is a turn of its own',
    when => {
      it('with the limits that it was given, and the turn before keeps its own', async () => {
        const first: ScriptedReply = {
          delayMs: 50,
          ...(when === 'the turn fails' ? { error: new Error('no') } : done),
        };
        const { session, clock, events } = await working([...(when === 'nothing runs' ? [] : [first]), done]);
        const turn = when === 'nothing runs' ? undefined : session.submit('go', { limits: { calls: 9 } });
        await clock.advance(10);
        const steering = session.steer('and then', { limits: { calls: 2, tokens: 700 } });
        await clock.advance(0);
        if (when === 'the turn is interrupted') turn?.interrupt();
        if (turn !== undefined) await clock.runUntil(turn.result);
        const steered = await steering;
        expect(steered.kind).toBe('submitted');
        if (steered.kind === 'submitted') await clock.runUntil(steered.turn.result);
        const limits = events.flatMap(event => (event.type === 'turn.started' ? [event.limits] : []));
        expect(limits.at(-1)).toMatchObject({ calls: 2, tokens: 700, iterations: 25 });
        if (turn !== undefined) expect(limits[0]).toMatchObject({ calls: 9, iterations: 25 });
        expect(limits).toHaveLength(turn === undefined ? 1 : 2);
      });
    },
  );

  it('that is folded in changes no limit of the running turn', async () => {
    const { session, clock, events } = await working([works, done]);
    const turn = session.submit('go', { limits: { calls: 5 } });
    await reached(turn, 'tool.started');
    const steered = session.steer('rather left', { limits: { iterations: 1, calls: 1 } });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', calls: 1 });
    expect((await steered).kind).toBe('folded');
    expect(events.flatMap(event => (event.type === 'turn.started' ? [event.limits.calls] : []))).toEqual([5]);
  });

  it('with limits that are none is refused, whether a turn runs or not, and nothing is said', async () => {
    const { session, clock } = await working([works, done]);
    const refused = { kind: 'invalid_tool_limits', field: 'limits.calls' };
    await expect(session.steer('more', { limits: { calls: -1 } })).rejects.toMatchObject(refused);
    const turn = session.submit('go');
    await expect(session.steer('more', { limits: { calls: -1 } })).rejects.toMatchObject(refused);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(said(session.history)).toEqual(['go']);
  });

  it('while nothing runs is a turn of its own', async () => {
    const { session } = await working([done]);
    const steered = await session.steer('go');
    expect(steered.kind).toBe('submitted');
    if (steered.kind === 'submitted') expect(await steered.turn.result).toMatchObject({ status: 'done' });
    expect(said(session.history)).toEqual(['go']);
  });

  it('at the same moment as the end is neither lost nor doubled', async () => {
    for (const at of ['text.delta', 'step.done', 'turn.done'] as const) {
      const { session, clock } = await working([done, done]);
      const turn = session.submit('go');
      await reached(turn, at);
      const steered = await session.steer('more');
      if (steered.kind === 'submitted') await clock.runUntil(steered.turn.result);
      await clock.runUntil(turn.result);
      expect(said(session.history)).toEqual(['go', 'more']);
    }
  });

  it('goes before the closing answer of a turn at its limit', async () => {
    const replies = [works, { ...works, delayMs: 50 }, done];
    const { session, clock, model } = await working(replies, { limits: { iterations: 1 }, atLimit: 'answer' });
    const turn = session.submit('go');
    await clock.advance(120);
    const steered = session.steer('short please');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done', limited: { limit: 'iterations' } });
    expect((await steered).kind).toBe('folded');
    expect(said(model.requests.at(-1)?.prompt ?? [])).toEqual(['go', 'short please']);
    assertPaired(session.history);
  });

  it('unusable input is refused, and the turn goes on', async () => {
    const { session, clock } = await working([works, done]);
    const turn = session.submit('go');
    await expect(session.steer('  ')).rejects.toMatchObject({ kind: 'invalid_input' });
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'done' });
    expect(said(session.history)).toEqual(['go']);
  });

  it('what the caller changes of its input afterwards changes nothing', async () => {
    const { session, clock } = await working([works, done]);
    const turn = session.submit('go');
    await reached(turn, 'tool.started');
    const input = [{ type: 'text' as const, text: 'as said' }];
    const steered = session.steer(input);
    input[0]!.text = 'tampered';
    input.length = 0;
    await clock.runUntil(turn.result);
    await steered;
    expect(said(session.history)).toEqual(['go', 'as said']);
  });
});

describe('modes', () => {
  async function modal() {
    const clock = manualClock();
    const [read, write] = [scriptedTool('read', { sleepMs: 100, clock }), scriptedTool('write')];
    const model = scriptedModel([{ calls: [{ tool: 'read' }] }, done, { calls: [{ tool: 'write' }] }, done], { clock });
    const loop = defineLoop({
      ...{ name: 'modal', model, system: 'Base.', tools: [read.definition] },
      modes: {
        plan: { instructions: 'Plan only.' },
        build: { instructions: 'Build.', tools: [read.definition, write.definition], limits: { iterations: 2 } },
      },
      initialMode: 'plan',
    });
    return openLoop(loop, model, clock);
  }

  it('a change holds from the next turn on: the running one keeps its own', async () => {
    const { session, model, clock, events } = await modal();
    expect(session.mode).toBe('plan');
    const first = session.submit('one');
    await reached(first, 'tool.started');
    await session.setMode('build');
    expect(session.mode).toBe('build');
    await clock.runUntil(first.result);
    const second = await clock.runUntil(collect(session.submit('two')));
    expect(model.requests.map(({ prompt }) => prompt[0]?.content)).toEqual([
      ...['Base.\n\nPlan only.', 'Base.\n\nPlan only.', 'Base.\n\nBuild.', 'Base.\n\nBuild.'],
    ]);
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual([
      ...[['read'], ['read'], ['read', 'write'], ['read', 'write']],
    ]);
    expect(second.events[0]).toMatchObject({ type: 'turn.started', mode: 'build', limits: { iterations: 2 } });
    expect(events.filter(({ type }) => type === 'mode.changed')).toMatchObject([{ mode: 'build' }]);
  });

  it('a queued turn runs in the mode that holds when it begins', async () => {
    const { session, clock } = await modal();
    const first = session.submit('one');
    const second = session.submit('two');
    await session.setMode('build');
    await clock.runUntil(first.result);
    const { events } = await clock.runUntil(collect(second));
    expect(events[0]).toMatchObject({ mode: 'build' });
  });

  it('"" is the base mode, and setting the mode that holds already records nothing', async () => {
    const { session, events } = await modal();
    await session.setMode('plan');
    expect(events).toEqual([]);
    await session.setMode('');
    expect(session.mode).toBe('');
    expect(events).toMatchObject([{ type: 'mode.changed', mode: '' }]);
  });

  it('a loop without modes says that it has none', async () => {
    const loop = defineLoop({ name: 'plain', model: scriptedModel([]) });
    const session = await defineRig({ loops: [loop] }).open();
    await expect(session.setMode('plan' as never)).rejects.toThrow('loop "plain" has no mode "plan": it has no modes');
  });

  it.each(['nope', '__proto__', 'constructor', 'Plan'])(
    'the unknown mode %j is refused with unknown_mode, and nothing changes',
    async name => {
      const { session, events } = await modal();
      await expect(session.setMode(name)).rejects.toMatchObject({ name: 'SessionError', kind: 'unknown_mode' });
      expect(session.mode).toBe('plan');
      expect(events).toEqual([]);
    },
  );

  it('a tool of another mode is said to be not available now', async () => {
    const { session, clock } = await modal();
    await session.setMode('build');
    await clock.runUntil(session.submit('one').result);
    await session.setMode('plan');
    await clock.runUntil(session.submit('two').result);
    expect(JSON.stringify(session.history)).toContain('tool \\"write\\" is not available now');
  });
});
