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
import { held } from '../../test/soak/memory.ts';
import { storeOver } from '../../test/support/store-over.ts';
import { foldJournal } from '../session/restore.ts';
import { listSummaries } from '../session/summary.ts';
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

/** A store whose sessions each have an id of their own, so many turns, and a first message; a reader gets texts that nobody else holds. */
function storeOf(turns: number, text: () => string) {
  const reads: string[] = [];
  const store = storeOver(memoryStore(), {
    find: async sessionId => ({ sessionId, lastSeq: 1 + 2 * turns, createdAt: 1, updatedAt: 1, place: '1' }),
    async *read(sessionId, fromSeq) {
      reads.push(sessionId);
      for (let seq = fromSeq; seq <= 1 + 2 * turns; seq++)
        yield JSON.parse(JSON.stringify(recordAt(sessionId, seq, text))) as JournalRecord;
    },
  });
  return { store, reads };
}

function recordAt(sessionId: string, seq: number, text: () => string): object {
  const at = 1;
  if (seq === 1) return { type: 'session.opened', loop: 'l', loopId: `${sessionId} l`, mode: '', seq, at };
  const turnId = `6b2e33f6-6f2f-4b52-8d34-${sessionId}-${seq >> 1}`;
  if (seq % 2 === 1) return { type: 'turn.done', turnId, seq, at };
  const message = { role: 'user', content: [{ type: 'text', text: text() }] };
  return { type: 'turn.started', turnId, mode: '', message, seq, at };
}

const idOf = (place: number): string => String(place).padStart(12, '0');

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
      const { title, turns, calls, turn, gates, lastOutcome } = (await foldJournal(store, 's')).state;
      const isWaiting = [...gates.values()].some(({ resolved }) => resolved === undefined);
      const open = turn === undefined ? undefined : isWaiting ? 'waiting' : 'running';
      const [whole] = await defineRig({ loops: rig.loops as never, store }).sessions();
      expect(whole).toMatchObject({ title, turns, calls, state: open ?? lastOutcome ?? 'new' });
      expect((await digests.get('s')).summary((await store.find('s'))!)).toEqual(whole);
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
    const listed = await listSummaries(store, {}, stored => digests.of(stored));
    expect(listed).toMatchObject([{ sessionId: 's', state: 'damaged' }]);
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

  it('holds of a long first message no more than its title', async () => {
    const { store } = storeOf(1, () => 'x'.repeat(1_000_000));
    const digests = new Digests(store);
    const { heap: before } = await held();
    for (let place = 0; place < 30; place++) await digests.get(idOf(place));
    const { heap: after } = await held();
    expect((await digests.get(idOf(0))).title).toBe(`${'x'.repeat(79)}…`);
    expect(after - before).toBeLessThan(5_000_000);
  });
});

describe('the digests of a host', () => {
  it('are kept as long as there is room: those that were asked for last', async () => {
    const { store, reads } = storeOf(20, () => 'Hi.');
    const one = new Digests(store);
    const { bytes } = await one.get(idOf(0));
    reads.length = 0;
    const digests = new Digests(store, 5 * bytes);
    for (let place = 0; place < 50; place++) {
      await digests.get(idOf(place));
      await digests.get(idOf(0));
      expect(digests.bytes).toBe(Math.min(place + 1, 5) * bytes);
    }
    expect(reads).toEqual(Array.from({ length: 50 }, (_, place) => idOf(place)));
    reads.length = 0;
    for (const place of [0, 49, 48, 47, 46, 45]) await digests.get(idOf(place));
    expect(reads).toEqual([idOf(45)]);
  });

  it('have room for one, whatever it takes', async () => {
    const { store, reads } = storeOf(20, () => 'Hi.');
    const digests = new Digests(store, 1);
    const [one] = [await digests.get(idOf(0)), await digests.get(idOf(0))];
    expect([reads.length, digests.bytes]).toEqual([1, one.bytes]);
    await digests.get(idOf(1));
    expect(digests.bytes).toBe(one.bytes);
  });

  it.each([0, 1, 20, 200])('of sessions of %i turns take about the memory that they are counted for', async turns => {
    const { store } = storeOf(turns, () => 'What is this?');
    const digests = new Digests(store, Number.POSITIVE_INFINITY);
    await digests.get(idOf(0));
    const { bytes } = digests;
    const count = Math.ceil(1_000_000 / bytes);
    const { heap: before } = await held();
    for (let place = 1; place <= count; place++) await digests.get(idOf(place));
    const { heap: after } = await held();
    const taken = (after - before) / count;
    expect(digests.bytes).toBe((count + 1) * bytes);
    expect(taken).toBeGreaterThan(bytes / 2);
    expect(taken).toBeLessThan(bytes * 1.4);
  });

  it('count for the gates that wait, until their step is over', async () => {
    const store = memoryStore();
    const records = [
      { type: 'session.opened', loop: 'l', loopId: 'x', policyRevision: 'p', mode: '', seq: 1, at: 1 },
      { type: 'turn.started', turnId: 't', mode: '', seq: 2, at: 1 },
      { type: 'gate.opened', gateId: 'g', turnId: 't', callId: 'c', summary: 'x'.repeat(10_000), seq: 3, at: 1 },
      { type: 'turn.interrupted', turnId: 't', seq: 4, at: 1 },
    ] as never[] as JournalRecord[];
    const digests = new Digests(store);
    const bytes: number[] = [];
    for (const record of records) {
      await store.append('s', record.seq - 1, [record]);
      await digests.get('s');
      bytes.push(digests.bytes);
    }
    expect(bytes[2]! - bytes[1]!).toBeGreaterThan(10_000);
    expect(bytes[3]).toBe(bytes[1]);
  });
});
