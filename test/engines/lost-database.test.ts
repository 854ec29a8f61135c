/** A database that is lost in the middle of a turn, and what the store's patience makes of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHost } from '../../src/engines/create-host.ts';
import { defineRig, JournalError, type JournalRecord } from '../../src/index.ts';
import { postgresStore } from '../../src/journal/postgres/index.ts';
import { letGo, readLedger } from '../../src/testing/engine-kit-ledger.ts';
import { engineKitLoops } from '../../src/testing/engine-kit-loop.ts';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from '../support/postgres-server.ts';

/** How long the database is away. */
const AWAY_MS = 1_500;

describe.runIf(HAS_POSTGRES)(`a turn whose database is lost${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  const folder = mkdtempSync(join(tmpdir(), 'looprig-lost-'));
  beforeAll(async () => {
    server = await PostgresServer.start();
  }, 60_000);
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Loses the database while a call runs, lets the call end, and brings the database back. */
  async function play(key: string, reconnectMs: number) {
    const store = postgresStore({ url: await server.createDatabase(), reconnectMs });
    const failures: unknown[] = [];
    const onError = (error: unknown): void => void failures.push(error);
    const rig = defineRig({ loops: engineKitLoops(folder), store, gate: { ask: true } });
    const host = createHost({ rig, onError });
    const sessionId = await host.begin();
    const plan = { batches: [[{ tool: 'hold', key }], [{ tool: 'note', key: `${key}-next` }]] };
    const { turnId } = await host.submit(sessionId, JSON.stringify(plan));
    const lines = (of: string) => readLedger(folder).filter(line => line.key === of && line.what === 'begin');
    await expect.poll(() => lines(key).length, { timeout: 10_000 }).toBe(1);
    await server.kill();
    letGo(folder, key);
    await sleep(AWAY_MS);
    const ranMeanwhile = lines(`${key}-next`).length;
    await server.restart();
    const records = async (): Promise<readonly JournalRecord[]> => {
      const all: JournalRecord[] = [];
      for await (const record of store.read(sessionId, 1)) all.push(record);
      return all;
    };
    const ended = async (): Promise<string | undefined> =>
      (await records().catch(() => [])).find(record => record.type === 'turn.done' && record.turnId === turnId)?.type;
    await expect.poll(ended, { timeout: 30_000 }).toBe('turn.done');
    const journal = await records();
    const outcomes = journal.flatMap(record => (record.type === 'tool.completed' ? [record.outcome] : []));
    const second = await host.submit(sessionId, JSON.stringify({ batches: [] }));
    expect(second.isNew).toBe(true);
    await host.close();
    await store.close();
    return { failures, outcomes, ranMeanwhile, runs: [lines(key).length, lines(`${key}-next`).length] };
  }

  it('waits where its store waits, and goes on as if nothing had been', { timeout: 60_000 }, async () => {
    const { failures, outcomes, ranMeanwhile, runs } = await play('waits', 20_000);
    expect({ failures, outcomes, ranMeanwhile, runs }).toEqual({
      ...{ failures: [], outcomes: ['done', 'done'], ranMeanwhile: 0, runs: [1, 1] },
    });
  });

  it('is left where its store does not wait, and taken up again: no call ran unrecorded', {
    timeout: 60_000,
  }, async () => {
    const { failures, outcomes, ranMeanwhile, runs } = await play('fails', 0);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.filter(error => !JournalError.is(error))).toEqual([]);
    expect({ outcomes, ranMeanwhile, runs }).toEqual({
      outcomes: ['interrupted', 'done'],
      ranMeanwhile: 0,
      runs: [1, 1],
    });
  });
});
