import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JournalRecord, memoryStore } from '../index.ts';
import { projectStore } from './project-store.ts';
import { keepSettings, makeRunsFolder, type RunSettings, readSettings } from './run-settings.ts';
import type { StorePlace } from './store-place.ts';

let place: StorePlace;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looprig-project-'));
  place = { file: join(folder, 'sessions.db'), isDefault: false };
  await makeRunsFolder(place);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const settings = (workspace: string, loop?: string): RunSettings => ({
  ...{ loop, model: 'demo', workspace, allowCommands: false, mcp: [], reasoning: undefined, asks: false },
});

const opened = (parent?: object): JournalRecord =>
  ({ type: 'session.opened', loop: 'l', seq: 1, at: 1, ...(parent && { parent }) }) as JournalRecord;

describe('the store of a project', () => {
  it('lists its own sessions and those of which nothing is known, in pages of any size, each once and in order', async () => {
    const inner = memoryStore();
    for (let n = 0; n < 450; n++) {
      await inner.append(`s${n}`, 0, [opened()]);
      if (n % 3 > 0) await keepSettings(place, `s${n}`, settings(n % 3 === 1 ? '/here' : '/there'));
    }
    const store = projectStore(inner, { place, settings: settings('/here') }, false);
    const wanted = Array.from({ length: 450 }, (_, n) => n)
      .filter(n => n % 3 < 2)
      .map(n => `s${n}`)
      .toReversed();
    const ids = (list: readonly { readonly sessionId: string }[]) => list.map(({ sessionId }) => sessionId);
    expect(ids(await store.list())).toEqual(wanted);
    for (const limit of [1, 7, 200, 300, 1_000]) {
      const all: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await store.list({ limit, ...(after !== undefined && { after }) });
        all.push(...ids(page));
        if (page.length < limit) break;
        after = page.at(-1)?.place;
      }
      expect(all).toEqual(wanted);
    }
    expect(ids(await projectStore(inner, { place, settings: settings('/here') }, true).list())).toHaveLength(450);
  });

  it('keeps what a session that begins in it is run with, and nothing of a delegate', async () => {
    const store = projectStore(memoryStore(), { place, settings: settings('/here', '/loops.ts') }, false);
    await store.append('own', 0, [opened()]);
    await store.append('child', 0, [opened({ sessionId: 'own', callId: 'c' })]);
    expect(await readSettings(place, 'own')).toMatchObject({ loop: '/loops.ts#l', workspace: '/here' });
    expect(await readSettings(place, 'child')).toEqual({});
  });
});
