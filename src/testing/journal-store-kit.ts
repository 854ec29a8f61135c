/** The tests that every journal store must pass, independent of a test runner. */
import { bytesToHex } from '@noble/hashes/utils.js';
import { JournalConflictError } from '../errors.ts';
import type { JournalRecord, JournalStore, StoredSession } from '../journal/journal.ts';
import { difference } from './difference.ts';
import { everyByte, freshId, note, numbers, opened, output, severalKinds } from './journal-store-records.ts';

/** One test of a store. */
export interface JournalStoreCase {
  /** A fact about every store, fit as the title of a test. */
  readonly name: string;
  /** Rejects, with what was expected and what was there, if it does not hold. */
  run(): Promise<void>;
}

/**
 * The tests of a store: `for (const { name, run } of journalStoreKit(createStore)) test(name, run)`. Each case makes a store, uses
 * session ids of its own, so that all may work on one database, and closes the store at its end.
 */
export function journalStoreKit(createStore: () => JournalStore | Promise<JournalStore>): readonly JournalStoreCase[] {
  return CASES.map(([name, check]) =>
    Object.freeze({
      name,
      async run() {
        const store = await createStore();
        try {
          await check(store);
        } finally {
          await store.close?.();
        }
      },
    }),
  );
}

const CASES: readonly (readonly [name: string, check: (store: JournalStore) => Promise<void>])[] = [
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
    'large records come back whole',
    async store => {
      const id = freshId();
      const large = 'ä–🙂 and some plain text. '.repeat(60_000);
      const records = [opened(1), note(2, large), note(3, 'small'), note(4, large)];
      await append(store, id, 0, records);
      await journalIs(store, id, records);
    },
  ],
  [
    'characters of all kinds and odd keys come back as they were',
    async store => {
      const id = freshId();
      const odd = '{"__proto__":{"polluted":true},"constructor":1,"toString":null,"":"empty","a.b":[],"0":0}';
      const texts = ['', '\u0000', '\ud800 alone', '\u2028\u2029', '🙂', 'é', 'e\u0301', '\r\n\t"\\', '𝒳'.repeat(3)];
      const values = [JSON.parse(odd), texts, 1e308, -0.5, Number.MIN_VALUE, 2 ** 53 - 1, null, false, [[]], {}];
      const records = values.map((value, index) => output(index + 1, value));
      await append(store, id, 0, records);
      await journalIs(store, id, records);
      same(Reflect.get({}, 'polluted'), undefined, 'a field of every object');
    },
  ],
  [
    'odd session ids are ids like any other',
    async store => {
      const odd = ['__proto__', 'constructor', 'toString'];
      const ids = [...odd, `it's "odd"; -- ${freshId()}`, `../${freshId()}/ü✓`, `%_*?[${freshId()}]`];
      for (const id of ids) {
        // The first ones are the same in each run, on a database that keeps them.
        const start = (await store.find(id))?.lastSeq ?? 0;
        await append(store, id, start, [note(start + 1, id)]);
        same(await readAll(store, id, start + 1), [note(start + 1, id)], `the journal of ${id}`);
      }
      const listed = (await store.list()).map(({ sessionId }) => sessionId);
      for (const id of ids) same(listed.filter(other => other === id).length, 1, `how often ${id} is listed`);
    },
  ],
  [
    'a capture is kept under the SHA-256 of its bytes',
    async store => {
      const id = freshId();
      for (const bytes of [new Uint8Array(0), new Uint8Array([0, 255, 10, 13]), everyByte(1 << 20)]) {
        const digest = await crypto.subtle.digest('SHA-256', new Uint8Array(bytes));
        const captureId = await store.putCapture(id, bytes);
        same(captureId, bytesToHex(new Uint8Array(digest)), 'the id of the capture');
        same(await store.putCapture(id, bytes), captureId, 'the id when it is put again');
        await captureIs(store, id, captureId, bytes);
      }
    },
  ],
  [
    'a capture does not change with the bytes it was made of',
    async store => {
      const id = freshId();
      const bytes = everyByte(64);
      const captureId = await store.putCapture(id, bytes);
      bytes.fill(7);
      await captureIs(store, id, captureId, everyByte(64));
      (await store.getCapture(id, captureId))?.fill(7);
      await captureIs(store, id, captureId, everyByte(64));
    },
  ],
  [
    'a capture belongs to its session',
    async store => {
      const [owner, stranger] = [freshId(), freshId()];
      const captureId = await store.putCapture(owner, everyByte(16));
      same(await store.getCapture(stranger, captureId), undefined, "another session's capture");
      same(await store.getCapture(owner, captureId.replace(/^./, 'g')), undefined, 'a capture of an unknown id');
      same(await store.getCapture(owner, '__proto__'), undefined, 'a capture of an odd id');
      await store.putCapture(stranger, everyByte(16));
      await captureIs(store, stranger, captureId, everyByte(16));
    },
  ],
];

/** A store may fail by throwing or by rejecting; here it is all rejection. */
async function append(
  store: JournalStore,
  sessionId: string,
  expectedSeq: number,
  records: readonly JournalRecord[],
): Promise<void> {
  await store.append(sessionId, expectedSeq, records);
}

async function readAll(store: JournalStore, sessionId: string, fromSeq: number): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, fromSeq)) records.push(record);
  return records;
}

async function journalIs(store: JournalStore, sessionId: string, expected: readonly JournalRecord[]): Promise<void> {
  same(await readAll(store, sessionId, 1), expected, 'the journal');
  same((await store.find(sessionId))?.lastSeq, expected.length, 'the last number of the session found');
}

async function captureIs(store: JournalStore, sessionId: string, id: string, bytes: Uint8Array): Promise<void> {
  const found = await store.getCapture(sessionId, id);
  if (found === undefined) throw new Error(`the capture ${id} is not there`);
  const place = bytes.findIndex((byte, index) => byte !== found[index]);
  if (found.length === bytes.length && place < 0) return;
  throw new Error(`the capture has ${found.length} bytes, expected ${bytes.length}; they differ at ${place}`);
}

async function refuses(attempt: Promise<void>, what: string): Promise<unknown> {
  const [outcome] = await Promise.allSettled([attempt]);
  if (outcome.status === 'fulfilled') throw new Error(`${what} must be refused, but was taken`);
  return outcome.reason;
}

function isConflict(
  error: unknown,
  expected?: { readonly sessionId: string; readonly expectedSeq: number; readonly actualSeq: number },
): void {
  if (!JournalConflictError.is(error))
    throw new Error(`expected a JournalConflictError, not ${error}`, { cause: error });
  if (expected === undefined) return;
  const { sessionId, expectedSeq, actualSeq } = error;
  same({ sessionId, expectedSeq, actualSeq }, expected, 'what the conflict says');
}

function requireTimes(session: StoredSession | undefined): void {
  const { createdAt = Number.NaN, updatedAt = Number.NaN } = session ?? {};
  if (Number.isFinite(createdAt) && createdAt <= updatedAt) return;
  throw new Error(`createdAt (${createdAt}) must be a time at or before updatedAt (${updatedAt})`);
}

function same(actual: unknown, expected: unknown, what: string): void {
  const found = difference(actual, expected);
  if (found !== undefined) throw new Error(`${what} is not as expected: ${found}`);
}
