/** `looprig resume`: takes up the turn that a process left unfinished. */
import { type CommandEnd, DONE } from './command.ts';
import { concludeWaiting } from './conclude.ts';
import { showTurn } from './follow-turn.ts';
import { gateLine } from './gate-text.ts';
import { RESUME_HELP } from './help.ts';
import type { Host } from './host.ts';
import { type OpenSession, openStored } from './open-session.ts';
import { parseResumeOptions, type ResumeOptions } from './options.ts';
import { oneLine } from './safe-text.ts';
import type { SecretFilter } from './secrets.ts';
import { requireSession, shortId } from './session-ids.ts';
import { leftInWords, Trail } from './trail.ts';
import { canAsk } from './views.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. `host.stop` interrupts the turn. */
export async function resumeCommand(args: readonly string[], host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const options = parseResumeOptions(args);
  if (options.help) {
    host.stdout.write(RESUME_HELP);
    return DONE;
  }
  const work = await openStored(requireSession('resume', options.session), options, host);
  const { session, store, kept } = work;
  if (session.unfinished === undefined) {
    await work.close();
    host.stderr.write(
      `Session ${kept?.shown} has nothing to resume: looprig run --session ${kept?.shown} "…" goes on\n`,
    );
    return DONE;
  }
  if (session.gates.length > 0 && !(await answered(work, options, host, secrets))) {
    const { exitStatus } = concludeWaiting(session.gates, kept);
    await work.close();
    return { exitStatus, isLeftRunning: false };
  }
  const trail = new Trail(session.id);
  for await (const record of store.read(session.id, 1)) trail.take(record);
  const left = trail.cutShort;
  return showTurn({
    ...{ work, options, host, secrets },
    prompt: left?.prompt ?? '',
    mode: left?.mode ?? session.mode,
    session: `session ${kept?.shown}`,
    notice: `taking up an unfinished turn: ${left === undefined ? 'an input that waited' : leftInWords(left)}`,
    begin: () => session.resume(),
  });
}

/** Whether the gates that are open will be answered: here, by the person at the terminal, or by what was said for all of them. */
async function answered(
  { session, approval, kept }: OpenSession,
  options: ResumeOptions,
  host: Host,
  secrets: SecretFilter,
): Promise<boolean> {
  if (canAsk(options, host) && approval === 'ask') return true;
  if (options.approve === undefined || options.approve === 'ask') {
    const { gates } = session;
    const ids = gates.map(({ gateId }) => gateId);
    for (const gate of gates) {
      host.stderr.write(`gate ${shortId(gate.gateId, ids)}: ${gateLine(gate, secrets)}\n`);
    }
    host.stderr.write(`looprig: ${oneLine(concludeWaiting(gates, kept).reason ?? '', secrets)}\n`);
    return false;
  }
  for (const { gateId } of session.gates) {
    if (options.approve === 'all') await session.answer(gateId, { decision: 'approve' });
    else await session.answer(gateId, { decision: 'deny', reason: 'nobody can be asked' });
  }
  return true;
}
