import { describe, expect, test } from 'vitest';
import { JournalDamagedError, JournalError } from '../errors.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import type { Mailbox, StoreNews } from '../journal/mailbox.ts';
import { memoryStore } from '../journal/memory.ts';
import { type JournalStoreCase, journalStoreKit } from './journal-store-kit.ts';
import type { StoreDamage } from './journal-store-kit-damage.ts';

/** The names of the cases that a memory store with one fault fails. */
async function failures(faulty: (store: JournalStore) => Partial<JournalStore>): Promise<string[]> {
  const failed: string[] = [];
  const create = (): JournalStore => {
    const store = memoryStore();
    const whole: JournalStore = {
      append: (...given) => store.append(...given),
      read: (...given) => store.read(...given),
      list: options => store.list(options),
      delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
      find: id => store.find(id),
      putCapture: (...given) => store.putCapture(...given),
      getCapture: (...given) => store.getCapture(...given),
    };
    return { ...whole, ...faulty(store) };
  };
  for (const { name, run } of journalStoreKit(create)) await run().catch(() => failed.push(name));
  return failed;
}

async function* reversed(records: AsyncIterable<JournalRecord>): AsyncGenerator<JournalRecord> {
  const all: JournalRecord[] = [];
  for await (const record of records) all.unshift(record);
  yield* all;
}

async function* throughJSON(records: AsyncIterable<JournalRecord>): AsyncGenerator<JournalRecord> {
  for await (const record of records) yield Object.assign({}, JSON.parse(JSON.stringify(record).replaceAll('🙂', '?')));
}

