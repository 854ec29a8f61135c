/** Who wants to be told of what is new in which session of a store. */
import type { StoreNews } from './mailbox.ts';

type Listener = (news: StoreNews) => void;

export class Watchers {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** The sessions that anybody watches. */
  get sessions(): readonly string[] {
    return [...this.#listeners.keys()];
  }

  has(sessionId: string): boolean {
    return this.#listeners.has(sessionId);
  }

  /** Registers a listener; the function that it gives takes it back. */
  add(sessionId: string, given: Listener): () => void {
    const listener: Listener = news => given(news); // one's own, so that a function may be given twice
    const listeners = this.#listeners.get(sessionId) ?? new Set();
    this.#listeners.set(sessionId, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(sessionId) === listeners) this.#listeners.delete(sessionId);
    };
  }

  tell(sessionId: string, news: StoreNews): void {
    const listeners = this.#listeners.get(sessionId);
    if (listeners === undefined) return;
    for (const listener of [...listeners]) listener(news);
  }
}
