import { describe, expect, it } from 'vitest';
import { HAS_RESTATE, RESTATE_LEFT_OUT, RestateServer } from './restate-server.ts';

describe.runIf(HAS_RESTATE)(`a Restate server of a test${RESTATE_LEFT_OUT}`, () => {
  it('takes calls when it has started, and again on the same ports after it was killed', async () => {
    await using server = await RestateServer.start();
    const { ingressUrl, adminUrl } = server;
    expect(await server.query('SELECT id FROM sys_invocation')).toEqual([]);
    await server.kill();
    await expect(fetch(adminUrl)).rejects.toThrow();
    await server.restart();
    expect([server.ingressUrl, server.adminUrl]).toEqual([ingressUrl, adminUrl]);
    expect(await server.query('SELECT id FROM sys_invocation')).toEqual([]);
  });
});
