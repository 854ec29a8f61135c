/** A loopback server that plays recordings: the i-th POST of one gets its i-th response, whatever it asks, and after the last one 410. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Recording } from 'looprig/testing';
import { piecesOf, type Split } from './pieces.ts';

/** How a server plays. */
export interface ReplayOptions {
  /** How a body arrives; each piece is an HTTP chunk of its own. Default `events`. */
  readonly split?: Split;
  /** Where the cuts of `awkward` are. Default 1. */
  readonly seed?: number;
  /** Breaks the connection off in the response of that index (from 0), after so many bytes, each time it is played. */
  readonly cut?: { readonly index: number; readonly bytes: number };
  /** Answers the POST of that index with an error before the recorded response, once. */
  readonly fail?: InjectedError;
}

/** An error that no recording has. `status` 0 breaks the connection off before a byte was sent. */
interface InjectedError {
  readonly index: number;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: an error body that every provider package reads the message of. */
  readonly body?: unknown;
}

/** A request that came in. */
export interface ReceivedRequest {
  readonly recording: string;
  /** Which response of the recording it was to get, from 0. */
  readonly index: number;
  /** The path that the provider package asked for, without the recording's part. */
  readonly path: string;
  /** Without the values of credentials. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as text, and parsed where it is JSON. */
  readonly text: string;
  readonly body: unknown;
  /** Bytes of the response's body that were sent. */
  readonly sent: number;
  readonly ended: 'open' | 'whole' | 'cut' | 'failed' | 'exhausted' | 'client left';
}

/** A server that runs. `await using` closes it. */
export interface ReplayServer extends AsyncDisposable {
  readonly url: string;
  /** Where the recording is played: what a provider's base address begins with. */
  urlFor(recording: string): string;
  readonly received: readonly ReceivedRequest[];
  /** Starts all recordings over, and forgets what came in. */
  reset(): void;
  close(): Promise<void>;
}

/** Starts a server for these recordings. Rejects where it cannot listen. */
export async function startReplay(
  recordings: Recording | readonly Recording[],
  options: ReplayOptions = {},
): Promise<ReplayServer> {
  const player = new Player([recordings].flat(), options);
  const server = createServer((request, response) => {
    player.answer(request, response).catch(error => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    });
  });
  await listen(server);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> => {
    const closed = new Promise<void>(done => server.close(() => done()));
    server.closeAllConnections();
    return closed;
  };
  return {
    url,
    urlFor: recording => `${url}/r/${encodeURIComponent(recording)}`,
    received: player.received,
    reset: () => player.reset(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Entry = { -readonly [Key in keyof ReceivedRequest]: ReceivedRequest[Key] };

/** How far each recording has been played, and by whom. */
class Player {
  readonly received: Entry[] = [];
  readonly #recordings: ReadonlyMap<string, Recording>;
  readonly #options: ReplayOptions;
  readonly #played = new Map<string, number>();
  #hasFailed = false;

  constructor(recordings: readonly Recording[], options: ReplayOptions) {
    this.#recordings = new Map(recordings.map(recording => [recording.name, recording]));
    this.#options = options;
  }

  reset(): void {
    this.received.length = 0;
    this.#played.clear();
    this.#hasFailed = false;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readText(request);
    const [, name = '', path = ''] = /^\/r\/([^/]+)(\/.*)?$/.exec(request.url ?? '') ?? [];
    const recording = this.#recordings.get(decodeURIComponent(name));
    if (recording === undefined || request.method !== 'POST') {
      sendJson(response, 404, problem(404, `only POST /r/NAME/… is played, not ${request.method} ${request.url}`));
      return;
    }
    const entry = this.#take(recording, path, request, text);
    const { fail } = this.#options;
    if (fail?.index === entry.index && !this.#hasFailed) {
      this.#hasFailed = true;
      entry.ended = 'failed';
      sendError(response, fail);
      return;
    }
    await this.#play(recording, entry, response);
  }

  #take({ name }: Recording, path: string, request: IncomingMessage, text: string): Entry {
    const entry: Entry = {
      recording: name,
      index: this.#played.get(name) ?? 0,
      path,
      headers: withoutCredentials(request.headers),
      text,
      body: parsed(text),
      sent: 0,
      ended: 'open',
    };
    this.received.push(entry);
    return entry;
  }

  async #play({ name, exchanges }: Recording, entry: Entry, response: ServerResponse): Promise<void> {
    const exchange = exchanges[entry.index];
    if (exchange === undefined) {
      entry.ended = 'exhausted';
      sendJson(response, 410, problem(410, `recording ${name} has only ${exchanges.length} responses`));
      return;
    }
    this.#played.set(name, entry.index + 1);
    response.on('close', () => {
      if (entry.ended === 'open') entry.ended = 'client left';
    });
    const { status, headers, sse, body } = exchange.response;
    response.writeHead(status, { ...headers });
    const { split = 'events', seed = 1 } = this.#options;
    const bytes = Buffer.from(sse ?? JSON.stringify(body), 'utf8');
    // The events of a body that is no stream are all of it.
    await this.#send(piecesOf(bytes, sse === undefined && split === 'events' ? 'whole' : split, seed), entry, response);
  }

  async #send(pieces: readonly Uint8Array[], entry: Entry, response: ServerResponse): Promise<void> {
    const { cut } = this.#options;
    for (const piece of pieces) {
      if (response.destroyed) return;
      const left = cut?.index === entry.index ? cut.bytes - entry.sent : Number.POSITIVE_INFINITY;
      if (left <= piece.length) {
        entry.ended = 'cut';
        entry.sent += left;
        await breakOff(response, piece.subarray(0, left));
        return;
      }
      if (!response.write(piece)) await drained(response);
      entry.sent += piece.length;
      await new Promise(setImmediate); // one turn apart, or Node merges the chunks
    }
    if (response.destroyed) return;
    entry.ended = 'whole';
    response.end();
  }
}

async function breakOff(response: ServerResponse, last: Uint8Array): Promise<void> {
  response.flushHeaders();
  await new Promise<void>(done => response.write(last, () => done()));
  await sleep(20); // lets the last bytes out before the connection goes
  response.destroy();
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>(done => {
    response.once('drain', done);
    response.once('close', done);
  });
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function sendError(response: ServerResponse, { status, headers, body }: InjectedError): void {
  if (status === 0) response.destroy();
  else sendJson(response, status, body ?? problem(status, 'injected'), headers);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** An error body that every provider package reads the message of. */
function problem(code: number, message: string): object {
  return { type: 'error', error: { type: 'replay_server', code, status: 'REPLAY', message } };
}

const CREDENTIALS = ['authorization', 'x-api-key', 'x-goog-api-key'];

function withoutCredentials(headers: IncomingMessage['headers']): ReceivedRequest['headers'] {
  const hidden = CREDENTIALS.filter(name => headers[name] !== undefined).map(name => [name, '(set)'] as const);
  return { ...headers, ...Object.fromEntries(hidden) };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}
