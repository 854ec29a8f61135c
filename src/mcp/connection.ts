/** One connection to a server: opened, asked for its tools, called, closed. What goes wrong is told in words that hold no secret. */
import type { Client, RequestOptions, StandardSchemaV1 } from '@modelcontextprotocol/client';
import type { ToolCall } from '../define/tool.ts';
import { reasonOf } from '../reason.ts';
import { elicitWith } from './elicit.ts';
import { McpError } from './errors.ts';
import { httpTransport } from './http.ts';
import { type Listing, readListing } from './listing.ts';
import type { ResolvedMcpServer } from './options.ts';
import { loadSdk, type Sdk } from './sdk.ts';
import { hiderOf, shownEndpoint } from './secrets.ts';
import { cutTo, oneLine, plainText } from './text.ts';
import { NO_ANSWER, type ServerTransport } from './transport.ts';

/** Who is told what happens to a connection. */
export interface ConnectionEvents {
  /** The server says that its tools are others now. */
  listChanged(): void;
}

/** What came of a call: the server's answer as it is, or why there is none. */
export type CallAnswer =
  | { readonly answer: unknown; readonly failure?: undefined }
  | { readonly failure: string; readonly answer?: undefined; readonly wasSent: boolean };

const MAYBE_DONE = '; it may or may not have taken effect';

/** What HTTP servers of the other family answer to a handshake. */
const NO_HANDSHAKE: readonly number[] = [400, 404, 405, 406, 415, 422];

const LONGEST_INSTRUCTIONS = 8_192;

/** Timers of the platform end here; whoever calls has a limit of its own, which is shorter. */
const NO_TIMEOUT_MS = 2_147_483_647;

/** The server's answer as it came: it is read with suspicion where it is used, and not refused for a part that is new. */
const ANYTHING: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'looprig', validate: value => ({ value }) },
};

/** The two families of the protocol: the one that begins with a handshake, and the one that asks first what a server knows. */
type Family = 'handshake' | 'discovery';

/** Opens a connection; an abort of `signal` ends that. Throws `McpError`: `missing_package`, `not_connected`. Leaves nothing behind then. */
export async function openConnection(
  server: ResolvedMcpServer,
  events: ConnectionEvents,
  signal?: AbortSignal,
): Promise<Connection> {
  const sdk = await loadSdk(server.name);
  const first = await connectionTo(sdk, server, events, 'handshake');
  try {
    await first.open(signal);
    return first;
  } catch (error) {
    if (!first.knowsNoHandshake) throw error;
    const second = await connectionTo(sdk, server, events, 'discovery');
    await second.open(signal).catch(() => {
      throw error; // what most servers speak is what the answer is about
    });
    return second;
  }
}

async function connectionTo(
  sdk: Sdk,
  server: ResolvedMcpServer,
  events: ConnectionEvents,
  family: Family,
): Promise<Connection> {
  const way = await wayTo(sdk, server);
  const capabilities = server.elicit === undefined ? {} : { elicitation: { form: { applyDefaults: true } } };
  const onChanged = (): void => events.listChanged();
  const client = new sdk.Client(
    { name: 'looprig', version: '1' },
    family === 'handshake'
      ? { capabilities }
      : {
          capabilities,
          versionNegotiation: { mode: 'auto' },
          listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
        },
  );
  // Not by the option, in this family: servers send it that do not say that they will.
  if (family === 'handshake') client.setNotificationHandler('notifications/tools/list_changed', onChanged);
  client.onerror = () => undefined; // noise, and answers that nobody waits for
  if (server.elicit !== undefined) elicitWith(client, server.name, server.elicit);
  return new Connection(sdk, client, way, server);
}

async function wayTo(sdk: Sdk, { endpoint, maxMessageBytes }: ResolvedMcpServer): Promise<ServerTransport> {
  if (endpoint.start === undefined) return httpTransport(sdk, endpoint, maxMessageBytes);
  const { stdioTransport } = await import('./stdio.ts'); // it needs a platform with processes
  return stdioTransport(endpoint.start, maxMessageBytes);
}

export class Connection {
  readonly #sdk: Sdk;
  readonly #client: Client;
  readonly #way: ServerTransport;
  readonly #server: ResolvedMcpServer;
  readonly #hide: (text: string) => string;
  #isOpen = false;
  #knowsNoHandshake = false;

  constructor(sdk: Sdk, client: Client, way: ServerTransport, server: ResolvedMcpServer) {
    this.#sdk = sdk;
    this.#client = client;
    this.#way = way;
    this.#server = server;
    this.#hide = hiderOf(server.endpoint);
  }

