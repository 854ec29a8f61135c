/** A store for a session that may come to nothing: it is told of it with the first input, so that a session in which nothing was said leaves nothing. */
import type { JournalRecord, JournalStore } from '../index.ts';
import { overlaid } from '../overlaid.ts';

/** The same store, but that the session which is appended to first is held back until something is said in it; then `begins` is waited for before it is kept. */
export function lateStore(store: JournalStore, begins: (sessionId: string) => Promise<void>): JournalStore {
  let first: string | undefined;
  let held: readonly JournalRecord[] | undefined = [];
  const append: JournalStore['append'] = async (sessionId, expectedSeq, records) => {
    first ??= sessionId;
    if (held === undefined || sessionId !== first) return store.append(sessionId, expectedSeq, records);
    const all = [...held, ...records];
    if (all.every(isBeforeInput)) {
      held = all;
      return;
    }
    await begins(sessionId);
    await store.append(sessionId, 0, all);
    held = undefined;
  };
  async function* read(sessionId: string, fromSeq: number): AsyncGenerator<JournalRecord> {
    if (held === undefined || sessionId !== first) yield* store.read(sessionId, fromSeq);
    else yield* held.filter(({ seq }) => seq >= fromSeq);
  }
  return overlaid(store, { append, read });
}

/** Whether a session with nothing but this record has had no input yet. */
export function isBeforeInput({ type }: JournalRecord): boolean {
  return type === 'session.opened' || type === 'mode.changed';
}
