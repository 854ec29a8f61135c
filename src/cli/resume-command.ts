/** `looprig resume`: takes up the turn that a process left unfinished. */
import { type CommandEnd, DONE } from './command.ts';
import { leaveWaiting, showTurn } from './follow-turn.ts';
import type { Host } from './host.ts';
import { type OpenSession, openStored } from './open-session.ts';
import type { ResumeOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { leftInWords, Trail } from './trail.ts';
import { canAsk, createView } from './views.ts';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. `host.stop` interrupts the turn. */
export async function resumeCommand(options: ResumeOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const work = await openStored(options.session, options, host, secrets);
  const { session, store, kept } = work;
  if (session.unfinished === undefined) {
    host.stderr.write(
      `Session ${kept?.shown} has nothing to resume: looprig run --session ${kept?.shown} "…" goes on\n`,
    );
    return DONE;
  }
  if (session.gates.length > 0 && !(await willBeAnswered(work, options, host))) {
    return leaveWaiting(work, createView(options, host, secrets), secrets);
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
    pastSeq: trail.lastEventSeq,
    begin: () => session.resume(),
  });
}

/** Whether the gates that are open get an answer: here, from the person at the terminal, or by what was said for all of them. */
async function willBeAnswered(
  { session, approval }: OpenSession,
  options: ResumeOptions,
  host: Host,
): Promise<boolean> {
  if (canAsk(options, host) && approval === 'ask') return true;
  if (options.approve === undefined || options.approve === 'ask') return false;
  for (const { gateId } of session.gates) {
    if (options.approve === 'all') await session.answer(gateId, { decision: 'approve' });
    else await session.answer(gateId, { decision: 'deny', reason: 'nobody can be asked' });
  }
  return true;
}
