/** Sessions over the PostgreSQL store: what another process opens is what this one had, and what becomes of a turn whose database goes away. */
import { defineLoop, defineRig, type JournalRecord, type JournalStore } from 'looprig';
import { postgresStore } from 'looprig/postgres';
import { assertPaired, type ScriptedReply, scriptedModel, scriptedTool } from 'looprig/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../../../test/support/postgres-server.ts';

const SCRIPT: readonly ScriptedReply[] = [
  {
    calls: [
      { tool: 'work', input: { n: 1 } },
      { tool: 'work', input: { n: 2 } },
    ],
  },
  { calls: [{ tool: 'work', input: { n: 3 } }] },
  { text: 'Done.' },
];

describe.runIf(HAS_POSTGRES)(`a session over PostgreSQL${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  let url: string;
  beforeAll(async () => {
    server = await PostgresServer.start();
    url = await server.createDatabase();
  });
  afterAll(() => server.stop());

  /** A rig whose tool does something in its `n`th call before it answers. */
  function rigOver(
    store: JournalStore,
    replies: readonly ScriptedReply[],
    during: (n: number) => Promise<void> = async () => {},
  ) {
    const ran: number[] = [];
    const work = scriptedTool('work', {
      returns: async input => {
        const { n } = JSON.parse(JSON.stringify(input));
        ran.push(n);
        await during(n);
        return `did ${n}`;
      },
    });
    const loop = defineLoop({
      name: 'worker',
      model: scriptedModel(replies),
      tools: [work.definition],
      limits: { parallel: 1 },
    });
    return { rig: defineRig({ loops: [loop], store }), ran };
  }

  async function recordsOf(id: string): Promise<JournalRecord[]> {
    const store = postgresStore({ url });
    const records: JournalRecord[] = [];
    for await (const record of store.read(id, 1)) records.push(record);
    await store.close();
    return records;
  }

  test('comes back in another store as it was, and goes on', async () => {
    const first = postgresStore({ url });
    const session = await rigOver(first, SCRIPT).rig.open();
    expect(await session.run('Go.')).toMatchObject({ status: 'done', calls: 3 });
    await session.close();
    await first.close();
    const second = postgresStore({ url });
    const again = await rigOver(second, [{ text: 'And on.' }]).rig.open({ sessionId: session.id });
    expect(again.history).toEqual(session.history);
    assertPaired(again.history);
    expect(await again.run('Go on.')).toMatchObject({ status: 'done', text: 'And on.' });
    await again.close();
    await second.close();
  });

  test('whose database goes away in the middle of a call, and is waited for, goes on as if nothing had been', async () => {
    const store = postgresStore({ url, reconnectMs: 60_000 });
    const { rig, ran } = rigOver(store, SCRIPT, async n => {
      if (n !== 2) return;
      await server.kill();
      setTimeout(() => void server.restart(), 300);
    });
    const session = await rig.open();
    expect(await session.run('Go.')).toMatchObject({ status: 'done', text: 'Done.', calls: 3 });
    expect(ran).toEqual([1, 2, 3]);
    await session.close();
    await store.close();
    const completed = (await recordsOf(session.id)).filter(({ type }) => type === 'tool.completed');
    expect(completed).toHaveLength(3);
  });

  test('whose database goes away in the middle of a call, and is not waited for, fails its turn; no call runs that is not recorded, and it goes on', async () => {
    const store = postgresStore({ url, reconnectMs: 0 });
    const { rig, ran } = rigOver(store, SCRIPT, async n => {
      if (n === 1) await server.kill();
    });
    const session = await rig.open();
    const result = await session.submit('Go.').result;
    expect(result).toMatchObject({ status: 'failed', error: { name: 'JournalError', kind: 'store_failed' } });
    await session.close();
    await server.restart();

    const started = (await recordsOf(session.id)).filter(({ type }) => type === 'tool.started');
    expect(ran.length).toBeLessThanOrEqual(started.length);
    expect(ran).toEqual([1]);

    // The same store, which has found its database again.
    const later = rigOver(store, SCRIPT.slice(1));
    const again = await later.rig.open({ sessionId: session.id });
    expect(again.unfinished).toBeDefined();
    expect(await again.resume().result).toMatchObject({ status: 'done', text: 'Done.' });
    expect(later.ran).toEqual([2, 3]);
    assertPaired(again.history);
    await again.close();
    await store.close();
  });
});