describe('the kit finds a store that', () => {
  test('has no fault: nothing', async () => {
    expect(await failures(() => ({}))).toEqual([]);
  });

  test('lets a stale writer in', async () => {
    const failed = await failures(store => ({
      async append(id, expectedSeq, records) {
        try {
          await store.append(id, expectedSeq, records);
        } catch {
          // taken as if it had been written
        }
      },
    }));
    expect(failed).toEqual([
      'a batch with a gap in its numbers is refused whole',
      'a stale writer is refused with JournalConflictError, and nothing changes',
      'a writer that expects records in a session that has none is refused',
      'of two writers that race, exactly one wins',
      'a batch is appended as a whole or not at all',
      'an append of no records changes nothing, and is refused where it is stale',
      'a refused append leaves those alone that arrive with it',
      'writers that race again and again write one journal without a gap',
      'whoever holds a session that is deleted is refused as stale',
      'of a delete and an append that race, one is refused',
    ]);
  });

  test('refuses with another error', async () => {
    const failed = await failures(store => ({
      async append(...given) {
        try {
          await store.append(...given);
        } catch {
          throw new Error('constraint failed');
        }
      },
    }));
    expect(failed).toContain('a stale writer is refused with JournalConflictError, and nothing changes');
    expect(failed).toContain('of two writers that race, exactly one wins');
  });

  test('writes the first half of a batch that it then refuses', async () => {
    const failed = await failures(store => ({
      async append(id, expectedSeq, records) {
        let seq = expectedSeq;
        for (const record of records) await store.append(id, seq++, [record]);
      },
    }));
    expect(failed).toEqual([
      'a batch with a gap in its numbers is refused whole',
      'an append of no records changes nothing, and is refused where it is stale',
      'a refused append leaves those alone that arrive with it',
    ]);
  });

  test('reads in another order', async () => {
    const failed = await failures(store => ({ read: (id, from) => reversed(store.read(id, from)) }));
    expect(failed).toContain('records are read back whole and in order');
  });

  test('reads from the beginning, whatever is asked', async () => {
    const failed = await failures(store => ({ read: id => store.read(id, 1) }));
    expect(failed).toEqual([
      'reading begins at the sequence number asked for',
      'reading begins in the middle of what was appended together, and ends at the end',
      'records of several megabytes stand among small ones',
    ]);
  });

  test('loses characters', async () => {
    const failed = await failures(store => ({ read: (id, from) => throughJSON(store.read(id, from)) }));
    expect(failed).toContain('large records come back whole');
    expect(failed).toContain('characters of all kinds and odd keys come back as they were');
    expect(failed).toContain('bytes, URLs and members that are undefined come back as they were');
    expect(failed).toContain('records that were frozen throughout come back frozen throughout');
  });

  test('forgets a session after a thousand', async () => {
    const failed = await failures(store => ({ list: async options => (await store.list(options)).slice(0, 999) }));
    expect(failed).toEqual(['a thousand sessions are all listed, the last written first, and found']);
  });

  test('takes one append at a time, whatever its session', async () => {
    const failed = await failures(store => {
      let busy = false;
      return {
        async append(...given) {
          if (busy) throw new Error('database is locked');
          busy = true;
          await Promise.resolve();
          busy = false;
          await store.append(...given);
        },
      };
    });
    expect(failed).toContain('many sessions that write at once keep their order, each its own');
    expect(failed).toContain('a refused append leaves those alone that arrive with it');
  });

  test('finds captures by any spelling of their ids', async () => {
    const failed = await failures(store => ({
      getCapture: (session, id) => store.getCapture(session, id.toLowerCase()),
    }));
    expect(failed).toEqual(['an id that is none finds no capture']);
  });

  test('lists by the time of opening', async () => {
    const failed = await failures(store => ({
      list: async options => [...(await store.list(options))].sort((one, other) => other.createdAt - one.createdAt),
    }));
    expect(failed).toEqual(['sessions are listed with the last written first']);
  });

  test('knows no session that it has not read', async () => {
    const failed = await failures(() => ({ find: async () => undefined }));
    expect(failed).toContain('a session is found by its id, with the number of its last record');
  });

  test('gives captures to everybody', async () => {
    const failed = await failures(store => ({
      putCapture: (_, bytes) => store.putCapture('all', bytes),
      getCapture: (_, id) => store.getCapture('all', id),
    }));
    expect(failed).toContain('a capture belongs to its session');
  });

  test('names captures otherwise', async () => {
    const failed = await failures(store => ({
      putCapture: async (id, bytes) => (await store.putCapture(id, bytes)).toUpperCase(),
    }));
    expect(failed).toContain('a capture is kept under the SHA-256 of its bytes');
  });

  test('keeps the very bytes that it was given', async () => {
    const kept = new Map<string, Uint8Array>();
    const failed = await failures(store => ({
      async putCapture(session, bytes) {
        const id = await store.putCapture(session, bytes);
        kept.set(session + id, bytes);
        return id;
      },
      getCapture: async (session, id) => kept.get(session + id),
    }));
    expect(failed).toContain('a capture does not change with the bytes it was made of');
  });

  test('gives the first page again and again, or pages of any size', async () => {
    const again = await failures(store => ({ list: async ({ limit = 10_000 } = {}) => store.list({ limit }) }));
    expect(again).toEqual([
      'pages of a list are the list',
      'what is written between two pages is listed at most once, and all else exactly once',
      'a page begins behind its place, also where the session of that place is deleted',
      'what is no place is refused',
    ]);
    const whole = await failures(store => ({
      list: async (options = {}) => store.list({ ...options, limit: 10_000 }),
    }));
    expect(whole).toContain('pages of a list are the list');
  });

  test('deletes nothing', async () => {
    expect(await failures(() => ({ delete: async () => {} }))).toEqual([
      'a session that is deleted is gone with its captures and its mails, and others stay as they are',
      'a delete that is stale is refused with JournalConflictError, and nothing is removed',
      'whoever holds a session that is deleted is refused as stale',
      'an id whose session was deleted is one of a new session, which has nothing of the old one',
      'a delete may be said again, and removes what came for a session that is not there',
      'of a delete and an append that race, one is refused',
      'many sessions that are deleted at once, while others write, leave these whole',
    ]);
  });

  test('deletes under the hands of a writer', async () => {
    const failed = await failures(store => ({
      delete: async id => store.delete(id, (await store.find(id))?.lastSeq ?? 0),
    }));
    expect(failed).toEqual([
      'a delete that is stale is refused with JournalConflictError, and nothing is removed',
      'of a delete and an append that race, one is refused',
    ]);
  });

  test('keeps the captures, or the mails, of a session that is deleted', async () => {
    const kept = new Map<string, Uint8Array>();
    const captures = await failures(store => ({
      async putCapture(session, bytes) {
        const id = await store.putCapture(session, bytes);
        kept.set(`${session} ${id}`, bytes.slice());
        return id;
      },
      getCapture: async (session, id) => kept.get(`${session} ${id}`)?.slice(),
    }));
    const { mailbox } = memoryStore();
    const mails = await failures(() => ({ mailbox: mailbox! }));
    for (const failed of [captures, mails])
      expect(failed).toEqual([
        'a session that is deleted is gone with its captures and its mails, and others stay as they are',
        'an id whose session was deleted is one of a new session, which has nothing of the old one',
        'a delete may be said again, and removes what came for a session that is not there',
        'many sessions that are deleted at once, while others write, leave these whole',
      ]);
  });

  test('refuses to delete what is not there', async () => {
    const failed = await failures(store => ({
      async delete(id, expectedSeq) {
        if ((await store.find(id)) === undefined) throw new Error('there is no such session');
        await store.delete(id, expectedSeq);
      },
    }));
    expect(failed).toEqual(['a delete may be said again, and removes what came for a session that is not there']);
  });
});

