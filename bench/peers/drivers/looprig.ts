/** looprig as it was built into `dist`, with all of its safety on: limits, records, one writer, checks of the whole. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { defineLoop, defineRig, defineTool } from '../../../dist/index.js';
import { DESCRIPTION, type Driver, type Job } from '../driver.ts';
import { idsOf, modelV4 } from '../model-v4.ts';

const RAISED = Number.POSITIVE_INFINITY;

async function openStore({ store }: Job) {
  if (store === undefined) return undefined;
  const { sqliteStore } = await import('../../../dist/journal/sqlite/index.js');
  return sqliteStore({ file: store.file, synchronous: store.synchronous === 'FULL' ? 'full' : 'normal' });
}

/** The session of a crash is found again by the note that its first process left. */
async function openSession(rig: ReturnType<typeof defineRig>, { store }: Job) {
  if (store?.session === undefined) return rig.open();
  const note = `${store.file}.${store.session}`;
  if (existsSync(note)) return rig.open({ sessionId: readFileSync(note, 'utf8') });
  const session = await rig.open();
  writeFileSync(note, session.id);
  return session;
}

export const driver: Driver = {
  async define(job) {
    const store = await openStore(job);
    const add = defineTool({
      name: 'add',
      description: DESCRIPTION,
      input: z.object({ n: z.number() }),
      execute: ({ n }) => job.tool(n),
    });
    const limits = {
      iterations: job.limit ?? RAISED,
      calls: RAISED,
      resultBytes: RAISED,
      ...(job.ownParallel ? {} : { parallel: job.width }),
    };
    const loop = defineLoop({ name: 'bench', model: modelV4(job), tools: [add], limits, stream: job.stream });
    return {
      close: () => store?.close(),
      async open() {
        // A rig keeps the journals of its sessions, in memory too: one a conversation lets go of those that are over.
        const session = await openSession(defineRig({ loops: [loop], ...(store && { store }) }), job);
        return async () => {
          const turn = session.unfinished === undefined ? session.submit('go') : session.resume();
          job.signal?.addEventListener('abort', () => turn.interrupt());
          let deltas = 0;
          if (job.stream) for await (const event of turn) if (event.type === 'text.delta') deltas += 1;
          const result = await turn.result;
          const ended = result.status === 'failed' ? `failed: ${result.error.name}` : result.status;
          return { ended, deltas, history: () => idsOf(session.history), close: () => session.close() };
        };
      },
    };
  },
};
