/** A server that plays a recording, and holds back the rest of a stream until it is told to go on: what comes early is seen early, or never. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Recording } from 'looprig/testing';

/** A running server. `await using` closes it. */
export interface HeldServer extends AsyncDisposable {
  readonly url: string;
  /** Sends the rest. */
  release(): void;
}

/** Starts a server that holds each stream behind its first event with `text` in it. The i-th request gets the i-th response. */
export async function holdBehind(text: string, { exchanges }: Recording): Promise<HeldServer> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let requests = 0;
  const server = createServer(async (request, response) => {
    request.resume();
    const exchange = exchanges[requests++];
    const sse = exchange?.response.sse ?? '';
    response.writeHead(exchange?.response.status ?? 410, { 'content-type': 'text/event-stream' });
    const end = heldUntil(sse, text);
    response.write(sse.slice(0, end));
    if (end < sse.length) await released;
    response.end(sse.slice(end));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    release,
    async [Symbol.asyncDispose]() {
      release();
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** The end of the first event with `text` in it; of the whole stream where there is none. */
function heldUntil(sse: string, text: string): number {
  const place = sse.indexOf(text);
  if (place === -1) return sse.length;
  const blank = /\r?\n\r?\n/.exec(sse.slice(place));
  return blank === null ? sse.length : place + blank.index + blank[0].length;
}
