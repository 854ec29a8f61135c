import { describe, expect, it } from 'vitest';
import type { JournalRecord } from '../journal/journal.ts';
import { NO_USAGE } from '../model/model.ts';
import { EventHub, MOST_WAITING_EVENTS } from './event-stream.ts';
import type { SessionEvent } from './events.ts';

/** A hub over a list of records, which are shown as they are written. */
function openHub(observers: ((event: SessionEvent) => void)[] = []) {
  const records: JournalRecord[] = [];
  const reads: number[] = [];
  const read = async function* (fromSeq: number): AsyncIterable<JournalRecord> {
    reads.push(fromSeq);
    for (let index = fromSeq - 1; index < records.length; index++) yield records[index]!;
  };
  const hub = new EventHub({ sessionId: 's', loopId: 'l', read }, 0, () => 7, observers);
  const write = (entry: object): void => {
    const record = { ...entry, seq: records.length + 1, at: 5 } as JournalRecord;
    records.push(record);
    hub.record(record);
  };
  const start = (turnId = 't'): void => write({ type: 'turn.started', turnId, mode: '', limits: {} });
  const step = (turnId = 't', number = 1): void =>
    write({ type: 'step.started', turnId, stepId: `${turnId}.${number}`, step: number });
  const end = (turnId = 't'): void =>
    write({ type: 'turn.interrupted', turnId, usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 });
  const delta = (text: string, turnId = 't'): void =>
    hub.emit({ type: 'text.delta', turnId, stepId: `${turnId}.1`, text });
  return { hub, write, start, step, end, delta, reads };
}

async function all(reader: AsyncIterable<SessionEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const event of reader) types.push(event.type);
  return types;
}

describe('a reader', () => {
  it('is registered when it is made: what comes before its first pull is not lost', async () => {
    const { hub, start, delta, end } = openHub();
    const reader = hub.subscribe(0, 't');
    start();
    delta('a');
    end();
    expect(await all(reader)).toEqual(['turn.started', 'text.delta', 'turn.interrupted']);
  });

  it('that comes late gets the enduring events from the journal, and the rest live', async () => {
    const { hub, start, step, delta, end } = openHub();
    start();
    step();
    delta('gone');
    const late = hub.subscribe(0, 't');
    delta('waits behind');
    end();
    expect(await all(late)).toEqual(['turn.started', 'step.started', 'events.dropped', 'turn.interrupted']);
    expect(await all(hub.subscribe(0, 't'))).toEqual(['turn.started', 'step.started', 'turn.interrupted']);
  });

  it('of one turn gets nothing of another, and ends with its turn', async () => {
    const { hub, start, end } = openHub();
    const reader = hub.subscribe(0, 'b');
    start('a');
    start('b');
    end('a');
    end('b');
    start('c');
    const events: SessionEvent[] = [];
    for await (const event of reader) events.push(event);
    expect(events.map(event => 'turnId' in event && event.turnId)).toEqual(['b', 'b']);
  });

  it('that is slow loses deltas alone, is told how many, and holds a bounded number of events', async () => {
    const { hub, start, step, delta, end, reads } = openHub();
    const reader = hub.subscribe(0, 't');
    start();
    for (let index = 0; index < 5_000; index++) delta(String(index));
    for (let index = 0; index < 3_000; index++) step('t', index);
    for (let index = 0; index < 10; index++) delta('late');
    end();
    const events: SessionEvent[] = [];
    for await (const event of reader) events.push(event);
    const count = (type: string): number => events.filter(event => event.type === type).length;
    expect(count('step.started')).toBe(3_000);
    expect(count('text.delta')).toBe(MOST_WAITING_EVENTS - 1);
    const dropped = events.flatMap(event => (event.type === 'events.dropped' ? [event.count] : []));
    expect(dropped.reduce((sum, some) => sum + some, 0)).toBe(5_010 - (MOST_WAITING_EVENTS - 1));
    expect(events.at(-1)?.type).toBe('turn.interrupted');
    const enduring = events.filter(event => event.type === 'step.started').map(event => event.seq);
    expect(enduring).toEqual([...enduring].sort((a, b) => a - b));
    expect(reads.length).toBeGreaterThan(0);
  });

  it('that catches up while more is written gets every record once, in order', async () => {
    const { hub, start, step, end } = openHub();
    start();
    for (let index = 0; index < 100; index++) step('t', index);
    const reader = hub.subscribe(0, 't');
    const seqs: number[] = [];
    let more = 0;
    for await (const event of reader) {
      seqs.push(event.seq);
      if (more++ < 50) step('t', 1_000 + more);
      if (more === 51) end();
    }
    expect(seqs).toEqual(Array.from({ length: 152 }, (_, index) => index + 1));
  });

  it('that breaks off, or is disposed, is forgotten and holds nobody', async () => {
    const { hub, start, delta } = openHub();
    const reader = hub.subscribe(0);
    await reader[Symbol.asyncDispose]();
    start();
    delta('x');
    expect(hub.watched).toBe(false);
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it('pulling several times at once gets the events in the order of its pulls', async () => {
    const { hub, start, step, end } = openHub();
    const reader = hub.subscribe(0, 't');
    const pulls = [reader.next(), reader.next(), reader.next(), reader.next()];
    start();
    step();
    end();
    const results = await Promise.all(pulls);
    expect(results.map(result => (result.done ? 'end' : result.value.type))).toEqual([
      'turn.started',
      'step.started',
      'turn.interrupted',
      'end',
    ]);
  });

  it('gets the end of a turn that could not be recorded as its last event', async () => {
    const { hub, start } = openHub();
    const reader = hub.subscribe(0, 't');
    start();
    const figures = { text: '', usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 };
    hub.finish('t', { type: 'turn.interrupted', turnId: 't', ...figures });
    expect(await all(reader)).toEqual(['turn.started', 'turn.interrupted']);
  });
});

describe('several readers', () => {
  it('each get all of it', async () => {
    const { hub, start, delta, end } = openHub();
    const readers = [hub.subscribe(0, 't'), hub.subscribe(0, 't'), hub.subscribe(0, 't')];
    start();
    delta('a');
    end();
    for (const reader of readers) expect(await all(reader)).toHaveLength(3);
  });

  it('nothing is made for nobody', () => {
    const { hub, start } = openHub();
    expect(hub.watched).toBe(false);
    start();
    expect(hub.lastSeq).toBe(1);
  });
});

describe('observers', () => {
  it('that throw or reject are reported to readers, and the others still see the event', async () => {
    const seen: string[] = [];
    const { hub, start } = openHub([
      () => {
        throw new Error('first');
      },
      () => Promise.reject(new Error('second')) as never,
      event => void seen.push(event.type),
    ]);
    const reader = hub.subscribe(0);
    start();
    await new Promise(resolve => setImmediate(resolve));
    hub.end();
    const messages: string[] = [];
    for await (const event of reader) if (event.type === 'observer.failed') messages.push(event.message);
    expect(messages).toEqual(['first', 'second']);
    expect(seen).toEqual(['turn.started']);
  });
});
