/** The way to a server over Streamable HTTP, with bounds on what is read of it. */
import type { JSONRPCMessage, StreamableHTTPClientTransport, Transport } from '@modelcontextprotocol/client';
import type { Sdk } from './sdk.ts';
import { NO_ANSWER, type ServerTransport } from './transport.ts';

/** How long a server may take to be told that its session is over. */
const FAREWELL_MS = 1_000;

/** A way to the server at `url`. Nothing is sent before it is used. */
export function httpTransport(
  sdk: Sdk,
  { url, headers }: { readonly url: URL; readonly headers: Readonly<Record<string, string>> },
  maxMessageBytes: number,
): ServerTransport {
  const http = new sdk.StreamableHTTPClientTransport(url, {
    requestInit: { headers: { ...headers } },
    fetch: boundedFetch(maxMessageBytes),
  });
  answerWhatBreaksOff(http);
  return {
    transport: http as Transport,
    end: () => '',
    lastLines: () => [],
    async close() {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, FAREWELL_MS);
      await Promise.race([http.terminateSession().catch(() => undefined), late]);
      clearTimeout(timer);
      await http.close();
    },
  };
}

/** A stream that ends without the answer would leave its request waiting for ever. What is answered already is not concerned. */
function answerWhatBreaksOff(http: StreamableHTTPClientTransport): void {
  const send = http.send.bind(http);
  http.send = (message: JSONRPCMessage, options) => {
    const id = 'method' in message && 'id' in message ? message.id : undefined;
    if (id === undefined) return send(message, options);
    const onRequestStreamEnd = (): void => {
      const error = { code: NO_ANSWER, message: 'the connection ended before the answer' };
      http.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return send(message, { ...options, onRequestStreamEnd });
  };
}

function boundedFetch(maxBytes: number): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded(maxBytes, isStream)), { status, statusText, headers });
  };
}

/** Fails what is larger than `most` bytes: the whole, or of a stream each event. */
function bounded(most: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (let index = 0; isStream && index < chunk.length; index++) {
        const byte = chunk[index] ?? 0;
        length++;
        if (isLineEnd(byte) && isLineEnd(last) && !(byte === 0x0a && last === 0x0d)) length = 0; // an empty line ends an event
        if (byte !== 0x0a || last !== 0x0d) last = byte;
      }
      if (!isStream) length += chunk.length;
      if (length > most) controller.error(new RangeError(`the server sent a message of more than ${most} bytes`));
      else controller.enqueue(chunk);
    },
  });
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}
