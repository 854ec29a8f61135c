/** The store of a server, which has one project: the loops of one file, or the folder that it works in. */
import { resolve } from 'node:path';
import type { JournalRecord, JournalStore, StoredSession } from '../index.ts';
import { overlaid } from '../overlaid.ts';
import { keepSettings, type RunSettings, readSettings } from './run-settings.ts';
import type { StorePlace } from './store-place.ts';

/** How many sessions are asked of the store at once, and of how many it is remembered whose they are. */
const PAGE = 200;
const MOST_KNOWN = 10_000;

/** The project of a server. */
export interface Project {
  /** Where settings are kept; `undefined` where none are, so that nothing tells projects apart. */
  readonly place: StorePlace | undefined;
  readonly settings: RunSettings;
}

/**
 * The same store, but that it lists the sessions of the project alone, and those of which nothing is known. What a session that begins here is run with is kept, so
 * that other commands go on with it in the same way.
 */
export function projectStore(store: JournalStore, { place, settings }: Project, listsAll: boolean): JournalStore {
  if (place === undefined) return store;
  const isOwn = new Map<string, boolean>();
  const append: JournalStore['append'] = async (sessionId, expectedSeq, records) => {
    const loop = expectedSeq === 0 ? loopOfNew(records) : undefined;
    if (loop !== undefined) {
      const named = settings.loop === undefined ? undefined : `${settings.loop}#${loop}`;
      await keepSettings(place, sessionId, { ...settings, loop: named });
    }
    await store.append(sessionId, expectedSeq, records);
  };
  const belongs = async ({ sessionId }: StoredSession): Promise<boolean> => {
    const known = isOwn.get(sessionId);
    if (known !== undefined) return known;
    const found = isSameProject(await readSettings(place, sessionId), settings);
    if (isOwn.size >= MOST_KNOWN) isOwn.clear();
    isOwn.set(sessionId, found);
    return found;
  };
  const list: JournalStore['list'] = async ({ limit = Number.POSITIVE_INFINITY, after } = {}) => {
    const own: StoredSession[] = [];
    for (let place = after; ; ) {
      const page = await store.list({ limit: PAGE, ...(place !== undefined && { after: place }) });
      for (const stored of page) {
        if (own.length < limit && (await belongs(stored))) own.push(stored);
      }
      if (page.length < PAGE || own.length >= limit) return own;
      place = page.at(-1)?.place;
    }
  };
  return overlaid(store, { append, ...(!listsAll && { list }) });
}

/** The loop of a session that begins with these records; `undefined` for that of a delegate, which is its caller's matter. */
function loopOfNew([opened]: readonly JournalRecord[]): string | undefined {
  return opened?.type === 'session.opened' && opened.parent === undefined ? opened.loop : undefined;
}

/** Whether a session was run with the same file of loops, in the same folder. Of one without settings nothing is known. */
function isSameProject(kept: Partial<RunSettings>, own: RunSettings): boolean {
  if (kept.model === undefined && kept.workspace === undefined && kept.loop === undefined) return true;
  return fileOf(kept) === fileOf(own) && folderOf(kept) === folderOf(own);
}

function fileOf({ loop }: Partial<RunSettings>): string | undefined {
  return loop?.replace(/#[^#/\\]*$/, '');
}

function folderOf({ workspace }: Partial<RunSettings>): string | undefined {
  return workspace === undefined ? undefined : resolve(workspace);
}
