import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { JournalRecord } from '../journal/journal.ts';
import { NO_USAGE } from '../model/model.ts';
import { EventHub } from './event-hub.ts';
import { MOST_WAITING_EVENTS } from './event-reader.ts';
import type { SessionEvent } from './events.ts';

/** A hub over a list of records, which are shown as they are written. */
function openHub(observers: ((event: SessionEvent) => void)[] = [], readFrom?: (fromSeq: number) => Promise<void>) {
  const records: JournalRecord[] = [];
  const reads: number[] = [];
  const read = async function* (fromSeq: number): AsyncIterable<JournalRecord> {
    reads.push(fromSeq);
    const written = records.slice(); // as a store gives what was there when it was asked
    await readFrom?.(fromSeq);
    for (let index = fromSeq - 1; index < written.length; index++) yield written[index]!;
  };
  const hub = new EventHub({ sessionId: 's', loopId: 'l', read }, 0, () => 7, observers);
  const put = (entry: object): JournalRecord => {
    const record = { ...entry, seq: records.length + 1, at: 5 } as JournalRecord;
    records.push(record);
    return record;
  };
  const write = (entry: object): void => hub.record(put(entry));
  const start = (turnId = 't'): void => write({ type: 'turn.started', turnId, mode: '', limits: {} });
  const step = (turnId = 't', number = 1): void =>
    write({ type: 'step.started', turnId, stepId: `${turnId}.${number}`, step: number });
  const end = (turnId = 't'): void =>
    write({ type: 'turn.interrupted', turnId, usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 });
  const delta = (text: string, turnId = 't'): void =>
    hub.emit({ type: 'text.delta', turnId, stepId: `${turnId}.1`, text });
  return { hub, put, write, start, step, end, delta, reads, records };
}

const flood = (delta: (text: string) => void, count: number): void => {
  for (let index = 0; index < count; index++) delta(String(index));
};

