import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { HAS_POSTGRES, POSTGRES_LEFT_OUT, PostgresServer } from './postgres-server.ts';
import { isRunning } from './processes.ts';

describe.runIf(HAS_POSTGRES)(`a PostgreSQL server of a test${POSTGRES_LEFT_OUT}`, () => {
  test('keeps through a kill what it had committed, and leaves nothing behind when it is stopped', async () => {
    const before = foldersOfServers();
    const server = await PostgresServer.start();
    const [mine] = foldersOfServers().filter(folder => !before.includes(folder));
    const url = await server.createDatabase();
    await server.query(url, 'CREATE TABLE kept (value text)');
    await server.query(url, 'INSERT INTO kept VALUES ($1)', ['a']);
    await server.kill();
    await expect(server.query(url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await server.restart();
    expect(server.log).toContain('automatic recovery in progress');
    expect(await server.query(url, 'SELECT value FROM kept')).toEqual([{ value: 'a' }]);
    expect(await server.query(url, "SELECT current_setting('fsync') AS fsync")).toEqual([{ fsync: 'on' }]);
    await server.stop();
    expect(foldersOfServers()).not.toContain(mine);
  });

  test('ends with the process that started it, also where that is killed', async () => {
    const module = new URL('./postgres-server.ts', import.meta.url).href;
    const program = `
      import { PostgresServer } from '${module}';
      const server = await PostgresServer.start();
      const [{ pid, folder }] = await server.query(
        server.url(),
        "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1) AS pid, current_setting('data_directory') AS folder",
      );
      console.log(JSON.stringify({ pid: Number(pid), folder }));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface(child.stdout), 'line');
    const { pid, folder } = JSON.parse(line);
    expect(await isRunning(pid)).toBe(true);
    child.kill('SIGKILL');
    while ((await isRunning(pid)) || existsSync(folder)) await sleep(20);
  });
});

function foldersOfServers(): string[] {
  return readdirSync(tmpdir()).filter(name => name.startsWith('looprig-postgres-'));
}
