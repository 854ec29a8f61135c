/** The options of a server, resolved once. */

import { type Refusal, readTyped } from '../define/options.ts';
import { type Clock, systemClock } from '../index.ts';
import { quietly } from '../quietly.ts';
import { isList, show } from '../show.ts';
import { ServerError } from './errors.ts';
import { type ServerMetrics, serverMetrics } from './metrics.ts';
import type { StaticFiles } from './static-files.ts';

/** What a server may do, and for whom. */
export interface ServerOptions {
  /**
   * What a request must bring as `Authorization: Bearer`: at least 16 visible ASCII characters. Default: none, and then only names of this machine and
   * `allowedHosts` are answered to. `createServer` refuses one that is `undefined`.
   */
  readonly token?: string;
  /**
   * The names under which the server is reached, without port. `localhost` and the machine's own loopback addresses always are; with a token every address in
   * numbers is. Default: none but these.
   */
  readonly allowedHosts?: readonly string[];
  /** Pages of other origins that may use the server, as `https://app.example.com`. Default: none, only pages that the server itself gives. */
  readonly allowedOrigins?: readonly string[];
  /** The most bytes of a request's body. Default 1,048,576. */
  readonly bodyBytes?: number;
  /** The most streams that are open at once. Default 1,000. */
  readonly maxStreams?: number;
  /** After how many milliseconds without an event a stream says that it is still there. Default 15,000. */
  readonly heartbeatMs?: number;
  /** The files of the page at `/`. Default: none; `listen` gives the studio. */
  readonly files?: StaticFiles;
  /** What is counted for `/metrics`, where the rig is told of it too (`serverMetrics`). Default: requests and streams alone are counted. */
  readonly metrics?: ServerMetrics;
  /** Told what went wrong inside, where the answer says no more than that. What it throws is ignored. Default: `console.error`. */
  readonly onError?: (error: unknown) => void;
  /** The clock of its timers. Default: the platform's. */
  readonly clock?: Clock;
}

/** Options in force. */
export interface ResolvedServerOptions {
  readonly token: string | undefined;
  readonly allowedHosts: ReadonlySet<string>;
  readonly allowedOrigins: ReadonlySet<string>;
  readonly bodyBytes: number;
  readonly maxStreams: number;
  readonly heartbeatMs: number;
  readonly files: StaticFiles;
  readonly metrics: ServerMetrics;
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
}

/** The options that a server has where nothing is said. */
const DEFAULT_SERVER_OPTIONS: Readonly<Pick<ResolvedServerOptions, 'bodyBytes' | 'maxStreams' | 'heartbeatMs'>> =
  Object.freeze({ bodyBytes: 1_048_576, maxStreams: 1_000, heartbeatMs: 15_000 });

/** What `createServer` takes. */
export const SERVER_OPTIONS = [
  'token',
  'allowedHosts',
  'allowedOrigins',
  'bodyBytes',
  'maxStreams',
  'heartbeatMs',
  'files',
  'metrics',
  'onError',
  'clock',
] as const;

/** Options with a value each. Throws `ServerError` `invalid_option`. */
export function resolveServerOptions(options: ServerOptions): ResolvedServerOptions {
  const given = readTyped(options, SERVER_OPTIONS, 'a server', refuseServerOption);
  const { files, metrics, onError, clock } = given;
  // A variable of the environment that was forgotten must not open the server to everybody.
  if (given.token === undefined && Object.hasOwn(options, 'token'))
    throw invalid('"token" is given as undefined: leave it out where nobody needs one');
  return Object.freeze({
    token: given.token === undefined ? undefined : readToken(given.token),
    allowedHosts: new Set(readList(given.allowedHosts, 'allowedHosts').map(readHost)),
    allowedOrigins: new Set(readList(given.allowedOrigins, 'allowedOrigins').map(readOrigin)),
    bodyBytes: readCount(given.bodyBytes, 'bodyBytes'),
    maxStreams: readCount(given.maxStreams, 'maxStreams'),
    heartbeatMs: readCount(given.heartbeatMs, 'heartbeatMs'),
    files: files ?? new Map(),
    metrics: metrics ?? serverMetrics(),
    onError: quietly(onError ?? (error => console.error(error))),
    clock: clock ?? systemClock,
  });
}

function readToken(token: unknown): string {
  if (typeof token === 'string' && /^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw invalid('"token" must be text of at least 16 visible ASCII characters, without blanks');
}

function readList(list: unknown, name: string): readonly unknown[] {
  if (list === undefined) return [];
  if (!isList(list)) throw invalid(`"${name}" must be a list of texts, not ${show(list)}`);
  return list;
}

function readHost(host: unknown): string {
  const read = typeof host === 'string' ? hostnameOf(host) : undefined;
  if (read !== undefined) return read;
  throw invalid(`"allowedHosts" must have names of hosts without scheme, port and path, not ${show(host)}`);
}

/** The name in its one form, or `undefined` for what is none. */
function hostnameOf(host: string): string | undefined {
  if (!/^([\w.-]+|\[[\da-f:.]+\])$/i.test(host) || !URL.canParse(`http://${host}/`)) return undefined;
  return new URL(`http://${host}/`).hostname;
}

function readOrigin(origin: unknown): string {
  if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) return origin;
  throw invalid(`"allowedOrigins" must have origins such as "https://app.example.com", not ${show(origin)}`);
}

function readCount(count: unknown, name: keyof typeof DEFAULT_SERVER_OPTIONS): number {
  if (count === undefined) return DEFAULT_SERVER_OPTIONS[name];
  if (typeof count === 'number' && Number.isInteger(count) && count > 0) return count;
  throw invalid(`"${name}" must be a positive integer, not ${show(count)}`);
}

/** The refusal of a server's options. */
export const refuseServerOption: Refusal = (_field, message, details) =>
  new ServerError('invalid_option', message, details);

function invalid(message: string): ServerError {
  return new ServerError('invalid_option', message);
}
