/** An engine from one line of text, as a command line or a configuration has it. */

import { DefinitionError } from '../errors.ts';
import type { ClosableEngine } from './engine.ts';

/** For messages and help: what can be written. */
const ENGINE_URLS = 'restate://HOST:PORT?admin=URL&listen=PORT or pg-boss://USER:PASSWORD@HOST/DATABASE';

/** What may follow the `?` of each. */
const RESTATE_PARAMETERS = ['admin', 'listen', 'host', 'url', 'share', 'namespace', 'tls'] as const;
const PG_BOSS_PARAMETERS = ['schema', 'queue', 'concurrency', 'connections'] as const;

/**
 * The engine that `text` names: `restate://HOST:PORT` (where Restate takes calls), with `admin` (its admin URL; by default port 9070 of the same host, and `none` for workers that are
 * registered by other means), `listen` and `host` (where a worker
 * listens), `url` (under which Restate reaches the workers), `share` (workers share the port), `namespace`, `tls`; or
 * `pg-boss://USER:PASSWORD@HOST/DATABASE`, with `schema`, `queue`, `concurrency`, `connections`, and what PostgreSQL itself knows. Throws
 * `DefinitionError`.
 */
export async function engineFromUrl(text: string): Promise<ClosableEngine> {
  const url = URL.parse(text);
  if (url?.protocol === 'restate:') return restateFrom(url);
  if (url?.protocol === 'pg-boss:') return pgBossFrom(url);
  const what = url === null ? 'as what is no URL' : `as "${url.protocol}//…"`; // it may hold a password
  throw invalid(`an engine is written as ${ENGINE_URLS}, not ${what}`);
}

async function restateFrom(url: URL): Promise<ClosableEngine> {
  const { admin, listen, host, url: reachedAt, share, namespace, tls } = take(url, RESTATE_PARAMETERS);
  const other = [...url.searchParams.keys()][0];
  if (other !== undefined) throw invalid(`a restate:// URL has no "${other}"`);
  const { restate } = await import('./restate/index.ts');
  const scheme = isSet(tls) ? 'https' : 'http';
  return restate({
    ingressUrl: `${scheme}://${url.host}`,
    ...(admin === 'none' ? {} : { adminUrl: admin ?? `${scheme}://${url.hostname}:9070` }),
    ...(namespace === undefined ? {} : { namespace }),
    worker: {
      ...(listen === undefined ? {} : { port: Number(listen) }),
      ...(host === undefined ? {} : { host }),
      ...(reachedAt === undefined ? {} : { url: reachedAt }),
      sharePort: isSet(share),
    },
  });
}

async function pgBossFrom(url: URL): Promise<ClosableEngine> {
  const { schema, queue, concurrency, connections } = take(url, PG_BOSS_PARAMETERS);
  const { pgBoss } = await import('./pg-boss/index.ts');
  return pgBoss({
    url: url.href.replace(/^pg-boss:/, 'postgres:'), // the rest is for the database
    ...(schema === undefined ? {} : { schema }),
    ...(queue === undefined ? {} : { queue }),
    ...(concurrency === undefined ? {} : { concurrency: Number(concurrency) }),
    ...(connections === undefined ? {} : { connections: Number(connections) }),
  });
}

/** Takes parameters out of a URL. */
function take<Name extends string>(url: URL, names: readonly Name[]): Partial<Record<Name, string>> {
  const taken = names.flatMap(name => {
    const value = url.searchParams.get(name);
    url.searchParams.delete(name);
    return value === null ? [] : [[name, value] as const];
  });
  return Object.fromEntries(taken) as Partial<Record<Name, string>>;
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== 'false';
}

function invalid(message: string): DefinitionError {
  return new DefinitionError('invalid_option', { field: 'engine', message });
}
