/** A host whose sessions run in its own process. */
import { defineLoop, defineRig, memoryStore, type SessionEvent } from 'looprig';
import { createHost, type Host } from 'looprig/engines';
import { manualClock, scriptedModel } from 'looprig/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { storeOver } from '../support/store-over.ts';
import {
  call,
  effectTool,
  endOf,
  gateOf,
  heldTool,
  type ProcessOptions,
  processOf,
  readTo,
  recordsOf,
  until,
} from './setup.ts';

const open: Host[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(host => host.close()));
});

async function local(options: Partial<ProcessOptions> = {}) {
  const store = options.store ?? memoryStore();
  const host = await processOf({ ...options, store });
  open.push(host);
  return { host, store };
}

const textOf = (events: readonly SessionEvent[]) =>
  events.flatMap(event => (event.type === 'text.delta' ? [event.text] : [])).join('');

describe('a host', () => {
  it('begins sessions, answers inputs, and tells of them as they come and as they were', async () => {
    const { host } = await local({ replies: [{ text: 'Hello there.', deltas: 3 }] });
    expect(host.loops).toEqual([{ name: 'clerk', modes: ['', 'quick', 'careful'] }]);
    const sessionId = await host.begin();
    const reading = readTo(host, sessionId, ({ type }) => type === 'turn.done');
    const { turnId, isNew } = await host.submit(sessionId, 'Hi.');
    expect(isNew).toBe(true);
    const live = await reading;
    expect(live.at(-1)).toMatchObject({ type: 'turn.done', turnId, text: 'Hello there.' });
    expect(textOf(live)).toBe('Hello there.');
    const enduring = live.filter(({ type }) => type !== 'text.delta');
    expect(await readTo(host, sessionId, ({ type }) => type === 'turn.done')).toEqual(enduring);
    expect(await readTo(host, sessionId, ({ type }) => type === 'turn.done', enduring[1]!.seq)).toEqual(
      enduring.slice(2),
    );
    expect(await host.find(sessionId)).toMatchObject({
      ...{ sessionId, loop: 'clerk', title: 'Hi.', state: 'done', turns: 1, mode: 'quick', isLive: false, gates: [] },
    });
    expect(await host.list()).toMatchObject([{ sessionId, state: 'done' }]);
  });

  it('gives one key one turn, and refuses it with another input', async () => {
    const { host, store } = await local();
    const sessionId = await host.begin({ mode: 'careful' });
    const given = { idempotencyKey: 'a', limits: { calls: 7 } };
    const both = await Promise.all([host.submit(sessionId, 'Hi.', given), host.submit(sessionId, 'Hi.', given)]);
    expect(both.map(({ isNew }) => isNew).sort()).toEqual([false, true]);
    expect(both[0]!.turnId).toBe(both[1]!.turnId);
    await expect(host.submit(sessionId, 'Other.', { idempotencyKey: 'a' })).rejects.toMatchObject({
      kind: 'idempotency_key_reused',
    });
    await endOf(host, sessionId, both[0]!.turnId);
    await host.close();
    const { host: next } = await local({ store });
    expect(await next.submit(sessionId, 'Hi.', given)).toEqual({ turnId: both[0]!.turnId, isNew: false });
    await expect(next.submit(sessionId, 'Other.', { idempotencyKey: 'a' })).rejects.toMatchObject({
      kind: 'idempotency_key_reused',
    });
    const started = (await recordsOf(store, sessionId)).filter(({ type }) => type === 'turn.started');
    expect(started).toMatchObject([{ turnId: both[0]!.turnId, mode: 'careful', limits: { calls: 7 } }]);
    expect(await store.mailbox!.sessions()).toEqual([]);
    await expect(next.submit(sessionId, 'Hi.', { idempotencyKey: '' })).rejects.toMatchObject({
      kind: 'invalid_option',
    });
  });

  it('runs the turns of one session in the order of their inputs, and sessions beside each other', async () => {
    const work = heldTool();
    const { host, store } = await local({ replies: [call('work')], tools: [work.definition] });
    const [one, two] = [await host.begin(), await host.begin()];
    const turns = [await host.submit(one, 'a'), await host.submit(one, 'b'), await host.submit(one, 'c')];
    const other = await host.submit(two, 'x');
    await work.call(1);
    expect(work.calls).toHaveLength(2);
    for (let index = 0; index < 4; index++) (await work.call(index)).end('ok');
    await endOf(host, one, turns[2]!.turnId);
    await endOf(host, two, other.turnId);
    const started = (await recordsOf(store, one)).flatMap(record =>
      record.type === 'turn.started' ? [record.turnId] : [],
    );
    expect(started).toEqual(turns.map(({ turnId }) => turnId));
  });

  it('says what is steered to the running turn, and makes a turn of what comes too late', async () => {
    const work = heldTool();
    const { host, store } = await local({ replies: [call('work')], tools: [work.definition] });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    await work.call(0);
    expect(await host.steer(sessionId, 'Quickly.', { idempotencyKey: 's' })).toEqual({ turnId, isNew: true });
    expect(await host.steer(sessionId, 'Quickly.', { idempotencyKey: 's' })).toMatchObject({ isNew: false });
    await readTo(host, sessionId, ({ type }) => type === 'input.received');
    work.calls[0]!.end('ok');
    (await work.call(1)).end('ok');
    const events = await readTo(host, sessionId, ({ type }) => type === 'turn.done');
    expect(events.find(({ type }) => type === 'input.steered')).toMatchObject({
      turnId,
      input: [{ text: 'Quickly.' }],
    });
    const late = await host.steer(sessionId, 'One more thing.');
    (await work.call(2)).end('ok');
    expect(await endOf(host, sessionId, late.turnId)).toMatchObject({ type: 'turn.done' });
    await until(async () => ((await store.mailbox!.read(sessionId)).length === 0 ? true : undefined));
    expect((await host.find(sessionId)).turns).toBe(2);
  });

  it('gives what is steered limits for the turn that it may become, and leaves those of the running turn', async () => {
    const work = heldTool();
    const { host, store } = await local({ replies: [call('work')], tools: [work.definition] });
    const sessionId = await host.begin();
    const first = await host.submit(sessionId, 'Go.', { limits: { calls: 8 } });
    await work.call(0);
    await host.steer(sessionId, 'Quickly.', { limits: { calls: 7 } });
    await readTo(host, sessionId, ({ type }) => type === 'input.received');
    work.calls[0]!.end('ok');
    (await work.call(1)).end('ok');
    await endOf(host, sessionId, first.turnId);
    const late = await host.steer(sessionId, 'One more thing.', { limits: { calls: 6 } });
    (await work.call(2)).end('ok');
    await endOf(host, sessionId, late.turnId);
    const started = (await recordsOf(store, sessionId)).filter(({ type }) => type === 'turn.started');
    expect(started).toMatchObject([{ limits: { calls: 8 } }, { limits: { calls: 6 } }]);
    await expect(host.steer(sessionId, 'Hi.', { limits: { calls: -1 } })).rejects.toMatchObject({
      kind: 'invalid_tool_limits',
    });
  });

  it('interrupts the turn that runs, one that waits behind it, and none that is over', async () => {
    const work = heldTool();
    const { host } = await local({ replies: [call('work')], tools: [work.definition] });
    const sessionId = await host.begin();
    expect(await host.interrupt(sessionId)).toBe(false);
    const first = await host.submit(sessionId, 'a');
    const second = await host.submit(sessionId, 'b');
    const third = await host.submit(sessionId, 'c');
    await work.call(0);
    expect(await host.interrupt(sessionId, { turnId: 'nobody' })).toBe(false);
    expect(await host.interrupt(sessionId, { turnId: second.turnId })).toBe(true);
    await readTo(host, sessionId, ({ type }) => type === 'input.cancelled');
    expect(await host.interrupt(sessionId, { reason: 'enough' })).toBe(true);
    expect(await endOf(host, sessionId, first.turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'enough' });
    expect(work.calls[0]!.signal.aborted).toBe(true);
    (await work.call(1)).end('ok');
    expect(await endOf(host, sessionId, third.turnId)).toMatchObject({ type: 'turn.done' });
    expect(await host.interrupt(sessionId, { turnId: first.turnId })).toBe(false);
    expect((await host.find(sessionId)).turns).toBe(2);
  });

  it('changes the mode of the turns from the next one on', async () => {
    const { host, store } = await local();
    const sessionId = await host.begin();
    await host.setMode(sessionId, 'careful');
    expect((await host.find(sessionId)).mode).toBe('careful');
    await expect(host.setMode(sessionId, 'none')).rejects.toMatchObject({ kind: 'unknown_mode' });
    const { turnId } = await host.submit(sessionId, 'Go.');
    await endOf(host, sessionId, turnId);
    expect(await recordsOf(store, sessionId)).toContainEqual(
      expect.objectContaining({ type: 'turn.started', mode: 'careful' }),
    );
  });

  it('tells a reader that comes while a response is under way its text so far', async () => {
    const clock = manualClock();
    const { host } = await local({
      clock,
      replies: [{ text: 'one two three', deltas: ['one ', 'two ', 'three'], partDelayMs: 10 }],
    });
    const sessionId = await host.begin();
    let seen = 0;
    const early = readTo(host, sessionId, event => event.type === 'text.delta' && ++seen === 2);
    await host.submit(sessionId, 'Go.');
    while (seen < 2) await clock.advance(10);
    await early;
    const reading = host.events(sessionId)[Symbol.asyncIterator]();
    const events: SessionEvent[] = [];
    const next = async (): Promise<SessionEvent> => {
      const { value } = await reading.next();
      events.push(value);
      return value;
    };
    while ((await next()).type !== 'text.delta');
    expect(events.at(-1)).toMatchObject({ text: 'one two ', isWhole: true });
    for (let round = 0; round < 5; round++) await clock.advance(10);
    while ((await next()).type !== 'turn.done');
    expect(textOf(events)).toBe('one two three');
    await reading.return?.();
  });

  it('says what is wrong with what it is asked', async () => {
    const { host } = await local();
    const sessionId = await host.begin();
    const nobody = expect.objectContaining({ name: 'SessionError', kind: 'unknown_session' });
    await expect(host.find('nobody')).rejects.toEqual(nobody);
    await expect(host.submit('nobody', 'Hi.')).rejects.toEqual(nobody);
    await expect(host.events('nobody')[Symbol.asyncIterator]().next()).rejects.toEqual(nobody);
    await expect(host.begin({ loop: 'none' })).rejects.toMatchObject({ kind: 'unknown_loop' });
    await expect(host.begin({ mode: 'none' })).rejects.toMatchObject({ kind: 'unknown_mode' });
    await expect(host.submit(sessionId, ' ')).rejects.toMatchObject({ kind: 'invalid_input' });
    await expect(host.submit(sessionId, 'Hi.', { limits: { calls: -1 } })).rejects.toMatchObject({
      name: 'DefinitionError',
    });
    await expect(host.list({ limit: 0 })).rejects.toMatchObject({ kind: 'invalid_option' });
    await expect(host.resume(sessionId)).rejects.toMatchObject({ kind: 'nothing_to_resume' });
    await host.close();
    await expect(host.begin()).rejects.toMatchObject({ kind: 'closed' });
    const { mailbox: _, ...without } = { ...memoryStore(), find: async () => undefined };
    expect(() => createHost({ rig: { begin() {}, store: without } as never })).toThrow(
      "the rig's store has no mailbox",
    );
    expect(() => createHost({} as never)).toThrow('"rig" must come from defineRig, not undefined');
    for (const keepSessions of [-1, 0.5, Number.POSITIVE_INFINITY, '1' as never]) {
      const refused = '"keepSessions" must be a whole number from 0, not ';
      expect(() => createHost({ rig: { begin() {}, store: memoryStore() } as never, keepSessions })).toThrow(refused);
    }
  });

  it('takes up nothing for a session whose loop it does not have, and shows the session', async () => {
    const { host, store } = await local();
    const loop = defineLoop({ name: 'baker', model: scriptedModel([]) });
    const sessionId = await defineRig({ loops: [loop], store }).begin();
    const refused = {
      kind: 'unknown_loop',
      message: `session ${sessionId} runs the loop "baker", which this rig does not have: it has "clerk"`,
    };
    await expect(host.submit(sessionId, 'Hi.')).rejects.toMatchObject(refused);
    await expect(host.steer(sessionId, 'Hi.')).rejects.toMatchObject(refused);
    await expect(host.resume(sessionId)).rejects.toMatchObject(refused);
    await expect(host.setMode(sessionId, '')).rejects.toMatchObject(refused);
    expect(await store.mailbox?.sessions()).toEqual([]);
    expect(await host.find(sessionId)).toMatchObject({ loop: 'baker', state: 'new' });
  });

  it('reads of a list only what is new in it', async () => {
    const store = memoryStore();
    const { host } = await local({ store });
    const ids = await Promise.all([host.begin(), host.begin(), host.begin()]);
    await host.list();
    const reads: [string, number][] = [];
    const read = store.read.bind(store);
    store.read = (sessionId, fromSeq) => {
      reads.push([sessionId, fromSeq]);
      return read(sessionId, fromSeq);
    };
    await host.list();
    expect(reads).toEqual([]);
    const { turnId } = await host.submit(ids[1]!, 'Hi.');
    await endOf(host, ids[1]!, turnId);
    reads.length = 0;
    expect((await host.list())[0]).toMatchObject({ sessionId: ids[1], state: 'done' });
    expect(reads.every(([sessionId, fromSeq]) => sessionId === ids[1] && fromSeq > 1)).toBe(true);
  });
});

