import { describe, expect, it } from 'vitest';
import { engineFromUrl } from './engine-url.ts';
import { localEngine } from './local.ts';
import { pgBoss } from './pg-boss/index.ts';
import { restate } from './restate/index.ts';

const NOWHERE = '127.0.0.1:1';

/** Where nothing listens: what reached out would fail. */
const ENGINES = {
  localEngine: async () => localEngine(),
  pgBoss: async () => pgBoss({ url: `postgres://somebody@${NOWHERE}/nowhere` }),
  restate: async () => restate({ ingressUrl: `http://${NOWHERE}` }),
  engineFromUrl: () => engineFromUrl(`restate://${NOWHERE}`),
};

describe('every engine of the package', () => {
  it.each(Object.entries(ENGINES))('is closed, and disposed of, without reaching out: %s', async (_name, make) => {
    await expect((await make()).close()).resolves.toBeUndefined();
    await expect((await make())[Symbol.asyncDispose]()).resolves.toBeUndefined();
  });
});

it('a local engine ends by its host alone: closing it holds up nothing', async () => {
  const engine = localEngine();
  const ran: string[] = [];
  const serving = await engine.serve(async ({ turnId }) => {
    ran.push(turnId);
    return { status: 'done' };
  });
  await engine.start({ sessionId: 's', turnId: 't' });
  await serving.close();
  await engine.close();
  expect(ran).toEqual(['t']);
});
