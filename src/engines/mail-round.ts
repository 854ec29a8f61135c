/** Takes up a session's mails: what they ask for is written into the journal, and what stands there and is over is removed. */
import type { ToolLimits } from '../define/limits.ts';
import { GateError, SessionError } from '../errors.ts';
import type { Mail, Mailbox } from '../journal/mailbox.ts';
import type { GateAnswer } from '../session/gate-answer.ts';
import type { Session } from '../session/session.ts';
import { readTurnLimits, type TurnLimits } from '../session/turn-limits.ts';

/** What came of a round. */
export interface MailRound {
  /** Whether an answer is kept for a gate that is not there yet: a delegate's, which is about to be taken up. */
  readonly isWaiting: boolean;
}

/**
 * Goes through the session's mails, in the order of posting. `turnId` is the turn that is to run, or runs: what is said to a turn is for it. Rejects where
 * the journal or the mailbox fails; then the mails are there for the next round. `onRefusal` is told of an answer that cannot be taken: its gate waits for another.
 */
export async function takeMails(
  session: Session,
  mailbox: Mailbox,
  turnId: string,
  onRefusal: (error: GateError) => void,
): Promise<MailRound> {
  const mails = await mailbox.read(session.id);
  const over: string[] = [];
  let isWaiting = false;
  for (const mail of mails) {
    if (await takeMail(session, mail, turnId, onRefusal)) over.push(mail.mailId);
    else if (mail.content.type === 'answer') isWaiting = true;
  }
  if (over.length > 0) {
    await session.driver.settled(); // a mail is removed after what it asked for is recorded
    await mailbox.remove(session.id, over);
  }
  return { isWaiting };
}

/** Does what a mail asks for, if it is not done; gives whether nothing is left to do about it. */
async function takeMail(
  session: Session,
  { content }: Mail,
  turnId: string,
  onRefusal: (error: GateError) => void,
): Promise<boolean> {
  const { driver } = session;
  switch (content.type) {
    case 'submit':
      if (driver.knows(content.turnId)) return !driver.isOpen(content.turnId);
      await driver.hold(content.message, content.turnId, limitsIn(content));
      return false;
    case 'steer':
      if (driver.knows(content.inputId)) return !driver.isOpen(content.inputId);
      if (session.isRunning) await driver.steer(content.message, content.inputId, limitsIn(content));
      else if (content.inputId === turnId) await driver.hold(content.message, content.inputId, limitsIn(content));
      return false;
    case 'interrupt':
      if (!driver.isOpen(content.turnId)) return true;
      driver.interrupt(content.turnId, content.reason);
      return false;
    case 'answer':
      return takeAnswer(session, content.gateId, content.answer as GateAnswer, onRefusal);
    case 'mode':
      await session.setMode(content.mode).catch(ignoreRefusal);
      return true;
    case 'knock':
      return true;
    default:
      return false; // a newer version's: it is for a worker of that version
  }
}

function limitsIn({ limits }: { readonly limits?: ToolLimits }): TurnLimits | undefined {
  return readTurnLimits(limits === undefined ? {} : { limits });
}

async function takeAnswer(
  session: Session,
  gateId: string,
  answer: GateAnswer,
  onRefusal: (error: GateError) => void,
): Promise<boolean> {
  try {
    await session.answer(gateId, answer);
    return true;
  } catch (error) {
    if (!GateError.is(error)) throw error;
    if (error.kind === 'invalid_answer') onRefusal(error);
    return error.kind !== 'unknown_gate' || session.driver.openTurnId === undefined;
  }
}

function ignoreRefusal(error: unknown): void {
  if (!SessionError.is(error)) throw error;
}
