/** What the tests of restarts share: processes that have nothing in common but a store, and stores on which a process dies. */
import {
  defineLoop,
  defineRig,
  type JournalRecord,
  type JournalStore,
  memoryStore,
  type Session,
  type SessionEvent,
} from 'looprig';
import { forever, manualClock, type ScriptedModel, type ScriptedReply, scriptedModel } from 'looprig/testing';
import type { OpenedSession, SetUp } from './setup.ts';

/** A model that finds its place in the script by what it is shown, so that a process that comes later goes on with it. */
export function readingOn(...replies: readonly ScriptedReply[]): ScriptedModel {
  return scriptedModel(
    forever(({ prompt }) => {
      const isNext = JSON.stringify(prompt.findLast(({ role }) => role === 'user')).includes('and now?');
      const place = prompt.filter(({ role }) => role === 'assistant').length;
      return (isNext ? undefined : replies[place]) ?? { text: 'fine' };
    }),
  );
}

/** Opens a session in a process of its own: one that the store has, or a new one. */
export async function openOn(store: JournalStore, setUp: SetUp, sessionId?: string): Promise<OpenedSession> {
  const { model, tools = [], clock = manualClock(), rig = {}, ...loop } = setUp;
  const events: SessionEvent[] = [];
  const definitions = tools.map(tool => ('definition' in tool ? tool.definition : tool));
  const definition = defineLoop({ name: 'case', ...loop, model, tools: definitions });
  const observers = [(event: SessionEvent) => void events.push(event)];
  const opened = defineRig({ ...rig, loops: [definition], store, clock, observers });
  const session = (await opened.open(sessionId === undefined ? {} : { sessionId })) as Session;
  return { session, model, clock, events };
}

export async function recordsOf(store: JournalStore, sessionId: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = [];
  for await (const record of store.read(sessionId, 1)) records.push(record);
  return records;
}

/** What a process leaves that ends now: a copy of its journal, so that whatever it still does is lost. */
export async function leftBy(store: JournalStore, sessionId: string): Promise<JournalStore> {
  const copy = memoryStore();
  await copy.append(sessionId, 0, structuredClone(await recordsOf(store, sessionId)));
  return copy;
}

/** The store as one process sees it that dies at its n-th append: just before it is written, or just after. */
export function dyingAt(
  store: JournalStore,
  nth: number,
  when: 'before' | 'after',
): { readonly store: JournalStore; readonly died: Promise<'died'> } {
  const death = Promise.withResolvers<'died'>();
  let appends = 0;
  const mortal: JournalStore = {
    async append(sessionId, expectedSeq, records) {
      appends += 1;
      if (appends < nth || (appends === nth && when === 'after')) await store.append(sessionId, expectedSeq, records);
      if (appends < nth) return;
      death.resolve('died');
      await new Promise(() => {}); // nothing of the process goes on
    },
    read: (sessionId, fromSeq) => store.read(sessionId, fromSeq),
    list: options => store.list(options),
    delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
    find: sessionId => store.find(sessionId),
    putCapture: (sessionId, bytes) => store.putCapture(sessionId, bytes),
    getCapture: (sessionId, id) => store.getCapture(sessionId, id),
  };
  return { store: mortal, died: death.promise };
}
