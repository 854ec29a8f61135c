/** Which session `last` means: the one that somebody spoke in last. */
import { JournalError, type JournalStore, type StoredSession } from '../index.ts';
import { isBeforeInput } from './late-store.ts';
import { findSession } from './session-ids.ts';

/**
 * The session that was written last, of those that somebody spoke in: one in which nothing was said, and that of a delegate, are meant only where there is
 * no other. Throws `UsageError` where there are none.
 */
export async function lastSpoken(
  store: JournalStore | undefined,
  sessions: readonly StoredSession[],
): Promise<StoredSession> {
  for (const stored of sessions) if (await isSpokenIn(store!, stored)) return stored;
  return findSession('last', sessions);
}

/** Decided by its first records. A journal that cannot be read may be anything: whoever shows it says what is wrong. */
async function isSpokenIn(store: JournalStore, { sessionId }: StoredSession): Promise<boolean> {
  try {
    for await (const record of store.read(sessionId, 1)) {
      if (record.type === 'session.opened' && record.parent !== undefined) return false;
      if (!isBeforeInput(record)) return true;
    }
    return false;
  } catch (error) {
    if (JournalError.is(error)) return true;
    throw error;
  }
}
