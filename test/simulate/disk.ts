/** What outlives processes: one store that all of them write to, and the list of what tools really did. */
import type { JournalRecord, JournalStore } from '../../src/index.ts';
import { memoryStore } from '../../src/index.ts';

/** Something that a tool did in the world. */
export interface Effect {
  readonly callId: string;
  /** Which process did it. */
  readonly life: number;
  readonly turn: number;
  readonly step: number;
  readonly index: number;
}

/** Told of each record that the disk takes and of each effect, in the order in which they happen. */
export interface Watcher {
  record(record: JournalRecord, life: number): void;
  effect(effect: Effect): void;
}

export class Disk {
  readonly effects: Effect[] = [];
  readonly records: JournalRecord[] = [];
  readonly #store: JournalStore = memoryStore();
  readonly #watcher: Watcher;
  sessionId: string | undefined;

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
  }

  effect(effect: Effect): void {
    this.effects.push(effect);
    this.#watcher.effect(effect);
  }

  write(life: number, sessionId: string, expectedSeq: number, records: readonly JournalRecord[]): void {
    void this.#store.append(sessionId, expectedSeq, records);
    this.sessionId = sessionId;
    for (const record of records) {
      this.records.push(record);
      this.#watcher.record(record, life);
    }
  }

  /** The disk as one process sees it; `append` is its own. */
  seenBy(append: JournalStore['append']): JournalStore {
    const store = this.#store;
    return {
      append,
      read: (sessionId, fromSeq) => store.read(sessionId, fromSeq),
      list: options => store.list(options),
      delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
      find: sessionId => store.find(sessionId),
      putCapture: (sessionId, bytes) => store.putCapture(sessionId, bytes),
      getCapture: (sessionId, id) => store.getCapture(sessionId, id),
    };
  }
}