describe('a turn that waits for a person', () => {
  const asking = (world: string[], options: Partial<ProcessOptions> = {}) =>
    local({ replies: [call('write', { text: 'x' })], tools: [effectTool(world)], ...options });

  it('is answered where it lives, and goes on', async () => {
    const world: string[] = [];
    const { host } = await asking(world);
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const gateId = await gateOf(host, sessionId);
    expect(await host.find(sessionId)).toMatchObject({ state: 'waiting', turnId, isLive: true });
    await host.answer(sessionId, gateId, { decision: 'approve' });
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['x']);
  });

  it('leaves the memory, and comes back on an answer', async () => {
    const world: string[] = [];
    const built: string[] = [];
    const tool = effectTool(world);
    const { host, store } = await asking(world, { keepMs: 0, tools: [tool] });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const gateId = await gateOf(host, sessionId);
    await until(() => (internals(host).lodgers === 0 ? true : undefined));
    expect(await host.find(sessionId)).toMatchObject({ state: 'waiting', turnId, isLive: true });
    await host.answer(sessionId, gateId, { decision: 'edit', input: { text: 'y' } });
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['y']);
    expect((await recordsOf(store, sessionId)).filter(({ type }) => type === 'gate.opened')).toHaveLength(1);
    expect(built).toEqual([]);
  });

  it.each([0, 30_000])(
    'says what is wrong with an answer, whether it is in memory or not (keepMs: %i)',
    async keepMs => {
      const clock = manualClock(1_000);
      const world: string[] = [];
      const { host } = await asking(world, { keepMs, clock, gate: { ask: true, gateTimeoutMs: 5_000 } });
      const [sessionId, stranger] = [await host.begin(), await host.begin()];
      const { turnId } = await host.submit(sessionId, 'Go.');
      const gateId = await gateOf(host, sessionId);
      if (keepMs === 0) await until(() => (internals(host).lodgers === 0 ? true : undefined));
      const refused = (kind: string) => expect.objectContaining({ name: 'GateError', kind });
      const answer = { decision: 'approve' } as const;
      await expect(host.answer(sessionId, 'nobody', answer)).rejects.toEqual(refused('unknown_gate'));
      await expect(host.answer(stranger, gateId, answer)).rejects.toEqual(refused('unknown_gate'));
      await expect(host.answer(sessionId, gateId, { decision: 'perhaps' } as never)).rejects.toEqual(
        refused('invalid_answer'),
      );
      await expect(host.answer(sessionId, gateId, { decision: 'edit', input: { text: 7 } })).rejects.toEqual(
        refused('invalid_answer'),
      );
      await clock.advance(4_999);
      expect((await host.find(sessionId)).gates).toHaveLength(1);
      await clock.advance(1);
      const late = host.answer(sessionId, gateId, answer);
      await expect(late).rejects.toEqual(refused('closed_gate'));
      await until(async () => {
        await clock.advance(100);
        return (await host.find(sessionId)).state === 'done' ? true : undefined;
      });
      expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
      await expect(host.answer(sessionId, gateId, answer)).rejects.toEqual(refused('closed_gate'));
      expect(world).toEqual([]);
    },
  );

  it('takes the first of two answers', async () => {
    const world: string[] = [];
    const { host } = await asking(world, { keepMs: 0 });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const gateId = await gateOf(host, sessionId);
    const outcomes = await Promise.allSettled([
      host.answer(sessionId, gateId, { decision: 'approve' }),
      host.answer(sessionId, gateId, { decision: 'deny' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    await endOf(host, sessionId, turnId);
    expect(world).toEqual(['x']);
  });

  it.each([0, 30_000])('is interrupted, and left by another input (keepMs: %i)', async keepMs => {
    const world: string[] = [];
    const { host } = await asking(world, { keepMs });
    const sessionId = await host.begin();
    const first = await host.submit(sessionId, 'a');
    await gateOf(host, sessionId);
    if (keepMs === 0) await until(() => (internals(host).lodgers === 0 ? true : undefined));
    expect(await host.interrupt(sessionId, { reason: 'no' })).toBe(true);
    expect(await endOf(host, sessionId, first.turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'no' });
    const second = await host.submit(sessionId, 'b');
    await until(async () => ((await host.find(sessionId)).gates.length === 1 ? true : undefined));
    if (keepMs === 0) await until(() => (internals(host).lodgers === 0 ? true : undefined));
    const third = await host.submit(sessionId, 'c');
    expect(await endOf(host, sessionId, second.turnId)).toMatchObject({
      type: 'turn.interrupted',
      reason: 'the user moved on',
    });
    await until(async () => ((await host.find(sessionId)).gates[0]?.turnId === third.turnId ? true : undefined));
    expect(world).toEqual([]);
  });
});

/** What a host holds, which only a test wants to know. */
function internals(host: Host): { readonly lodgers: number } {
  return { lodgers: (host as Host & { readonly livingSessions: number }).livingSessions };
}

it('a host whose inputs cannot be looked for tells so, and what is thrown where it tells is ignored', async () => {
  const store = memoryStore();
  const lost = { ...store.mailbox!, sessions: () => Promise.reject(new Error('the disk is gone')) };
  const told = Promise.withResolvers<unknown>();
  const { host } = await local({
    store: storeOver(store, { mailbox: lost }),
    onError(error) {
      told.resolve(error);
      throw new Error('nobody hears');
    },
  });
  expect(await told.promise).toMatchObject({ message: 'the disk is gone' });
  expect(await host.list()).toEqual([]);
});
