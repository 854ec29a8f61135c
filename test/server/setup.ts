/** A server on loopback over a rig with a scripted model, and what asks it. */
import { defineLoop, defineRig, defineTool, type JournalStore, memoryStore } from 'looprig';
import { createHost, type SessionHost } from 'looprig/engines';
import {
  createServer,
  type ListenOptions,
  listen,
  type ServerMetrics,
  type ServerOptions,
  serverMetrics,
} from 'looprig/server';
import { scriptedModel } from 'looprig/testing';
import { z } from 'zod';
import { description, requireDescribed, requireFit } from './conform.ts';

/** A tool that asks before it writes, and says what it wrote. */
export const write = defineTool({
  name: 'write',
  description: 'Writes a file.',
  input: z.object({ path: z.string(), text: z.string() }),
  create: () => ({
    access: ({ path }) => [{ action: 'fs.write', target: path }],
    summary: ({ path }) => `write ${path}`,
    execute: ({ path, text }) => `wrote ${text.length} characters to ${path}`,
  }),
});

export const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  execute: ({ at }) => `saw ${at}`,
});

/** A rig whose sessions play these replies, one after another, and what counts for it. */
export function rigOf(replies: Parameters<typeof scriptedModel>[0], store: JournalStore = memoryStore()) {
  const metrics = serverMetrics();
  const clerk = defineLoop({
    name: 'clerk',
    model: scriptedModel(replies),
    tools: [write, look],
    modes: { quick: {}, careful: { instructions: 'Take care.' } },
    initialMode: 'quick',
  });
  return { rig: defineRig({ loops: [clerk], store, gate: { ask: true }, observers: [metrics.observe] }), metrics };
}

export interface Served extends AsyncDisposable {
  readonly host: SessionHost;
  readonly metrics: ServerMetrics;
}

/** A host of such a rig. */
export function hostOf(replies: Parameters<typeof scriptedModel>[0], store?: JournalStore): Served {
  const { rig, metrics } = rigOf(replies, store);
  const host = createHost({ rig });
  return { host, metrics, [Symbol.asyncDispose]: () => host.close() };
}

/** What was answered. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  readonly body: any;
}

/** Something that answers requests, as a program would ask it. */
export class Client {
  readonly #url: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(
    url: string,
    headers: Readonly<Record<string, string>> = {},
    send: (request: Request) => Promise<Response> = fetch,
  ) {
    this.#url = url;
    this.#fetch = send;
    this.#headers = headers;
  }

  raw(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const typed = body === undefined ? {} : { 'content-type': 'application/json' };
    return this.#fetch(
      new Request(`${this.#url}${path}`, {
        method,
        headers: { ...typed, ...this.#headers, ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
  }

  async ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Reply> {
    const response = await this.raw(method, path, body, headers);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    const read = isJson ? JSON.parse(text) : text;
    requireDescribed(method, new URL(path, this.#url).pathname, response, read);
    return { status: response.status, headers: response.headers, body: read };
  }

  async begin(): Promise<string> {
    return (await this.ask('POST', '/v1/sessions', {})).body.sessionId;
  }
}

/** A server over real sockets, and a client of it. */
export async function serve(served: Parameters<typeof listen>[0], options: ListenOptions = {}) {
  const listening = await listen(served, options);
  const headers = options.token === undefined ? undefined : { authorization: `Bearer ${options.token}` };
  return {
    url: listening.url,
    listening,
    client: new Client(listening.url, headers),
    [Symbol.asyncDispose]: () => listening.close({ graceMs: 0 }),
  };
}

/** A server without a socket, and a client of it. */
export async function direct(host: SessionHost, options: ServerOptions = {}) {
  const server = await createServer(host, options);
  const headers = options.token === undefined ? undefined : { authorization: `Bearer ${options.token}` };
  return { server, client: new Client('http://localhost', headers, server.fetch) };
}

/** One message of a stream. */
export interface Message {
  readonly id?: string;
  readonly event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  readonly data?: any;
  readonly comment?: string;
  readonly retry?: string;
}

/** The messages of a stream of events, as they come. */
export async function* messagesOf(response: Response): AsyncGenerator<Message> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = messageOf(block);
      const isEvent = message.data?.sessionId !== undefined;
      if (isEvent) requireFit(description.components.schemas.Event!, message.data, 'an event');
      yield message;
    }
  }
}

function messageOf(block: string): Message {
  const fields: Record<string, unknown> = {};
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(\w*):? ?(.*)$/s.exec(line) ?? [];
    if (name === '') fields.comment = value;
    else fields[name] = name === 'data' && value.startsWith('{') ? JSON.parse(value) : value;
  }
  return fields;
}

/** Reads until a message fits, and gives all that came. */
export async function readUntil(
  messages: AsyncIterator<Message>,
  isLast: (message: Message) => boolean,
): Promise<Message[]> {
  const read: Message[] = [];
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    read.push(next.value);
    if (isLast(next.value)) break;
  }
  return read;
}

/** Whether a message tells the end of a turn. */
export const isTurnEnd = ({ data }: Message): boolean => /^turn\.(done|failed|interrupted)$/.test(data?.type ?? '');
