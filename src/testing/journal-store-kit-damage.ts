/** The tests of a store whose medium failed: what is damaged is said, with its place, and never left out in silence. */
import { JournalDamagedError } from '../errors.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import { append, journalIs, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { freshId, note, numbers, opened } from './journal-store-records.ts';

/** One damage to what a store keeps. */
export interface StoreDamage {
  readonly sessionId: string;
  /** The record that it concerns; what else was appended with it may be concerned too. */
  readonly seq: number;
  /** `altered`: it says something else. `missing`: it is not there. `moved`: it and the one appended after it have changed places. */
  readonly how: 'altered' | 'missing' | 'moved';
}

/** Closes a store, damages what it keeps, and opens it again. */
export type DamageStore = (store: JournalStore, damage: StoreDamage) => JournalStore | Promise<JournalStore>;

/** Ten records, two an append. */
const RECORDS = 10;

const PLACES: readonly (readonly [name: string, how: StoreDamage['how'], seq: number])[] = [
  ['a record that was altered', 'altered', 6],
  ['a first record that was altered', 'altered', 1],
  ['a last record that was altered', 'altered', 10],
  ['a record that is missing', 'missing', 5],
  ['a first record that is missing', 'missing', 1],
  ['a tail that is missing', 'missing', 10],
  ['records that changed places', 'moved', 3],
];

export function damageChecks(damage: DamageStore): readonly StoreCheck[] {
  return PLACES.map(
    ([name, how, seq]): StoreCheck => [
      `${name}: reading gives what is before, and then rejects with the place; other sessions are whole`,
      async store => {
        const [id, other] = [freshId(), freshId()];
        const records = [opened(1), ...numbers(2, RECORDS).map(each => note(each))];
        for (let from = 0; from < RECORDS; from += 2) {
          await append(store, id, from, records.slice(from, from + 2));
          await append(store, other, from, records.slice(from, from + 2));
        }
        const damaged = await damage(store, { sessionId: id, seq, how });
        try {
          await isDamagedAt(damaged, id, records, seq);
          await isDamagedAt(damaged, id, records, seq, 4);
          await journalIs(damaged, other, records);
          await append(damaged, other, RECORDS, [note(RECORDS + 1)]);
          const listed = (await damaged.list()).map(({ sessionId }) => sessionId);
          for (const each of [id, other]) same(listed.includes(each), true, `whether ${each} is listed`);
        } finally {
          await damaged.close?.();
        }
      },
    ],
  );
}

async function isDamagedAt(
  store: JournalStore,
  id: string,
  records: readonly JournalRecord[],
  seq: number,
  fromSeq = 1,
): Promise<void> {
  const seen: JournalRecord[] = [];
  const [outcome] = await Promise.allSettled([readInto(seen, store, id, fromSeq)]);
  const expected = records.slice(fromSeq - 1, fromSeq - 1 + seen.length);
  same(seen, expected, 'what was read before the damage');
  if (outcome.status === 'fulfilled') {
    if (seq < fromSeq && seen.length === records.length - fromSeq + 1) return; // it lies before what was asked for
    throw new Error(
      `the journal is damaged at record ${seq}, but a reader from ${fromSeq} saw ${seen.length} and no error`,
    );
  }
  const { reason } = outcome;
  if (!JournalDamagedError.is(reason))
    throw new Error(`expected a JournalDamagedError, not ${reason}`, { cause: reason });
  same(reason.sessionId, id, 'the session of the error');
  const last = seen.at(-1)?.seq ?? 0;
  if (reason.seq > seq || (fromSeq === 1 && reason.seq !== last + 1)) {
    throw new Error(`the error names record ${reason.seq}; ${seq} was damaged, and the last one read was ${last}`);
  }
}

async function readInto(seen: JournalRecord[], store: JournalStore, id: string, fromSeq: number): Promise<void> {
  for await (const record of store.read(id, fromSeq)) seen.push(record);
}
