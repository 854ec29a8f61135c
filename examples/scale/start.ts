/**
 * Everything on one machine: PostgreSQL, Restate, two workers, and the server with its page. `node examples/scale/start.ts`, after `npm run build` and `npm run services`. With
 * `--try` it runs one turn, kills a worker in it, approves what the turn asks, and ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PostgresServer } from '../../test/support/postgres-server.ts';
import { RestateServer } from '../../test/support/restate-server.ts';
import { freePort } from '../../test/support/server-guard.ts';

const root = join(import.meta.dirname, '../..');

// In production these two are yours. Here they live as long as this program, and what they keep with them.
await using postgres = await PostgresServer.start();
await using restate = await RestateServer.start();

const listen = await freePort();
const engine = `restate://${new URL(restate.ingressUrl).host}?admin=${restate.adminUrl}&listen=${listen}&share`;
const common = [
  '--loop',
  join(import.meta.dirname, 'looprig.config.ts'),
  '--engine',
  engine,
  '--store',
  postgres.url(),
];

function start(command: string, ...options: readonly string[]): ChildProcess {
  const args = [join(root, 'dist/cli/main.js'), command, ...common, ...options];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

const workers = [start('worker'), start('worker')] as const;
const server = start('serve', '--no-turns', '--port', '0');
const interrupted = once(process, 'SIGINT');
try {
  await Promise.race([interrupted, work()]);
} finally {
  for (const child of [...workers, server]) child.kill();
  await Promise.all([...workers, server].map(async child => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
}

async function work(): Promise<void> {
  for (const worker of workers) await once(worker.stderr!, 'data'); // it works
  const [said] = await once(server.stdout!.setEncoding('utf8'), 'data');
  const url = String(said).trim();
  console.log(`The page is at ${url}; workers are ${workers.map(({ pid }) => pid).join(' and ')}. Kill one and look.`);
  if (process.argv.includes('--try')) await tryOut(url);
  else await interrupted;
}

async function tryOut(url: string): Promise<void> {
  const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
    const init = body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const response = await fetch(`${url}/v1/sessions${path}`, init);
    return response.status === 204 ? {} : ((await response.json()) as Record<string, unknown>);
  };
  const { sessionId } = await ask('', {});
  await ask(`/${sessionId}/turns`, { input: 'Two lamps and a desk, please.' });
  workers[0].kill('SIGKILL');
  for (;;) {
    const { state, gates } = (await ask(`/${sessionId}`)) as { state: string; gates: readonly { gateId: string }[] };
    for (const { gateId } of gates) await ask(`/${sessionId}/gates/${gateId}`, { decision: 'approve' });
    if (state === 'done') return console.log('a worker was killed, the order approved, and the turn is done');
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}
