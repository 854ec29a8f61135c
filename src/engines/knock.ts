/**
 * Asks whether another process runs a session's turn. An engine that is not durable knows its own process alone; whoever runs a turn takes up the mails of
 * its session, so that one which stays where it is says that nobody does.
 */
import type { Clock } from '../clock.ts';
import { newId } from '../ids.ts';
import type { Mailbox } from '../journal/mailbox.ts';

/** How long a knock is left for others to take up, in milliseconds: a multiple of what they need to see a mail. */
const PATIENCE_MS = 1_000;
const LOOK_MS = 50;

/** What is needed to knock. */
export interface KnockParts {
  readonly mailbox: Mailbox;
  readonly clock: Clock;
}

/** Whether another process that lives runs a turn of the session. */
export async function isRunElsewhere({ mailbox, clock }: KnockParts, sessionId: string): Promise<boolean> {
  const mailId = `knock ${newId()}`;
  const since = clock.now();
  await mailbox.post(sessionId, Object.freeze({ mailId, at: since, content: Object.freeze({ type: 'knock' }) }));
  try {
    while (clock.now() - since < PATIENCE_MS) {
      await new Promise<void>(resolve => void clock.setTimer(resolve, LOOK_MS));
      const mails = await mailbox.read(sessionId);
      if (!mails.some(mail => mail.mailId === mailId)) return true;
    }
    return false;
  } finally {
    await mailbox.remove(sessionId, [mailId]);
  }
}
