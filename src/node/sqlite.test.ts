import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sqliteStore } from '../journal/sqlite/index.ts';
import { sqlite } from './sqlite.ts';

afterEach(() => vi.restoreAllMocks());

describe('the SQLite of a runtime', () => {
  it('is the one that is built in, and warnings are told as before', () => {
    const { emitWarning } = process;
    expect(new (sqlite().DatabaseSync)(':memory:').prepare('SELECT 1 AS one').get()).toEqual({ one: 1 });
    expect(process.emitWarning).toBe(emitWarning);
  });

  it('is said to be missing where it is, with what to use instead', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
    const { emitWarning } = process;
    expect(() => sqlite()).toThrow('this runtime has no node:sqlite: use Node 22.13 or later');
    expect(process.emitWarning).toBe(emitWarning);
    const store = sqliteStore({ file: join(import.meta.dirname, 'never-made.db') });
    await expect(store.list()).rejects.toMatchObject({
      name: 'JournalError',
      kind: 'store_failed',
      message: expect.stringContaining('or another store, such as that of looprig/postgres'),
    });
    await store.close();
  });
});
