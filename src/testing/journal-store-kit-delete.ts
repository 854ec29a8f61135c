/** The tests of deleting sessions: all that belongs to one goes, and nothing else. */
import { JournalError } from '../errors.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';
import type { Mail } from '../journal/mailbox.ts';
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
import type { DamageStore } from './journal-store-kit-damage.ts';
import type { Reopen } from './journal-store-kit-reopen.ts';
import { everyByte, freshId, note, numbers, opened } from './journal-store-records.ts';

const MAIL: Mail = Object.freeze({ mailId: 'mail', at: 1, content: Object.freeze({ type: 'mode', mode: 'careful' }) });

/** A session with all that one can have. */
interface Whole {
  readonly id: string;
  readonly records: readonly JournalRecord[];
  readonly captureId: string;
}

async function makeWhole(store: JournalStore, id: string = freshId()): Promise<Whole> {
  const records = [opened(1), ...numbers(2, 9).map(seq => note(seq, `of ${id}`))];
  for (const { seq } of records) if (seq % 3 === 1) await append(store, id, seq - 1, records.slice(seq - 1, seq + 2));
  const captureId = await store.putCapture(id, everyByte(3_000));
  await store.mailbox?.post(id, MAIL);
  return { id, records, captureId };
}

async function isWhole(store: JournalStore, { id, records, captureId }: Whole): Promise<void> {
  await journalIs(store, id, records);
  await captureIs(store, id, captureId, everyByte(3_000));
  if (store.mailbox !== undefined) same(await store.mailbox.read(id), [MAIL], 'the mails');
}

async function isGone(store: JournalStore, { id, captureId }: Whole): Promise<void> {
  same(await store.find(id), undefined, 'the session found');
  same(await readAll(store, id, 1), [], 'the journal');
  same(await store.getCapture(id, captureId), undefined, 'the capture');
  const listed = (await store.list()).filter(({ sessionId }) => sessionId === id);
  same(listed, [], 'the sessions of this id in the list');
  if (store.mailbox === undefined) return;
  same(await store.mailbox.read(id), [], 'the mails');
  same((await store.mailbox.sessions()).includes(id), false, 'whether it is among the sessions with mails');
}

