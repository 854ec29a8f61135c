/** The options of the Restate engine, resolved once. */

import { readTyped, refuseOption } from '../../define/options.ts';
import { isList, show } from '../../show.ts';

/** Where a worker listens, and under which address the server reaches it. */
export interface RestateWorkerOptions {
  /** The port that the server's calls come to. Default 9080; 0 for any that is free. */
  readonly port?: number;
  /** The address that it listens on. Default `127.0.0.1`. */
  readonly host?: string;
  /**
   * The URL under which the server reaches the workers: that of the load balancer before them, where there are several. It should stay the same as
   * long as turns wait: they go on where they began. Default: `host` and `port`.
   */
  readonly url?: string;
  /** Several workers of one machine listen on the same port, and share what comes. Not on every system. Default false. */
  readonly sharePort?: boolean;
  /** Public keys by which the worker knows that a call comes from its server. Default: every call is taken, so that nobody else may reach the port. */
  readonly identityKeys?: readonly string[];
}

/** What `restate` takes. */
export interface RestateOptions {
  /** Where the server takes calls, as in `http://127.0.0.1:8080`. */
  readonly ingressUrl: string;
  /** Where workers make themselves known to the server, as in `http://127.0.0.1:9070`. Default: they do not; it is done by other means. */
  readonly adminUrl?: string;
  /** Sent with each request to the server: for authentication. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Programs with sessions of their own on one server: each has another. Letters, digits, `_` and `-`, a letter first. Default `looprig`. */
  readonly namespace?: string;
  /** How turns are run in this process; only for workers. */
  readonly worker?: RestateWorkerOptions;
}

/** The options with nothing left open. */
export interface ResolvedRestate {
  readonly ingressUrl: string;
  readonly adminUrl: string | undefined;
  readonly headers: Record<string, string>;
  readonly namespace: string;
  readonly worker: {
    readonly port: number;
    readonly host: string;
    readonly url: string | undefined;
    readonly sharePort: boolean;
    readonly identityKeys: readonly string[];
  };
}

const OPTIONS = ['ingressUrl', 'adminUrl', 'headers', 'namespace', 'worker'] as const;
const WORKER_OPTIONS = ['port', 'host', 'url', 'sharePort', 'identityKeys'] as const;

/** Throws `DefinitionError`. */
export function resolveRestate(options: RestateOptions): ResolvedRestate {
  const { ingressUrl, adminUrl, headers = {}, namespace = 'looprig', worker } = readTyped(options, OPTIONS, 'restate');
  if (typeof namespace !== 'string' || !/^[A-Za-z][\w-]{0,63}$/.test(namespace))
    throw invalid('namespace', 'letters, digits, "_" and "-", a letter first', namespace);
  if (!isRecordOfTexts(headers)) throw invalid('headers', 'an object of texts', undefined);
  return {
    ingressUrl: urlOf('ingressUrl', ingressUrl),
    adminUrl: adminUrl === undefined ? undefined : urlOf('adminUrl', adminUrl),
    headers: { ...headers },
    namespace,
    worker: resolveWorker(worker ?? {}),
  };
}

function resolveWorker(options: RestateWorkerOptions): ResolvedRestate['worker'] {
  const given = readTyped(options, WORKER_OPTIONS, 'the worker of restate');
  const { port = 9080, host = '127.0.0.1', url, sharePort = false, identityKeys = [] } = given;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalid('worker.port', 'a port', port);
  if (typeof host !== 'string' || host === '') throw invalid('worker.host', 'an address to listen on', host);
  if (typeof sharePort !== 'boolean') throw invalid('worker.sharePort', 'true or false', sharePort);
  if (!isList(identityKeys) || !identityKeys.every(key => typeof key === 'string'))
    throw invalid('worker.identityKeys', 'a list of texts', identityKeys);
  return {
    ...{ port, host, sharePort, identityKeys: [...identityKeys] },
    url: url === undefined ? undefined : urlOf('worker.url', url),
  };
}

function isRecordOfTexts(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || isList(value)) return false;
  return Object.values(value).every(text => typeof text === 'string');
}

/** A URL without a slash at its end. */
function urlOf(option: string, value: unknown): string {
  if (typeof value !== 'string' || !/^https?:$/.test(URL.parse(value)?.protocol ?? ''))
    throw invalid(option, 'a URL that begins with http:// or https://', value);
  return value.replace(/\/+$/, '');
}

function invalid(field: string, expected: string, value: unknown): Error {
  return refuseOption(field, `"${field}" of restate must be ${expected}, not ${show(value)}`);
}
