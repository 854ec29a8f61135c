/** A store that fails when a test tells it to. */
import { JournalError } from '../errors.ts';
import type { JournalRecord, JournalStore } from '../journal/journal.ts';

/** What happens to one append. */
export interface StoreFault {
  /**
   * `reject`: its promise rejects. `throw`: the call throws before it returns (where an append that took effect is not done by then, it rejects).
   * `half`: the first half of the records, rounded up, is appended alone, and the promise rejects: a store that keeps no append whole.
   * `hang`: it never settles. `pass`: it is appended as if there were no fault; for a delay, with `until`.
   */
  readonly how: 'reject' | 'throw' | 'half' | 'hang' | 'pass';
  /** Whether the records are appended first. Default `before`: nothing takes effect. Of no meaning for `half` and `pass`. */
  readonly when?: 'before' | 'after';
  /** What it fails with. Default: a `JournalError` `store_failed` that says which append it was. */
  readonly error?: unknown;
  /** The append settles, or fails, only after this; what takes effect does so at once. Default: no wait. */
  readonly until?: PromiseLike<unknown>;
}

/** An append as a plan sees it. */
export interface PlannedAppend {
  /** Which append of the whole store it is, from 1. */
  readonly number: number;
  readonly sessionId: string;
  readonly expectedSeq: number;
  readonly records: readonly JournalRecord[];
}

/** Which appends fail: by their number, from 1, or as a function says. */
export type StoreFaultPlan = Readonly<Record<number, StoreFault>> | ((append: PlannedAppend) => StoreFault | undefined);

/** A store with faults. All but `append` is the other store's. */
export interface FaultyStore extends JournalStore {
  /** How many appends were asked for so far. */
  readonly appends: number;
}

/**
 * A store that keeps its records in `store`, and fails as `plan` says: `faultyStore(memoryStore(), { 3: { how: 'reject' } })` refuses
 * the third append. Closing it closes `store`.
 */
export function faultyStore(store: JournalStore, plan: StoreFaultPlan): FaultyStore {
  const faultOf = typeof plan === 'function' ? plan : ({ number }: PlannedAppend) => plan[number];
  let appends = 0;
  return {
    get appends() {
      return appends;
    },
    append(sessionId, expectedSeq, records) {
      appends += 1;
      const fault = faultOf({ number: appends, sessionId, expectedSeq, records });
      if (fault === undefined) return store.append(sessionId, expectedSeq, records);
      const taken = partTaken(fault, records);
      const effect = taken && store.append(sessionId, expectedSeq, taken);
      const error = 'error' in fault ? fault.error : planned(appends);
      if (fault.how === 'throw' && fault.until === undefined && effect === undefined) throw error;
      return settle(fault, error, effect);
    },
    read: (sessionId, fromSeq) => store.read(sessionId, fromSeq),
    list: options => store.list(options),
    delete: (sessionId, expectedSeq) => store.delete(sessionId, expectedSeq),
    find: sessionId => store.find(sessionId),
    putCapture: (sessionId, bytes) => store.putCapture(sessionId, bytes),
    getCapture: (sessionId, id) => store.getCapture(sessionId, id),
    ...(store.mailbox === undefined ? {} : { mailbox: store.mailbox }),
    ...(store.watch === undefined ? {} : { watch: (sessionId, listener) => store.watch!(sessionId, listener) }),
    close: async () => store.close?.(),
  };
}

function partTaken({ how, when }: StoreFault, records: readonly JournalRecord[]): readonly JournalRecord[] | undefined {
  if (how === 'half') return records.slice(0, Math.ceil(records.length / 2));
  return how === 'pass' || when === 'after' ? records : undefined;
}

async function settle({ how, until }: StoreFault, error: unknown, effect: void | Promise<void>): Promise<void> {
  await effect;
  await until;
  if (how === 'pass') return;
  if (how === 'hang') await new Promise<never>(() => {});
  throw error;
}

function planned(number: number): JournalError {
  return new JournalError('store_failed', `append ${number} of this store fails, as its test planned`);
}