export const DELETE_CHECKS: readonly StoreCheck[] = [
  [
    'a session that is deleted is gone with its captures and its mails, and others stay as they are',
    async store => {
      const [before, deleted, after] = [await makeWhole(store), await makeWhole(store), await makeWhole(store)];
      await store.delete(deleted.id, deleted.records.length);
      await isGone(store, deleted);
      for (const other of [before, after]) await isWhole(store, other);
      await append(store, after.id, 9, [note(10)]);
      await journalIs(store, after.id, [...after.records, note(10)]);
    },
  ],
  [
    'a delete that is stale is refused with JournalConflictError, and nothing is removed',
    async store => {
      const whole = await makeWhole(store);
      for (const expectedSeq of [0, 8, 10]) {
        const error = await refuses(store.delete(whole.id, expectedSeq), `a delete at ${expectedSeq}`);
        isConflict(error, { sessionId: whole.id, expectedSeq, actualSeq: 9 });
      }
      await isWhole(store, whole);
    },
  ],
  [
    'whoever holds a session that is deleted is refused as stale',
    async store => {
      const { id } = await makeWhole(store);
      await store.delete(id, 9);
      isConflict(await refuses(append(store, id, 9, [note(10)]), 'an append of the writer before'), {
        ...{ sessionId: id, expectedSeq: 9, actualSeq: 0 },
      });
      same(await store.find(id), undefined, 'the session found');
    },
  ],
  [
    'an id whose session was deleted is one of a new session, which has nothing of the old one',
    async store => {
      const { id, captureId } = await makeWhole(store);
      await store.delete(id, 9);
      await append(store, id, 0, [opened(1), note(2, 'new')]);
      await journalIs(store, id, [opened(1), note(2, 'new')]);
      same(await store.getCapture(id, captureId), undefined, 'the capture');
      same((await store.mailbox?.read(id)) ?? [], [], 'the mails');
      await append(store, id, 2, [note(3)]);
      await store.delete(id, 3);
      same(await store.find(id), undefined, 'the session found');
    },
  ],
  [
    'a delete may be said again, and removes what came for a session that is not there',
    async store => {
      const whole = await makeWhole(store);
      for (const expectedSeq of [9, 9, 0, 5]) await store.delete(whole.id, expectedSeq);
      const captureId = await store.putCapture(whole.id, everyByte(10));
      await store.mailbox?.post(whole.id, MAIL);
      await store.delete(whole.id, 0);
      await isGone(store, { ...whole, captureId });
      await store.delete(freshId(), 0);
    },
  ],
  [
    'of a delete and an append that race, one is refused',
    async store => {
      for (let round = 0; round < 20; round++) {
        const id = freshId();
        await append(store, id, 0, [opened(1)]);
        const attempts = [() => append(store, id, 1, [note(2)]), () => store.delete(id, 1)];
        if (round % 2 === 1) attempts.reverse();
        const outcomes = await Promise.allSettled(attempts.map(attempt => attempt()));
        const refused = outcomes.filter(outcome => outcome.status === 'rejected');
        same(refused.length, 1, `how many of round ${round} were refused`);
        isConflict(refused[0]?.reason);
        const isDeleted = outcomes[round % 2 === 1 ? 0 : 1]?.status === 'fulfilled';
        if (isDeleted) same(await readAll(store, id, 1), [], 'the journal');
        else await journalIs(store, id, [opened(1), note(2)]);
      }
    },
  ],
  [
    'many sessions that are deleted at once, while others write, leave these whole',
    async store => {
      const wholes = await Promise.all(numbers(1, 30).map(() => makeWhole(store)));
      const [gone, kept] = [wholes.slice(0, 15), wholes.slice(15)];
      await Promise.all([
        ...gone.map(({ id }) => store.delete(id, 9)),
        ...kept.map(({ id }) => append(store, id, 9, [note(10)])),
      ]);
      for (const whole of gone) await isGone(store, whole);
      for (const whole of kept) await isWhole(store, { ...whole, records: [...whole.records, note(10)] });
    },
  ],
  [
    'a reader whose session is deleted gets records without a gap, and then the end or an error that says so',
    async store => {
      const id = freshId();
      const records = numbers(1, 2_000).map(seq => note(seq, `${seq} `.repeat(400)));
      for (let seq = 0; seq < 2_000; seq += 40) await append(store, id, seq, records.slice(seq, seq + 40));
      const seen: JournalRecord[] = [];
      const [outcome] = await Promise.allSettled([
        (async () => {
          for await (const record of store.read(id, 1)) {
            seen.push(record);
            if (seen.length === 1) await store.delete(id, 2_000);
          }
        })(),
      ]);
      same(seen, records.slice(0, seen.length), 'what the reader saw');
      if (outcome.status === 'fulfilled') return same(seen.length, 2_000, 'how many records a reader saw to the end');
      if (JournalError.is(outcome.reason)) return same(outcome.reason.kind, 'deleted', 'the kind of the error');
      throw new Error(`expected a JournalError, not ${outcome.reason}`, { cause: outcome.reason });
    },
  ],
  [
    'watchers hear that a session is deleted',
    async store => {
      if (store.watch === undefined) return;
      const { id } = await makeWhole(store);
      let heard = 0;
      const stop = store.watch(id, () => {
        heard += 1;
      });
      await store.delete(id, 9);
      stop();
      if (heard === 0) throw new Error('a watcher was told nothing');
    },
  ],
];

export function reopenDeleteChecks(reopen: Reopen): readonly StoreCheck[] {
  return [
    [
      'what was deleted is gone when the store is opened again, and what was not is there',
      async store => {
        const [deleted, kept] = [await makeWhole(store), await makeWhole(store)];
        await store.delete(deleted.id, 9);
        const again = await reopen(store);
        try {
          await isGone(again, deleted);
          await isWhole(again, kept);
        } finally {
          await again.close?.();
        }
      },
    ],
  ];
}

export function damagedDeleteChecks(damage: DamageStore): readonly StoreCheck[] {
  return (['altered', 'missing', 'moved'] as const).map(how => [
    `a session of which a record is ${how} can be deleted, and nothing of it is left`,
    async store => {
      const [whole, other] = [await makeWhole(store), await makeWhole(store)];
      const damaged = await damage(store, { sessionId: whole.id, seq: 4, how });
      try {
        await damaged.delete(whole.id, 9);
        await isGone(damaged, whole);
        await append(damaged, whole.id, 0, [opened(1)]);
        await journalIs(damaged, whole.id, [opened(1)]);
        await isWhole(damaged, other);
      } finally {
        await damaged.close?.();
      }
    },
  ]);
}
