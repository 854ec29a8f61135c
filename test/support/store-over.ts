/** A store that does what another does, but for what a test says. */
import type { JournalStore } from 'looprig';

export function storeOver(inner: JournalStore, changed: Partial<JournalStore> = {}): JournalStore {
  return {
    append: (...given) => inner.append(...given),
    read: (...given) => inner.read(...given),
    list: options => inner.list(options),
    delete: (sessionId, expectedSeq) => inner.delete(sessionId, expectedSeq),
    find: sessionId => inner.find(sessionId),
    putCapture: (...given) => inner.putCapture(...given),
    getCapture: (...given) => inner.getCapture(...given),
    ...(inner.mailbox !== undefined && { mailbox: inner.mailbox }),
    ...changed,
  };
}
