/** The tests that every journal store must pass, independent of a test runner. */
import { readTyped } from '../define/options.ts';
import type { JournalStore } from '../journal/journal.ts';
import { APPEND_CHECKS } from './journal-store-kit-append.ts';
import { CAPTURE_CHECKS } from './journal-store-kit-captures.ts';
import { type DamageStore, damageChecks } from './journal-store-kit-damage.ts';
import { DELETE_CHECKS, damagedDeleteChecks, reopenDeleteChecks } from './journal-store-kit-delete.ts';
import { FAULT_CHECKS } from './journal-store-kit-faults.ts';
import { LIST_CHECKS } from './journal-store-kit-list.ts';
import { MAIL_CHECKS, reopenMailChecks } from './journal-store-kit-mail.ts';
import { READ_CHECKS } from './journal-store-kit-read.ts';
import { type Reopen, reopenChecks } from './journal-store-kit-reopen.ts';
import { VALUE_CHECKS } from './journal-store-kit-values.ts';
import { refuseForTest } from './refusal.ts';

/** One test of a store. */
export interface JournalStoreCase {
  /** A fact about every store, fit as the title of a test. */
  readonly name: string;
  /** Rejects, with what was expected and what was there, if it does not hold. */
  run(): Promise<void>;
}

/** What only some stores can do. Each option adds the tests of it. */
export interface JournalStoreKitOptions {
  /** Closes a store and opens what it kept, for a store that outlives its process. Default: not tested. */
  readonly reopen?: Reopen;
  /** Closes a store, damages what it keeps as it is told, and opens it again, for a store whose medium can fail. Default: not tested. */
  readonly damage?: DamageStore;
}

/**
 * The tests of a store: `for (const { name, run } of journalStoreKit(createStore)) test(name, run)`. Each case makes a store, uses
 * session ids of its own, so that all may work on one database, and closes the store at its end. The cases of mailboxes and of watching
 * hold for a store that has none, too.
 */
export function journalStoreKit(
  createStore: () => JournalStore | Promise<JournalStore>,
  options: JournalStoreKitOptions = {},
): readonly JournalStoreCase[] {
  const { reopen, damage } = readTyped(options, ['reopen', 'damage'], 'journalStoreKit', refuseForTest);
  const checks = [
    ...[APPEND_CHECKS, READ_CHECKS, LIST_CHECKS, VALUE_CHECKS, CAPTURE_CHECKS, DELETE_CHECKS].flat(),
    ...[FAULT_CHECKS, MAIL_CHECKS].flat(),
    ...(reopen === undefined
      ? []
      : [...reopenChecks(reopen), ...reopenMailChecks(reopen), ...reopenDeleteChecks(reopen)]),
    ...(damage === undefined ? [] : [...damageChecks(damage), ...damagedDeleteChecks(damage)]),
  ];
  return checks.map(([name, check]) =>
    Object.freeze({
      name,
      async run() {
        const store = await createStore();
        try {
          await check(store);
        } finally {
          await store.close?.();
        }
      },
    }),
  );
}
