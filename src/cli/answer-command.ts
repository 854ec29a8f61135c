/** `looprig answer`: answers a question that a session waits at, and that nobody asks any more. The turn goes on when it is resumed. */
import type { GateAnswer, PendingGate } from '../index.ts';
import { type CommandEnd, DONE } from './command.ts';
import { gateLine } from './gate-text.ts';
import type { Host } from './host.ts';
import { jsonLine } from './json-view.ts';
import { openToAnswer } from './open-session.ts';
import type { AnswerOptions } from './options.ts';
import type { SecretFilter } from './secrets.ts';
import { idsThatFit, shortId } from './session-ids.ts';
import { UsageError } from './usage-error.ts';

/** The word for all gates that are open. */
const ALL = 'all';

/** Runs the command. Throws `UsageError` for what cannot be done as asked. */
export async function answerCommand(options: AnswerOptions, host: Host, secrets: SecretFilter): Promise<CommandEnd> {
  const { session, kept } = await openToAnswer(options.session, options, host, secrets);
  const chosen = choose(session.gates, options, kept?.shown ?? '');
  for (const gate of chosen) {
    // One answer may have closed another gate: what is always allowed need not be asked.
    if (!session.gates.some(({ gateId }) => gateId === gate.gateId)) continue;
    await session.answer(gate.gateId, answerOf(options));
  }
  const left = session.gates.length;
  if (options.json) {
    const gates = chosen.map(({ gateId }) => gateId);
    host.stdout.write(jsonLine({ type: 'answered', sessionId: session.id, gates, word: options.word, left }, secrets));
    return DONE;
  }
  const said = options.word === 'no' ? 'denied' : 'allowed';
  for (const gate of chosen) host.stdout.write(`${said}: ${gateLine(gate, secrets)}\n`);
  const command = `looprig resume ${kept?.shown}${kept?.storeArgument}`;
  const more = left === 0 ? '' : `${left === 1 ? '1 more waits' : `${left} more wait`} for an answer; then `;
  host.stderr.write(`to go on: ${more}${command}\n`);
  return DONE;
}

function choose(gates: readonly PendingGate[], { gate }: AnswerOptions, shown: string): readonly PendingGate[] {
  const ids = gates.map(({ gateId }) => gateId);
  const listed = ids.map(id => shortId(id, ids)).join(', ');
  if (gates.length === 0)
    throw new UsageError(`session ${shown} waits for no answer: "looprig show ${shown}" shows it`);
  if (gate === ALL || (gate === undefined && gates.length === 1)) return gates;
  if (gate === undefined) {
    throw new UsageError(`session ${shown} has ${gates.length} open gates: say which of ${listed}, or ${ALL}`);
  }
  const fitting = idsThatFit(gate, ids);
  if (fitting.length === 1) return gates.filter(({ gateId }) => gateId === fitting[0]);
  const problem = fitting.length === 0 ? `there is no open gate "${gate}"` : `"${gate}" fits ${fitting.length} gates`;
  throw new UsageError(`${problem} in session ${shown}: say which of ${listed}`);
}

function answerOf({ word, reason }: AnswerOptions): GateAnswer {
  switch (word) {
    case 'yes':
      return { decision: 'approve' };
    case 'always':
      return { decision: 'approveAlways' };
    case 'no':
      return reason === undefined ? { decision: 'deny' } : { decision: 'deny', reason };
  }
}
