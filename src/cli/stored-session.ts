/** Sessions of a store, summed up for lists. */
import {
  JournalError,
  type JournalStore,
  type SessionSummary,
  type StoredSession,
  summariseSession,
} from '../index.ts';

/** How a session stands. `unfinished` is a turn that was cut short; `running` one that another process works on. */
export type SessionStanding = Exclude<SessionSummary['state'], 'running'> | 'unfinished' | 'running' | 'damaged';

/** A session in the program's list. */
export interface ListedSession extends Omit<SessionSummary, 'state' | 'place'> {
  readonly state: SessionStanding;
}

/** A session of the store as it is listed; `undefined` where it was deleted meanwhile. */
export async function listed(store: JournalStore, stored: StoredSession): Promise<ListedSession | undefined> {
  const summary = await summariseSession(store, stored);
  if (summary === undefined) return undefined;
  const { place: _, ...session } = summary;
  return { ...session, state: session.state === 'running' ? 'unfinished' : session.state };
}

/** The sessions that people began: those of delegates are their callers' matter. One that cannot be read is among them, so that its damage is seen. */
export async function* withoutDelegates(
  store: JournalStore,
  sessions: readonly StoredSession[],
): AsyncGenerator<StoredSession> {
  for (const stored of sessions) if (!(await isOfDelegate(store, stored))) yield stored;
}

async function isOfDelegate(store: JournalStore, { sessionId }: StoredSession): Promise<boolean> {
  try {
    for await (const record of store.read(sessionId, 1))
      return record.type === 'session.opened' && record.parent !== undefined;
  } catch (error) {
    if (!JournalError.is(error)) throw error;
  }
  return false;
}
