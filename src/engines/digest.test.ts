import {
  defineLoop,
  defineRig,
  defineTool,
  JournalError,
  type JournalRecord,
  memoryStore,
  type Session,
} from 'looprig';
import { scriptedModel } from 'looprig/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Digests } from './digest.ts';

const write = defineTool({
  name: 'write',
  description: 'Writes.',
  input: z.object({}),
  create: () => ({ access: () => [{ action: 'write', target: 'x' }], execute: () => 'ok' }),
});

/** A rig whose model plays one turn with a gate, a turn that fails, and answers. */
function rigOf() {
  const model = scriptedModel([{ calls: [{ tool: 'write' }] }, { text: 'one' }, { error: new Error('gone') }]);
  return defineRig({ loops: [defineLoop({ name: 'l', model, tools: [write] })], gate: { ask: true } });
}

describe('a digest', () => {
  it('says of a session what the whole fold says, at each record', async () => {
    const rig = rigOf();
    const session = (await rig.open()) as Session;
    const turn = session.submit('  First line \nsecond');
    for await (const event of turn) if (event.type === 'gate.opened') break;
    await session.answer(session.gates[0]!.gateId, { decision: 'approve' });
    await turn.result;
    session.submit('fails');
    session.submit('queued').interrupt();
    await session.turn?.result;
    await session.close();
    const records: JournalRecord[] = [];
    for await (const record of rig.store.read(session.id, 1)) records.push(record);
    const store = memoryStore();
    const digests = new Digests(store);
    for (const record of records) {
      await store.append('s', record.seq - 1, [record]);
      const [whole] = await defineRig({ loops: rig.loops as never, store }).sessions();
      expect(await digests.summary((await store.find('s'))!)).toEqual(whole);
    }
    const digest = await digests.get('s');
    expect(digest).toMatchObject({
      title: 'First line ',
      turns: 2,
      calls: 1,
      lastOutcome: 'failed',
      lastSeq: records.length,
    });
    expect([digest.gates, digest.waiting.size, digest.decidedGates.size, digest.turnId]).toEqual([[], 0, 1, undefined]);
  });

  it('of a journal that cannot be read is not kept, and the session is listed as damaged', async () => {
    const store = memoryStore();
    await store.append('s', 0, [
      { type: 'session.opened', loop: 'l', loopId: 'x', policyRevision: 'p', mode: '', seq: 1, at: 1 },
      { type: 'turn.forked', seq: 2, at: 2 } as never,
    ]);
    const digests = new Digests(store);
    await expect(digests.get('s')).rejects.toMatchObject({ name: 'JournalError', kind: 'newer_format' });
    const stored = (await store.find('s'))!;
    expect(await digests.summary(stored)).toMatchObject({ sessionId: 's', state: 'damaged' });
    store.read = () => {
      throw new JournalError('store_failed', 'no store');
    };
    await expect(digests.get('s')).rejects.toMatchObject({ kind: 'store_failed' });
    await expect(digests.get(7 as never)).rejects.toMatchObject({ kind: 'unknown_session' });
  });

  it('that is asked for twice at once is read once', async () => {
    const rig = rigOf();
    const sessionId = await rig.begin();
    const { store } = rig;
    let reads = 0;
    const read = store.read.bind(store);
    store.read = (...given) => {
      reads += 1;
      return read(...given);
    };
    const digests = new Digests(store);
    const [one, other] = await Promise.all([digests.get(sessionId), digests.get(sessionId)]);
    expect(one).toBe(other);
    expect(reads).toBe(1);
  });
});
