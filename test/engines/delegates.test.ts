/** Delegates of sessions that a host runs: their gates are answered by the id of the session that delegates, wherever it is. */
import { defineLoop, defineRig, delegate, type JournalStore, type LoopDefinition, memoryStore } from 'looprig';
import { createHost, type Engine, type Host, type HostOptions, localEngine } from 'looprig/engines';
import { forever, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { call, effectTool, endOf, recordsOf, until } from './setup.ts';

const hosts: Host[] = [];
afterEach(async () => {
  await Promise.all(hosts.splice(0).map(host => host.close()));
});

const playing = (first: ScriptedReply, last: ScriptedReply) =>
  scriptedModel(forever(({ prompt }) => (prompt.at(-1)?.role === 'tool' ? last : first)));

/** Who asks: the session itself, its delegate, or that one's. */
const DEPTHS = [0, 1, 2] as const;

interface Setting extends Pick<HostOptions, 'keepMs' | 'onError'> {
  readonly engine?: Engine;
  readonly depth?: (typeof DEPTHS)[number];
  /** What the loop that asks forbids, beside what its caller knows of it. */
  readonly forbids?: string;
}

function hostOf(store: JournalStore, world: string[], setting: Setting): Host {
  const { depth = 1, engine = localEngine(), forbids, ...options } = setting;
  let loop: LoopDefinition = defineLoop({
    ...{ name: 'child', model: playing(call('write', { text: 'x' }), { text: 'found' }), tools: [effectTool(world)] },
    ...(forbids === undefined ? {} : { gate: { rules: [{ action: 'write', target: forbids, decision: 'deny' }] } }),
  });
  for (let above = 0; above < depth; above++) {
    const name = above === depth - 1 ? 'parent' : 'between';
    const tools = [delegate(loop, { description: 'Looks.', name: 'child', maxDepth: 5 })];
    loop = defineLoop({ name, model: playing(call('child', { task: 'look' }), { text: 'all' }), tools });
  }
  const rig = defineRig({ loops: [loop], store, gate: { ask: true } });
  const host = createHost({ rig, engine, ...options });
  hosts.push(host);
  return host;
}

const living = (host: Host): number => (host as Host & { readonly livingSessions: number }).livingSessions;

describe.each([0, 30_000])('a delegate that waits for a person (keepMs: %i)', keepMs => {
  const waiting = async () => {
    const [store, world] = [memoryStore(), [] as string[]];
    const host = hostOf(store, world, { keepMs });
    await host.serve();
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const gate = await until(async () => (await host.find(sessionId)).gates[0]);
    if (keepMs === 0) await until(() => (living(host) === 0 ? true : undefined));
    return { store, world, host, sessionId, turnId, gateId: gate.gateId };
  };

  it('is answered by the id of the session that delegates', async () => {
    const { host, world, sessionId, turnId, gateId } = await waiting();
    expect(await host.find(sessionId)).toMatchObject({ state: 'waiting', isLive: true });
    await host.answer(sessionId, gateId, { decision: 'approve' });
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done', text: 'all' });
    expect(world).toEqual(['x']);
    expect(await host.list()).toHaveLength(1);
    expect(await host.list({ delegates: true })).toHaveLength(2);
    await expect(host.answer(sessionId, gateId, { decision: 'approve' })).rejects.toMatchObject({ name: 'GateError' });
  });

  it('is interrupted with the turn that delegates', async () => {
    const { host, world, sessionId, turnId } = await waiting();
    expect(await host.interrupt(sessionId, { reason: 'no' })).toBe(true);
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'no' });
    expect(world).toEqual([]);
  });

  it('is answered after its process ended, in another one', async () => {
    const { store, host, world, sessionId, turnId, gateId } = await waiting();
    await host.close();
    const next = hostOf(store, world, { keepMs });
    await next.serve();
    await next.answer(sessionId, gateId, { decision: 'approve' });
    expect(await endOf(next, sessionId, turnId)).toMatchObject({ type: 'turn.done', text: 'all' });
    expect(world).toEqual(['x']);
  });
});

