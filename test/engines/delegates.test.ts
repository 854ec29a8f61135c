/** Delegates of sessions that a host runs: their gates are answered by the id of the session that delegates, wherever it is. */
import { defineLoop, defineRig, delegate, type JournalStore, memoryStore } from 'looprig';
import { createHost, type Host, localEngine } from 'looprig/engines';
import { forever, type ScriptedReply, scriptedModel } from 'looprig/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { call, effectTool, endOf, until } from './setup.ts';

const hosts: Host[] = [];
afterEach(async () => {
  await Promise.all(hosts.splice(0).map(host => host.close()));
});

const playing = (first: ScriptedReply, last: ScriptedReply) =>
  scriptedModel(forever(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? last : first)));

function hostOf(store: JournalStore, world: string[], keepMs: number, engine = localEngine()): Host {
  const child = defineLoop({
    ...{ name: 'child', model: playing(call('write', { text: 'x' }), { text: 'found' }) },
    tools: [effectTool(world)],
  });
  const parent = defineLoop({
    ...{ name: 'parent', model: playing(call('child', { task: 'look' }), { text: 'all' }) },
    tools: [delegate(child, { description: 'Looks.' })],
  });
  const host = createHost({ rig: defineRig({ loops: [parent], store, gate: { ask: true } }), engine, keepMs });
  hosts.push(host);
  return host;
}

const living = (host: Host): number => (host as Host & { readonly livingSessions: number }).livingSessions;

describe.each([0, 30_000])('a delegate that waits for a person (keepMs: %i)', keepMs => {
  const waiting = async () => {
    const [store, world] = [memoryStore(), [] as string[]];
    const host = hostOf(store, world, keepMs);
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
    const next = hostOf(store, world, keepMs);
    await next.serve();
    await next.answer(sessionId, gateId, { decision: 'approve' });
    expect(await endOf(next, sessionId, turnId)).toMatchObject({ type: 'turn.done', text: 'all' });
    expect(world).toEqual(['x']);
  });
});
