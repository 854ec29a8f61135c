/** A server on Node. What needs Node is loaded when it is called, so that the rest of this entry runs everywhere. */
import type { ServerOptions } from './options.ts';
import type { Served } from './own-host.ts';

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
  /**
   * Takes no more requests, ends as `Server.close` does, tells all streams, and cuts what is still connected `graceMs` (default 1,000) milliseconds after
   * that.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Serves the sessions of a rig, or of a host, on Node, and the studio at `/`. Throws `ServerError`. */
export async function listen(served: Served, options: ListenOptions = {}): Promise<Listening> {
  const { listenOnNode } = await import('./node/listen.ts');
  return listenOnNode(served, options);
}
