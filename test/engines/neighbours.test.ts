/** Processes that know nothing of each other: each runs turns by a local engine of its own, on one store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JournalStore, memoryStore } from 'looprig';
import { type Host, localEngine } from 'looprig/engines';
import { sqliteStore } from 'looprig/sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import {
  call,
  effectTool,
  endOf,
  gateOf,
  heldTool,
  type ProcessOptions,
  processOf,
  recordsOf,
  until,
} from './setup.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

function inMemory(): () => JournalStore {
  const store = memoryStore();
  return () => store;
}

function inFile(): () => JournalStore {
  const folder = mkdtempSync(join(tmpdir(), 'looprig-neighbours-'));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return () => {
    const store = sqliteStore({ file: join(folder, 'sessions.db') });
    closers.push(() => store.close());
    return store;
  };
}

describe.each([
  ['in memory', inMemory],
  ['in a file', inFile],
])('two processes with local engines on one store %s', (_where, storesOf) => {
  const bench = () => {
    const storeOf = storesOf();
    const work = heldTool();
    const world: string[] = [];
    const failures: unknown[] = [];
    const start = async (options: Partial<ProcessOptions> = {}): Promise<Host> => {
      const host = await processOf({
        ...{ replies: [call('work')], tools: [work.definition, effectTool(world)] },
        ...{ store: storeOf(), engine: localEngine(), onError: (error: unknown) => failures.push(error) },
        ...options,
      });
      closers.push(() => host.close());
      return host;
    };
    const turnsOf = async (sessionId: string) =>
      (await recordsOf(storeOf(), sessionId)).flatMap(({ type }) => (/^turn\./.test(type) ? [type] : []));
    return { start, work, world, failures, turnsOf, storeOf };
  };

  it('leave a turn to the one that runs it, and another input too', async () => {
    const { start, work, failures, turnsOf } = bench();
    const first = await start();
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    const held = await work.call(0);
    const second = await start(); // it finds the mail of a turn that has not ended
    const { turnId: next } = await second.submit(sessionId, 'And then?');
    await second.setMode(sessionId, 'careful'); // a mail that only the process takes up that runs the turn
    await until(async () => ((await second.find(sessionId)).state === 'running' ? true : undefined));
    await new Promise(resolve => setTimeout(resolve, 1_500)); // longer than a process is asked whether it lives
    expect(held.signal.aborted).toBe(false);
    held.end('ok');
    expect(await endOf(second, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    (await work.call(1)).end('ok');
    expect(await endOf(first, sessionId, next)).toMatchObject({ type: 'turn.done' });
    expect(await turnsOf(sessionId)).toEqual(['turn.started', 'turn.done', 'turn.started', 'turn.done']);
    expect([work.calls.length, failures]).toEqual([2, []]);
  });

  it('answer, steer and interrupt what the other runs', async () => {
    const { start, work, world, failures, turnsOf } = bench();
    const first = await start({ replies: [call('write', { text: 'x' }), call('work')] });
    const second = await start();
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    await second.answer(sessionId, await gateOf(second, sessionId), { decision: 'approve' });
    const held = await work.call(0);
    expect(world).toEqual(['x']);
    await second.steer(sessionId, 'Be quick.');
    expect(await second.interrupt(sessionId, { reason: 'enough' })).toBe(true);
    expect(await endOf(second, sessionId, turnId)).toMatchObject({ type: 'turn.interrupted', reason: 'enough' });
    expect(held.signal.aborted).toBe(true);
    expect((await turnsOf(sessionId)).slice(0, 2)).toEqual(['turn.started', 'turn.interrupted']);
    expect(failures).toEqual([]);
  });

  it('take turns with what waits outside of memory, and neither waits for the other', async () => {
    const { start, world, failures } = bench();
    const replies = [call('write', { text: 'x' })];
    const [first, second] = [await start({ replies, keepMs: 0 }), await start({ replies, keepMs: 0 })];
    const sessionId = await first.begin();
    const living = (host: Host) => (host as Host & { readonly livingSessions: number }).livingSessions;
    for (const [asked, answered] of [
      [first, second],
      [first, second],
      [second, first],
    ] as const) {
      const { turnId } = await asked.submit(sessionId, 'Go.');
      const gate = await until(async () => {
        const found = await asked.find(sessionId);
        return found.turnId === turnId ? found.gates[0] : undefined;
      });
      await until(() => (living(first) + living(second) === 0 ? true : undefined));
      await answered.answer(sessionId, gate.gateId, { decision: 'approve' });
      expect(await endOf(asked, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    }
    expect([world, failures]).toEqual([['x', 'x', 'x'], []]);
  });

  it('take up what the other left when it ended', async () => {
    const { start, work, turnsOf, storeOf } = bench();
    const first = await start();
    const sessionId = await first.begin();
    const { turnId } = await first.submit(sessionId, 'Go.');
    await work.call(0);
    await first.close();
    const second = await start();
    expect(await endOf(second, sessionId, turnId)).toMatchObject({ type: 'turn.done' });
    expect(await turnsOf(sessionId)).toEqual(['turn.started', 'turn.resumed', 'turn.done']);
    const { mailbox } = storeOf();
    await until(async () => ((await mailbox!.sessions()).length === 0 ? true : undefined));
  });
});
