/** `looprig run`: one turn on one folder, in a new session or as the next one of an old. */
import { type CommandEnd, STOPPED } from './command.ts';
import { showTurn } from './follow-turn.ts';
import type { Host } from './host.ts';
import { noPrompt, type OpenSession, openNew, openStored } from './open-session.ts';
import type { RunOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. `host.stop` interrupts the turn. */
export async function runCommand(options: RunOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const { session: given } = options;
  if (given !== undefined && options.prompt === undefined) throw noPrompt();
  const work = await (given === undefined
    ? openNew(options, host, secrets)
    : openStored(given, options, host, secrets));
  const { session, agent, kept } = work;
  const prompt = options.prompt ?? agent.defaultPrompt ?? '';
  if (host.stop.aborted) return STOPPED;
  return showTurn({
    ...{ work, options, host, secrets, prompt },
    mode: session.mode,
    session: given === undefined ? undefined : `session ${kept?.shown}`,
    notice: given === undefined ? undefined : noticeOf(work),
    pastSeq: 0,
    begin: () => session.submit(prompt, { limits: options.limits }),
  });
}

function noticeOf({ session }: OpenSession): string | undefined {
  if (session.unfinished?.turnId === undefined) return undefined;
  return 'the turn before was unfinished: it ends here, and what it had done is part of the conversation';
}
