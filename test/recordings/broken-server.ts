/** A loopback server whose answers are whole, broken off, wrong or missing, as a test says. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RecordedResponse } from 'looprig/testing';

/** A request that came in, and how its answer ended. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed where it is JSON. */
  readonly body: unknown;
  /** Settles when the answer's connection is over, whoever ended it: `whole` or `cut` by the server, else `client left`. */
  readonly ended: Promise<'whole' | 'cut' | 'client left'>;
}

/** Gives one answer. A response that it leaves open stays open until the client leaves or the server closes. */
export type Answer = (response: ServerResponse) => void | Promise<void>;

/** A running server. */
export interface BrokenServer extends AsyncDisposable {
  readonly url: string;
  readonly received: readonly Received[];
}

/** Starts a server that answers request number `index` (from 0) with what `next` gives for it. */
export async function serveAnswers(next: (index: number, request: Received) => Answer): Promise<BrokenServer> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    const ended = new Promise<'whole' | 'cut' | 'client left'>(resolve => {
      response.on('close', () => resolve(howEnded(response)));
    });
    const { method = '', url: path = '', headers } = request;
    const entry: Received = { method, path, headers, body: parsed(text), ended };
    received.push(entry);
    try {
      await next(received.length - 1, entry)(response);
    } catch {
      response.destroy();
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      const closed = new Promise(resolve => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Responses that this server broke off itself. */
const cutHere = new WeakSet<ServerResponse>();

function howEnded(response: ServerResponse): 'whole' | 'cut' | 'client left' {
  if (response.writableFinished) return 'whole';
  return cutHere.has(response) ? 'cut' : 'client left';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The body of a recorded response as it goes over the wire. */
export function bytesOf({ sse, body }: RecordedResponse): Buffer {
  return Buffer.from(sse ?? JSON.stringify(body), 'utf8');
}

/** The recorded response. */
export function whole(recorded: RecordedResponse): Answer {
  return response => {
    response.writeHead(recorded.status, { ...recorded.headers });
    response.end(bytesOf(recorded));
  };
}

/** The first `bytes` of a recorded response; then the connection is gone. */
export function cutAt(recorded: RecordedResponse, bytes: number): Answer {
  return async response => {
    await begin(response, recorded, bytes);
    // What was sent is to be read before the connection goes: a client of this process reads within a few of its turns.
    for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate);
    breakOff(response);
  };
}

/** The first `bytes` of a recorded response, as if that were all of it: what a gateway makes of a provider that went away. */
export function endedAt(recorded: RecordedResponse, bytes: number): Answer {
  return response => {
    response.writeHead(recorded.status, { ...recorded.headers });
    response.end(bytesOf(recorded).subarray(0, bytes));
  };
}

/** The first `bytes` of a recorded response, and nothing more for ever. */
export function hangingAt(recorded: RecordedResponse, bytes: number): Answer {
  return response => begin(response, recorded, bytes);
}

/** Nothing at all, for ever. */
export const silent: Answer = () => {};

/** The connection is gone before a word was said. */
export const closing: Answer = response => breakOff(response);

/** A response of this status. `body` is text as it is, and JSON of anything else. */
export function failing(
  status: number,
  { body = '', headers = {} }: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
): Answer {
  return response => {
    const isText = typeof body === 'string' || body instanceof Uint8Array;
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  };
}

async function begin(response: ServerResponse, recorded: RecordedResponse, bytes: number): Promise<void> {
  response.writeHead(recorded.status, { ...recorded.headers });
  response.flushHeaders();
  if (bytes === 0) return;
  await new Promise<void>(resolve => response.write(bytesOf(recorded).subarray(0, bytes), () => resolve()));
}

function breakOff(response: ServerResponse): void {
  cutHere.add(response);
  response.destroy();
}
