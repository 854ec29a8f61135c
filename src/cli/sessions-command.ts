/** `looprig sessions`: what there is to show, to take up, and to go on with. */
import type { StoredSession } from '../index.ts';
import { type CommandEnd, DONE, STOPPED } from './command.ts';
import type { Host } from './host.ts';
import { jsonLine } from './json-view.ts';
import type { SessionsOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { shortId } from './session-ids.ts';
import { isLocked } from './session-lock.ts';
import { sessionTable, type TableEntry } from './session-table.ts';
import { findStore, type OpenStore } from './store-place.ts';
import { type ListedSession, listed, withoutDelegates } from './stored-session.ts';
import { createPainter } from './style.ts';
import { columnsOf, isColoured } from './views.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. */
export async function sessionsCommand(
  options: SessionsOptions,
  host: Host,
  secrets: SecretFilter,
): Promise<CommandEnd> {
  const found = await findStore(options, host);
  const all = (await found?.store.list()) ?? [];
  const ids = all.map(({ sessionId }) => sessionId);
  const entries: TableEntry[] = [];
  let count = 0;
  for await (const stored of found === undefined ? [] : withoutDelegates(found.store, all)) {
    if (host.stop.aborted) return STOPPED;
    count += 1;
    if (count > options.limit) continue;
    const session = await standing(found!, stored);
    if (session !== undefined) entries.push({ session, shown: shortId(stored.sessionId, ids) });
  }
  if (options.json) for (const { session } of entries) host.stdout.write(jsonLine(session, secrets));
  else tell(entries, count, host, secrets);
  return DONE;
}

/** A session that another process works on looks like one that was cut short; its lock tells them apart. */
export async function standing({ store, place }: OpenStore, stored: StoredSession): Promise<ListedSession | undefined> {
  const session = await listed(store, stored);
  if (session?.state !== 'unfinished' || !(await isLocked(place, stored.sessionId))) return session;
  return { ...session, state: 'running' };
}

function tell(entries: readonly TableEntry[], count: number, host: Host, secrets: SecretFilter): void {
  const { stdout, stderr, clock } = host;
  if (entries.length === 0) {
    stderr.write('There are no sessions yet: "looprig run" begins one.\n');
    return;
  }
  const columns = stdout.isTTY === true ? columnsOf(stdout) : undefined;
  const rows = sessionTable(entries, { secrets, paint: createPainter(isColoured(host)), columns, now: clock.now() });
  stdout.write(`${rows.join('\n')}\n`);
  if (count > entries.length) stderr.write(`… and ${count - entries.length} more: --limit ${count} shows all\n`);
}
