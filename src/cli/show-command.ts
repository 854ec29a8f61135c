/** `looprig show`: a session from its beginning. */
import { type CommandEnd, DONE, STOPPED } from './command.ts';
import type { Host } from './host.ts';
import { jsonLine } from './json-view.ts';
import { findStored } from './open-session.ts';
import type { ShowOptions } from './options.ts';
import { readSettings } from './run-settings.ts';
import type { SecretFilter } from './secrets.ts';
import { SessionPage } from './session-page.ts';
import { standing } from './sessions-command.ts';
import { Trail } from './trail.ts';
import { UsageError } from './usage-error.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. */
export async function showCommand(options: ShowOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const found = await findStored(options.session, options, host);
  const { store, place, stored } = found;
  const session = await standing(found, stored);
  if (session === undefined)
    throw new UsageError(`session ${found.shown} was deleted just now: "looprig sessions" lists those that there are`);
  const settings = await readSettings(place, stored.sessionId);
  const trail = new Trail(stored.sessionId);
  const page = options.json ? undefined : new SessionPage(host, secrets);
  if (page === undefined) host.stdout.write(jsonLine({ type: 'session', ...session, ...settings }, secrets));
  else page.head(session, settings);
  for await (const record of store.read(stored.sessionId, 1)) {
    if (host.stop.aborted) return STOPPED;
    for (const event of trail.take(record)) {
      if (page === undefined) host.stdout.write(jsonLine(event, secrets));
      else page.event(event);
    }
    page?.record(record, trail.inputs);
  }
  page?.foot(session, trail, found);
  return DONE;
}
