/** One connection of its own, made when it is first needed and anew where it was lost. It keeps no process alive while nothing is asked of it. */
import { Socket } from 'node:net';
import type { Client, ClientConfig, QueryResult } from 'pg';
import { isLost } from './failure.ts';
import { loadPg } from './package.ts';

/** A statement. One with a name is prepared once a connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A connection as it is made. */
interface Connection {
  readonly client: Client;
  readonly socket: Socket;
}

/** How long the end of a connection may take, in milliseconds. */
const GOODBYE_MS = 1_000;

export class Line {
  readonly #config: ClientConfig;
  readonly #prepare: (client: Client) => Promise<unknown>;
  #connection: Connection | undefined;

  /** `prepare` is done with each new connection, before it is used. */
  constructor(config: ClientConfig, prepare: (client: Client) => Promise<unknown>) {
    this.#config = config;
    this.#prepare = prepare;
  }

  /** Whether there is a connection, as far as is known. */
  get isConnected(): boolean {
    return this.#connection !== undefined;
  }

  /**
   * Asks one thing at a time. `onSent` hears when it is on its way: what fails after that may have happened. Throws what `pg` throws; a connection
   * that is lost is made anew by the next.
   */
  async ask({ name, text, values }: Statement, onSent?: () => void): Promise<QueryResult> {
    this.#connection ??= await this.#connect();
    const { client, socket } = this.#connection;
    socket.ref();
    try {
      onSent?.();
      return await client.query({ ...(name !== undefined && { name }), text, values: values as unknown[] });
    } catch (cause) {
      if (isLost(cause)) this.end();
      throw cause;
    } finally {
      socket.unref();
    }
  }

  /** Lets go of the connection. Its end is not waited for: where the way to the server is broken, that takes minutes. */
  end(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) sayGoodbye(connection);
  }

  async #connect(): Promise<Connection> {
    const { Client } = await loadPg();
    const socket = new Socket();
    const client = new Client({ ...this.#config, stream: () => socket });
    const connection = { client, socket };
    client.on('error', () => {
      if (this.#connection === connection) this.end();
    });
    try {
      await client.connect();
      await this.#prepare(client);
      return connection;
    } catch (cause) {
      sayGoodbye(connection);
      throw cause;
    }
  }
}

function sayGoodbye({ client, socket }: Connection): void {
  client.end().catch(() => undefined);
  socket.unref();
  setTimeout(() => socket.destroy(), GOODBYE_MS).unref();
}
