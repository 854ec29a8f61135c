/** Workers of different versions on one engine: a session that a newer one has written is left to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHost } from '../../src/engines/create-host.ts';
import type { Engine } from '../../src/engines/engine.ts';
import type { Host } from '../../src/engines/host.ts';
import { localEngine } from '../../src/engines/local.ts';
import { pgBoss } from '../../src/engines/pg-boss/index.ts';
import { restate } from '../../src/engines/restate/index.ts';
import { defineRig, JournalError, type JournalRecord, type JournalStore, memoryStore } from '../../src/index.ts';
import { engineKitLoops } from '../../src/testing/engine-kit-loop.ts';
import { HAS_POSTGRES, PostgresServer } from '../support/postgres-server.ts';
import { HAS_RESTATE, RestateServer } from '../support/restate-server.ts';

interface Kind {
  readonly name: string;
  readonly isThere: boolean;
  start(): Promise<{ readonly engine: Engine; readonly stop: () => Promise<void> }>;
}

const KINDS: readonly Kind[] = [
  { name: 'one process', isThere: true, start: async () => ({ engine: localEngine(), stop: async () => undefined }) },
  {
    name: 'Restate',
    isThere: HAS_RESTATE,
    async start() {
      const server = await RestateServer.start();
      const { ingressUrl, adminUrl } = server;
      return { engine: restate({ ingressUrl, adminUrl, worker: { port: 0 } }), stop: () => server.stop() };
    },
  },
  {
    name: 'pg-boss',
    isThere: HAS_POSTGRES,
    async start() {
      const server = await PostgresServer.start();
      return { engine: pgBoss({ url: await server.createDatabase() }), stop: () => server.stop() };
    },
  },
];

/** What a later version might record: this one has never heard of it. */
const LATER = { type: 'turn.rewound', to: 1, at: 1 };

describe.each(KINDS.filter(({ isThere }) => isThere))('on the engine of $name', ({ start }) => {
  const folder = mkdtempSync(join(tmpdir(), 'looprig-versions-'));
  const store: JournalStore = memoryStore();
  const failures: { readonly error: unknown; readonly sessionId: string | undefined }[] = [];
  let kind: Awaited<ReturnType<typeof start>>;
  let host: Host;
  beforeAll(async () => {
    kind = await start();
    host = createHost({
      rig: defineRig({ loops: engineKitLoops(folder), store }),
      engine: kind.engine,
      onError: (error, ref) => failures.push({ error, sessionId: ref?.sessionId }),
    });
    await host.serve();
  }, 60_000);
  afterAll(async () => {
    await host.close();
    await kind.engine.close?.();
    await kind.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('a session with records of a later version is refused and left as it is, and others go on', async () => {
    const [newer, other] = [await host.begin(), await host.begin()];
    const plan = JSON.stringify({ batches: [] });
    await host.submit(newer, plan);
    await expect.poll(() => ends(store, newer), { timeout: 15_000 }).toEqual(['turn.done']);
    const { lastSeq = 0 } = (await store.find(newer)) ?? {};
    await store.append(newer, lastSeq, [{ ...LATER, seq: lastSeq + 1 } as unknown as JournalRecord]);
    const turn = { sessionId: newer, turnId: crypto.randomUUID() };
    await kind.engine.start(turn); // as a host of the later version does
    await expect.poll(() => failures.length, { timeout: 15_000 }).toBeGreaterThan(0);
    const [failure] = failures;
    expect(failure?.sessionId).toBe(newer);
    expect(JournalError.is(failure?.error) && failure.error.kind).toBe('newer_format');
    expect((await store.find(newer))?.lastSeq).toBe(lastSeq + 1);
    await host.submit(other, plan);
    await expect.poll(() => ends(store, other), { timeout: 15_000 }).toEqual(['turn.done']);
  });
});

async function ends(store: JournalStore, sessionId: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of store.read(sessionId, 1)) if (type === 'turn.done') types.push(type);
  return types;
}
