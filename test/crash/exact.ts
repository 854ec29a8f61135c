/** A process that kills itself at an exact place, by the same signal as its parent: places that no outsider hits for certain. */
import type { JournalRecord, JournalStore } from '../../src/index.ts';

/**
 * Where: the model is being asked; a tool has begun to take effect, or is through; records are about to be handed to the store, were just
 * handed to it, or are kept and nobody knows yet; a large result is being kept.
 */
type Spot = 'asked' | 'begin' | 'end' | 'before-append' | 'in-append' | 'after-append' | 'in-capture';

/** A spot, and at which time that the process comes there, from 1. */
export interface ExactPlace {
  readonly at: Spot;
  readonly count: number;
}

/** Counts arrivals at a place, and ends the process there. */
export class ExactKill {
  readonly #place: ExactPlace | undefined;
  #arrivals = 0;

  constructor(place: ExactPlace | undefined) {
    this.#place = place;
  }

  arrive(at: Spot): void {
    if (this.#place?.at !== at) return;
    this.#arrivals += 1;
    if (this.#arrivals === this.#place.count) process.kill(process.pid, 'SIGKILL');
  }

  /** The store with these places in it. */
  within(store: Required<JournalStore>): Required<JournalStore> {
    return {
      append: async (sessionId: string, expectedSeq: number, records: readonly JournalRecord[]) => {
        this.arrive('before-append');
        const appended = store.append(sessionId, expectedSeq, records);
        this.arrive('in-append');
        await appended;
        this.arrive('after-append');
      },
      putCapture: (sessionId, bytes) => {
        const kept = store.putCapture(sessionId, bytes);
        this.arrive('in-capture');
        return kept;
      },
      read: (sessionId, fromSeq) => store.read(sessionId, fromSeq),
      list: options => store.list(options),
      delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
      find: sessionId => store.find(sessionId),
      getCapture: (sessionId, id) => store.getCapture(sessionId, id),
      mailbox: store.mailbox,
      watch: (sessionId, listener) => store.watch(sessionId, listener),
      close: () => store.close(),
    };
  }
}
