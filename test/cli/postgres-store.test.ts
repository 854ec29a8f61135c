/** `--store postgres://…`: sessions of the command line on a server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, POSTGRES_PASSWORD, PostgresServer } from '../support/postgres-server.ts';
import { runProgram } from './program.ts';

describe.runIf(HAS_POSTGRES)(`a store on PostgreSQL${POSTGRES_LEFT_OUT}`, () => {
  let server: PostgresServer;
  let folder: string;

  beforeAll(async () => {
    server = await PostgresServer.start();
    folder = await mkdtemp(join(tmpdir(), 'looprig-cli-postgres-'));
    await writeFile(join(folder, 'README.md'), '# Sheep\n');
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('keeps sessions, shows them and goes on with them, and its password is never said', async () => {
    const store = await server.createDatabase();
    const first = await runProgram(['run', 'What is this?', '--workspace', folder, '--store', store]);
    expect(first.status).toBe(0);
    const without = store.replace(`:${POSTGRES_PASSWORD}`, '');
    expect(first.stderr).toMatch(/to go on: looprig run --session [0-9a-f]{8} --store /);
    expect(first.stderr).toContain(` --store ${without} "…"`);
    const env = { LOOPRIG_STORE: store };
    const second = await runProgram(['run', 'And now?', '--session', 'last', '--workspace', folder], { env });
    expect(second.status).toBe(0);
    const [listed, shown] = await Promise.all([
      runProgram(['sessions'], { env }),
      runProgram(['show', 'last', '--json'], { env }),
    ]);
    expect(listed.stdout).toMatch(/ done +2 +\d+ {2}What is this\?\n$/);
    expect(JSON.parse(shown.stdout.split('\n')[0] ?? '')).toMatchObject({ type: 'session', turns: 2 });
    for (const { stdout, stderr } of [first, second, listed, shown]) {
      expect(stdout + stderr).not.toContain(POSTGRES_PASSWORD);
    }
  });

  it('that cannot be reached is one sentence', async () => {
    const { status, stdout, stderr } = await runProgram([
      'sessions',
      '--store',
      'postgres://x:secret-word@127.0.0.1:1/none',
    ]);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^looprig: [^\n]*127\.0\.0\.1:1[^\n]*\n$/);
    expect(stderr).not.toContain('secret-word');
  });
});
