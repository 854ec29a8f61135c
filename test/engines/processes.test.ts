/** Several processes on one store: some ask, some run turns; they end, crash, freeze, and leave turns to each other. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JournalStore, memoryStore } from 'looprig';
import { type Engine, type Host, localEngine } from 'looprig/engines';
import { sqliteStore } from 'looprig/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

let folder: string;
const hosts: Host[] = [];
const stores: JournalStore[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'looprig-engines-'));
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map(host => host.close()));
  await Promise.all(stores.splice(0).map(store => store.close?.()));
  rmSync(folder, { recursive: true, force: true });
});

/** A store of one's own on the file that all have in common. */
function onFile(): JournalStore {
  const store = sqliteStore({ file: join(folder, 'sessions.db') });
  stores.push(store);
  return store;
}

async function start(options: ProcessOptions): Promise<Host> {
  const host = await processOf(options);
  hosts.push(host);
  return host;
}

/** A store whose process can be frozen: what it appends and reads waits until it thaws. */
function freezing(store: JournalStore) {
  let frozen: PromiseWithResolvers<void> | undefined;
  const held = async () => frozen?.promise;
  const view: JournalStore = {
    append: async (...given) => {
      await held();
      await store.append(...given);
    },
    read: (...given) => store.read(...given),
    list: options => store.list(options),
    delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
    find: id => store.find(id),
    putCapture: (...given) => store.putCapture(...given),
    getCapture: (...given) => store.getCapture(...given),
    mailbox: store.mailbox!,
    watch: (sessionId, listener) => store.watch!(sessionId, news => void (frozen ?? listener(news))),
  };
  return {
    store: view,
    freeze: () => {
      frozen = Promise.withResolvers();
    },
    thaw: () => {
      frozen?.resolve();
      frozen = undefined;
    },
  };
}

describe.each(['in memory', 'on one SQLite file'])('a process that asks and one that runs turns, %s', where => {
  const shared = memoryStore();
  const storeOf = () => (where === 'in memory' ? shared : onFile());
  const pair = async (options: Partial<ProcessOptions>) => {
    const engine = localEngine();
    const asks = await start({ ...options, store: storeOf(), engine, serves: false });
    const runs = await start({ ...options, store: storeOf(), engine });
    return { asks, runs };
  };

  it('see the same events, and a reader elsewhere gets the text of a response when it is there', async () => {
    const work = heldTool();
    const { asks } = await pair({
      replies: [{ text: 'I work.', calls: [{ tool: 'work' }] }],
      tools: [work.definition],
    });
    const sessionId = await asks.begin();
    const events = readTo(asks, sessionId, ({ type }) => type === 'turn.done');
    const { turnId } = await asks.submit(sessionId, 'Go.');
    (await work.call(0)).end('ok');
    const told = await events;
    expect(told.flatMap(event => (event.type === 'text.delta' ? [[event.text, event.isWhole]] : []))).toContainEqual([
      'I work.',
      true,
    ]);
    const seqs = told.flatMap(event => (event.type === 'text.delta' ? [] : [event.seq]));
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
    expect(told.at(-1)).toMatchObject({ turnId, text: 'done' });
  });

  it('hand over what is steered, asked, answered and interrupted', async () => {
    const world: string[] = [];
    const work = heldTool();
    const { asks } = await pair({
      replies: [call('work'), call('write', { text: 'x' })],
      tools: [work.definition, effectTool(world)],
      keepMs: 0,
    });
    const sessionId = await asks.begin();
    const { turnId } = await asks.submit(sessionId, 'Go.');
    (await work.call(0)).end('ok');
    const gateId = await gateOf(asks, sessionId);
    await expect(asks.answer(sessionId, gateId, { decision: 'edit', input: { text: 7 } })).rejects.toMatchObject({
      name: 'GateError',
      kind: 'invalid_answer',
    });
    await asks.answer(sessionId, gateId, { decision: 'edit', input: { text: 'y' } });
    expect(await endOf(asks, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['y']);
    const second = await asks.submit(sessionId, 'Again.');
    await work.call(1);
    expect(await asks.interrupt(sessionId, { reason: 'enough' })).toBe(true);
    expect(await endOf(asks, sessionId, second.turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'enough' });
    await asks.setMode(sessionId, 'careful');
    const third = await asks.submit(sessionId, 'Once more.');
    const held = await work.call(2);
    await asks.steer(sessionId, 'Quickly.');
    await readTo(asks, sessionId, event => event.type === 'input.received' && event.as === 'steer');
    held.end('ok');
    (await work.call(3)).end('ok');
    const events = await readTo(
      asks,
      sessionId,
      event => event.type === 'gate.opened' && event.turnId === third.turnId,
    );
    expect(events).toContainEqual(expect.objectContaining({ type: 'input.steered', turnId: third.turnId }));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'turn.started', turnId: third.turnId, mode: 'careful' }),
    );
    expect(await asks.interrupt(sessionId)).toBe(true);
    expect(await endOf(asks, sessionId, third.turnId)).toMatchObject({ type: 'turn.interrupted' });
  });
});