describe.each(DEPTHS)('a turn that waits for a person (asked by the delegate at depth %i)', depth => {
  const waitingAt = async (setting: Setting) => {
    const [store, world] = [memoryStore(), [] as string[]];
    const host = hostOf(store, world, { depth, ...setting });
    await host.serve();
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Go.');
    const { gateId } = await until(async () => (await host.find(sessionId)).gates[0]);
    if (setting.keepMs === 0) await until(() => (living(host) === 0 ? true : undefined));
    return { store, world, host, sessionId, turnId, gateId };
  };
  const decisionsOf = async (store: JournalStore) => {
    const journals = await Promise.all((await store.list()).map(({ sessionId }) => recordsOf(store, sessionId)));
    return journals.flat().flatMap(record => (record.type === 'gate.resolved' ? [record.decision] : []));
  };

  it.each([
    ['in memory', 30_000, false],
    ['outside of memory', 0, false],
    ['outside of memory, its process ended', 0, true],
  ])('%s, ends by another input, which has the next turn', async (_where, keepMs, ends) => {
    const { store, world, host, sessionId, turnId, gateId } = await waitingAt({ keepMs });
    if (ends) await host.close();
    const asked = ends ? hostOf(store, world, { depth, keepMs }) : host;
    await asked.serve();
    const { turnId: next } = await asked.submit(sessionId, 'Something else.');
    expect(await endOf(asked, sessionId, turnId)).toMatchObject({
      ...{ type: 'turn.interrupted', reason: 'the user moved on' },
    });
    const waits = await until(async () => {
      const { turnId, gates } = await asked.find(sessionId);
      return turnId === next ? gates[0] : undefined;
    });
    expect(waits.gateId).not.toBe(gateId);
    await asked.answer(sessionId, waits.gateId, { decision: 'approve' });
    expect(await endOf(asked, sessionId, next)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['x']);
    expect((await decisionsOf(store)).sort()).toEqual(['approved', 'denied']);
  });

  it.each([0, 30_000])('refuses arguments that cannot be taken to whoever gives them (keepMs: %i)', async keepMs => {
    const { world, host, sessionId, turnId, gateId } = await waitingAt({ keepMs, forbids: 'secret' });
    for (const input of [{ text: 7 }, { text: 'secret' }]) {
      const refused = host.answer(sessionId, gateId, { decision: 'edit', input });
      await expect(refused).rejects.toMatchObject({ name: 'GateError', kind: 'invalid_answer', gateId });
    }
    expect((await host.find(sessionId)).gates).toMatchObject([{ gateId }]);
    await host.answer(sessionId, gateId, { decision: 'edit', input: { text: 'y' } });
    expect(await endOf(host, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(world).toEqual(['y']);
  });

  it('tells the process that runs it of an answer that only it refuses, and waits for another', async () => {
    const [store, world, errors] = [memoryStore(), [] as string[], [] as unknown[]];
    const engine = localEngine();
    const setting = { depth, engine, keepMs: 30_000 };
    const runs = hostOf(store, world, { ...setting, forbids: 'secret', onError: error => errors.push(error) });
    await runs.serve();
    const older = hostOf(store, world, setting);
    const sessionId = await older.begin();
    const { turnId } = await older.submit(sessionId, 'Go.');
    const { gateId } = await until(async () => (await older.find(sessionId)).gates[0]);
    await older.answer(sessionId, gateId, { decision: 'edit', input: { text: 'secret' } });
    expect(await until(() => errors[0])).toMatchObject({ name: 'GateError', kind: 'invalid_answer', gateId });
    await until(async () => ((await store.mailbox!.read(sessionId)).length === 1 ? true : undefined));
    await older.answer(sessionId, gateId, { decision: 'edit', input: { text: 'y' } });
    expect(await endOf(older, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect({ world, errors: errors.length }).toEqual({ world: ['y'], errors: 1 });
  });
});
