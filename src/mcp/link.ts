/**
 * A session's hold on a server: the connection, opened anew when it was lost, and the tools as the server has them now.
 *
 * 1. A server is started or reached again at most `MOST_RECONNECTIONS` times without a call that was answered in between.
 * 2. A list that changed is read before the next call, whoever makes it; between two calls at most once, however often the server says so.
 * 3. Nothing is opened after `close`, and what is being opened ends with it.
 */
import type { ToolCall } from '../define/tool.ts';
import { reasonOf } from '../reason.ts';
import { type CallAnswer, type Connection, openConnection } from './connection.ts';
import { McpError } from './errors.ts';
import type { ListedTool } from './listing.ts';
import type { ResolvedMcpServer } from './options.ts';

const MOST_RECONNECTIONS = 5;

export class ServerLink {
  readonly #server: ResolvedMcpServer;
  #connection: Connection | undefined;
  #tools: ReadonlyMap<string, ListedTool>;
  /** The server has said that its list changed, and it was not read since. */
  #isStale = false;
  /** The list was read already since the last call. */
  #hasRead = false;
  #reading: Promise<void> | undefined;
  #unanswered = 0;
  readonly #closing = new AbortController();

  /** `tools` is what was listed before, to tell what has changed since. */
  constructor(server: ResolvedMcpServer, tools: ReadonlyMap<string, ListedTool>) {
    this.#server = server;
    this.#tools = tools;
  }

  /** Opens the connection and lists the tools, where that is to be done. Throws `McpError`. */
  async ready(): Promise<void> {
    if (this.isReady) return;
    if (this.#closing.signal.aborted) throw this.#closed();
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  /** Whether `ready` has nothing to do. */
  get isReady(): boolean {
    return (
      !this.#closing.signal.aborted &&
      !this.#isStale &&
      this.#reading === undefined &&
      this.#connection?.isOpen === true
    );
  }

  /** The tool as the server has it now; `undefined` for one that it no longer has. */
  tool(name: string): ListedTool | undefined {
    return this.#tools.get(name);
  }

  /** Calls a tool. Throws the reason of an abort, and nothing else. */
  async call(tool: string, input: unknown, call: Pick<ToolCall, 'signal' | 'progress'>): Promise<CallAnswer> {
    const first = await this.#callOnce(tool, input, call);
    // A session that the server has forgotten is begun anew: it says itself that it did nothing.
    const answer = first.failure !== undefined && !first.wasSent ? await this.#callOnce(tool, input, call) : first;
    if (answer.failure === undefined) this.#unanswered = 0;
    return answer;
  }

  /** Closes the connection for good. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the session was closed'));
    await Promise.allSettled([this.#connection?.close(), this.#reading]);
    await this.#connection?.close();
  }

  async #callOnce(tool: string, input: unknown, call: Pick<ToolCall, 'signal' | 'progress'>): Promise<CallAnswer> {
    try {
      await unlessAborted(this.ready(), call.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      return { failure: error instanceof McpError ? error.message : 'it cannot be reached', wasSent: true };
    }
    this.#hasRead = false;
    if (this.tool(tool) === undefined) return { failure: 'the server no longer has this tool', wasSent: true };
    const connection = this.#connection;
    if (connection === undefined) return { failure: 'it is closed', wasSent: true };
    const answer = await connection.call(tool, input, call);
    call.signal.throwIfAborted();
    return answer;
  }

  async #read(): Promise<void> {
    const isOpen = this.#connection?.isOpen === true;
    if (!isOpen) await this.#reopen();
    const connection = this.#connection;
    if (connection === undefined) throw this.#closed();
    this.#isStale = false;
    try {
      const { tools } = await connection.list();
      this.#tellChanges(tools);
      this.#tools = tools;
    } catch (error) {
      if (!isOpen) {
        await connection.close();
        throw error;
      }
      this.#server.notify({ kind: 'listing_failed', message: reasonOf(error, 'the list of tools could not be read') });
    }
  }

  async #reopen(): Promise<void> {
    const { name } = this.#server;
    const lost = this.#connection;
    if (lost !== undefined && this.#unanswered >= MOST_RECONNECTIONS) {
      const message = `MCP server "${name}" was lost ${this.#unanswered + 1} times without an answer to a call: it is not started again in this session`;
      throw new McpError('not_connected', name, message);
    }
    if (lost !== undefined) this.#unanswered++;
    await lost?.close();
    const connection = await openConnection(
      this.#server,
      { listChanged: () => this.#listChanged() },
      this.#closing.signal,
    );
    this.#connection = connection;
    if (!this.#closing.signal.aborted) return;
    await connection.close();
    throw this.#closed();
  }

  #listChanged(): void {
    this.#isStale = true;
    if (this.#hasRead || this.#closing.signal.aborted) return;
    this.#hasRead = true;
    this.ready().catch(() => undefined); // whoever calls next is told
  }

  #tellChanges(now: ReadonlyMap<string, ListedTool>): void {
    const { notify } = this.#server;
    const before = this.#tools;
    for (const [tool, listed] of now) {
      const known = before.get(tool);
      if (known === undefined) {
        const message = `the tool "${tool}" is new: sessions have it once mcpToolset has listed it`;
        notify({ kind: 'tool_added', tool, message });
      } else if (JSON.stringify(known.input) !== JSON.stringify(listed.input)) {
        notify({ kind: 'tool_changed', tool, message: `the tool "${tool}" takes other arguments now` });
      }
    }
    for (const tool of before.keys()) {
      if (!now.has(tool)) notify({ kind: 'tool_removed', tool, message: `the tool "${tool}" is gone` });
    }
  }

  #closed(): McpError {
    const { name } = this.#server;
    return new McpError('not_connected', name, `MCP server "${name}" is closed`);
  }
}

/** What the promise gives, or a rejection as soon as the signal is aborted; what the promise does after that is ignored. */
function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
