/** Cases of parallel tools and what they share. */
import { GateError, type Resource, type TurnEvent } from 'looprig';
import { manualClock, type ScriptedCall, type ScriptedReply, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { expectNextTurn, expectSound, open, outcomes, play, resultsIn, saying } from './setup.ts';

const done: ScriptedReply = { text: 'done' };

describe('calls on one resource', () => {
  const inc = (id: string, key: string, tool = 'inc'): ScriptedCall => ({ tool, id, input: { key } });

  /** Counters that are read, waited for and written again, as an edit of a file is. */
  function counters(resource: (key: string) => Resource | readonly Resource[] = key => key) {
    const clock = manualClock();
    const values = new Map<string, number>();
    const counter = (name: string) =>
      scriptedTool(name, {
        resource: input => resource(String(input.key)),
        returns: async input => {
          const key = String(input.key);
          const read = values.get(key) ?? 0;
          await new Promise<void>(resolve => clock.setTimer(resolve, 10));
          values.set(key, read + 1);
          return read + 1;
        },
        clock,
      });
    return { clock, values, counter };
  }

  it('case 39: three updates of one key are all kept, in call order, and another key overlaps with them', async () => {
    const { clock, values, counter } = counters();
    const tool = counter('inc');
    const calls = [inc('c1', 'k'), inc('c2', 'k'), inc('c3', 'k'), inc('c4', 'other')];
    const opened = await open({ model: saying({ calls }, done), tools: [tool], clock });
    const { events } = await play(opened);
    expect([...values]).toEqual(
      expect.arrayContaining([
        ['k', 3],
        ['other', 1],
      ]),
    );
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 1],
      ['c2', 2],
      ['c3', 3],
      ['c4', 1],
    ]);
    expect(tool.overlapped('c1', 'c4')).toBe(true);
    expect([tool.overlapped('c1', 'c2'), tool.overlapped('c2', 'c3'), tool.overlapped('c1', 'c3')]).toEqual([
      false,
      false,
      false,
    ]);
    expect(
      outcomes(events)
        .map(([id]) => id)
        .filter(id => id !== 'c4'),
    ).toEqual(['c1', 'c2', 'c3']);
    expect(clock.now()).toBe(30);
    await expectNextTurn(opened);
  });

  it('case 39: two different tools that work on one key wait for each other', async () => {
    const { clock, values, counter } = counters();
    const tools = [counter('inc'), counter('add')];
    const calls = [inc('c1', 'k'), inc('c2', 'k', 'add'), inc('c3', 'k'), inc('c4', 'k', 'add')];
    const opened = await open({ model: saying({ calls }, done), tools, clock });
    await play(opened);
    expect(values.get('k')).toBe(4);
    expect(resultsIn(opened.session.history).map(([, value]) => value)).toEqual([1, 2, 3, 4]);
    expectSound(opened);
  });

  it('case 39: a call that waits holds no slot', async () => {
    const { clock, counter } = counters();
    const tool = counter('inc');
    const calls = [inc('c1', 'k'), inc('c2', 'k'), inc('c3', 'k'), inc('c4', 'other'), inc('c5', 'third')];
    const opened = await open({ model: saying({ calls }, done), tools: [tool], clock, limits: { parallel: 2 } });
    await play(opened);
    expect(tool.runs.map(({ callId, startedAt }) => [callId, startedAt])).toEqual([
      ['c1', 0],
      ['c4', 0],
      ['c2', 10],
      ['c5', 10],
      ['c3', 20],
    ]);
    expect(tool.peak).toBe(2);
    expectSound(opened);
  });

  it('case 39: a call on several keys waits for each of them, and is waited for on each', async () => {
    const { clock, values, counter } = counters(key => key.split('+'));
    const tool = counter('inc');
    const calls = [inc('c1', 'a'), inc('c2', 'b'), inc('c3', 'b+a'), inc('c4', 'a'), inc('c5', 'b'), inc('c6', 'c')];
    const opened = await open({ model: saying({ calls }, done), tools: [tool], clock });
    await play(opened);
    expect(tool.runs.map(({ callId, startedAt }) => [callId, startedAt])).toEqual([
      ['c1', 0],
      ['c2', 0],
      ['c6', 0],
      ['c3', 10],
      ['c4', 20],
      ['c5', 20],
    ]);
    expect([values.get('a'), values.get('b')]).toEqual([2, 2]);
    expectSound(opened);
  });

  it('case 39: reads of one key overlap, and keep their place before and after a write', async () => {
    const clock = manualClock();
    const read = scriptedTool('read', { resource: () => ({ key: 'k', mode: 'read' }), sleepMs: 10, clock });
    const write = scriptedTool('write', { resource: () => ({ key: 'k', mode: 'write' }), sleepMs: 10, clock });
    const calls = ['read', 'read', 'write', 'read', 'read'].map((tool, index) => ({ tool, id: `c${index + 1}` }));
    const opened = await open({ model: saying({ calls }, done), tools: [read, write], clock });
    await play(opened);
    expect(read.runs.map(({ startedAt }) => startedAt)).toEqual([0, 0, 20, 20]);
    expect(write.runs.map(({ startedAt }) => startedAt)).toEqual([10]);
    expectSound(opened);
  });

  it.each([
    ['fails', { throws: new Error('boom') }, {}],
    ['runs over its time', { hangs: true }, { callTimeoutMs: 50 }],
  ])('case 39: a call that %s lets the next one on its key run', async (_, behaviour, limits) => {
    const { clock, values, counter } = counters();
    const first = scriptedTool('first', { ...behaviour, resource: () => 'k' });
    const opened = await open({
      model: saying({ calls: [{ tool: 'first', id: 'c1' }, inc('c2', 'k')] }, done),
      tools: [first, counter('inc')],
      clock,
      limits,
    });
    expect((await play(opened)).result).toMatchObject({ status: 'done' });
    expect(values.get('k')).toBe(1);
    await expectNextTurn(opened);
  });

  it('case 39: a call that never runs, refused or denied, is not waited for', async () => {
    const { clock, values, counter } = counters();
    const strict = scriptedTool('strict', { input: { type: 'object', required: ['x'] }, resource: () => 'k' });
    const gated = scriptedTool('gated', { access: () => [{ action: 'act', target: 'x' }], resource: () => 'k' });
    const calls = [{ tool: 'strict', id: 'c1' }, { tool: 'gated', id: 'c2' }, inc('c3', 'k')];
    const opened = await open({ model: saying({ calls }, done), tools: [strict, gated, counter('inc')], clock });
    const { events } = await play(opened);
    expect(values.get('k')).toBe(1);
    expect(outcomes(events)).toEqual([
      ['c1', 'refused'],
      ['c2', 'denied'],
      ['c3', 'done'],
    ]);
    expect([strict.count, gated.count]).toEqual([0, 0]);
    await expectNextTurn(opened);
  });
});

