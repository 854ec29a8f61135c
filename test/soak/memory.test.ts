/** A process that runs for long keeps nothing of what is over. `npm run soak:memory` does it for 24 hours' worth of turns. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore } from 'looprig';
import { sqliteStore } from 'looprig/sqlite';
import { expect, it } from 'vitest';
import { held } from './memory.ts';
import { type Way, workload } from './workload.ts';

/** Until then caches fill, and code is compiled. */
const WARM = 600;
const MEASURED = 1_600;

/** Less than a turn has of anything: its records alone are 10 KB. What is left is what is known of the last sessions. */
const MOST_BYTES_A_TURN = 500;

it.each<[string, Way]>([
  ['sessions of a rig that are closed', 'rig'],
  ['sessions of a store in memory that are deleted', 'memory'],
  ['sessions of a server whose readers have left', 'server'],
])('%s leave nothing behind', { timeout: 120_000 }, async (_, way) => {
  const folder = mkdtempSync(join(tmpdir(), 'looprig-soak-'));
  const store =
    way === 'memory' ? memoryStore() : sqliteStore({ file: join(folder, 'store.db'), synchronous: 'normal' });
  try {
    const load = await workload(store, way, 0);
    await load.playUntil(WARM);
    const before = await held();
    await load.playUntil(WARM + MEASURED);
    const after = await held();
    expect(load.turns).toBe(WARM + MEASURED);
    expect((after.heap + after.external - before.heap - before.external) / MEASURED).toBeLessThan(MOST_BYTES_A_TURN);
    await load.end();
  } finally {
    await store.close?.();
    rmSync(folder, { recursive: true });
  }
});
