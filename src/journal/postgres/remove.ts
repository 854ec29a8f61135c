/** Removes a session with all that was kept for it, in one statement: all of it goes, or nothing. */
import { JournalConflictError } from '../../errors.ts';
import type { Database } from './database.ts';
import type { SessionKey } from './keys.ts';

/**
 * Rejects with `JournalConflictError` where the journal ends elsewhere. May be repeated, as it is where the connection is lost: of a session that is
 * gone it removes what is left.
 */
export async function removeSession(
  database: Database,
  { sessionId, key }: SessionKey,
  expectedSeq: number,
): Promise<void> {
  const { schema, version } = database;
  // Locked first: an append that is under way is waited for, and then seen.
  const text = `
    WITH head AS (
      SELECT last_seq FROM ${schema}.session WHERE key = $1 AND format_${version} IS NULL FOR UPDATE
    ), stale AS (
      SELECT last_seq FROM head WHERE last_seq <> $2
    ), session AS (
      DELETE FROM ${schema}.session WHERE key = $1 AND NOT EXISTS (SELECT FROM stale)
    ), appends AS (
      DELETE FROM ${schema}.append WHERE session = $1 AND NOT EXISTS (SELECT FROM stale)
    ), captures AS (
      DELETE FROM ${schema}.capture WHERE session = $1 AND NOT EXISTS (SELECT FROM stale)
    ), mails AS (
      DELETE FROM ${schema}.mail WHERE session = $1 AND NOT EXISTS (SELECT FROM stale)
    )
    SELECT last_seq FROM stale`;
  const [stale] = await database.ask({ name: 'looprig_remove_session', text, values: [key, expectedSeq] });
  if (stale !== undefined) throw new JournalConflictError(sessionId, expectedSeq, Number(stale.last_seq));
}