  /** Whether calls can be sent. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** What the server says about the use of its tools; empty for nothing. */
  get instructions(): string {
    return cutTo(
      plainText((this.#client.getInstructions() ?? '').slice(0, 2 * LONGEST_INSTRUCTIONS)).trim(),
      LONGEST_INSTRUCTIONS,
    );
  }

  /** Whether the server refused the handshake, and not whoever made it. */
  get knowsNoHandshake(): boolean {
    return this.#knowsNoHandshake;
  }

  async open(signal?: AbortSignal): Promise<void> {
    this.#client.onclose = () => {
      this.#isOpen = false;
    };
    const { name, connectTimeoutMs } = this.#server;
    try {
      const connected = this.#client.connect(this.#way.transport, { timeout: connectTimeoutMs });
      // The timeout is that of one request, and a server may let another wait.
      await within(connectTimeoutMs, connected, signal);
      this.#isOpen = true;
    } catch (cause) {
      const why = this.#whyNotConnected(cause);
      const status = this.#statusOf(cause) ?? 0;
      const isAnswered = cause instanceof this.#sdk.ProtocolError && cause.code !== NO_ANSWER;
      this.#knowsNoHandshake = (isAnswered || NO_HANDSHAKE.includes(status)) && this.#way.end() === '';
      await this.close();
      // The cause may quote what the server said, secrets and all.
      throw new McpError('not_connected', name, why);
    }
  }

  /** Lists the tools. Throws `McpError`: `not_listed`, `unusable_tools`. */
  async list(): Promise<Listing> {
    const { name, connectTimeoutMs } = this.#server;
    const signal = AbortSignal.timeout(connectTimeoutMs);
    const page = async (cursor: string | undefined): Promise<unknown> => {
      const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } };
      return this.#client.request(request, ANYTHING, { signal, timeout: connectTimeoutMs });
    };
    try {
      return await readListing(page, this.#server);
    } catch (error) {
      if (McpError.is(error)) throw error;
      const why = signal.aborted ? `it took longer than ${connectTimeoutMs} ms` : this.#failure(error);
      throw new McpError('not_listed', name, `MCP server "${name}" did not list its tools: ${why}`);
    }
  }

  /** Calls a tool. Never throws; an abort of the call tells the server that its answer is not waited for. */
  async call(tool: string, input: unknown, call: Pick<ToolCall, 'signal' | 'progress'>): Promise<CallAnswer> {
    const request = { method: 'tools/call', params: { name: tool, arguments: input as Record<string, unknown> } };
    const options: RequestOptions = {
      signal: call.signal,
      timeout: NO_TIMEOUT_MS,
      onprogress: ({ progress, total, message }) => {
        const said = typeof message === 'string' ? { message: oneLine(this.#hide(message), 1_000) } : {};
        call.progress({ progress, ...(total === undefined ? {} : { total }), ...said });
      },
    };
    try {
      return { answer: await this.#client.request(request, ANYTHING, options) };
    } catch (error) {
      return { failure: this.#failure(error, MAYBE_DONE), wasSent: !this.#isLost(error) };
    }
  }

  /** Closes the connection for good, and ends the server where it is ours. Never throws. */
  async close(): Promise<void> {
    this.#isOpen = false;
    try {
      await this.#way.close();
      await this.#client.close();
    } catch {
      // What is left of it, nobody can use.
    }
  }

  /** Whether an HTTP server no longer knows the session: then it did not take the request either. */
  #isLost(error: unknown): boolean {
    const isGone = this.#statusOf(error) === 404 || (error instanceof TypeError && this.#way.end() === '');
    if (isGone) this.#isOpen = false;
    return this.#statusOf(error) === 404;
  }

  #statusOf(error: unknown): number | undefined {
    return error instanceof this.#sdk.SdkHttpError ? error.status : undefined;
  }

  #whyNotConnected(cause: unknown): string {
    const { name, connectTimeoutMs, endpoint } = this.#server;
    const { SdkError, SdkErrorCode } = this.#sdk;
    const isOverdue = cause === OVERDUE || (cause instanceof SdkError && cause.code === SdkErrorCode.RequestTimeout);
    const end = this.#way.end();
    const what = `MCP server "${name}" (${shownEndpoint(endpoint)})`;
    if (end !== '')
      return `${what} ${this.#hide(end)}${end.startsWith('ended') ? ' before its handshake' : ''}${this.#lastWords()}`;
    if (isOverdue) return `${what} did not finish its handshake within ${connectTimeoutMs} ms${this.#lastWords()}`;
    return `${what} could not be used: ${this.#reason(cause)}${this.#lastWords()}`;
  }

  /** Why there is no answer, in words that go on after a colon. `aftermath` is what to say where the server may have done its work. */
  #failure(error: unknown, aftermath = ''): string {
    const end = this.#way.end();
    if (error instanceof this.#sdk.ProtocolError) {
      if (error.code === NO_ANSWER) return `${error.message}${aftermath}`;
      return `the server answered with an error: ${this.#reason(error)} (${error.code})`;
    }
    if (end !== '') return `the server ${this.#hide(end)}${aftermath}${this.#lastWords()}`;
    const status = this.#statusOf(error);
    const isDone = (status !== undefined && status < 500) || wasRefused(error);
    return `${this.#reason(error)}${isDone ? '' : aftermath}`;
  }

  #reason(error: unknown): string {
    const status = this.#statusOf(error);
    if (status !== undefined) return `HTTP status ${status}: ${this.#shown(error)}`;
    const inner = error instanceof Error && error.cause instanceof Error ? ` (${this.#shown(error.cause)})` : '';
    return `${this.#shown(error)}${inner}`;
  }

  #shown(error: unknown): string {
    return oneLine(this.#hide(cutTo(reasonOf(error, 'it failed without a message'), 4_000)), 300);
  }

  #lastWords(): string {
    const lines = this.#way.lastLines().map(line => cutTo(plainText(this.#hide(line)).trim(), 200));
    return lines.length === 0 ? '' : `. Its last lines: ${lines.join(' | ')}`;
  }
}

/** Whether nobody was there to take the request. */
function wasRefused(error: unknown): boolean {
  return Reflect.get(Object(Reflect.get(Object(error), 'cause')), 'code') === 'ECONNREFUSED';
}

const OVERDUE: unique symbol = Symbol('overdue');

/** The promise's value; rejects with `OVERDUE` if it takes longer, and with the reason of an abort. What the promise does after that is ignored. */
async function within<T>(ms: number, promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(OVERDUE), ms);
  const abort = (): void => reject(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
