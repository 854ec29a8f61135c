/** A store in memory whose appends a test can look at, and let fail. */
import { type JournalRecord, type JournalStore, memoryStore } from 'looprig';

/** What an append does instead of going well. */
export type Fault = 'throws' | 'rejects' | 'writes and rejects';

export interface WatchedStore extends JournalStore {
  /** The records of every append that went well, in order. */
  readonly appends: readonly (readonly JournalRecord[])[];
  /** How often an append was tried. */
  readonly attempts: number;
  /** Every record of all sessions, in the order of writing. */
  readonly records: readonly JournalRecord[];
  /** The n-th append from now on (from 1) fails in this way, and all after it; `undefined` heals the store. */
  failAt(nth: number | undefined, fault?: Fault): void;
}

/** What a broken store says. */
export const DISK_FULL = 'no space left on the device';

/** A store that counts. With `slow` an append is done only after a few promises. */
export function watchedStore({ slow = false }: { readonly slow?: boolean } = {}): WatchedStore {
  const inner = memoryStore();
  const appends: (readonly JournalRecord[])[] = [];
  let attempts = 0;
  let fault: { readonly from: number; readonly kind: Fault } | undefined;

  const write = (sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void => {
    void inner.append(sessionId, expectedSeq, records); // memory is done when it returns
    appends.push([...records]);
  };
  const append: JournalStore['append'] = (sessionId, expectedSeq, records) => {
    attempts += 1;
    const broken = fault !== undefined && attempts >= fault.from ? fault.kind : undefined;
    if (broken === 'throws') throw new Error(DISK_FULL);
    if (broken === 'rejects') return Promise.reject(new Error(DISK_FULL));
    if (!slow && broken === undefined) return write(sessionId, expectedSeq, records);
    return (async () => {
      for (let waits = 0; slow && waits < 5; waits++) await null;
      write(sessionId, expectedSeq, records);
      if (broken !== undefined) throw new Error(DISK_FULL);
    })();
  };
  return {
    append,
    read: (sessionId, fromSeq) => inner.read(sessionId, fromSeq),
    list: options => inner.list(options),
    delete: (sessionId, expectedSeq) => inner.delete(sessionId, expectedSeq),
    find: sessionId => inner.find(sessionId),
    putCapture: (sessionId, bytes) => inner.putCapture(sessionId, bytes),
    getCapture: (sessionId, id) => inner.getCapture(sessionId, id),
    appends,
    get attempts() {
      return attempts;
    },
    get records() {
      return appends.flat();
    },
    failAt(nth, kind = 'rejects') {
      fault = nth === undefined ? undefined : { from: attempts + nth, kind };
    },
  };
}
