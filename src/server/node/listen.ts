/** Listening on Node: sockets, their limits, and their end. */

import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readTyped } from '../../define/options.ts';
import { listenOn } from '../../node/listen-on.ts';
import { isList, show } from '../../show.ts';
import { refusal } from '../answers.ts';
import { ServerError } from '../errors.ts';
import { isLoopback } from '../guard.ts';
import { HttpError } from '../http-error.ts';
import type { Listening, ListenOptions } from '../listen.ts';
import { refuseServerOption, SERVER_OPTIONS } from '../options.ts';
import type { Served } from '../own-host.ts';
import { loadNodeServer } from '../packages.ts';
import { createServer, type Server } from '../server.ts';
import { studioFiles } from './studio.ts';

/** What `listen` does. */
export async function listenOnNode(served: Served, options: ListenOptions): Promise<Listening> {
  const given = readTyped(options, ['host', 'port', ...SERVER_OPTIONS], 'listen', refuseServerOption);
  const { host: address = '127.0.0.1', port = 0, token, ...rest } = given;
  requireToken(address, token);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new ServerError('invalid_option', `"port" must be a number from 0 to 65535, not ${show(port)}`);
  }
  const { getRequestListener } = await loadNodeServer();
  const server = await createServer(served, {
    ...rest,
    ...(token === undefined ? {} : { token }),
    files: rest.files ?? (await studioFiles()),
    allowedHosts: withName(rest.allowedHosts ?? [], address),
  });
  const onError = rest.onError ?? ((error: unknown) => console.error(error));
  const listener = getRequestListener(server.fetch, {
    overrideGlobalObjects: false,
    errorHandler: error => unreadable(error, onError),
  });
  const http = createHttpServer((incoming, outgoing) => void listener(incoming, outgoing));
  try {
    await listenOn(http, { host: address, port }, (message, cause) => {
      return new ServerError('not_listening', message, cause);
    });
  } catch (error) {
    await server.close();
    throw error;
  }
  return new NodeServer(server, http, address);
}

/** Whoever can reach the address can use the server. */
function requireToken(address: unknown, token: string | undefined): void {
  if (typeof address !== 'string' || address === '') {
    throw new ServerError('invalid_option', `"host" must be an address to listen on, not ${show(address)}`);
  }
  if (token !== undefined || isLoopback(address) || address === '::1') return;
  const message = `listening on ${address} lets others reach the server: give it a "token", or let it listen on 127.0.0.1`;
  throw new ServerError('invalid_option', message);
}

/** The name that is listened on, where it is one, beside those that were given. What is no list is refused later. */
function withName(given: readonly string[], address: string): readonly string[] {
  return isList(given) && /^[a-z][^:]*$/i.test(address) ? [...given, address] : given;
}

/** A request whose line or `Host` is no address never reaches the routes. */
function unreadable(error: unknown, onError: (error: unknown) => void): Response {
  const isTheirs = error instanceof Error && error.name === 'RequestError';
  return refusal(
    isTheirs ? new HttpError(400, 'invalid_request', 'the address of the request cannot be read') : error,
    onError,
  );
}

class NodeServer implements Listening {
  readonly url: string;
  readonly port: number;
  readonly #server: Server;
  readonly #http: HttpServer;
  #closing: Promise<void> | undefined;

  constructor(server: Server, http: HttpServer, address: string) {
    const { port } = http.address() as AddressInfo;
    this.#server = server;
    this.#http = http;
    this.port = port;
    http.on('request', (_incoming, outgoing) => {
      outgoing.once('close', () => setImmediate(() => this.#leaveIdle()));
    });
    this.url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  }

  close({ graceMs = 1_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** A connection whose answer began before the end is kept open by its client. */
  #leaveIdle(): void {
    if (this.#closing !== undefined) this.#http.closeIdleConnections();
  }

  async #close(graceMs: number): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#http.close(() => closed.resolve());
    await this.#server.close({ graceMs });
    this.#http.closeIdleConnections();
    const timer = setTimeout(() => this.#http.closeAllConnections(), graceMs);
    await closed.promise;
    clearTimeout(timer);
  }
}
