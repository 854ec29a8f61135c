/** A server on Node. What needs Node is loaded when it is called, so that the rest of this entry runs everywhere. */
import type { SessionHost } from '../engines/host.ts';
import type { ServerOptions } from './options.ts';

/** Where to listen, and what is served there. */
export interface ListenOptions extends ServerOptions {
  /** The address to listen on. Default `127.0.0.1`; any other than the machine's own needs a `token`. */
  readonly host?: string;
  /** Default 0: one that is free. */
  readonly port?: number;
}

/** A server that listens. */
export interface Listening extends AsyncDisposable {
  /** Its address, as `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, ends all streams, waits for the rest up to `graceMs` (default 1,000), and then cuts the connections. The host of the sessions lives on. */
  close(graceMs?: number): Promise<void>;
}

/** Serves the sessions of a host on Node, the studio at `/`. Throws `ServerError`. */
export async function listen(host: SessionHost, options: ListenOptions = {}): Promise<Listening> {
  const { listenOnNode } = await import('./node/listen.ts');
  return listenOnNode(host, options);
}
