/** The tests of what stays when a store is closed and opened again. */
import { JournalError } from '../errors.ts';
import type { JournalStore } from '../journal/journal.ts';
import {
  append,
  captureIs,
  isConflict,
  journalIs,
  readAll,
  refuses,
  type StoreCheck,
  same,
} from './journal-store-kit-checks.ts';
import { everyByte, freshId, note, opened, severalKinds } from './journal-store-records.ts';

/** Closes a store, and opens what it kept. */
export type Reopen = (store: JournalStore) => JournalStore | Promise<JournalStore>;

export function reopenChecks(reopen: Reopen): readonly StoreCheck[] {
  return [
    [
      'what was appended is there when the store is opened again, and goes on',
      async store => {
        const [one, two] = [freshId(), freshId()];
        const records = [opened(1), ...severalKinds(2)];
        await append(store, two, 0, [opened(1)]);
        await append(store, one, 0, records);
        const captureId = await store.putCapture(one, everyByte(5_000));
        await withStore(await reopen(store), async again => {
          await journalIs(again, one, records);
          await captureIs(again, one, captureId, everyByte(5_000));
          isConflict(await refuses(append(again, one, 1, [note(2)]), 'a stale append'));
          await append(again, one, records.length, [note(records.length + 1)]);
          await journalIs(again, one, [...records, note(records.length + 1)]);
          const listed = (await again.list()).map(({ sessionId }) => sessionId).filter(id => id === one || id === two);
          same(listed, [one, two], 'the order of the list');
        });
      },
    ],
    [
      'closing waits for what was appended',
      async store => {
        const ids = Array.from({ length: 20 }, freshId);
        const appends = ids.map(id => append(store, id, 0, [opened(1), note(2, id)]));
        await withStore(await reopen(store), async again => {
          await Promise.all(appends);
          for (const id of ids) await journalIs(again, id, [opened(1), note(2, id)]);
        });
      },
    ],
    [
      'a store that is closed takes nothing, says so, and may be closed again',
      async store => {
        const id = freshId();
        await append(store, id, 0, [opened(1)]);
        await withStore(await reopen(store), async again => {
          const attempts = [
            append(store, id, 1, [note(2)]),
            readAll(store, id, 1),
            store.find(id),
            store.list(),
            store.delete(id, 1),
            store.putCapture(id, everyByte(1)),
            store.getCapture(id, '0'.repeat(64)),
          ];
          for (const outcome of await Promise.allSettled(attempts)) {
            if (outcome.status === 'fulfilled')
              throw new Error('a closed store must refuse, but it did what it was asked');
            if (!JournalError.is(outcome.reason))
              throw new Error(`a closed store must refuse with a JournalError, not ${outcome.reason}`);
          }
          await store.close?.();
          await journalIs(again, id, [opened(1)]);
        });
      },
    ],
  ];
}

async function withStore(store: JournalStore, check: (store: JournalStore) => Promise<void>): Promise<void> {
  try {
    await check(store);
  } finally {
    await store.close?.();
  }
}