describe('a process that ends', () => {
  const asking = (world: string[]) => ({ replies: [call('write', { text: 'x' })], tools: [effectTool(world)] });

  it('in good order lets calls end, and another goes on without repeating one', async () => {
    const world: string[] = [];
    const work = heldTool();
    const engine = localEngine();
    const options = {
      replies: [call('work'), call('write', { text: 'x' })],
      tools: [work.definition, effectTool(world, { asks: false })],
    };
    const first = await start({ ...options, store: onFile(), engine });
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    const held = await work.call(0);
    const closing = first.close({ graceMs: 10_000 });
    const next = await start({ ...options, store: onFile(), engine });
    held.end('ok');
    await closing;
    expect(await endOf(next, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(work.calls).toHaveLength(1);
    expect(world).toEqual(['x']);
    const results = (await recordsOf(onFile(), sessionId)).flatMap(record =>
      record.type === 'tool.completed' ? [record.outcome] : [],
    );
    expect(results).toEqual(['done', 'done']);
  });

  it('without a grace time leaves a call whose outcome is unknown, and it is said so', async () => {
    const work = heldTool();
    const engine = localEngine();
    const options = { replies: [call('work')], tools: [work.definition] };
    const first = await start({ ...options, store: onFile(), engine });
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    await work.call(0);
    await first.close();
    expect(work.calls[0]!.signal.aborted).toBe(true);
    const next = await start({ ...options, store: onFile(), engine });
    expect(await endOf(next, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    const completed = (await recordsOf(onFile(), sessionId)).find(({ type }) => type === 'tool.completed');
    expect(completed).toMatchObject({
      outcome: 'interrupted',
      output: { value: 'interrupted: the process ended while it ran; it may or may not have taken effect' },
    });
    expect(work.calls).toHaveLength(1);
  });

  it('while a turn waits leaves it to the next one, which begins with what was left', async () => {
    const world: string[] = [];
    const first = await start({ ...asking(world), store: onFile() });
    const [waiting, queued] = [await first.begin(), await first.begin()];
    const { turnId } = await first.submit(waiting, 'Go.');
    const gateId = await gateOf(first, waiting);
    await first.close();
    const asks = await start({ ...asking(world), store: onFile(), engine: localEngine(), serves: false });
    await asks.answer(waiting, gateId, { decision: 'approve' });
    const later = await asks.submit(queued, 'And this.', { idempotencyKey: 'k' });
    await asks.close();
    const next = await start({ ...asking(world), store: onFile() });
    expect(await endOf(next, waiting, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['x']);
    await next.answer(queued, await gateOf(next, queued), { decision: 'deny' });
    expect(await endOf(next, queued, later.turnId)).toMatchObject({ type: 'turn.done' });
    expect(await next.submit(queued, 'And this.', { idempotencyKey: 'k' })).toEqual({ ...later, isNew: false });
    await until(async () => ((await onFile().mailbox!.sessions()).length === 0 ? true : undefined));
  });

  it('and is not recovered from leaves its turn to be resumed, or interrupted', async () => {
    const world: string[] = [];
    const first = await start({ ...asking(world), store: onFile() });
    const sessions = [await first.begin(), await first.begin()];
    const turns = [await first.submit(sessions[0]!, 'a'), await first.submit(sessions[1]!, 'b')];
    for (const sessionId of sessions) await gateOf(first, sessionId);
    await first.close();
    const next = await start({ ...asking(world), store: onFile(), recover: false });
    expect(await next.find(sessions[0]!)).toMatchObject({ state: 'waiting', isLive: false, turnId: turns[0]!.turnId });
    expect(await next.resume(sessions[0]!)).toBe(turns[0]!.turnId);
    await expect(next.resume(sessions[0]!)).rejects.toMatchObject({ kind: 'busy' });
    await next.answer(sessions[0]!, await gateOf(next, sessions[0]!), { decision: 'approve' });
    expect(await endOf(next, sessions[0]!, turns[0]!.turnId)).toMatchObject({ type: 'turn.done' });
    expect(await next.interrupt(sessions[1]!, { reason: 'no' })).toBe(true);
    expect(await endOf(next, sessions[1]!, turns[1]!.turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'no' });
    expect(world).toEqual(['x']);
  });
});

describe('an input whose process ended before it had its turn started', () => {
  it('is answered after the next turn of its session', async () => {
    const store = memoryStore();
    const host = await start({ store, engine: localEngine() });
    const sessionId = await host.begin();
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Left behind.' }] };
    await store.mailbox!.post(sessionId, { mailId: 'm', at: 1, content: { type: 'submit', turnId: 'm', message } });
    const { turnId } = await host.submit(sessionId, 'Go.');
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(await endOf(host, sessionId, 'm')).toMatchObject({ type: 'turn.done' });
  });
});

describe('a process that freezes', () => {
  it('appends nothing when it thaws: another has gone on with its session', async () => {
    const world: string[] = [];
    const work = heldTool();
    const options = {
      replies: [call('work'), call('write', { text: 'x' })],
      tools: [work.definition, effectTool(world, { asks: false })],
    };
    const store = onFile();
    const frozen = freezing(store);
    const failures: unknown[] = [];
    const first = await start({ ...options, store: frozen.store, onError: error => failures.push(error) });
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    await work.call(0);
    frozen.freeze();
    work.calls[0]!.end('too late');
    const next = await start({ ...options, store: onFile() });
    expect(await endOf(next, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    const before = await recordsOf(store, sessionId);
    frozen.thaw();
    await until(() => failures[0]);
    expect(failures[0]).toMatchObject({ name: 'JournalConflictError' });
    await first.close();
    expect(await recordsOf(store, sessionId)).toEqual(before);
    expect(world).toEqual(['x']);
  });

  it('and is told that its turn is lost leaves it at once', async () => {
    const work = heldTool();
    const inner = localEngine();
    const lost = new AbortController();
    let runs = 0;
    const engine: Engine = {
      isDurable: false,
      start: ref => inner.start(ref),
      wake: ref => inner.wake(ref),
      cancel: ref => inner.cancel(ref),
      serve: run => inner.serve((ref, signals) => run(ref, ++runs === 1 ? { ...signals, lost: lost.signal } : signals)),
    };
    const host = await start({ replies: [call('work')], tools: [work.definition], store: memoryStore(), engine });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    await work.call(0);
    lost.abort();
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(work.calls[0]!.signal.aborted).toBe(true);
    expect(runs).toBe(2);
  });
});

describe('a store that fails in the middle of a turn', () => {
  it('costs no call and not the worker: the turn goes on when it is back', async () => {
    const world: string[] = [];
    const store = memoryStore();
    let isDown = false;
    const append = store.append.bind(store);
    store.append = (...given) => {
      if (isDown) throw new Error('the connection is lost');
      return append(...given);
    };
    const work = heldTool();
    const failures: unknown[] = [];
    const host = await start({
      replies: [call('work'), call('write', { text: 'x' })],
      tools: [work.definition, effectTool(world, { asks: false })],
      ...{ store, onError: (error: unknown) => failures.push(error) },
    });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const held = await work.call(0);
    isDown = true;
    held.end('ok');
    await until(() => failures[0]);
    expect(failures[0]).toMatchObject({ name: 'JournalError', kind: 'store_failed' });
    expect(world).toEqual([]);
    isDown = false;
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['x']);
    expect(work.calls).toHaveLength(1);
  });
});

describe('a thousand turns that wait', () => {
  it('are not in memory, and each comes back on its answer, after a restart', async () => {
    const world: string[] = [];
    const store = memoryStore();
    const options = { store, replies: [call('write', { text: 'x' })], tools: [effectTool(world)], keepMs: 0 };
    const first = await start(options);
    const sessions = await Promise.all(Array.from({ length: 1_000 }, () => first.begin()));
    const turns = await Promise.all(sessions.map(sessionId => first.submit(sessionId, 'Go.')));
    await until(async () => {
      const listed = await first.list({ limit: 1_000 });
      return listed.every(({ state }) => state === 'waiting') ? true : undefined;
    });
    const living = () => (first as Host & { readonly livingSessions: number }).livingSessions;
    await until(() => (living() === 0 ? true : undefined));
    await first.close();
    const next = await start(options);
    const answer = async (sessionId: string): Promise<void> => {
      const { gates } = await next.find(sessionId);
      await next.answer(sessionId, gates[0]!.gateId, { decision: 'approve' });
    };
    await Promise.all(sessions.map(answer));
    await Promise.all(sessions.map((sessionId, index) => endOf(next, sessionId, turns[index]!.turnId)));
    expect(world).toHaveLength(1_000);
  });
});
