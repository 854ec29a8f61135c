/** Readers of event streams over sockets of their own: cheap ones, that count and look at nothing but the numbers. */
import { Agent, type IncomingMessage, request } from 'node:http';

/** One reader's stream. */
export interface Reading {
  /** Settles when the response's head is there. */
  readonly opened: Promise<void>;
  /** The ids of all messages that had one, once as many terminal events came as were asked for. */
  readonly ids: Promise<readonly number[]>;
  /** How many messages came so far. */
  readonly messages: () => number;
  stop(): void;
}

const TERMINAL = /"type":"turn\.(?:done|failed|interrupted)"/g;

/** Reads the events at a path until `turns` turns have ended. */
export function readEvents(url: string, path: string, turns: number): Reading {
  const opened = Promise.withResolvers<void>();
  const ids = Promise.withResolvers<readonly number[]>();
  const read: number[] = [];
  let [messages, ended, rest] = [0, 0, ''];
  const take = (chunk: string): void => {
    const text = rest + chunk;
    const whole = text.lastIndexOf('\n\n') + 2;
    rest = whole === 1 ? text : text.slice(whole);
    if (whole === 1) return;
    const part = text.slice(0, whole);
    messages += part.split('\ndata: ').length - 1 + (part.startsWith('data: ') ? 1 : 0);
    for (const [, id] of part.matchAll(/^id: (\d+)$/gm)) read.push(Number(id));
    ended += part.match(TERMINAL)?.length ?? 0;
    if (ended >= turns) ids.resolve(read);
  };
  const { hostname, port } = new URL(url);
  const sent = request(
    { hostname, port, path, agent: new Agent({ keepAlive: false }) },
    (response: IncomingMessage) => {
      if (response.statusCode !== 200) ids.reject(new Error(`${path} is answered with ${response.statusCode}`));
      opened.resolve();
      response.setEncoding('utf8').on('data', take);
      response.on('error', () => {});
      response.on('close', () => ids.reject(new Error(`${path} ended after ${read.length} events`)));
    },
  );
  sent.on('error', error => {
    opened.reject(error);
    ids.reject(error);
  });
  sent.end();
  ids.promise.catch(() => {});
  return { opened: opened.promise, ids: ids.promise, messages: () => messages, stop: () => sent.destroy() };
}

/** Sends JSON, and gives what comes back. */
export async function post(url: string, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} is answered with ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