test('each case closes the store that it made, also when it fails', async () => {
  let closed = 0;
  const cases = journalStoreKit(() => ({
    ...memoryStore(),
    append: () => Promise.reject(new Error('disk full')),
    read: () => (async function* () {})(),
    list: async () => [],
    find: async () => undefined,
    putCapture: () => Promise.reject(new Error('disk full')),
    getCapture: async () => undefined,
    close: async () => {
      closed += 1;
    },
  }));
  await Promise.allSettled(cases.map(({ run }) => run()));
  expect(closed).toBe(cases.length);
});

describe('the tests of mailboxes find one that', () => {
  const faulty = (fault: (mailbox: Mailbox) => Partial<Mailbox>): Promise<string[]> =>
    failures(({ mailbox }) => ({ mailbox: { ...mailbox!, ...fault(mailbox!) } }));

  test('has no fault: nothing', async () => {
    expect(await faulty(() => ({}))).toEqual([]);
  });

  test('says of every mail that it is new', async () => {
    const failed = await faulty(mailbox => ({ post: async (id, mail) => (await mailbox.post(id, mail)) || true }));
    expect(failed).toEqual([
      'a mail of an id that is there changes nothing, and one that was removed can be posted again',
      'of mails of one id that arrive together one is taken',
    ]);
  });

  test('gives mails in another order', async () => {
    const failed = await faulty(mailbox => ({ read: async id => (await mailbox.read(id)).toReversed() }));
    expect(failed).toContain('mails come back as they were, in the order of posting, until they are removed');
  });

  test('removes nothing, or all', async () => {
    const every = async (mailbox: Mailbox, id: string) => (await mailbox.read(id)).map(({ mailId }) => mailId);
    for (const remove of [
      () => async () => {},
      (mailbox: Mailbox) => async (id: string) => mailbox.remove(id, await every(mailbox, id)),
    ]) {
      const failed = await faulty(mailbox => ({ remove: remove(mailbox) }));
      expect(failed).toContain('mails come back as they were, in the order of posting, until they are removed');
    }
  });

  test('gives the mails of every session', async () => {
    const failed = await faulty(mailbox => ({
      read: async () => (await Promise.all((await mailbox.sessions()).map(id => mailbox.read(id)))).flat(),
    }));
    expect(failed).toContain('mails belong to their session, whatever the ids are, and are no session of the list');
  });

  test('tells those who watch no more', async () => {
    const listeners = new Map<string, ((news: StoreNews) => void)[]>();
    const failed = await failures(store => ({
      async append(id, expectedSeq, records) {
        await store.append(id, expectedSeq, records);
        for (const listener of listeners.get(id) ?? []) listener('records');
      },
      watch: (id, listener) => {
        listeners.set(id, [...(listeners.get(id) ?? []), listener]);
        return () => {};
      },
    }));
    expect(failed).toEqual([
      'watchers hear that a session is deleted',
      'who watches a session is told of its records and of its mails, and of no other session',
    ]);
  });
});

