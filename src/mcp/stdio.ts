/** The way to a server that is a child process: one JSON message a line, and whatever else servers write in between. */
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { reasonOf } from '../reason.ts';
import { type Exit, ServerProcess } from './child.ts';
import { LastLines, LineReader } from './lines.ts';
import type { ResolvedCommand } from './options.ts';
import { NO_ANSWER, type ServerTransport } from './transport.ts';

/** A way to the server that `start` says, which is started with the transport. */
export function stdioTransport(start: ResolvedCommand, maxMessageBytes: number): ServerTransport {
  const transport = new StdioTransport(start, maxMessageBytes);
  return {
    transport,
    end: () => transport.end,
    lastLines: () => transport.lastLines,
    close: () => transport.close(),
  };
}

class StdioTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport['onmessage'];
  /** How it ended, in words; empty while it runs. */
  end = '';
  readonly #command: ResolvedCommand;
  readonly #reader: LineReader;
  readonly #stderr = new LastLines();
  /** What it wrote where messages belong: servers say there why they cannot start. */
  readonly #noise = new LastLines();
  #process: ServerProcess | undefined;
  #isClosed = false;

  constructor(command: ResolvedCommand, maxMessageBytes: number) {
    this.#command = command;
    this.#reader = new LineReader(maxMessageBytes);
  }

  get lastLines(): readonly string[] {
    const { lines } = this.#stderr;
    return lines.length > 0 ? lines : this.#noise.lines;
  }

  async start(): Promise<void> {
    try {
      this.#process = await ServerProcess.start(this.#command);
    } catch (cause) {
      this.end = couldNotStart(cause);
      throw cause;
    }
    if (this.#isClosed) return this.#process.end();
    this.#process.onOutput(
      chunk => this.#read(chunk),
      // What it says of being ended is not why it was.
      text => this.#isClosed || this.#stderr.add(text),
    );
    void this.#process.ended.then(exit => this.#ended(`ended${howItEnded(exit)}`));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#process === undefined || this.#isClosed) throw new Error('the server is not running');
    this.#process.write(`${JSON.stringify(message)}\n`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process?.end();
    this.#ended('was closed');
  }

  #read(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    try {
      for (const line of this.#reader.add(chunk)) this.#line(line);
    } catch (error) {
      this.end = `was ended: ${reasonOf(error, 'its output could not be read')}`;
      this.#process?.stopReading();
      void this.close();
    }
  }

  #line(line: string): void {
    const message = messageFrom(line);
    if (message === undefined) this.#noise.add(`${line.slice(0, 1_000)}\n`);
    else this.onmessage?.(message);
  }

  /** Tells the protocol's client once, when nothing will come any more. */
  #ended(how: string): void {
    if (this.end === '') this.end = how;
    this.#isClosed = true;
    void this.#process?.end(); // of what it started, something may be left
    const { onclose } = this;
    this.onclose = undefined;
    onclose?.();
  }
}

/** A line as a message; `undefined` for anything else, which is passed over: it may be a log of a server that does not know better. */
function messageFrom(line: string): JSONRPCMessage | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    const { jsonrpc, id, method, result, error } = value as Readonly<Record<string, unknown>>;
    if (jsonrpc !== '2.0') return undefined;
    const isAnswer = method === undefined && (typeof id === 'number' || typeof id === 'string');
    if (!isAnswer || isObject(result) || isObject(error)) return value as JSONRPCMessage;
    // What waits for this answer would be left waiting.
    return { jsonrpc, id, error: { code: NO_ANSWER, message: 'its answer is neither a result nor an error' } };
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function couldNotStart(cause: unknown): string {
  const code: unknown = Reflect.get(Object(cause), 'code');
  if (code === 'ENOENT') return 'could not be started: there is no such program or folder';
  if (code === 'EACCES') return 'could not be started: it is not allowed to be run';
  return `could not be started${typeof code === 'string' ? ` (${code})` : ''}`;
}

function howItEnded({ exitCode, exitSignal }: Exit): string {
  return exitCode === null ? ` by ${exitSignal ?? 'a signal'}` : ` with exit code ${exitCode}`;
}
