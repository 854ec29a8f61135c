/** Inputs on their way into a session: what they are, and whether they came before. */
import { SessionError } from '../errors.ts';
import { namedId, newId } from '../ids.ts';
import type { JournalStore } from '../journal/journal.ts';
import type { Mail, Mailbox, MailContent } from '../journal/mailbox.ts';
import type { UserMessage } from '../model/model.ts';
import { show } from '../show.ts';
import type { SessionDigest } from './digest.ts';

/** Names the turns of keys: one session and key is one turn, whatever process is asked. */
const TURN_IDS = '0c5a2f0e-6b55-4a4e-9d0f-0a5d7d1d8c3a';

/** The id of the turn for an input with this key. Throws `SessionError` `invalid_option`. */
export function turnIdOf(sessionId: string, key: string | undefined): string {
  if (key === undefined) return newId();
  if (typeof key !== 'string' || key === '' || key.length > 256)
    throw new SessionError(
      'invalid_option',
      `"idempotencyKey" must be a text of 1 to 256 characters, not ${show(key)}`,
    );
  return namedId(`${sessionId} ${key}`, TURN_IDS);
}

/** What posting an input needs. */
export interface AcceptParts {
  readonly store: JournalStore;
  readonly mailbox: Mailbox;
  readonly now: () => number;
}

/**
 * Posts an input under its id, once. Gives whether it is new; rejects with `SessionError` `idempotency_key_reused` where the id stands for another input.
 */
export async function postInput(
  { store, mailbox, now }: AcceptParts,
  digest: SessionDigest,
  content: Extract<MailContent, { type: 'submit' | 'steer' }>,
): Promise<boolean> {
  const { sessionId } = digest;
  const mailId = content.type === 'submit' ? content.turnId : content.inputId;
  const seq = digest.inputs.get(mailId);
  if (seq !== undefined) {
    requireSame(content.message, await messageAt(store, sessionId, seq));
    return false;
  }
  const mail: Mail = Object.freeze({ mailId, at: now(), content: Object.freeze(content) });
  if (await mailbox.post(sessionId, mail)) return true;
  const known = (await mailbox.read(sessionId)).find(other => other.mailId === mailId)?.content;
  if (known !== undefined && 'message' in known) requireSame(content.message, known.message);
  return false;
}

/** Removes all mails of a session that is not there. By the mailbox alone: a process that runs turns need not be permitted to delete sessions. */
export async function removeMails(mailbox: Mailbox, sessionId: string): Promise<void> {
  const mails = await mailbox.read(sessionId);
  if (mails.length > 0)
    await mailbox.remove(
      sessionId,
      mails.map(({ mailId }) => mailId),
    );
}

async function messageAt(store: JournalStore, sessionId: string, seq: number): Promise<UserMessage | undefined> {
  for await (const record of store.read(sessionId, seq))
    return 'message' in record ? (record.message as UserMessage) : undefined;
  return undefined;
}

function requireSame(given: UserMessage, known: UserMessage | undefined): void {
  if (known === undefined || JSON.stringify(given.content) === JSON.stringify(known.content)) return;
  throw new SessionError(
    'idempotency_key_reused',
    'the idempotency key was used with another input: a new input needs a key of its own',
  );
}
