import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JournalConflictError, JournalError } from '../errors.ts';
import { manualClock } from '../testing/manual-clock.ts';
import type { JournalEntry, JournalRecord, JournalStore } from './journal.ts';
import { memoryStore } from './memory.ts';
import { JournalWriter } from './writer.ts';

/** Entries that can be told apart. */
const entry = (mode: string): JournalEntry => ({ type: 'mode.changed', mode });
const modes = (records: readonly JournalRecord[]): string[] =>
  records.map(record => (record.type === 'mode.changed' ? record.mode : record.type));

/** A writer on a store whose appends can be looked at, held up and made to fail. */
function openWriter(during?: (nth: number) => unknown, apply?: (record: JournalRecord) => void) {
  const inner = memoryStore();
  const appends: string[][] = [];
  const applied: JournalRecord[] = [];
  let underWay = 0;
  let most = 0;
  const append = (sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void | Promise<void> => {
    const nth = appends.push(modes(records));
    const done = (): void => {
      underWay -= 1;
      void inner.append(sessionId, expectedSeq, records);
    };
    underWay += 1;
    most = Math.max(most, underWay);
    const held = during?.(nth);
    return held === undefined ? done() : (Promise.resolve(held).then(done) as Promise<void>);
  };
  const store: JournalStore = { ...inner, read: inner.read.bind(inner), append };
  const clock = manualClock(100);
  const writer = new JournalWriter(store, 's', 0, clock, record => {
    apply?.(record);
    applied.push(record);
  });
  return { writer, appends, applied, clock, mostAtOnce: () => most };
}

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await new Promise(resolve => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

describe('appends', () => {
  it('of one tick go in one append, with what was staged before them, in the order in which they came', async () => {
    const { writer, appends, applied } = openWriter();
    writer.stage([entry('a')]);
    const first = writer.append([entry('b'), entry('c')]);
    writer.stage([entry('d')]);
    const second = writer.append([entry('e')]);
    expect(second).toBe(first);
    await first;
    expect(appends).toEqual([['a', 'b', 'c', 'd', 'e']]);
    expect(applied.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(writer.lastSeq).toBe(5);
  });

  it('of later ticks that come while one is under way wait for its end, and then go together', async () => {
    const release = Promise.withResolvers<void>();
    const { writer, appends, mostAtOnce } = openWriter(nth => (nth === 1 ? release.promise : undefined));
    const first = writer.append([entry('a')]);
    await new Promise(resolve => setImmediate(resolve));
    void writer.append([entry('b')]);
    await new Promise(resolve => setImmediate(resolve));
    const last = writer.append([entry('c')]);
    expect(appends).toEqual([['a']]);
    release.resolve();
    await Promise.all([first, last]);
    expect(appends).toEqual([['a'], ['b', 'c']]);
    expect(mostAtOnce()).toBe(1);
  });

  it('of nothing do not trouble the store', async () => {
    const { writer, appends } = openWriter();
    await writer.append([]);
    expect([appends, writer.lastSeq]).toEqual([[], 0]);
  });

  it('become frozen records with the time at which they were told', async () => {
    const { writer, applied, clock } = openWriter();
    writer.stage([entry('a')]);
    await clock.advance(50);
    await writer.append([entry('b')]);
    expect(applied).toEqual([
      { type: 'mode.changed', mode: 'a', seq: 1, at: 100 },
      { type: 'mode.changed', mode: 'b', seq: 2, at: 150 },
    ]);
    expect(applied.every(Object.isFrozen)).toBe(true);
  });

  it('are applied after the store took them, and not before', async () => {
    const release = Promise.withResolvers<void>();
    const { writer, applied } = openWriter(() => release.promise);
    const writing = writer.append([entry('a')]);
    await new Promise(resolve => setImmediate(resolve));
    expect([applied, writer.lastSeq]).toEqual([[], 0]);
    release.resolve();
    await writing;
    expect([modes(applied), writer.lastSeq]).toEqual([['a'], 1]);
  });

  it('to a store that gives a thenable of its own wait for it', async () => {
    const inner = memoryStore();
    const order: string[] = [];
    const append = (_: string, __: number, records: readonly JournalRecord[]) => ({
      // biome-ignore lint/suspicious/noThenProperty: query builders give such values
      then(resolve: () => void) {
        setImmediate(() => {
          order.push(`wrote ${modes(records)}`);
          resolve();
        });
      },
    });
    const store = { ...inner, read: inner.read.bind(inner), append } as unknown as JournalStore;
    const writer = new JournalWriter(store, 's', 0, manualClock(), record => order.push(`applied ${modes([record])}`));
    await writer.append([entry('a')]);
    expect(order).toEqual(['wrote a', 'applied a']);
  });

  it('that are told while a record is applied come after it', async () => {
    let again: Promise<void> | undefined;
    const { writer, appends } = openWriter(undefined, record => {
      if (record.seq === 1) again = writer.append([entry('c')]);
    });
    await writer.append([entry('a'), entry('b')]);
    await again;
    expect(appends).toEqual([['a', 'b'], ['c']]);
  });
});

describe('settled', () => {
  it('waits for all that was appended, and does not mind failures', async () => {
    const release = Promise.withResolvers<void>();
    const { writer, applied } = openWriter(nth => (nth === 1 ? release.promise : undefined));
    void writer.append([entry('a')]);
    await new Promise(resolve => setImmediate(resolve));
    void writer.append([entry('b')]);
    const settled = writer.settled().then(() => modes(applied));
    release.resolve();
    expect(await settled).toEqual(['a', 'b']);
    const broken = openWriter(() => Promise.reject(new Error('full'))).writer;
    void broken.append([entry('a')]);
    await expect(broken.settled()).resolves.toBeUndefined();
  });
});

describe('a failure', () => {
  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('no');
      },
      getPrototypeOf() {
        throw new Error('no');
      },
    },
  );

  it.each<readonly [string, unknown, string]>([
    ['an error', new Error('the disk is full'), 'the disk is full'],
    ['text', 'the disk is full', 'the disk is full'],
    ['nothing', undefined, 'the store gave no reason'],
    ['a proxy that cannot be looked at', hostile, 'the store gave no reason'],
  ])('that is %s ends the writer: nothing is appended after it, and all say why', async (_, cause, reason) => {
    const failure = Promise.withResolvers<never>();
    const { writer, appends, applied } = openWriter(nth => (nth === 2 ? failure.promise : undefined));
    await writer.append([entry('a')]);
    const failing = writer.append([entry('b')]);
    await new Promise(resolve => setImmediate(resolve));
    const behind = writer.append([entry('c')]);
    failure.reject(cause);
    const failures = await Promise.allSettled([failing, behind, failing.catch(() => writer.append([entry('d')]))]);
    writer.stage([entry('e')]);
    failures.push(...(await Promise.allSettled([writer.append([])])));
    const error = writer.failure;
    expect(JournalError.is(error)).toBe(true);
    expect(error?.message).toBe(`the journal of session s could not be written: ${reason}`);
    expect(error?.cause).toBe(cause);
    expect(failures).toEqual(failures.map(() => ({ status: 'rejected', reason: error })));
    expect([appends, modes(applied), writer.lastSeq]).toEqual([[['a'], ['b']], ['a'], 1]);
  });

  it('that the store throws at once counts as one that it rejects with', async () => {
    const { writer } = openWriter(() => {
      throw new Error('closed');
    });
    await expect(writer.append([entry('a')])).rejects.toThrow('could not be written: closed');
  });

  it('that is a JournalError already stays what it is', async () => {
    const conflict = new JournalConflictError('s', 0, 3);
    const { writer } = openWriter(() => Promise.reject(conflict));
    await expect(writer.append([entry('a')])).rejects.toBe(conflict);
    expect(writer.failure).toBe(conflict);
  });

  it('to apply a record ends the writer, since its state is no longer the journal’s', async () => {
    const { writer, appends } = openWriter(undefined, record => {
      if (record.seq === 2) throw new Error('no such step');
    });
    await expect(writer.append([entry('a'), entry('b'), entry('c')])).rejects.toThrow(
      'the journal of session s holds a record that could not be applied: no such step',
    );
    await expect(writer.append([entry('d')])).rejects.toBe(writer.failure);
    expect(appends).toHaveLength(1);
  });
});

