/** The tests of a store under a writer that loses answers: a fault at each append in turn, of each kind. */
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import { faultyStore, type StoreFault } from './faulty-store.ts';
import { append, journalIs, type StoreCheck } from './journal-store-kit-checks.ts';
import { freshId, note, numbers } from './journal-store-records.ts';

const APPENDS = 6;

/** Appends of two records each, one after another, until one fails. */
async function write(store: JournalStore, id: string, records: readonly JournalRecord[]): Promise<void> {
  for (let from = (await store.find(id))?.lastSeq ?? 0; from < records.length; ) {
    const next = from + 2 - (from % 2);
    await append(store, id, from, records.slice(from, next));
    from = next;
  }
}

async function surviveFault(store: JournalStore, fault: StoreFault, at: number): Promise<void> {
  const id = freshId();
  const records = numbers(1, APPENDS * 2).map(seq => note(seq));
  const [outcome] = await Promise.allSettled([write(faultyStore(store, { [at]: fault }), id, records)]);
  if (outcome.status === 'fulfilled') throw new Error(`the fault at append ${at} did not come back to the writer`);
  const found = (await store.find(id))?.lastSeq ?? 0;
  const before = (at - 1) * 2;
  const expected = fault.how === 'half' ? before + 1 : fault.when === 'after' ? before + 2 : before;
  if (found !== expected)
    throw new Error(`after the fault at append ${at} the journal ends at ${found}, not at ${expected}`);
  // A writer that lost an answer asks where the journal ends, and goes on there.
  await write(store, id, records);
  await journalIs(store, id, records);
}

const FAULTS: readonly (readonly [name: string, fault: StoreFault])[] = [
  ['before it takes effect', { how: 'reject', when: 'before' }],
  ['after it took effect', { how: 'reject', when: 'after' }],
  ['by a throw', { how: 'throw', when: 'before' }],
  ['when half of it took effect', { how: 'half' }],
];

export const FAULT_CHECKS: readonly StoreCheck[] = FAULTS.map(([name, fault]) => [
  `a writer whose append fails ${name}, whichever it is, goes on where the journal ends`,
  async store => {
    for (let at = 1; at <= APPENDS; at++) await surviveFault(store, fault, at);
  },
]);
