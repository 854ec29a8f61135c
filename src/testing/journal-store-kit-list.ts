/** The tests of lists that are read page by page. */
import { JournalError } from '../errors.ts';
import type { JournalStore } from '../journal/journal.ts';
import { append, refuses, type StoreCheck, same } from './journal-store-kit-checks.ts';
import { freshId, note, numbers, opened } from './journal-store-records.ts';

/** The ids of all sessions of the store, read in pages; `between` is done after each page. */
async function pages(
  store: JournalStore,
  limit: number,
  between: () => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  const ids: string[] = [];
  const most = (await store.list()).length; // what is new by then stands before the pages that follow
  let after: string | undefined;
  for (;;) {
    const page = await store.list({ limit, ...(after === undefined ? {} : { after }) });
    if (page.length > limit) throw new Error(`a page of ${limit} sessions has ${page.length}`);
    ids.push(...page.map(({ sessionId }) => sessionId));
    after = page.at(-1)?.place;
    if (after === undefined) return ids;
    if (ids.length > most) throw new Error(`pages have ${ids.length} sessions, but there were ${most}`);
    await between();
  }
}

export const LIST_CHECKS: readonly StoreCheck[] = [
  [
    'pages of a list are the list',
    async store => {
      const ids = numbers(1, 25).map(() => freshId());
      for (const id of ids) await append(store, id, 0, [opened(1)]);
      await Promise.all(numbers(1, 20).map(() => append(store, freshId(), 0, [opened(1)])));
      const all = (await store.list()).map(({ sessionId }) => sessionId);
      for (const limit of [7, 45, 1_000]) same(await pages(store, limit), all, `the pages of ${limit}`);
      same(await store.list({ limit: 3 }), (await store.list()).slice(0, 3), 'the first page');
    },
  ],
  [
    'what is written between two pages is listed at most once, and all else exactly once',
    async store => {
      const ids = numbers(1, 20).map(() => freshId());
      for (const id of ids) await append(store, id, 0, [opened(1)]);
      const busy = ids.slice(0, 5);
      let seq = 1;
      const listed = await pages(store, 6, async () => {
        seq += 1;
        await Promise.all(busy.map(id => append(store, id, seq - 1, [note(seq)])));
        await append(store, freshId(), 0, [opened(1)]);
      });
      const times = (id: string): number => listed.filter(other => other === id).length;
      for (const id of busy) if (times(id) > 1) throw new Error(`the session ${id} was listed ${times(id)} times`);
      for (const id of ids.slice(5)) same(times(id), 1, `how often ${id} was listed`);
    },
  ],
  [
    'a page begins behind its place, also where the session of that place is deleted',
    async store => {
      const [one, two, three] = [freshId(), freshId(), freshId()];
      for (const id of [one, two, three]) await append(store, id, 0, [opened(1)]);
      const [first, second] = (await store.list()).filter(({ sessionId }) => [two, three].includes(sessionId));
      same(first?.place, (await store.find(three))?.place, 'the place of a session that is found');
      await store.delete(two, 1);
      const [behind] = await store.list({ limit: 1, after: second?.place ?? '' });
      same(behind?.sessionId, one, 'the session behind the place');
    },
  ],
  [
    'what is no place is refused',
    async store => {
      await append(store, freshId(), 0, [opened(1)]);
      for (const after of ['', 'x', '-1', '1e9', "'; --", '\0', 'é'.repeat(500)]) {
        const error = await refuses(
          store.list({ after }).then(() => undefined),
          `a page after ${JSON.stringify(after)}`,
        );
        if (!JournalError.is(error)) throw new Error(`expected a JournalError, not ${error}`, { cause: error });
        same(error.kind, 'invalid_place', 'the kind of the error');
      }
    },
  ],
];
