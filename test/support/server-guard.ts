/** What servers of other people's making need that a test starts: a free port, and that none of them outlives the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Outlives this process by a moment: it reads the numbers of the servers, and at the end of that ends the last one and removes the folder. */
const GUARD = `
  while read -r next; do pid=$next; done
  if [ -n "$pid" ]; then
    for child in $(cat /proc/$pid/task/$pid/children 2>/dev/null); do kill -9 $child 2>/dev/null; done
    kill -9 $pid 2>/dev/null
    sleep 0.05
  fi
  rm -rf "$1"`;

/** A guard takes the number of each server, one a line; an empty line says that it has ended. It removes `folder` at the end. */
export function startGuard(folder: string): ChildProcess {
  return spawn('/bin/sh', ['-c', GUARD, 'guard', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
}

/** A port of loopback that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a server on a port has an address');
  return address.port;
}
