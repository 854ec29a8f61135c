/**
 * A Restate server of a test's own: the real one, from a package of `test/services`, on loopback, without telemetry. It can be killed as by a
 * loss of power, and started again on what it had written. It ends with the test, and also where the test's process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort, startGuard } from './server-guard.ts';

/** The server itself: its package's own command is a script round it, which would be killed in its place. */
const PACKAGES = fileURLToPath(new URL('../services/node_modules/', import.meta.url));
const BINARY = join(PACKAGES, '@restatedev', 'restate-server-linux-x64', 'bin', 'restate-server');

/** Whether this machine can run it: the package of `test/services` is built for Linux on x64. */
export const HAS_RESTATE: boolean = process.platform === 'linux' && process.arch === 'x64';

/** For the title of tests that need a server: says that they are left out, where they are. */
export const RESTATE_LEFT_OUT: string = HAS_RESTATE
  ? ''
  : ' (left out: Restate for tests is there for Linux on x64 only)';

/** How often a free port may be taken by somebody else before the server has it. */
const PORT_ATTEMPTS = 5;

/**
 * Small, and quick to find out that a worker is gone. Few calls share a connection, so that workers behind one address each get some.
 */
const CONFIGURATION = `
disable-telemetry = true
listen-mode = "tcp"
bind-ip = "127.0.0.1"
advertised-host = "127.0.0.1"
node-name = "looprig"
default-num-partitions = 4
log-format = "compact"
log-disable-ansi-codes = true
rocksdb-total-memory-size = "256.0 MiB"

[admin]
disable-web-ui = true

[worker.invoker]
http2-streams-per-connection-limit = 4
http2-keep-alive-interval = "1s"
http2-keep-alive-timeout = "1s"
`;

interface Ports {
  readonly node: number;
  readonly admin: number;
  readonly ingress: number;
}

/** How often a query is tried. */
const QUERY_ATTEMPTS = 50;

interface Answer {
  readonly rows: readonly Record<string, unknown>[];
}

/** A running server, until `stop`. */
export class RestateServer {
  readonly #folder: string;
  readonly #guard: ChildProcess;
  #ports: Ports = { node: 0, admin: 0, ingress: 0 };
  #process: ChildProcess | undefined;
  #log = '';

  private constructor(folder: string) {
    this.#folder = folder;
    this.#guard = startGuard(folder);
    writeFileSync(join(folder, 'restate.toml'), CONFIGURATION);
  }

  /** Starts a server in a temporary folder, on free ports. */
  static async start(): Promise<RestateServer> {
    if (!existsSync(BINARY)) {
      throw new Error('@restatedev/restate-server is not installed: run "npm ci --prefix test/services" first');
    }
    const server = new RestateServer(mkdtempSync(join(tmpdir(), 'looprig-restate-')));
    try {
      await server.#startSomewhere();
      return server;
    } catch (cause) {
      await server.stop();
      throw cause;
    }
  }

  /** Where calls go in. */
  get ingressUrl(): string {
    return `http://127.0.0.1:${this.#ports.ingress}`;
  }

  /** Where workers are registered. */
  get adminUrl(): string {
    return `http://127.0.0.1:${this.#ports.admin}`;
  }

  /** What the server said since it was last started. */
  get log(): string {
    return this.#log;
  }

  /** Asks the server about itself in SQL. For a while after its start it may ask a node that is no more, and is asked again. */
  async query(statement: string): Promise<readonly Record<string, unknown>[]> {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(`${this.adminUrl}/query`, {
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify({ query: statement }),
      });
      if (response.ok) return ((await response.json()) as Answer).rows;
      const said = await response.text();
      if (attempt === QUERY_ATTEMPTS) throw new Error(`Restate answered a query with ${response.status}: ${said}`);
      await sleep(100);
    }
  }

  /** Starts the server on what it has, on the ports that it had; also after `kill`. Returns when it takes calls. */
  async restart(): Promise<void> {
    this.#log = '';
    const { node, admin, ingress } = this.#ports;
    const child = spawn(
      BINARY,
      ['--config-file', join(this.#folder, 'restate.toml'), '--base-dir', join(this.#folder, 'data')],
      {
        env: {
          RESTATE_BIND_PORT: String(node),
          RESTATE_ADMIN__BIND_PORT: String(admin),
          RESTATE_INGRESS__BIND_PORT: String(ingress),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-100_000);
      });
    }
    this.#guard.stdin?.write(`${child.pid}\n`);
    while (!(await this.#isReady())) {
      if (hasEnded(child)) throw new Error(`Restate did not start:\n${this.#log}`);
      await sleep(20);
    }
  }

  /** Kills the server at once, as a loss of power does. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends the server for good, and removes all that it wrote. */
  async stop(): Promise<void> {
    await this.kill();
    const ended = once(this.#guard, 'exit');
    this.#guard.stdin?.end('\n'); // there is no server left for it to end
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #startSomewhere(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#ports = { node: await freePort(), admin: await freePort(), ingress: await freePort() };
      try {
        return await this.restart();
      } catch (cause) {
        if (attempt === PORT_ATTEMPTS || !/address already in use/i.test(this.#log)) throw cause;
      }
    }
  }

  /** It answers at its ports before its partitions can be asked: then a first call would wait. */
  async #isReady(): Promise<boolean> {
    try {
      await this.query('SELECT id FROM sys_invocation');
      return (await fetch(`${this.ingressUrl}/restate/health`)).ok;
    } catch {
      return false;
    }
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