describe('one tool asked for twice, both waiting for a person', () => {
  const calls = [
    { tool: 'gated', id: 'c1', input: { n: 1 } },
    { tool: 'gated', id: 'c2', input: { n: 2 } },
  ];

  /** Runs the batch up to its open gates: which gate is whose, by call id. */
  async function waiting() {
    const gated = scriptedTool('gated', {
      access: ({ n }) => [{ action: 'act', target: `target ${n}` }],
      returns: ({ n }) => `result ${n}`,
    });
    const opened = await open({ model: saying({ calls }, done), tools: [gated], rig: { gate: { ask: true } } });
    const turn = opened.session.submit('go');
    const gates = new Map<string, Extract<TurnEvent, { type: 'gate.opened' }>>();
    for await (const event of turn) {
      if (event.type === 'gate.opened') gates.set(event.callId, event);
      if (gates.size === 2) break;
    }
    const answer = (callId: string, decision: 'approve' | 'deny', reason = 'not that one') =>
      opened.session.answer(gates.get(callId)!.gateId, decision === 'approve' ? { decision } : { decision, reason });
    return { opened, turn, gated, gates, answer };
  }

  it('case 42: the second may be answered first, nothing runs before both are decided, and each runs once with its own arguments', async () => {
    const { opened, turn, gated, gates, answer } = await waiting();
    expect([...gates].map(([callId, { requests }]) => [callId, requests[0]?.target])).toEqual([
      ['c1', 'target 1'],
      ['c2', 'target 2'],
    ]);
    await answer('c2', 'approve');
    await opened.clock.advance(0);
    expect(gated.count).toBe(0);
    await answer('c1', 'approve');
    expect(await turn.result).toMatchObject({ status: 'done', text: 'done' });
    expect(gated.runs.map(({ callId, input }) => [callId, input])).toEqual([
      ['c1', { n: 1 }],
      ['c2', { n: 2 }],
    ]);
    expect(resultsIn(opened.session.history)).toEqual([
      ['c1', 'result 1'],
      ['c2', 'result 2'],
    ]);
    const resolved = opened.events.flatMap(event =>
      event.type === 'gate.resolved' ? [[event.callId, event.decision]] : [],
    );
    expect(resolved).toEqual([
      ['c2', 'approved'],
      ['c1', 'approved'],
    ]);
    await expectNextTurn(opened);
  });

  it.each([
    ['c1', 'c2'],
    ['c2', 'c1'],
  ])('case 42: denying %s and approving %s touches each its own call', async (denied, approved) => {
    const { opened, turn, gated, answer } = await waiting();
    await answer(denied, 'deny');
    await answer(approved, 'approve');
    expect(await turn.result).toMatchObject({ status: 'done' });
    expect(gated.runs.map(({ callId }) => callId)).toEqual([approved]);
    const results = new Map(resultsIn(opened.session.history));
    expect(results.get(denied)).toBe('permission denied: not that one');
    expect(results.get(approved)).toBe(`result ${approved.slice(1)}`);
    await expectNextTurn(opened);
  });

  it('case 42: a second answer to one of them is refused, runs nothing, and leaves the other open', async () => {
    const { opened, turn, gated, answer } = await waiting();
    await answer('c2', 'deny');
    await expect(answer('c2', 'approve')).rejects.toBeInstanceOf(GateError);
    await expect(answer('c2', 'approve')).rejects.toMatchObject({ kind: 'closed_gate' });
    await expect(opened.session.answer('nobody', { decision: 'approve' })).rejects.toMatchObject({
      kind: 'unknown_gate',
    });
    expect(gated.count).toBe(0);
    await answer('c1', 'approve');
    expect(await turn.result).toMatchObject({ status: 'done' });
    expect(gated.runs.map(({ callId }) => callId)).toEqual(['c1']);
    await expectNextTurn(opened);
  });

  it('case 42: two answers to one gate at the same time: one holds', async () => {
    const { opened, turn, gated, answer } = await waiting();
    const answers = await Promise.allSettled([answer('c1', 'approve'), answer('c1', 'deny')]);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await answer('c2', 'deny');
    expect(await turn.result).toMatchObject({ status: 'done' });
    expect(gated.runs.map(({ callId }) => callId)).toEqual(['c1']);
    await expectNextTurn(opened);
  });
});
