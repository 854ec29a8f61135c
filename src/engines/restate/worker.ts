/** A process that runs turns for a Restate server: it listens for the server's calls, and makes itself known. */
import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOn } from '../../node/listen-on.ts';
import { reasonOf } from '../../reason.ts';
import type { RunTurn, Serving } from '../engine.ts';
import { EngineError } from '../engine-error.ts';
import type { ResolvedRestate } from './options.ts';
import { loadServerSdk } from './packages.ts';
import { turnServices } from './services.ts';

/** The longest that the server may take to answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;
/** How long the outcomes of the last runs may take to the server, in milliseconds. One that does not arrive is found by running again. */
const LAST_WORDS_MS = 1_000;

export class RestateWorker implements Serving {
  readonly #server: Http2Server;
  readonly #runs: ReadonlySet<Promise<unknown>>;
  readonly #connections = new Set<ServerHttp2Session>();

  private constructor(server: Http2Server, runs: ReadonlySet<Promise<unknown>>) {
    this.#server = server;
    this.#runs = runs;
    server.on('session', session => {
      this.#connections.add(session);
      session.on('close', () => this.#connections.delete(session));
    });
  }

  /** Listens, and is known to the server when this resolves. */
  static async start(options: ResolvedRestate, run: RunTurn): Promise<RestateWorker> {
    const sdk = await loadServerSdk();
    const {
      namespace,
      worker: { port, host, sharePort, identityKeys },
    } = options;
    const runs = new Set<Promise<unknown>>();
    const services = turnServices(sdk, namespace, (ref, signals) => {
      const running = run(ref, signals).finally(() => runs.delete(running));
      runs.add(running);
      return running;
    });
    const keys = identityKeys.length === 0 ? {} : { identityKeys: [...identityKeys] };
    const server = createServer(sdk.createEndpointHandler({ services, logger: () => undefined, ...keys }));
    const worker = new RestateWorker(server, runs);
    await listenOn(server, { port, host, reusePort: sharePort }, (message, cause) => {
      return new EngineError('not_listening', message, cause);
    });
    try {
      await register(options, (server.address() as AddressInfo).port);
    } catch (cause) {
      await worker.close();
      throw cause;
    }
    return worker;
  }

  /** Calls that come on connections that are there already go to other workers: those connections are for what is under way. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const connection of this.#connections) connection.close();
    await Promise.allSettled(this.#runs);
    await Promise.race([closed, sleep(LAST_WORDS_MS)]);
    for (const connection of this.#connections) connection.destroy();
    await closed;
  }
}

/** Makes the worker known to its server, or the server know what this version of it offers. */
async function register({ adminUrl, headers, worker }: ResolvedRestate, port: number): Promise<void> {
  if (adminUrl === undefined) return;
  const uri = worker.url ?? `http://${worker.host}:${port}`;
  const request = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ uri, force: true }),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  };
  const response = await fetch(`${adminUrl}/deployments`, request).catch(cause => {
    throw new EngineError('unavailable', `Restate cannot be reached at ${adminUrl}: ${requestFailure(cause)}`, {
      cause,
    });
  });
  if (response.ok) return;
  const said = await response.text();
  throw new EngineError(
    'unavailable',
    `Restate at ${adminUrl} did not take the worker at ${uri}: ${said.slice(0, 500)}`,
  );
}

/** What a failed request says. What `fetch` throws has its reason one step deeper. */
export function requestFailure(error: unknown): string {
  const deeper = error instanceof Error ? error.cause : undefined;
  return deeper === undefined ? reasonOf(error) : `${reasonOf(error)} (${reasonOf(deeper)})`;
}
