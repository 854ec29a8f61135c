/**
 * The list of sessions, a page at a time, the last written first.
 *
 * 1. A session that is written moves to the front. So only the front is read again and again, to where it meets what is known; all that was asked for is
 *    read again now and then, for what was deleted further back.
 * 2. One thing is done after the other: what was read before a session was deleted cannot bring it back.
 */
import type { SessionSummary } from '../session/summary.ts';

/** Which part of the list to read. */
export interface PageOptions {
  readonly limit: number;
  readonly after?: string;
}

/** The list as far as it was asked for. */
export interface Listed {
  readonly list: readonly SessionSummary[];
  /** Whether no session stands behind these. */
  readonly isAll: boolean;
}

/** How many sessions a page has. */
export const PAGE_SIZE = 50;

/** The refresh of which all that was asked for is read. */
const THOROUGH_EVERY = 12;

export class SessionPages {
  readonly #read: (page: PageOptions) => Promise<readonly SessionSummary[]>;
  #listed: Listed | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #queued: Promise<void> | undefined;
  #refreshes = 0;

  constructor(read: (page: PageOptions) => Promise<readonly SessionSummary[]>) {
    this.#read = read;
  }

  /** `undefined` until it was read once. */
  get listed(): Listed | undefined {
    return this.#listed;
  }

  /** Reads what is new. One that has not begun is enough for all who ask for it. */
  refresh(): Promise<void> {
    this.#queued ??= this.#next(before => {
      this.#queued = undefined;
      const isThorough = this.#refreshes++ % THOROUGH_EVERY === 0;
      return this.#readFront(before, isThorough);
    });
    return this.#queued;
  }

  /** Reads the next page. */
  more(): Promise<void> {
    return this.#next(async before => {
      if (before.isAll) return before;
      const known = new Set(before.list.map(({ sessionId }) => sessionId));
      const { list, isAll } = await this.#page(before.list.at(-1)?.place);
      return { list: [...before.list, ...list.filter(({ sessionId }) => !known.has(sessionId))], isAll };
    });
  }

  /** Takes out a session that was deleted. */
  forget(sessionId: string): Promise<void> {
    return this.#next(async ({ list, isAll }) => ({
      list: list.filter(session => session.sessionId !== sessionId),
      isAll,
    }));
  }

  #next(work: (before: Listed) => Promise<Listed>): Promise<void> {
    const done = this.#last.then(async () => {
      this.#listed = await work(this.#listed ?? { list: [], isAll: false });
    });
    this.#last = done.catch(() => {}); // whoever asked is told
    return done;
  }

  async #readFront(before: Listed, isThorough: boolean): Promise<Listed> {
    let front: readonly SessionSummary[] = [];
    for (;;) {
      const page = await this.#page(front.at(-1)?.place);
      front = [...front, ...page.list];
      if (page.isAll) return { list: front, isAll: true };
      const joined = isThorough ? undefined : joinedAt(front, before);
      if (joined !== undefined) return joined;
      if (front.length >= before.list.length) return { list: front, isAll: false };
    }
  }

  /** One session more than a page has says whether there is another page. */
  async #page(after: string | undefined): Promise<Listed> {
    const list = await this.#read({ limit: PAGE_SIZE + 1, ...(after === undefined ? {} : { after }) });
    return { list: list.slice(0, PAGE_SIZE), isAll: list.length <= PAGE_SIZE };
  }
}

/** Joins a new front to the list before, where its last session stands in both. */
function joinedAt(front: readonly SessionSummary[], { list, isAll }: Listed): Listed | undefined {
  const last = front.at(-1);
  const at = list.findIndex(({ sessionId, place }) => sessionId === last?.sessionId && place === last.place);
  if (at < 0) return undefined;
  const isNew = new Set(front.map(({ sessionId }) => sessionId));
  return { list: [...front, ...list.slice(at + 1).filter(({ sessionId }) => !isNew.has(sessionId))], isAll };
}
