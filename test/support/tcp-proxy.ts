/** A way to a server of a test's own, on loopback, that can be cut at the worst moment. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Looks at bytes that a client or the server sends, and decides what becomes of their connection. */
type Look = (bytes: Buffer) => 'pass' | 'cut';

const pass: Look = () => 'pass';

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [client: Socket, server: Socket]>();
  #isOpen = true;
  #isFrozen = false;
  #onRequest: (bytes: Buffer) => 'pass' | 'cut' | 'cut reply' = pass;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** A way to a port of loopback. */
  static async to(port: number): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: false });
    const proxy = new TcpProxy(server);
    server.on('connection', client => proxy.#join(client, port));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('a server on a port has an address');
    return address.port;
  }

  /** How many connections go through it now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Cuts every connection. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  /** Cuts every connection, and takes none until `open`. */
  shut(): void {
    this.#isOpen = false;
    this.cut();
  }

  open(): void {
    this.#isOpen = true;
  }

  /** From now on nothing passes, and nobody is told: until `thaw`, which cuts what was frozen. */
  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    this.cut();
  }

  /**
   * The next request that holds this text loses its connection: `before` the server gets it, or `after`, when its answer begins to come. Resolves
   * when that has happened.
   */
  cutNext(text: string, when: 'before' | 'after'): Promise<void> {
    return new Promise(resolve => {
      this.#onRequest = bytes => {
        if (!bytes.includes(text)) return 'pass';
        this.#onRequest = pass;
        resolve();
        return when === 'before' ? 'cut' : 'cut reply';
      };
    });
  }

  async close(): Promise<void> {
    this.shut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #join(client: Socket, port: number): void {
    if (!this.#isOpen) {
      client.destroy();
      return;
    }
    const server = connect(port, '127.0.0.1');
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    let isReplyCut = false;
    const end = (): void => {
      this.#pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', end);
    }
    client.on('data', bytes => {
      if (this.#isFrozen) return;
      const fate = this.#onRequest(bytes);
      if (fate === 'cut') return end();
      isReplyCut ||= fate === 'cut reply';
      server.write(bytes);
    });
    server.on('data', bytes => {
      if (this.#isFrozen) return;
      if (isReplyCut) end();
      else client.write(bytes);
    });
  }
}
