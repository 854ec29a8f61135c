/**
 * Mailboxes: what others hand to the process that runs a session. A journal has one writer, so that whoever else wants something of a session
 * (an input, an answer to a gate, an interrupt) posts a mail beside it; the writer takes it up, writes it into the journal, and removes it.
 *
 * A mail is small, and is told apart by its id: what is posted twice is there once, and what stands in the journal already is passed over.
 */
import type { ToolLimits } from '../define/limits.ts';
import type { JSONValue, UserMessage } from '../model/model.ts';

/** What a mail asks of a session. */
export type MailContent =
  /** An input that is answered by the turn of this id. Its mail stays until that turn has ended, so that it says what is to be done. */
  | {
      readonly type: 'submit';
      readonly turnId: string;
      readonly message: UserMessage;
      readonly limits?: ToolLimits;
    }
  /** Something said to the running turn; without one it becomes the turn of this id, with these limits. */
  | {
      readonly type: 'steer';
      readonly inputId: string;
      readonly message: UserMessage;
      readonly limits?: ToolLimits;
    }
  | { readonly type: 'interrupt'; readonly turnId: string; readonly reason?: string }
  /** An answer to a gate, as `session.answer` takes it. */
  | { readonly type: 'answer'; readonly gateId: string; readonly answer: JSONValue }
  | { readonly type: 'mode'; readonly mode: string }
  /** Asks for nothing: that it is taken up says that a process runs the session's turn. */
  | { readonly type: 'knock' };

/** One mail. What it holds can be kept as a record can. */
export interface Mail {
  readonly mailId: string;
  /** When it was posted, in milliseconds since the epoch. */
  readonly at: number;
  readonly content: MailContent;
}

/**
 * The mailboxes of a store's sessions. They need not understand mails; they keep them in the order of posting until they are removed. A session need
 * not be there to have mails.
 */
export interface Mailbox {
  /** Keeps a mail. False where the session has one of this id, which stays as it is. Returns when the mail is as safe as a record would be. */
  post(sessionId: string, mail: Mail): Promise<boolean>;
  /** The session's mails, in the order of posting. */
  read(sessionId: string): Promise<readonly Mail[]>;
  /** Removes mails; ids that are not there are passed over. Returns when they are gone for good. */
  remove(sessionId: string, mailIds: readonly string[]): Promise<void>;
  /** The sessions that have mails, each once; the one whose first mail is the oldest comes first. */
  sessions(): Promise<readonly string[]>;
}

/** What is new in a session: it has more records, or more mails. */
export type StoreNews = 'records' | 'mails';

/**
 * Tells what is new in a session, whoever wrote it: at once in the store's own process, soon from others. It may tell too often or twice, and what was
 * written before `watch` returned need not be told. A listener must not throw. The function that it gives ends the telling.
 */
export type WatchStore = (sessionId: string, listener: (news: StoreNews) => void) => () => void;
