/** What a command has open. It is closed in one place, however the command ends, so that no command has to think of it. */

export class Opened {
  readonly #closers: (() => unknown)[] = [];

  /** Has `close` called when the command ends: what was opened last is closed first. */
  add(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Closes all of it; what cannot be closed keeps nothing else open. Rejects with the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Does what is to be done with things that are open, and closes them. Rejects with what went wrong first. */
export async function withOpened<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const opened = new Opened();
  let done: T;
  try {
    done = await work(opened);
  } catch (error) {
    await opened.close().catch(() => {}); // it may be broken for the same reason, which is told
    throw error;
  }
  await opened.close();
  return done;
}