const message = (text: string, calls: readonly string[] = []) => ({
  role: 'assistant',
  content: [
    { type: 'text', text },
    ...calls.map(toolCallId => ({ type: 'tool-call', toolCallId, toolName: 'tool', input: { id: toolCallId } })),
  ],
});

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
    expect(await all(late)).toEqual(['turn.started', 'step.started', 'text.delta', 'turn.interrupted']);
    expect(await all(hub.subscribe(0, 't'))).toEqual(['turn.started', 'step.started', 'turn.interrupted']);
  });

  it('that comes late is told what is said while it reads what was before, each in its place, and past 1,024 how many it was too slow for', async () => {
    const { hub, start, step, delta, end } = openHub([], () => new Promise(resolve => setImmediate(resolve)));
    start();
    for (let number = 1; number <= 200; number++) step('t', number);
    hub.emitText('t', 'text.delta', 't.1', 'so far');
    const [quick, slow] = [hub.subscribe(0, 't'), hub.subscribe(0, 't')];
    const events: SessionEvent[] = [];
    const reading = (async () => {
      for await (const event of quick) events.push(event);
    })();
    flood(delta, 500);
    step('t', 201);
    flood(delta, 500);
    await vi.waitFor(() => expect(events).toHaveLength(1_203));
    flood(delta, 500);
    end();
    await reading;
    const kinds = events.map(event => (event.type === 'text.delta' ? event.text : event.type));
    const numbers = Array.from({ length: 500 }, (_, number) => String(number));
    expect(kinds).toEqual([
      ...['turn.started', ...Array(200).fill('step.started'), 'so far', ...numbers],
      ...['step.started', ...numbers, ...numbers, 'turn.interrupted'],
    ]);
    const types = await all(slow);
    expect(types.filter(type => type === 'text.delta')).toHaveLength(MOST_WAITING_EVENTS);
    expect(types.slice(-2)).toEqual(['events.dropped', 'turn.interrupted']);
  });

  it('that comes late is told the text of a response before what its calls ask', async () => {
    const { hub, start, step, write, end } = openHub();
    start();
    step();
    const finishReason = { unified: 'tool-calls', raw: undefined };
    const ofStep = { turnId: 't', stepId: 't.1' };
    write({ type: 'step.responded', ...ofStep, message: message('I ask.', ['c']), finishReason, usage: NO_USAGE });
    write({ type: 'gate.opened', ...ofStep, gateId: 'g', callId: 'c', toolName: 'tool', requests: [] });
    const late = hub.subscribe(0, 't');
    end();
    expect(await all(late)).toEqual(['turn.started', 'step.started', 'text.delta', 'gate.opened', 'turn.interrupted']);
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

it('what was dropped is told in its place', async () => {
  const { hub, delta } = openHub();
  const reader = hub.subscribe(0);
  flood(delta, MOST_WAITING_EVENTS);
  flood(() => delta('dropped'), 5);
  await reader.next();
  delta('next');
  hub.end();
  const events: SessionEvent[] = [];
  for await (const event of reader) events.push(event);
  expect(events.slice(-3)).toMatchObject([{ text: '1023' }, { type: 'events.dropped', count: 5 }, { text: 'next' }]);
});

describe('a reader that has to catch up', () => {
  it('gets a record that is written but not shown yet when it is shown, and once', async () => {
    const { hub, put, start, end } = openHub();
    start();
    const waiting = put({ type: 'step.started', turnId: 't', stepId: 't.1', step: 1 });
    const reader = hub.subscribe(0, 't');
    expect(await reader.next()).toMatchObject({ value: { type: 'turn.started' } });
    const pull = reader.next();
    await new Promise(resolve => setImmediate(resolve));
    hub.record(waiting);
    end();
    expect(await pull).toMatchObject({ value: { type: 'step.started' } });
    expect(await all(reader)).toEqual(['turn.interrupted']);
  });

  it('in the middle of a step gets the rest of it whole', async () => {
    const { hub, write, start, step, end, delta } = openHub();
    start();
    step();
    write({
      type: 'step.responded',
      turnId: 't',
      stepId: 't.1',
      message: message('said', ['c']),
      finishReason: {},
      usage: NO_USAGE,
    });
    const reader = hub.subscribe(hub.lastSeq);
    flood(delta, MOST_WAITING_EVENTS + 10);
    write({ type: 'tool.called', turnId: 't', stepId: 't.1', callId: 'c', toolName: 'tool' });
    write({ type: 'step.done', turnId: 't', stepId: 't.1' });
    end();
    hub.end();
    const events: SessionEvent[] = [];
    for await (const event of reader) if (event.type !== 'text.delta') events.push(event);
    expect(events).toMatchObject([
      { type: 'tool.called', input: { id: 'c' } },
      { type: 'step.done', text: 'said' },
      { type: 'turn.interrupted', text: 'said' },
      { type: 'events.dropped', count: 10 },
    ]);
  });

  it('is told the input of a turn that waited since before it began to read', async () => {
    const { hub, write, start, end, delta } = openHub();
    const said = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });
    start('a');
    for (const inputId of ['b', 'c']) write({ type: 'input.received', inputId, as: 'turn', message: said(inputId) });
    end('a');
    write({ type: 'turn.started', turnId: 'b', inputId: 'b', mode: '', limits: {} });
    const reader = hub.subscribe(hub.lastSeq);
    flood(text => delta(text, 'b'), MOST_WAITING_EVENTS);
    end('b');
    write({ type: 'turn.started', turnId: 'c', inputId: 'c', mode: '', limits: {} });
    hub.end();
    const started: SessionEvent[] = [];
    for await (const event of reader) if (event.type === 'turn.started') started.push(event);
    expect(started).toMatchObject([{ turnId: 'c', input: [{ text: 'c' }] }]);
  });

  it('gets the end of another turn that is no record, in its place', async () => {
    const { hub, start, end, delta } = openHub();
    const reader = hub.subscribe(0);
    start('a');
    flood(text => delta(text, 'a'), MOST_WAITING_EVENTS);
    end('a');
    const figures = { text: '', usage: NO_USAGE, steps: 0, iterations: 0, calls: 0 };
    hub.finish('b', { type: 'turn.interrupted', turnId: 'b', ...figures });
    start('c');
    hub.finish('d', { type: 'turn.interrupted', turnId: 'd', ...figures });
    hub.end();
    const turns: string[] = [];
    for await (const event of reader)
      if ('turnId' in event && event.type !== 'text.delta') turns.push(`${event.type} ${event.turnId}`);
    expect(turns).toEqual([
      'turn.started a',
      'turn.interrupted a',
      'turn.interrupted b',
      'turn.started c',
      'turn.interrupted d',
    ]);
  });

  it('that stops reading meanwhile gets nothing more', async () => {
    const gate = Promise.withResolvers<void>();
    const { hub, start } = openHub([], () => gate.promise);
    start();
    const reader = hub.subscribe(0, 't');
    const pull = reader.next();
    await reader.return();
    expect(await pull).toEqual({ value: undefined, done: true });
    gate.resolve();
    await new Promise(resolve => setImmediate(resolve));
    expect(await reader.next()).toEqual({ value: undefined, done: true });
  });

  it('pulling several times at once gets the events in the order of its pulls', async () => {
    const { hub, start, step, end } = openHub();
    start();
    for (let number = 1; number <= 5; number++) step('t', number);
    end();
    const reader = hub.subscribe(0, 't');
    const pulls = [reader.next(), reader.next(), reader.next()];
    const order: number[] = [];
    pulls.forEach((pull, place) => void pull.then(() => order.push(place)));
    for (let tick = 0; tick < 10; tick++) {
      await null;
      pulls.push(reader.next());
    }
    const results = await Promise.all(pulls);
    expect(results.flatMap(({ value }) => value?.seq ?? [])).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(order).toEqual([0, 1, 2]);
  });

  it('has the failure of its journal at its pull, and reads on at the next', async () => {
    let isBroken = true;
    const { hub, start, end } = openHub([], async () => {
      if (isBroken) throw new Error('the disk is gone');
    });
    start();
    end();
    const reader = hub.subscribe(0, 't');
    await expect(Promise.allSettled([reader.next(), reader.next()])).resolves.toMatchObject([
      { reason: new Error('the disk is gone') },
      { reason: new Error('the disk is gone') },
    ]);
    isBroken = false;
    expect(await all(reader)).toEqual(['turn.started', 'turn.interrupted']);
  });

  it('is told of a journal that lost what was written, and does not look for it for ever', async () => {
    const { hub, start, step, records } = openHub();
    start();
    step();
    records.pop();
    const reader = hub.subscribe(0, 't');
    expect(await reader.next()).toMatchObject({ value: { type: 'turn.started' } });
    await expect(reader.next()).rejects.toThrow('the journal ends at 1, but 2 was written');
  });
});

