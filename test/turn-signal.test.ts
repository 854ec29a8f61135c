/** A turn that ends by a signal of the program's own: of this process alone, and let go of when the turn has ended. */
import { getEventListeners } from 'node:events';
import { memoryStore, type SessionEvent, TurnInterruptedError } from 'looprig';
import { assertPaired, collect, manualClock, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { leftBy, openOn, recordsOf } from './cases/restart.ts';
import { expectNextTurn, expectSound, open, reached, saying } from './cases/setup.ts';

const done: ScriptedReply = { text: 'done' };
const works: ScriptedReply = { text: 'I work.', calls: [{ tool: 'slow' }] };

/** A session whose tool takes 100 ms, on these replies. */
async function working(...replies: readonly ScriptedReply[]) {
  const clock = manualClock();
  const slow = scriptedTool('slow', { sleepMs: 100, clock });
  const opened = await open({ model: scriptedModel([...replies], { clock }), tools: [slow], clock });
  return { ...opened, slow };
}

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const typesOf = (events: readonly SessionEvent[]): readonly string[] => events.map(({ type }) => type);

describe('a signal that aborts', () => {
  it('interrupts the running turn, with its reason', async () => {
    const opened = await working(works, { text: 'fine' });
    const { session, clock } = opened;
    const controller = new AbortController();
    const turn = session.submit('go', { signal: controller.signal });
    await reached(turn, 'tool.started');
    controller.abort('the page is gone');
    const result = await clock.runUntil(turn.result);
    expect(result).toMatchObject({ status: 'interrupted', reason: 'the page is gone', calls: 1 });
    assertPaired(session.history);
    expectSound(opened);
    await expectNextTurn(opened);
  });

  it('makes run reject as an interrupt does', async () => {
    const { session, clock } = await working(works);
    const controller = new AbortController();
    const running = session.run('go', { signal: controller.signal });
    await reached(session.turn!, 'tool.started');
    controller.abort(new Error('too late'));
    const error = await clock.runUntil(running.catch(caught => caught));
    expect(TurnInterruptedError.is(error)).toBe(true);
    expect(error).toMatchObject({ message: expect.stringContaining('too late') });
  });

  it.each([
    { given: 'a text', told: 'a text' },
    { given: new Error('an error'), told: 'an error' },
    { given: new DOMException('over', 'TimeoutError'), told: 'over' },
    { given: 7, told: '7' },
    { given: {}, told: 'an object' },
    { given: null, told: 'null' },
  ])('tells $told of what it was aborted with', async ({ given, told }) => {
    const { session, clock } = await working(works);
    const controller = new AbortController();
    const turn = session.submit('go', { signal: controller.signal });
    await reached(turn, 'tool.started');
    controller.abort(given);
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', reason: told });
  });

  it('takes a turn that waits out of the queue, and leaves the others', async () => {
    const { session, clock, events, model } = await working(works, done, done);
    const controller = new AbortController();
    const one = session.submit('one');
    const two = session.submit('two', { signal: controller.signal });
    const three = session.submit('three');
    await reached(one, 'tool.started');
    controller.abort('not needed');
    expect(await two.result).toMatchObject({ status: 'interrupted', reason: 'not needed', steps: 0 });
    const others = await clock.runUntil(Promise.all([one.result, three.result]));
    expect(others).toMatchObject([{ status: 'done' }, { status: 'done' }]);
    expect(events.filter(({ type }) => type === 'input.cancelled')).toMatchObject([{ inputId: two.id }]);
    expect(model.count).toBe(3);
  });

  it('ends all turns that it was given to, and no other', async () => {
    const { session, clock } = await working(works, done);
    const controller = new AbortController();
    const turns = [1, 2].map(index => session.submit(`${index}`, { signal: controller.signal }));
    const last = session.submit('3');
    await reached(turns[0]!, 'tool.started');
    controller.abort();
    const results = await clock.runUntil(Promise.all([...turns, last].map(({ result }) => result)));
    expect(results.map(({ status }) => status)).toEqual(['interrupted', 'interrupted', 'done']);
  });

  it('does nothing after the end of the turn', async () => {
    const { session } = await open({ model: saying(done, done) });
    const controller = new AbortController();
    await session.run('one', { signal: controller.signal });
    const turn = session.submit('two');
    controller.abort();
    expect(await turn.result).toMatchObject({ status: 'done' });
  });

  it('ends a turn that was continued', async () => {
    const { session, clock } = await working(works, works);
    const first = session.submit('go');
    await reached(first, 'tool.started');
    first.interrupt();
    await clock.runUntil(first.result);
    const controller = new AbortController();
    const turn = session.continue({ signal: controller.signal });
    await reached(turn, 'tool.started');
    controller.abort('enough');
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted', reason: 'enough' });
    assertPaired(session.history);
  });
});

describe('a signal that was aborted before', () => {
  const signal = AbortSignal.abort('too late');

  it('keeps the turn from being run: its input is cancelled, and the history is as it was', async () => {
    const { session, events, model } = await working(done);
    const turn = session.submit('one', { signal });
    expect(session.isRunning).toBe(false);
    expect(await turn.result).toMatchObject({ status: 'interrupted', reason: 'too late', steps: 0, leftBehind: [] });
    expect((await collect(turn)).events).toMatchObject([{ type: 'turn.interrupted', reason: 'too late' }]);
    await expect(session.run('two', { signal })).rejects.toMatchObject({ kind: 'interrupted' });
    expect(model.count).toBe(0);
    expect(session.history).toEqual([]);
    expect(session.unfinished).toBeUndefined();
    expect(await session.run('three')).toMatchObject({ status: 'done' });
    expect(typesOf(events)).not.toContain('input.steered');
    expect(events.filter(({ type }) => type === 'turn.started')).toHaveLength(1);
  });

  it('leaves the running turn, and those that wait', async () => {
    const { session, clock } = await working(works, done, done);
    const turns = [session.submit('one'), session.submit('two')];
    expect(await session.submit('three', { signal }).result).toMatchObject({ status: 'interrupted' });
    const results = await clock.runUntil(Promise.all(turns.map(({ result }) => result)));
    expect(results.map(({ status }) => status)).toEqual(['done', 'done']);
  });

  it('leaves a turn that waits for a person, and its gate', async () => {
    const asks = scriptedTool('asks', { access: () => [{ action: 'act', target: 'x' }] });
    const model = saying({ calls: [{ tool: 'asks' }] }, done);
    const { session } = await open({ model, tools: [asks], rig: { gate: { ask: true } } });
    const turn = session.submit('one');
    await reached(turn, 'gate.opened');
    await session.submit('two', { signal }).result;
    await session.answer(session.gates[0]!.gateId, { decision: 'approve' });
    expect(await turn.result).toMatchObject({ status: 'done' });
  });

  it('keeps a turn from being continued, which can be continued after', async () => {
    const { session, events } = await open({ model: saying({ error: new Error('no') }, done) });
    await session.submit('one').result;
    const before = events.length;
    expect(await session.continue({ signal }).result).toMatchObject({ status: 'interrupted', reason: 'too late' });
    expect(typesOf(events.slice(before))).toEqual(['turn.interrupted']);
    expect(await session.continue().result).toMatchObject({ status: 'done' });
  });

  it('ends a turn that another process left, without running any of it', async () => {
    const { session, model, store } = await leftInCall();
    const turn = session.resume({ signal });
    expect(await turn.result).toMatchObject({ status: 'interrupted', reason: 'too late' });
    expect(model.count).toBe(0);
    assertPaired(session.history);
    expect(session.unfinished).toBeUndefined();
    expect((await recordsOf(store, session.id)).at(-1)).toMatchObject({ type: 'turn.interrupted' });
  });

  it('takes the input that waited first out of the queue where it was to be resumed, and leaves the next', async () => {
    const store = memoryStore();
    const first = await openOn(store, { model: saying(done) });
    const { driver, id } = first.session;
    driver.isDriven = true; // nothing begins by itself: both wait
    for (const name of ['one', 'two'])
      await driver.hold({ role: 'user', content: [{ type: 'text', text: name }] }, name, undefined);
    const { session, model } = await openOn(await leftBy(store, id), { model: saying(done) }, id);
    expect(await session.resume({ signal }).result).toMatchObject({ status: 'interrupted', reason: 'too late' });
    expect([model.count, session.unfinished?.queued]).toEqual([0, 1]);
    expect(await session.resume().result).toMatchObject({ status: 'done' });
    expect(session.history).toMatchObject([{ content: [{ text: 'two' }] }, { role: 'assistant' }]);
  });
});

/** A session whose process ended in the middle of a call, as the next one has it. */
async function leftInCall() {
  const store = memoryStore();
  const slow = scriptedTool('slow', { hangs: true });
  const first = await openOn(store, { model: saying(works), tools: [slow] });
  await reached(first.session.submit('go'), 'tool.started');
  const left = await leftBy(store, first.session.id);
  const next = await openOn(left, { model: saying(done), tools: [slow] }, first.session.id);
  return { ...next, store: left };
}

describe('a signal and its listeners', () => {
  it('a thousand turns on one signal leave no listener, however they end', async () => {
    const replies = Array.from({ length: 1_000 }, (_, index) =>
      index % 3 === 0 ? { error: new Error('no') } : { text: 'done' },
    );
    const { session } = await open({ model: saying(...replies), modelRetries: 0 });
    const { signal } = new AbortController();
    for (const [index] of replies.entries()) {
      const turn = session.submit('go', { signal });
      expect(listeners(signal)).toBe(1);
      const queued = index % 10 === 0 ? session.submit('never mind', { signal }) : undefined;
      queued?.interrupt();
      await queued?.result;
      await turn.result;
      expect(listeners(signal)).toBe(0);
    }
  });

  it('a session that is closed or released lets go of signals', async () => {
    for (const how of ['close', 'release'] as const) {
      const { session, clock } = await working(works);
      const { signal } = new AbortController();
      const turns = [1, 2].map(index => session.submit(`${index}`, { signal }));
      await reached(turns[0]!, 'tool.started');
      expect(listeners(signal)).toBe(2);
      await clock.runUntil(session[how]());
      await Promise.all(turns.map(({ result }) => result));
      expect(listeners(signal)).toBe(0);
    }
  });

  it('nothing of a signal is recorded, and the next process has none of it', async () => {
    const plain = await open({ model: saying(done) });
    const given = await open({ model: saying(done) });
    await plain.session.run('go');
    await given.session.run('go', { signal: new AbortController().signal });
    const shape = (events: readonly SessionEvent[]) => events.map(event => Object.keys(event).sort());
    expect(shape(given.events)).toEqual(shape(plain.events));
  });
});

describe('what is no signal', () => {
  const strange = [null, 'abort', 7, {}, { aborted: false }, new EventTarget(), new AbortController()];

  it.each(strange.map(signal => ({ signal })))('$signal is refused at once, and nothing is changed', async opened => {
    const { session } = await open({ model: saying(done) });
    const signal = opened.signal as never;
    const refusal = {
      kind: 'invalid_option',
      message: expect.stringMatching(/^"signal" must be an AbortSignal, not /),
    };
    expect(() => session.submit('go', { signal })).toThrow(expect.objectContaining(refusal));
    expect(() => session.resume({ signal })).toThrow(expect.objectContaining(refusal));
    expect(() => session.continue({ signal })).toThrow(expect.objectContaining(refusal));
    await expect(session.run('go', { signal })).rejects.toMatchObject(refusal);
    expect(session.isRunning).toBe(false);
    expect(session.history).toEqual([]);
  });

  it('steer takes none: it does not say which turn would end', async () => {
    const { session } = await open({ model: saying(done) });
    const options = { signal: new AbortController().signal } as never;
    await expect(session.steer('go', options)).rejects.toMatchObject({ message: expect.stringContaining('"signal"') });
  });

  it('a signal of another realm is one', async () => {
    const { signal, abort } = foreignSignal();
    const { session, clock } = await working(works);
    const turn = session.submit('go', { signal });
    await reached(turn, 'tool.started');
    abort();
    expect(await clock.runUntil(turn.result)).toMatchObject({ status: 'interrupted' });
  });
});

/** A signal that is an instance of no class here. */
function foreignSignal(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const target = new EventTarget();
  const signal = {
    aborted: false,
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
  };
  return { signal: signal as unknown as AbortSignal, abort: () => target.dispatchEvent(new Event('abort')) };
}
