/** The tests of appending: order, stale writers, races. */
import type { JournalRecord } from '../journal/journal.ts';
import { append, isConflict, journalIs, readAll, refuses, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { freshId, note, numbers, opened, severalKinds } from './journal-store-records.ts';

export const APPEND_CHECKS: readonly StoreCheck[] = [
  [
    'records are read back whole and in order',
    async store => {
      const id = freshId();
      const records = [opened(1), ...severalKinds(2)];
      await append(store, id, 0, records.slice(0, 1));
      await append(store, id, 1, records.slice(1));
      await journalIs(store, id, records);
    },
  ],
  [
    'a batch with a gap in its numbers is refused whole',
    async store => {
      const id = freshId();
      await append(store, id, 0, [opened(1)]);
      await refuses(append(store, id, 1, [note(2), note(4)]), 'an append with a gap');
      await refuses(append(store, id, 1, [note(3)]), 'an append that begins beyond the end');
      await journalIs(store, id, [opened(1)]);
    },
  ],
  [
    'a stale writer is refused with JournalConflictError, and nothing changes',
    async store => {
      const id = freshId();
      await append(store, id, 0, [opened(1), note(2), note(3)]);
      for (const expectedSeq of [0, 2, 4]) {
        const error = await refuses(append(store, id, expectedSeq, [note(expectedSeq + 1)]), `seq ${expectedSeq}`);
        isConflict(error, { sessionId: id, expectedSeq, actualSeq: 3 });
      }
      await journalIs(store, id, [opened(1), note(2), note(3)]);
    },
  ],
  [
    'a writer that expects records in a session that has none is refused',
    async store => {
      const id = freshId();
      const error = await refuses(append(store, id, 5, [note(6)]), 'an append to an unknown session at seq 5');
      isConflict(error, { sessionId: id, expectedSeq: 5, actualSeq: 0 });
      same(await store.find(id), undefined, 'the session');
    },
  ],
  [
    'of two writers that race, exactly one wins',
    async store => {
      const id = freshId();
      await append(store, id, 0, [opened(1)]);
      const writers = [1, 2, 3, 4].map(writer => [note(2, `writer ${writer}`), note(3, `writer ${writer}`)]);
      const outcomes = await Promise.allSettled(writers.map(records => append(store, id, 1, records)));
      const winners = writers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      same(winners.length, 1, 'the number of writers that won');
      for (const outcome of outcomes) if (outcome.status === 'rejected') isConflict(outcome.reason);
      await journalIs(store, id, [opened(1), ...(winners[0] ?? [])]);
    },
  ],
  [
    'a batch is appended as a whole or not at all',
    async store => {
      const id = freshId();
      const batch = numbers(1, 50).map(seq => note(seq));
      await append(store, id, 0, batch);
      await refuses(
        append(
          store,
          id,
          49,
          numbers(50, 60).map(seq => note(seq, 'stale')),
        ),
        'a stale batch',
      );
      await journalIs(store, id, batch);
    },
  ],
  [
    'sessions are apart',
    async store => {
      const ids = numbers(1, 20).map(() => freshId());
      await Promise.all(ids.map(id => append(store, id, 0, [opened(1), note(2, id)])));
      await Promise.all(ids.map(id => append(store, id, 2, [note(3, `more of ${id}`)])));
      for (const id of ids) await journalIs(store, id, [opened(1), note(2, id), note(3, `more of ${id}`)]);
    },
  ],
  [
    'an append of no records changes nothing, and is refused where it is stale',
    async store => {
      const id = freshId();
      await append(store, id, 0, []);
      same(await store.find(id), undefined, 'a session of no records');
      await append(store, id, 0, [opened(1)]);
      await append(store, id, 1, []);
      isConflict(await refuses(append(store, id, 0, []), 'a stale append of no records'));
      await journalIs(store, id, [opened(1)]);
    },
  ],
  [
    'a refused append leaves those alone that arrive with it',
    async store => {
      const ids = numbers(1, 12).map(() => freshId());
      await Promise.all(ids.map(id => append(store, id, 0, [opened(1)])));
      const outcomes = await Promise.allSettled(
        ids.map((id, index) => {
          if (index % 3 === 1) return append(store, id, 0, [note(1, 'stale')]);
          if (index % 3 === 2) return append(store, id, 1, [note(2), note(4, 'a gap')]);
          return append(store, id, 1, [note(2)]);
        }),
      );
      for (const [index, id] of ids.entries()) {
        const taken = index % 3 === 0;
        same(outcomes[index]?.status, taken ? 'fulfilled' : 'rejected', `the outcome of append ${index}`);
        await journalIs(store, id, taken ? [opened(1), note(2)] : [opened(1)]);
      }
    },
  ],
  [
    'writers that race again and again write one journal without a gap',
    async store => {
      const id = freshId();
      const written: JournalRecord[] = [];
      for (let round = 0; round < 40; round++) {
        const seq = written.length + 1;
        const writers = ['one', 'two', 'three'].map(writer => [note(seq, writer), note(seq + 1, writer)]);
        const outcomes = await Promise.allSettled(writers.map(records => append(store, id, seq - 1, records)));
        const winners = writers.filter((_, index) => outcomes[index]?.status === 'fulfilled');
        same(winners.length, 1, `the number of winners of round ${round}`);
        written.push(...(winners[0] ?? []));
      }
      await journalIs(store, id, written);
    },
  ],
  [
    'of appends that nobody waited for, those that were taken stand in their order',
    async store => {
      const id = freshId();
      const records = numbers(1, 20).map(seq => note(seq));
      const outcomes = await Promise.allSettled(records.map((one, index) => append(store, id, index, [one])));
      const taken = records.filter((_, index) => outcomes[index]?.status === 'fulfilled');
      if (taken.length === 0) throw new Error('none of the appends was taken, but the first is not stale');
      await journalIs(store, id, taken);
      for (const outcome of outcomes) if (outcome.status === 'rejected') isConflict(outcome.reason);
    },
  ],
  [
    'many sessions that write at once keep their order, each its own',
    async store => {
      const ids = numbers(1, 40).map(() => freshId());
      const write = async (id: string): Promise<void> => {
        for (let seq = 1; seq <= 21; seq += 2) await append(store, id, seq - 1, [note(seq, id), note(seq + 1, id)]);
      };
      await Promise.all(ids.map(write));
      const expected = (id: string): JournalRecord[] => numbers(1, 22).map(seq => note(seq, id));
      for (const id of ids) same(await readAll(store, id, 1), expected(id), `the journal of ${id}`);
    },
  ],
];
