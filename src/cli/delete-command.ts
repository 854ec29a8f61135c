/** `looprig delete`: a session goes, with all that was kept for it. */
import { deleteSession } from '../index.ts';
import { type CommandEnd, DONE, STOPPED } from './command.ts';
import type { Host } from './host.ts';
import { LineInput } from './line-input.ts';
import { findStored } from './open-session.ts';
import type { DeleteOptions } from './options.ts';
import { forgetSettings } from './run-settings.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { lockSession } from './session-lock.ts';
import { stateWord } from './session-table.ts';
import { type ListedSession, listed } from './stored-session.ts';
import { UsageError } from './usage-error.ts';
import { canAsk } from './views.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked, and `SessionInUseError`. */
export async function deleteCommand(options: DeleteOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const found = await findStored(options.session, options, host);
  const { store, place, stored, shown } = found;
  if (!options.yes && !canAsk({ json: false, quiet: false }, host)) {
    throw new UsageError(`nobody can be asked whether session ${shown} is to be deleted: say so with --yes`);
  }
  const lock = await lockSession(place, stored.sessionId, shown);
  try {
    if (!options.yes) {
      const session = await listed(store, stored);
      const isMeant = await ask(`Delete session ${shown}${inWords(session, secrets)} for good? [y/N] `, host);
      if (host.stop.aborted) return STOPPED;
      if (!isMeant) {
        host.stderr.write('Nothing was deleted.\n');
        return DONE;
      }
    }
    // Where it has a lock, nobody else works on it; beside a server nobody knows, and whoever does is refused at the next record.
    await deleteSession(store, stored.sessionId, { unfinished: true });
    await forgetSettings(place, stored.sessionId);
  } finally {
    await lock.release();
  }
  host.stderr.write(`Session ${shown} is deleted.\n`);
  return DONE;
}

function inWords(session: ListedSession | undefined, secrets: SecretFilter): string {
  if (session === undefined) return '';
  const { title, state, turns } = session;
  const called = title === '' ? '' : ` "${oneLine(title, secrets)}"`;
  return `${called} (${stateWord(state)}, ${turns === 1 ? '1 turn' : `${turns} turns`})`;
}

async function ask(question: string, { stdin, stderr, clock, stop }: Host): Promise<boolean> {
  const line = await new LineInput(stdin, clock).line(() => stderr.write(question), stop);
  if (line === undefined) stderr.write('\n');
  return /^(y|yes)$/i.test(line?.trim() ?? '');
}