it('whatever is told, and however long the store takes, records keep their order and none is lost, until a failure', async () => {
  const action = fc.oneof(
    fc.record({ do: fc.constantFrom('stage' as const, 'append' as const), count: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ do: fc.constantFrom('microtask' as const, 'tick' as const), count: fc.constant(0) }),
  );
  const waits = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 40 }),
      waits,
      fc.option(fc.integer({ min: 1, max: 8 })),
      async (actions, delays, failAt) => {
        const { writer, appends, applied, mostAtOnce } = openWriter(async nth => {
          for (let wait = delays[nth % delays.length]!; wait > 0; wait--)
            await (wait % 2 === 0 ? null : new Promise(resolve => setImmediate(resolve)));
          if (nth === failAt) throw new Error('full');
        });
        let told = 0;
        for (const act of actions) {
          const entries = Array.from({ length: act.count }, () => entry(String(++told)));
          if (act.do === 'stage') writer.stage(entries);
          else if (act.do === 'append') void writer.append(entries);
          else await (act.do === 'microtask' ? null : new Promise(resolve => setImmediate(resolve)));
        }
        const end = await writer.append([entry('end')]).then(
          () => 'written',
          () => 'failed',
        );
        await writer.settled();
        const whole = [...Array.from({ length: told }, (_, index) => String(index + 1)), 'end'];
        const taken = appends.slice(0, (failAt ?? Number.POSITIVE_INFINITY) - 1).flat();
        expect(modes(applied)).toEqual(taken);
        expect(applied.map(({ seq }) => seq)).toEqual(applied.map((_, index) => index + 1));
        expect(taken).toEqual(whole.slice(0, taken.length));
        expect(end).toBe(taken.length === whole.length ? 'written' : 'failed');
        expect(appends.length).toBeLessThanOrEqual(failAt ?? Number.POSITIVE_INFINITY);
        expect(mostAtOnce()).toBeLessThanOrEqual(1);
      },
    ),
    { numRuns: 500 },
  );
});
