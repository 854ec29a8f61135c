import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, test } from 'vitest';
import { journalStoreKit } from '../../testing/journal-store-kit.ts';
import type { StoreDamage } from '../../testing/journal-store-kit-damage.ts';
import type { JournalStore } from '../journal.ts';
import { sqliteStore } from './index.ts';

const folder = mkdtempSync(join(tmpdir(), 'looprig-sqlite-kit-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
/** The row of the record, and the next row of its session. */
const ROWS = `SELECT batch.id, records FROM batch JOIN session ON session.id = batch.session WHERE name = ? AND batch.last_seq >= ? ORDER BY batch.id`;

const DAMAGES: Record<StoreDamage['how'], (database: DatabaseSync, rows: readonly Row[]) => void> = {
  altered: (database, [row]) => set(database, row, row?.records.replace('"type":"', '"type":"x')),
  missing: (database, [row]) => database.prepare('DELETE FROM batch WHERE id = ?').run(row?.id ?? 0),
  moved: (database, [row, next]) => {
    set(database, row, next?.records);
    set(database, next, row?.records);
  },
};

interface Row {
  readonly id: number;
  readonly records: string;
}

function set(database: DatabaseSync, row: Row | undefined, records: string | undefined): void {
  database.prepare('UPDATE batch SET records = ? WHERE id = ?').run(records ?? null, row?.id ?? 0);
}

describe.each([
  [false, 'full'],
  [true, 'full'],
  [false, 'normal'],
  [true, 'normal'],
] as const)('the SQLite store (thread: %s, synchronous: %s) is a journal store:', (thread, synchronous) => {
  const file = join(folder, `sessions-${thread}-${synchronous}.db`);
  const open = (): JournalStore => sqliteStore({ file, thread, synchronous });
  const reopen = async (store: JournalStore): Promise<JournalStore> => {
    await store.close?.();
    return open();
  };
  const damage = async (store: JournalStore, { sessionId, seq, how }: StoreDamage): Promise<JournalStore> => {
    await store.close?.();
    const database = new DatabaseSync(file);
    DAMAGES[how](database, database.prepare(ROWS).all(sessionId, seq) as unknown as Row[]);
    database.close();
    return open();
  };
  for (const { name, run } of journalStoreKit(open, { reopen, damage })) test(name, run);
});
