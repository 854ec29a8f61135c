/** What can be done with the sessions of a store without a rig. What does it is loaded when it is asked for. */
import type { JournalStore, StoredSession } from '../journal/journal.ts';
import type { DeleteOptions } from './deletion.ts';
import { readSessionOptions } from './session-options.ts';
import type { SessionSummary } from './summary.ts';

/**
 * One session of a store as a list has it, without a rig: its journal is read. `undefined` where it was deleted meanwhile. Rejects with `JournalError` where
 * the store is closed.
 */
export async function summariseSession(
  store: JournalStore,
  stored: StoredSession,
): Promise<SessionSummary | undefined> {
  const { folded, summarise } = await import('./summary.ts');
  return summarise(stored, ({ sessionId }) => folded(store, sessionId));
}

/**
 * Deletes a session of a store without a rig, as `rig.delete` does: what is open in a rig of this process is not known here, and is refused as stale at its
 * next record. Rejects with `SessionError` (`unknown_session`, `busy`) and `JournalError`.
 */
export async function deleteSession(
  store: JournalStore,
  sessionId: string,
  options: DeleteOptions = {},
): Promise<void> {
  const given = readSessionOptions(options, ['unfinished'], 'deleteSession');
  const { deleteFamily } = await import('./deletion.ts');
  await deleteFamily({ store, isOpen: () => false }, sessionId, given);
}
