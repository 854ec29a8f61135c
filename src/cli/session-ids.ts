/**
 * Ids for people. The beginning of a session's id is the time of its making, which sessions of one hour share; its end is random. So the end
 * is shown, as much of it as tells all sessions apart, and any beginning or end that fits only one of them is taken.
 */
import type { StoredSession } from '../index.ts';
import { UsageError } from './usage-error.ts';

/** The fewest characters that are shown. */
const LEAST_SHOWN = 8;

/** The most sessions that are named where several fit. */
const MOST_CANDIDATES = 5;

/**
 * The end of `id` that no other of `ids` has, of eight characters at least. Ids are UUIDs; what a stranger's store may hold instead has `?` for each
 * character that a terminal would obey, or a shell, into which commands that were shown are copied.
 */
export function shortId(id: string, ids: readonly string[]): string {
  const bare = withoutHyphens(id);
  const others = ids.filter(other => other !== id).map(withoutHyphens);
  let length = LEAST_SHOWN;
  while (length < bare.length && others.some(other => other.endsWith(bare.slice(-length)))) length += 1;
  return bare.slice(-length).replace(/[^\w.:]/g, '?');
}

/** The ids that `given` may mean: one that is the same, or else all that begin or end with it. */
export function idsThatFit(given: string, ids: readonly string[]): readonly string[] {
  const wanted = withoutHyphens(given.trim());
  if (wanted === '') return [];
  const same = ids.filter(id => withoutHyphens(id) === wanted);
  if (same.length > 0) return same;
  return ids.filter(id => withoutHyphens(id).endsWith(wanted) || withoutHyphens(id).startsWith(wanted));
}

/** The session that `given` means; `last` is the one that was written last. Throws `UsageError` for none, and for several. */
export function findSession(given: string, sessions: readonly StoredSession[]): StoredSession {
  const [latest] = sessions;
  if (latest === undefined) throw new UsageError('there are no sessions yet: "looprig run" begins one');
  if (given.trim() === 'last') return latest;
  const ids = sessions.map(({ sessionId }) => sessionId);
  const fitting = idsThatFit(given, ids);
  const found = sessions.find(({ sessionId }) => sessionId === fitting[0]);
  if (found !== undefined && fitting.length === 1) return found;
  if (fitting.length === 0) {
    const known = listed(ids, ids);
    throw new UsageError(`there is no session "${given}": there ${ids.length === 1 ? 'is' : 'are'} ${known}`);
  }
  throw new UsageError(`"${given}" fits ${fitting.length} sessions: say which of ${listed(fitting, ids)}`);
}

function listed(some: readonly string[], all: readonly string[]): string {
  const shown = some.slice(0, MOST_CANDIDATES).map(id => shortId(id, all));
  return `${shown.join(', ')}${some.length > shown.length ? `, … (${some.length} in all)` : ''}`;
}

function withoutHyphens(id: string): string {
  return id.replaceAll('-', '').toLowerCase();
}
