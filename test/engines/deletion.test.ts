/** A host deletes sessions: what it refuses, who is told, and what comes as a session is deleted. */
import { memoryStore, type SessionEvent } from 'looprig';
import type { Host } from 'looprig/engines';
import { afterEach, describe, expect, it } from 'vitest';
import { storeOver } from '../support/store-over.ts';
import { call, effectTool, endOf, gateOf, heldTool, type ProcessOptions, processOf, until } from './setup.ts';

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

async function eventsOf(host: Host, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of host.events(sessionId)) events.push(event);
  return events;
}

describe('a host', () => {
  it('deletes a session, also one that it keeps for its next turn, and ends the reading of its events', async () => {
    const { host, store } = await local();
    const [one, two] = [await host.begin(), await host.begin()];
    for (const id of [one, two]) await endOf(host, id, (await host.submit(id, 'Hi.')).turnId);
    await host.setMode(one, 'careful');
    const reading = eventsOf(host, one);
    await host.delete(one);
    expect((await reading).length).toBeLessThan(20);
    expect(await host.list()).toMatchObject([{ sessionId: two }]);
    expect(await store.mailbox!.sessions()).toEqual([]);
    const asked = [host.find(one), host.submit(one, 'Hi.'), host.setMode(one, ''), host.delete(one)];
    for (const outcome of await Promise.allSettled(asked))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'unknown_session' } });
    expect((await host.submit(two, 'And you?')).isNew).toBe(true);
  });

  it('refuses while a turn runs, while one waits for a person, and while an input waits', async () => {
    const held = heldTool();
    const { host } = await local({
      tools: [held.definition],
      replies: [call('work'), { text: 'Done.' }, { text: 'Done.' }],
    });
    const sessionId = await host.begin();
    const { turnId } = await host.submit(sessionId, 'Hi.');
    const running = await held.call(0);
    const busy = { name: 'SessionError', kind: 'busy' };
    await expect(host.delete(sessionId)).rejects.toMatchObject(busy);
    const second = await host.submit(sessionId, 'And then?');
    await expect(host.delete(sessionId)).rejects.toMatchObject(busy);
    running.end('worked');
    await endOf(host, sessionId, turnId);
    (await held.call(1)).end('worked');
    await endOf(host, sessionId, second.turnId);
    await until(async () =>
      host.delete(sessionId).then(
        () => true,
        () => undefined,
      ),
    );
    expect(await host.list()).toEqual([]);

    const gated = await local({ tools: [effectTool([])], replies: [call('write', { text: 'x' }), { text: 'Done.' }] });
    const waiting = await gated.host.begin();
    const asked = await gated.host.submit(waiting, 'Hi.');
    await gateOf(gated.host, waiting);
    await expect(gated.host.delete(waiting)).rejects.toMatchObject(busy);
    await gated.host.interrupt(waiting);
    await endOf(gated.host, waiting, asked.turnId);
    await until(async () =>
      gated.host.delete(waiting).then(
        () => true,
        () => undefined,
      ),
    );
    expect(await gated.store.list()).toEqual([]);
  });

  it('deletes a session whose turn a process left unfinished, and one whose journal cannot be read', async () => {
    const { store } = await local();
    const opened = { type: 'session.opened', loop: 'clerk', loopId: 'l', policyRevision: 'p', mode: '', seq: 1, at: 1 };
    const started = { type: 'turn.started', turnId: 't', mode: '', limits: {}, seq: 2, at: 1 };
    await store.append('cut', 0, [opened, started] as never);
    await store.append('torn', 0, [opened, { type: 'history.imported', messages: null, seq: 2, at: 1 }] as never);
    const { host } = await local({ store });
    expect(await host.find('cut')).toMatchObject({ state: 'running', isLive: false });
    await host.delete('cut');
    await host.delete('torn');
    expect(await store.list()).toEqual([]);
  });

  it('keeps no mail that comes as its session is deleted', async () => {
    const inner = memoryStore();
    const { mailbox } = inner;
    const store = storeOver(inner, {
      mailbox: {
        ...mailbox!,
        async post(sessionId, mail) {
          await inner.delete(sessionId, (await inner.find(sessionId))?.lastSeq ?? 0);
          return mailbox!.post(sessionId, mail);
        },
      },
    });
    const { host } = await local({ store });
    for (const post of ['submit', 'steer', 'setMode'] as const) {
      const sessionId = await host.begin();
      await expect(host[post](sessionId, post === 'setMode' ? 'careful' : 'Hi.')).rejects.toMatchObject({
        kind: 'unknown_session',
      });
    }
    expect(await mailbox!.sessions()).toEqual([]);
  });

  it('has nothing left of a session that was deleted before its turn could begin', async () => {
    const { host, store } = await local();
    await store.mailbox!.post('gone', {
      mailId: 't',
      at: 1,
      content: { type: 'submit', turnId: 't', message: { role: 'user', content: [{ type: 'text', text: 'Hi.' }] } },
    });
    await host.close();
    await local({ store }); // it starts again what stands in mailboxes
    await until(async () => ((await store.mailbox!.sessions()).length === 0 ? true : undefined));
  });
});
