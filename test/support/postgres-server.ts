/**
 * A PostgreSQL server of a test's own: the real one, from a package of `test/services`, on loopback, with `fsync` on. It can be killed as by
 * a loss of power, and started again on what it had written. It ends with the test, and also where the test's process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type PostgresBinaries, postgresBinaries, SERVER_USER } from './postgres-binaries.ts';
import { childrenOf, isRunning } from './processes.ts';
import { freePort, startGuard } from './server-guard.ts';

export { HAS_POSTGRES, POSTGRES_LEFT_OUT } from './postgres-binaries.ts';

/** The user and the password of every server here. */
export const POSTGRES_USER = 'looprig';
export const POSTGRES_PASSWORD = 'open-sesame';

/** Settings that matter to tests: durable as in production, small, and without a file for a socket. */
const SETTINGS: readonly string[] = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'fsync=on',
  'synchronous_commit=on',
  'shared_buffers=32MB',
  'max_connections=120',
  'autovacuum_naptime=10min',
  'log_min_messages=log',
];

/** How often a free port may be taken by somebody else before the server has it. */
const PORT_ATTEMPTS = 5;

/** A running server, until `stop`. */
export class PostgresServer {
  readonly #binaries: PostgresBinaries;
  readonly #folder: string;
  readonly #guard: ChildProcess;
  #process: ChildProcess | undefined;
  #log = '';
  #port = 0;
  #databases = 0;

  private constructor(binaries: PostgresBinaries, folder: string, guard: ChildProcess) {
    this.#binaries = binaries;
    this.#folder = folder;
    this.#guard = guard;
  }

  /** Makes a cluster in a temporary folder, and starts it on a free port. `settings` are lines such as `max_connections=10`. */
  static async start(settings: readonly string[] = []): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'looprig-postgres-'));
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    if (SERVER_USER !== undefined) chownSync(join(folder, 'data'), SERVER_USER, SERVER_USER);
    const binaries = postgresBinaries(folder);
    const server = new PostgresServer(binaries, folder, startGuard(folder));
    try {
      await server.#makeCluster([...SETTINGS, ...settings]);
      await server.#startSomewhere();
      return server;
    } catch (cause) {
      await server.stop();
      throw cause;
    }
  }

  get port(): number {
    return this.#port;
  }

  /** What the server said since it was last started. */
  get log(): string {
    return this.#log;
  }

  /** The URL of a database, with user and password. */
  url(database: string = 'postgres'): string {
    return `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@127.0.0.1:${this.#port}/${database}`;
  }

  /** Makes an empty database, and gives its URL. */
  async createDatabase(): Promise<string> {
    this.#databases += 1;
    const name = `test_${this.#databases}`;
    await this.query(this.url(), `CREATE DATABASE ${name}`);
    return this.url(name);
  }

  /** Runs one statement on a connection of its own, and gives its rows. */
  async query(url: string, text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = await this.connect(url);
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** A connection of its own, to be ended by whoever asked for it. */
  async connect(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Starts the server on what it has, on the port that it had; also after `kill`. Returns when it takes connections. */
  async restart(): Promise<void> {
    const { postgres, env } = this.#binaries;
    this.#log = '';
    const args = ['-D', join(this.#folder, 'data'), '-p', String(this.#port)];
    const child = spawn(postgres, args, { ...asServerUser(), env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    const isReady = Promise.withResolvers<void>();
    child.on('error', isReady.reject);
    child.on('exit', () => isReady.reject(new Error(`PostgreSQL did not start:\n${this.#log}`)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-100_000);
      if (this.#log.includes('ready to accept connections')) isReady.resolve();
    });
    this.#guard.stdin?.write(`${child.pid}\n`);
    await isReady.promise;
  }

  /** Kills the server and all its processes at once, as a loss of power does. What it had not written is lost. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const helpers = await childrenOf(child.pid);
    const hasEnded = once(child, 'exit');
    child.kill('SIGKILL');
    for (const pid of helpers) killQuietly(pid);
    await hasEnded;
    for (const pid of helpers) while (await isRunning(pid)) await sleep(5);
  }

  /** Ends the server, every connection with it, and lets it write what it has: it starts again quickly. */
  async shutDown(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const hasEnded = once(child, 'exit');
    child.kill('SIGINT');
    await hasEnded;
  }

  /** Ends the server for good, and removes all that it wrote. */
  async stop(): Promise<void> {
    await this.kill();
    const hasEnded = once(this.#guard, 'exit');
    this.#guard.stdin?.end('\n'); // there is no server left for it to end
    await hasEnded;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #startSomewhere(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#port = await freePort();
      try {
        return await this.restart();
      } catch (cause) {
        if (attempt === PORT_ATTEMPTS || !this.#log.includes('could not bind')) throw cause;
      }
    }
  }

  async #makeCluster(settings: readonly string[]): Promise<void> {
    const { initdb, env } = this.#binaries;
    const passwordFile = join(this.#folder, 'password');
    writeFileSync(passwordFile, POSTGRES_PASSWORD);
    const login = ['--username', POSTGRES_USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const kind = ['--no-sync', '--encoding=UTF8', '--locale=C'];
    const pairs = settings.flatMap(setting => ['--set', setting]);
    const args = ['-D', join(this.#folder, 'data'), ...login, ...kind, ...pairs];
    const child = spawn(initdb, args, { ...asServerUser(), env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (said += text));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`initdb failed:\n${said}`);
  }
}

/** PostgreSQL refuses to run as root. */
function asServerUser(): { readonly uid?: number; readonly gid?: number } {
  return SERVER_USER === undefined ? {} : { uid: SERVER_USER, gid: SERVER_USER };
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself, with its parent.
  }
}
