/** Sessions of a store, summed up for lists. */
import { type JournalStore, type SessionSummary, type StoredSession, summariseSession } from '../index.ts';

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
