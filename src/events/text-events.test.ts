import { expect, it } from 'vitest';
import type { JournalRecord } from '../journal/journal.ts';
import { EventHub } from './event-hub.ts';
import { MOST_WAITING_EVENTS } from './event-reader.ts';
import type { SessionEvent } from './events.ts';

async function* nothing(): AsyncIterable<JournalRecord> {}

function openHub(observers: ((event: SessionEvent) => void)[] = []) {
  let made = 0; // each event asks for the time, and nothing else does
  const now = (): number => ++made;
  const hub = new EventHub({ sessionId: 's', loopId: 'l', read: nothing }, 3, now, observers);
  return { hub, made: () => made };
}

async function all(events: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const list: SessionEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const header = { sessionId: 's', loopId: 'l', turnId: 't', stepId: 't.1', seq: 3 };

it('more of a text is a frozen event with the header of its turn, the same one for every reader and observer', async () => {
  const observed: SessionEvent[] = [];
  const { hub } = openHub([event => void observed.push(event)]);
  const readers = [hub.subscribe(3, 't'), hub.subscribe(3), hub.subscribe(3, 'other')];
  hub.emitText('t', 'text.delta', 't.1', 'a');
  hub.emitText('t', 'reasoning.delta', 't.1', 'b');
  hub.end();
  const read = await Promise.all(readers.map(all));
  expect(read[0]).toEqual([
    { type: 'text.delta', text: 'a', ...header, at: 1 },
    { type: 'reasoning.delta', text: 'b', ...header, at: 2 },
  ]);
  expect(read[1]).toEqual(read[0]);
  expect(read[2]).toEqual([]);
  expect(observed[0]).toBe(read[0]?.[0]);
  expect(observed.every(Object.isFrozen)).toBe(true);
});

it('nothing is made where no reader has room for it or reads that turn', () => {
  const { hub, made } = openHub();
  hub.subscribe(3, 't');
  hub.emitText('other', 'text.delta', 'other.1', 'a');
  expect(made()).toBe(0);
  for (let index = 0; index < MOST_WAITING_EVENTS + 500; index++) hub.emitText('t', 'text.delta', 't.1', 'a');
  expect(made()).toBe(MOST_WAITING_EVENTS);
});

it('pulls that wait are answered in their order, also where they are more than what comes at once', async () => {
  const { hub } = openHub();
  const reader = hub.subscribe(3, 't');
  const pulls = Array.from({ length: 40 }, () => reader.next());
  for (let index = 0; index < 50; index++) hub.emitText('t', 'text.delta', 't.1', String(index));
  const read = await Promise.all(pulls);
  expect(read.map(({ value }) => value?.type === 'text.delta' && value.text)).toEqual(
    Array.from({ length: 40 }, (_, index) => String(index)),
  );
});

it('a pull that waits is answered with what is held before the end, and before what endures', async () => {
  const { hub } = openHub();
  const reader = hub.subscribe(3);
  const pulls = [reader.next(), reader.next(), reader.next(), reader.next()];
  hub.emitText('t', 'text.delta', 't.1', 'held');
  hub.record({ type: 'mode.changed', mode: 'm', seq: 4, at: 5 });
  hub.emitText('t', 'text.delta', 't.1', 'held too');
  hub.end();
  const types = (await Promise.all(pulls)).map(({ value }) => value?.type);
  expect(types).toEqual(['text.delta', 'mode.changed', 'text.delta', undefined]);
});
