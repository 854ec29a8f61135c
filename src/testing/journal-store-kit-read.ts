/** The tests of reading, finding and listing. */
import type { JournalRecord } from '../journal/journal.ts';
import { append, journalIs, readAll, requireTimes, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { freshId, note, numbers, opened } from './journal-store-records.ts';

export const READ_CHECKS: readonly StoreCheck[] = [
  [
    'reading begins at the sequence number asked for',
    async store => {
      const id = freshId();
      const records = numbers(1, 9).map(seq => note(seq));
      await append(store, id, 0, records);
      for (const from of [0, 1, 2, 9])
        same(await readAll(store, id, from), records.slice(Math.max(from, 1) - 1), `from ${from}`);
      same(await readAll(store, id, 10), [], 'what lies beyond the end');
      same(await readAll(store, freshId(), 1), [], 'the journal of an unknown session');
    },
  ],
  [
    'reading while another writes gives a part without a gap, and breaking off harms nothing',
    async store => {
      const id = freshId();
      const records = numbers(1, 400).map(seq => note(seq));
      await append(store, id, 0, records.slice(0, 200));
      const seen: JournalRecord[] = [];
      let written = 200;
      for await (const record of store.read(id, 1)) {
        seen.push(record);
        if (written < 400) await append(store, id, written, records.slice(written, ++written));
      }
      if (seen.length < 200) throw new Error(`a reader saw ${seen.length} records, but 200 were there when it began`);
      same(seen, records.slice(0, seen.length), 'what the reader saw');
      for await (const _ of store.read(id, 1)) break;
      await append(store, id, written, records.slice(written));
      await journalIs(store, id, records);
    },
  ],
  [
    'sessions are listed with the last written first',
    async store => {
      const [one, two, three] = [freshId(), freshId(), freshId()];
      await append(store, one, 0, [opened(1, 1_000)]);
      await append(store, two, 0, [opened(1, 2_000)]);
      await append(store, three, 0, [opened(1, 3_000)]);
      await append(store, one, 1, [note(2, 'again', 4_000)]);
      const listed = (await store.list()).filter(({ sessionId }) => [one, two, three].includes(sessionId));
      same(
        listed.map(({ sessionId }) => sessionId),
        [one, three, two],
        'the order of the list',
      );
      same(
        listed.map(({ lastSeq }) => lastSeq),
        [2, 1, 1],
        'the last numbers in the list',
      );
    },
  ],
  [
    'a session is found by its id, with the number of its last record',
    async store => {
      const id = freshId();
      same(await store.find(id), undefined, 'a session before its first record');
      await append(store, id, 0, [opened(1), note(2)]);
      const found = await store.find(id);
      same(found?.sessionId, id, 'the id of the session found');
      same(found?.lastSeq, 2, 'its last number');
      requireTimes(found);
    },
  ],
  [
    'reading begins in the middle of what was appended together, and ends at the end',
    async store => {
      const id = freshId();
      const records = numbers(1, 300).map(seq => note(seq));
      let written = 0;
      for (let size = 1; written < records.length; size = (size % 7) + 1) {
        await append(store, id, written, records.slice(written, written + size));
        written = Math.min(written + size, records.length);
      }
      for (let from = 1; from <= 301; from += 11)
        same(await readAll(store, id, from), records.slice(from - 1), `from ${from}`);
    },
  ],
  [
    'readers and writers of many sessions do not get into each other’s way',
    async store => {
      const ids = numbers(1, 8).map(() => freshId());
      await Promise.all(ids.map(id => append(store, id, 0, [note(1, id)])));
      const write = async (id: string): Promise<void> => {
        for (let seq = 2; seq <= 30; seq++) await append(store, id, seq - 1, [note(seq, id)]);
      };
      const watch = async (id: string): Promise<void> => {
        for (let last = 0; last < 30; ) {
          const seen: JournalRecord[] = await readAll(store, id, 1);
          same(
            seen,
            numbers(1, seen.length).map(seq => note(seq, id)),
            `what a reader saw of ${id}`,
          );
          if (seen.length < last) throw new Error(`a reader saw ${last} records of ${id}, and then ${seen.length}`);
          last = seen.length;
          await new Promise(next => setTimeout(next));
        }
      };
      await Promise.all(ids.flatMap(id => [write(id), watch(id)]));
    },
  ],
  [
    'a thousand sessions are all listed, the last written first, and found',
    async store => {
      const ids = numbers(1, 1_000).map(() => freshId());
      await Promise.all(ids.map(id => append(store, id, 0, [opened(1)])));
      const again = ids.filter((_, index) => index % 100 === 0);
      for (const id of again) await append(store, id, 1, [note(2)]);
      const mine = new Set(ids);
      const listed = (await store.list()).filter(({ sessionId }) => mine.has(sessionId));
      same(listed.length, 1_000, 'the number of sessions listed');
      same(
        listed.slice(0, again.length).map(({ sessionId }) => sessionId),
        again.toReversed(),
        'the first of the list',
      );
      for (const id of again) same((await store.find(id))?.lastSeq, 2, `the last number of ${id}`);
      await journalIs(store, ids[999] ?? '', [opened(1)]);
    },
  ],
];