describe('what the hub holds', () => {
  it('a turn’s reader that is far behind is forgotten at the end of its turn, and can still read all of it', async () => {
    const { hub, start, step, end } = openHub();
    const reader = hub.subscribe(0, 't');
    start();
    for (let number = 0; number < 2_000; number++) step('t', number);
    end();
    expect(hub.watched).toBe(false);
    start('other');
    expect(await all(reader)).toHaveLength(2_002);
  });

  it('a reader that is always a little late lets go of what it has read', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const { hub, delta } = openHub();
    const reader = hub.subscribe(0);
    delta('first');
    delta('second');
    const early = new WeakRef((await reader.next()).value as SessionEvent);
    for (let index = 0; index < 3 * MOST_WAITING_EVENTS; index++) {
      delta(String(index));
      await reader.next();
    }
    await new Promise(resolve => setImmediate(resolve)); // a weak reference holds for its own turn of the platform
    collectGarbage();
    expect(early.deref()).toBeUndefined();
  });
});

it('each of several readers, however fast, gets every enduring event once, in order, and the rest in order or counted', async () => {
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('write' as const), count: fc.integer({ min: 1, max: 40 }) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('emit' as const), count: fc.integer({ min: 1, max: 900 }) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('pull' as const),
        reader: fc.nat(3),
        count: fc.integer({ min: 1, max: 700 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('subscribe' as const), isTurn: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('tick' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), async actions => {
      const { hub, start, step, end, delta } = openHub([], () => new Promise(resolve => setImmediate(resolve)));
      const readers: {
        since: number;
        reader: AsyncIterator<SessionEvent, undefined>;
        pulls: Promise<IteratorResult<SessionEvent>>[];
        emitted: number;
      }[] = [];
      let [steps, emitted] = [0, 0];
      const subscribe = (isTurn: boolean): void => {
        const since = isTurn ? 0 : hub.lastSeq;
        readers.push({ since, reader: hub.subscribe(since, isTurn ? 't' : undefined), pulls: [], emitted });
      };
      subscribe(true);
      start();
      for (const act of actions) {
        if (act.do === 'write') for (let n = 0; n < act.count; n++) step('t', ++steps);
        else if (act.do === 'emit') for (let n = 0; n < act.count; n++) delta(String(emitted++));
        else if (act.do === 'subscribe') subscribe(act.isTurn);
        else if (act.do === 'tick') await new Promise(resolve => setImmediate(resolve));
        else {
          const chosen = readers[act.reader % readers.length]!;
          for (let n = 0; n < act.count; n++) chosen.pulls.push(chosen.reader.next());
        }
      }
      end();
      hub.end();
      for (const { since, reader, pulls, emitted: before } of readers) {
        const events = (await Promise.all(pulls)).flatMap(({ value }) => value ?? []);
        for (let next = await reader.next(); next.done !== true; next = await reader.next()) events.push(next.value);
        const enduring = events.filter(({ type }) => type !== 'text.delta' && type !== 'events.dropped');
        expect(enduring.map(({ seq }) => seq)).toEqual(
          Array.from({ length: hub.lastSeq - since }, (_, n) => since + n + 1),
        );
        const deltas = events.flatMap(event => (event.type === 'text.delta' ? [Number(event.text)] : []));
        expect(deltas).toEqual([...new Set(deltas)].sort((a, b) => a - b));
        const dropped = events.reduce((sum, event) => sum + (event.type === 'events.dropped' ? event.count : 0), 0);
        expect(deltas.length + dropped).toBe(emitted - before);
      }
      expect(hub.watched).toBe(false);
    }),
    { numRuns: 150 },
  );
});
