/** The studio on a server of its own, over sessions whose time the test moves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Clock, defineRig, type JournalStore, type LoopDefinition, memoryStore, type RigOptions } from 'looprig';
import { createHost, type SessionHost } from 'looprig/engines';
import { type Listening, type ListenOptions, listen } from 'looprig/server';
import { manualClock } from 'looprig/testing';
import { buildStudio } from '../../scripts/pages.ts';
import { studioFiles } from '../../src/server/node/studio.ts';
import type { StaticFiles } from '../../src/server/static-files.ts';

/** The files of the studio, built from its sources. */
export async function builtStudio(): Promise<StaticFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'looprig-studio-'));
  try {
    await buildStudio(folder);
    return await studioFiles(pathToFileURL(`${folder}/`));
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface Stage extends AsyncDisposable {
  readonly url: string;
  readonly host: SessionHost;
  readonly store: JournalStore;
  /** The address of a session in the studio. */
  of(sessionId: string): string;
  /** Ends the server with all its streams; `up` begins another at the same place. */
  down(): Promise<void>;
  up(): Promise<void>;
}

/** A clock that stands at the browser's time, until it is moved. */
export const stageClock = (): ReturnType<typeof manualClock> => manualClock(Date.now());

/** Serves sessions of these loops. */
export async function stageOf(
  files: StaticFiles,
  loops: readonly LoopDefinition[],
  given: {
    readonly clock?: Clock;
    readonly store?: JournalStore;
    readonly gate?: RigOptions<[]>['gate'];
    readonly server?: ListenOptions;
  } = {},
): Promise<Stage> {
  const { clock, store = memoryStore(), gate = { ask: true }, server = {} } = given;
  const rig = defineRig({ loops, store, gate, ...(clock === undefined ? {} : { clock }) });
  const host = createHost({ rig });
  let listening: Listening = await listen(host, { ...server, files });
  const { url, port } = listening;
  return {
    ...{ url, host, store },
    of: sessionId => `${url}/#/s/${sessionId}`,
    down: () => listening.close({ graceMs: 0 }),
    async up() {
      listening = await listen(host, { ...server, files, port });
    },
    async [Symbol.asyncDispose]() {
      await listening.close({ graceMs: 0 });
      await host.close();
    },
  };
}