describe('the tests of reopening find a store that', () => {
  const failures = async (reopened: (store: JournalStore) => JournalStore): Promise<string[]> => {
    const failed: string[] = [];
    const create = (): JournalStore => closing(memoryStore());
    const reopen = async (store: JournalStore): Promise<JournalStore> => {
      await store.close?.();
      return reopened(store);
    };
    for (const { name, run } of onlyWith(journalStoreKit(create, { reopen }))) {
      await run().catch(() => failed.push(name));
    }
    return failed;
  };

  test('has no fault: nothing', async () => {
    expect(await failures(store => closing(keptBy(store)))).toEqual([]);
  });

  test('keeps nothing', async () => {
    expect(await failures(() => closing(memoryStore()))).toEqual([
      'what was appended is there when the store is opened again, and goes on',
      'closing waits for what was appended',
      'a store that is closed takes nothing, says so, and may be closed again',
      'what was deleted is gone when the store is opened again, and what was not is there',
    ]);
  });

  test('works on after it was closed', async () => {
    const failed: string[] = [];
    const cases = onlyWith(journalStoreKit(memoryStore, { reopen: store => store }));
    for (const { name, run } of cases) await run().catch(() => failed.push(name));
    expect(failed).toEqual([
      'a store that is closed takes nothing, says so, and may be closed again',
      'mails are there when the store is opened again, and a closed store takes none',
    ]);
  });
});

describe('the tests of damage find a store that', () => {
  const failures = async (
    reader: (found: AsyncIterable<JournalRecord>, damage: StoreDamage) => AsyncIterable<JournalRecord>,
  ) => {
    const failed: string[] = [];
    const damage = (store: JournalStore, done: StoreDamage): JournalStore => ({
      ...through(store),
      read: (id, from) => (id === done.sessionId ? reader(store.read(id, from), done) : store.read(id, from)),
    });
    const all = onlyWith(journalStoreKit(memoryStore, { damage }));
    const cases = all.filter(({ name }) => !name.includes('deleted')); // what is left of those is no matter of reading
    for (const { name, run } of cases) await run().catch(() => failed.push(name));
    return { failed: failed.length, of: cases.length };
  };

  test('reports the place: nothing', async () => {
    const found = await failures(async function* (records, { sessionId, seq }) {
      for await (const record of records) {
        if (record.seq === seq) throw new JournalDamagedError(sessionId, seq, 'planned');
        yield record;
      }
    });
    expect(found).toEqual({ failed: 0, of: 7 });
  });

  test('leaves out what is damaged', async () => {
    const found = await failures(async function* (records, { seq }) {
      for await (const record of records) if (record.seq !== seq) yield record;
    });
    expect(found).toEqual({ failed: 7, of: 7 });
  });

  test('names another place, or none', async () => {
    const named = await failures(async function* (records, { sessionId, seq }) {
      for await (const record of records) {
        if (record.seq === seq) throw new JournalDamagedError(sessionId, seq + 1, 'planned');
        yield record;
      }
    });
    expect(named).toEqual({ failed: 7, of: 7 });
    const nameless = await failures(async function* (records, { seq }) {
      for await (const record of records) {
        if (record.seq === seq) throw new JournalError('damaged', 'planned');
        yield record;
      }
    });
    expect(nameless).toEqual({ failed: 7, of: 7 });
  });
});

const ALWAYS = new Set(journalStoreKit(memoryStore).map(({ name }) => name));

/** The cases that an option adds. */
function onlyWith(cases: readonly JournalStoreCase[]): JournalStoreCase[] {
  return cases.filter(({ name }) => !ALWAYS.has(name));
}

function through(store: JournalStore): Required<Omit<JournalStore, 'mailbox' | 'watch'>> {
  return {
    append: async (...given) => store.append(...given),
    read: (...given) => store.read(...given),
    list: options => store.list(options),
    delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
    find: id => store.find(id),
    putCapture: (...given) => store.putCapture(...given),
    getCapture: (...given) => store.getCapture(...given),
    close: async () => store.close?.(),
  };
}

const kept = new WeakMap<JournalStore, JournalStore>();

/** What a store that is closed had. */
function keptBy(store: JournalStore): JournalStore {
  return kept.get(store) ?? store;
}

/** The store, until it is closed. */
function closing(store: JournalStore): JournalStore {
  let closed = false;
  const open = (): JournalStore => {
    if (closed) throw new JournalError('closed', 'the store is closed');
    return store;
  };
  const reading = async function* (id: string, from: number): AsyncGenerator<JournalRecord> {
    yield* open().read(id, from);
  };
  const one: JournalStore = {
    append: async (...given) => open().append(...given),
    read: reading,
    list: async options => open().list(options),
    delete: async (...given) => open().delete(...given),
    find: async id => open().find(id),
    putCapture: async (...given) => open().putCapture(...given),
    getCapture: async (...given) => open().getCapture(...given),
    close: async () => {
      closed = true;
    },
  };
  kept.set(one, store);
  return one;
}
