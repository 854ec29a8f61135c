/** Deletes a session with the sessions of its delegates: what these were told is a part of what it was told. */
import { JournalError, SessionError } from '../errors.ts';
import type { JournalStore, StoredSession } from '../journal/journal.ts';
import { show } from '../show.ts';
import { childIdOf } from './delegation.ts';

/** Options of `delete` at a rig. */
export interface DeleteOptions {
  /**
   * Delete it also where its turn has not ended, which may be running in another process: that one is then refused at its next record, and may have
   * kept a result meanwhile, which the same call removes once it has stopped. Default false: it is refused.
   */
  readonly unfinished?: boolean;
}

/** What deleting needs of whoever opens sessions. */
export interface DeletionParts {
  readonly store: JournalStore;
  /** Whether the session is open here. */
  isOpen(sessionId: string): boolean;
}

interface Member extends StoredSession {
  readonly isUnfinished: boolean;
}

/**
 * Deletes the delegates' sessions first: whatever ends the process in the middle, the session itself is there, and deleting it again deletes the rest.
 * Throws `SessionError` (`unknown_session`, `busy`) and `JournalError`.
 */
export async function deleteFamily(
  { store, isOpen }: DeletionParts,
  sessionId: string,
  { unfinished = false }: DeleteOptions = {},
): Promise<void> {
  const stored = typeof sessionId === 'string' ? await store.find(sessionId) : undefined;
  if (stored === undefined) {
    if (typeof sessionId === 'string') await store.delete(sessionId, 0); // what a process kept that was stopped by the first delete
    throw new SessionError('unknown_session', `there is no session ${show(sessionId)} in this store`);
  }
  const family = await familyOf(store, stored);
  const open = family.find(member => isOpen(member.sessionId));
  if (open !== undefined) throw busy(sessionId, open.sessionId, 'is open: close it first');
  const running = family.find(({ isUnfinished }) => isUnfinished);
  if (running !== undefined && !unfinished)
    throw busy(sessionId, running.sessionId, 'has a turn that has not ended: end it first, or say "unfinished"');
  for (const member of family) await store.delete(member.sessionId, member.lastSeq);
}

/** The session and all below it, the lowest first. */
async function familyOf(store: JournalStore, stored: StoredSession): Promise<readonly Member[]> {
  const { childIds, isUnfinished } = await readFamily(store, stored.sessionId);
  const family: Member[] = [];
  for (const childId of childIds) {
    const child = await store.find(childId);
    if (child !== undefined) family.push(...(await familyOf(store, child)));
  }
  return [...family, { ...stored, isUnfinished }];
}

interface Relations {
  /** The ids that sessions of its delegates have, whether or not there are any. */
  readonly childIds: ReadonlySet<string>;
  readonly isUnfinished: boolean;
}

async function readFamily(store: JournalStore, sessionId: string): Promise<Relations> {
  const childIds = new Set<string>();
  let isUnfinished = false;
  try {
    for await (const record of store.read(sessionId, 1)) {
      if (record.type === 'tool.started') childIds.add(childIdOf(sessionId, record.callId));
      if (record.type === 'turn.started') isUnfinished = true;
      if (record.type === 'turn.done' || record.type === 'turn.failed' || record.type === 'turn.interrupted')
        isUnfinished = false;
    }
    return { childIds, isUnfinished };
  } catch (error) {
    if (!JournalError.is(error) || error.kind !== 'damaged') throw error;
    return { childIds: await searchChildren(store, sessionId), isUnfinished: false };
  }
}

/** Where a journal cannot be read, its children say whose they are. */
async function searchChildren(store: JournalStore, sessionId: string): Promise<ReadonlySet<string>> {
  const childIds = new Set<string>();
  for (const { sessionId: childId } of await store.list())
    if ((await parentOf(store, childId)) === sessionId) childIds.add(childId);
  return childIds;
}

async function parentOf(store: JournalStore, sessionId: string): Promise<string | undefined> {
  try {
    for await (const record of store.read(sessionId, 1))
      return record.type === 'session.opened' ? record.parent?.sessionId : undefined;
  } catch (error) {
    if (!JournalError.is(error) || (error.kind !== 'damaged' && error.kind !== 'deleted')) throw error;
  }
  return undefined;
}

function busy(sessionId: string, whose: string, why: string): SessionError<'busy'> {
  const which =
    whose === sessionId ? `session ${sessionId}` : `session ${sessionId} has a delegate whose session ${whose}`;
  return new SessionError('busy', `${which} ${why}`);
}
