/** What a store holds may have been written by anybody: it is read as records, or said to be damaged, and nothing else comes of it. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import {
  defineRig,
  JournalError,
  type JournalRecord,
  type JournalStore,
  LooprigError,
  memoryStore,
  recordedEvents,
} from 'looprig';
import { createHost } from 'looprig/engines';
import { readSession, reportHtml } from 'looprig/report';
import { manualClock } from 'looprig/testing';
import { expect } from 'vitest';
import type { Mail } from '../../src/journal/mailbox.ts';
import { nameOf, sessionOf } from '../../src/journal/session-name.ts';
import { mailOfText, recordsOfText, textOfMail, textOfRecords } from '../../src/journal/stored-text.ts';
import { sampleLoop, sampleSession } from '../report/sample-session.ts';
import { altered, damaged, deepTexts, json, rarely, texts } from './drawn.ts';
import { fuzz } from './fuzz.ts';

const { store: sampleStore, sessionId } = await sampleSession();
const whole: JournalRecord[] = [];
for await (const record of sampleStore.read(sessionId, 1)) whole.push(record);
const loop = sampleLoop(manualClock());

const slices = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 4 })).map(([from, count]) => {
  return whole.slice(from, from + count);
});
const odd = fc.record({
  value: fc.oneof(json, fc.constantFrom(undefined, -0, 2n ** 70n, new URL('https://a.example/')), fc.uint8Array()),
});
const recordTexts = fc.oneof(
  slices.map(records => textOfRecords(records, 0)),
  fc.tuple(slices, odd).map(([records, more]) =>
    textOfRecords(
      records.map(record => ({ ...record, ...more })),
      0,
    ),
  ),
);
const anyText = fc.oneof(
  texts,
  json.map(written),
  altered(recordTexts.map(read)).map(written),
  damaged(recordTexts),
  rarely(deepTexts),
);

function read(text: string): unknown {
  return JSON.parse(text);
}

function written(value: unknown): string {
  return JSON.stringify(value) ?? 'undefined';
}

/** Whether it gave what it promises, or threw a `JournalError` that says something. */
function readOrDamaged<Value>(reading: () => Value): Value | undefined {
  try {
    return reading();
  } catch (error) {
    if (!JournalError.is(error)) throw error;
    expect(error.kind).toBe('damaged');
    expect(error.message.length).toBeGreaterThan(20);
    return undefined;
  }
}

fuzz('any text is records in their places, or a journal that is damaged', { runs: 800, input: anyText }, text => {
  const records = readOrDamaged(() => recordsOfText(text, sessionId, 1)) ?? [];
  records.forEach((record, index) => {
    expect(record.seq).toBe(index + 1);
    expect(Object.isFrozen(record)).toBe(true);
  });
});

fuzz('what is read of any text can be written, and is read as the same again', { runs: 400, input: anyText }, text => {
  const records = readOrDamaged(() => recordsOfText(text, sessionId, 1));
  if (records === undefined) return;
  expect(isDeepStrictEqual(recordsOfText(textOfRecords(records, 0), sessionId, 1), records)).toBe(true);
});

const message = { role: 'user', content: [{ type: 'text', text: 'Go.' }] };
const mails: readonly Mail[] = (
  [
    { type: 'submit', turnId: 't1', message, limits: { calls: 3 } },
    { type: 'steer', inputId: 'i1', message },
    { type: 'interrupt', turnId: 't1', reason: 'enough' },
    { type: 'answer', gateId: 'g1', answer: { decision: 'deny', reason: 'no' } },
    { type: 'mode', mode: 'quick' },
    { type: 'knock' },
  ] as unknown as Mail['content'][]
).map((content, at) => ({ mailId: `m${at}`, at, content }));
const mailTexts = fc.constantFrom(...mails).map(textOfMail);
const alteredMails = altered(fc.constantFrom<unknown>(...mails));
const anyMailText = fc.oneof(
  texts,
  json.map(written),
  alteredMails.map(written),
  damaged(mailTexts),
  rarely(deepTexts),
);

fuzz('any text is a mail, or a mailbox that is damaged', { runs: 600, input: anyMailText }, text => {
  const mail = readOrDamaged(() => mailOfText(text, sessionId));
  if (mail === undefined) return;
  expect([typeof mail.mailId, typeof mail.content.type]).toEqual(['string', 'string']);
});

/** A store whose one journal is what somebody made of it. */
function storeOf(records: readonly unknown[]): JournalStore {
  const inner = memoryStore();
  const journal = records as readonly JournalRecord[];
  const stored = { sessionId, lastSeq: journal.length, createdAt: 0, updatedAt: 0, place: '1' };
  return {
    ...{ append: inner.append.bind(inner), putCapture: inner.putCapture.bind(inner), mailbox: inner.mailbox! },
    getCapture: inner.getCapture.bind(inner),
    delete: inner.delete.bind(inner),
    list: async () => [stored],
    find: async id => (id === sessionId ? stored : undefined),
    async *read(_id, fromSeq) {
      // One append each, as a database has them.
      for (const [index, record] of journal.entries()) {
        if (index + 1 >= fromSeq) yield* recordsOfText(textOfRecords([record], index), sessionId, index + 1);
      }
    },
  };
}

const journals = altered(fc.integer({ min: 1, max: whole.length }).map(length => whole.slice(0, length)));

/** Errors of our own alone, which say what is wrong. */
async function settlesHonestly(doing: () => Promise<unknown>): Promise<void> {
  try {
    await doing();
  } catch (error) {
    if (!LooprigError.is(error)) throw error;
  }
}

fuzz(
  'a journal whose records were altered is opened, or refused in words, by whoever reads it',
  { runs: 300, input: journals },
  async journal => {
    const store = storeOf(Array.isArray(journal) ? journal : []);
    const rig = defineRig({ loops: [loop], store, clock: manualClock() });
    await settlesHonestly(async () => {
      const session = await rig.open({ sessionId });
      expect(session.history.length).toBeGreaterThanOrEqual(0);
      await session.release();
    });
    await settlesHonestly(async () => {
      await using host = await createHost({ rig });
      await host.find(sessionId);
    });
    await settlesHonestly(async () => reportHtml(await readSession(store, sessionId)));
    await settlesHonestly(async () => {
      const eventOf = recordedEvents(sessionId);
      for await (const record of store.read(sessionId, 1)) eventOf(record);
    });
  },
);

fuzz(
  'any session id has a name that every database keeps, and comes back from it',
  { runs: 2_000, input: texts },
  id => {
    const name = nameOf(id);
    expect(name.isWellFormed() && !name.includes('\0')).toBe(true);
    expect(sessionOf(name)).toBe(id);
  },
);
