/** What the store and its file say to each other, in one thread or in two. All of it is plain data. */

/** How a file is to be opened. */
export interface FileOptions {
  /** An absolute path. */
  readonly file: string;
  readonly busyTimeoutMs: number;
  /** The most bytes that the file may grow to, or `undefined`. */
  readonly maxBytes: number | undefined;
  /** Whether a commit waits for the disk, or for the operating system. */
  readonly synchronous: 'full' | 'normal';
}

/** One append: its records are one row. */
export interface AppendWrite {
  readonly type: 'append';
  readonly session: string;
  readonly expectedSeq: number;
  readonly count: number;
  /** When the first and the last record were made. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly text: string;
}

interface CaptureWrite {
  readonly type: 'capture';
  readonly session: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** One mail; nothing where the session has one of this id. */
interface PostWrite {
  readonly type: 'post';
  readonly session: string;
  readonly mailId: string;
  readonly text: string;
}

interface UnpostWrite {
  readonly type: 'unpost';
  readonly session: string;
  readonly mailIds: readonly string[];
}

/** A session with all that belongs to it; nothing where its journal ends elsewhere. */
interface DeleteWrite {
  readonly type: 'delete';
  readonly session: string;
  readonly expectedSeq: number;
}

export type Write = AppendWrite | CaptureWrite | PostWrite | UnpostWrite | DeleteWrite;

/** A session as its row has it. */
export interface SessionRow {
  readonly session: string;
  readonly lastSeq: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The row of its last append: rows are numbered in the order of writing. */
  readonly lastRow: number;
}

/** Where a session's records are: the rows that hold them, in order, and what stands before and after them. */
export interface Located {
  readonly rows: readonly number[];
  /** The sequence number of the first record in the rows, and the checksum of the row before them. */
  readonly firstSeq: number;
  readonly before: string;
  /** The checksum that the last row must have. */
  readonly end: string;
  /** If the rows are not all that there should be: the number of the first record that is not in them. */
  readonly missing?: number;
}

/** The texts of some rows, in order, and what stands before the next. */
export interface ReadRows {
  readonly texts: readonly string[];
  readonly nextSeq: number;
  readonly before: string;
  /** What is wrong with the row after those. */
  readonly damage?: string;
}

/** What can be asked, and what comes back. */
export interface Requests {
  /** Writes in one transaction; each has an outcome of its own. */
  readonly write: { readonly ask: readonly Write[]; readonly reply: readonly WriteOutcome[] };
  readonly find: { readonly ask: string; readonly reply: SessionRow | undefined };
  /** Sessions, the last written first: at most so many, and only those that were written before the one whose last row this is. */
  readonly list: {
    readonly ask: { readonly limit: number; readonly beforeRow: number };
    readonly reply: readonly SessionRow[];
  };
  readonly locate: {
    readonly ask: { readonly session: string; readonly fromSeq: number };
    readonly reply: Located | undefined;
  };
  readonly rows: {
    readonly ask: {
      readonly session: string;
      readonly rows: readonly number[];
      readonly nextSeq: number;
      readonly before: string;
    };
    readonly reply: ReadRows;
  };
  readonly capture: {
    readonly ask: { readonly session: string; readonly id: string };
    readonly reply: Uint8Array | undefined;
  };
  /** The texts of a session's mails, the first posted first. */
  readonly mails: { readonly ask: string; readonly reply: readonly string[] };
  /** The sessions that have mails, the one with the oldest first. */
  readonly mailboxes: { readonly ask: undefined; readonly reply: readonly string[] };
  /** Where these sessions stand; nothing where no other connection has written since this was asked last. */
  readonly standings: { readonly ask: readonly string[]; readonly reply: readonly Standing[] | undefined };
  readonly close: { readonly ask: undefined; readonly reply: undefined };
}

export type RequestName = keyof Requests;

/** How far a session has come: numbers that grow with each append, and with each mail. */
export interface Standing {
  readonly session: string;
  readonly lastSeq: number;
  readonly lastMail: number;
}

/** What became of one write. A capture gives its id, and so does a mail that was not there. */
export type WriteOutcome = { readonly id?: string } | { readonly failure: Failure };

/** Why something failed, as data. */
export interface Failure {
  readonly kind: 'store_failed' | 'conflict' | 'damaged' | 'foreign_file' | 'newer_format';
  readonly message: string;
  /** `conflict`: where the journal really ends. */
  readonly actualSeq?: number;
  /** The file is locked by another program: it may be tried again. */
  readonly isLocked?: boolean;
  /** The platform's own words. */
  readonly reason?: string;
}

export interface Question {
  readonly id: number;
  readonly name: RequestName;
  readonly ask: unknown;
}

export interface Answer {
  readonly id: number;
  readonly outcome: Outcome<unknown>;
}

/** What came of a question. */
export type Outcome<Reply> = { readonly reply: Reply } | { readonly failure: Failure };
