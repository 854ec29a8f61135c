/** What a shell asks for while a command line is typed: the sessions of its store, one a line, each with its title after a tab. */
import { type CommandEnd, DONE } from './command.ts';
import type { Host } from './host.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { shortId } from './session-ids.ts';
import { findStore } from './store-place.ts';
import { listed, withoutDelegates } from './stored-session.ts';

/** How many are offered at the most: each journal is read for its title, and somebody waits. */
const MOST_SESSIONS = 20;

/** What a shell takes as it stands: it expands and runs the words that are offered to it. */
const WORD = /^[\w.:]+$/;

/** Writes what there is. Where that cannot be said, nothing: whoever types is not told of it. */
export async function completeSessionsCommand(
  { words }: { readonly words: readonly string[] },
  host: Host,
  secrets: SecretFilter,
): Promise<CommandEnd> {
  const found = await findStore({ store: storeIn(words) }, host).catch(() => undefined);
  if (found === undefined) return DONE;
  const all = await found.store.list();
  const ids = all.map(({ sessionId }) => sessionId);
  let count = 0;
  for await (const stored of withoutDelegates(found.store, all)) {
    count += 1;
    if (count > MOST_SESSIONS) break;
    const shown = shortId(stored.sessionId, ids);
    if (!WORD.test(shown)) continue;
    const session = await listed(found.store, stored);
    if (session !== undefined) host.stdout.write(`${shown}\t${oneLine(session.title, secrets)}\n`);
  }
  return DONE;
}

/** The store that the line names so far; shells may give `=` as a word of its own. */
function storeIn(words: readonly string[]): string | undefined {
  const place = words.findIndex(word => word === '--store' || word.startsWith('--store='));
  if (place === -1) return undefined;
  const joined = words[place]?.slice('--store='.length);
  const after = words[place + 1] === '=' ? words[place + 2] : words[place + 1];
  return joined || after;
}
