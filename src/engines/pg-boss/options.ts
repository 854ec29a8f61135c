/** The options of the engine on pg-boss, resolved once. */
import { readTyped, refuseOption } from '../../define/options.ts';
import { show } from '../../show.ts';

/** What `pgBoss` takes. */
export interface PgBossOptions {
  /** The database: `postgres://user:password@host:port/name`. */
  readonly url: string;
  /** The schema that the jobs are kept in. It is made if it is not there. Default `pgboss`. */
  readonly schema?: string;
  /** The queue. Programs with sessions of their own in one database: each has another. Default `looprig`. */
  readonly queue?: string;
  /** How many turns a worker runs at a time. Each looks for turns by itself. Default 20. */
  readonly concurrency?: number;
  /** The most connections to the database, from 2; two more are for being told of turns. Default 10. */
  readonly connections?: number;
  /** Told what went wrong in the background, a lost connection for example; it is tried again in any case. What it throws is ignored. */
  readonly onError?: (error: Error) => void;
}

/** The options with nothing left open. */
export interface ResolvedPgBoss extends Required<PgBossOptions> {
  /** The queue of those that were woken while they ran, and the channel of those that are cancelled. */
  readonly woken: string;
  readonly cancels: string;
}

const OPTIONS = ['url', 'schema', 'queue', 'concurrency', 'connections', 'onError'] as const;

/** Throws `DefinitionError`; its message never holds a password. */
export function resolvePgBoss(options: PgBossOptions): ResolvedPgBoss {
  const given = readTyped(options, OPTIONS, 'pgBoss');
  const { url, schema = 'pgboss', queue = 'looprig', concurrency = 20, connections = 10 } = given;
  const { onError = () => undefined } = given;
  if (typeof url !== 'string' || !/^postgres(ql)?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw refuseOption('url', '"url" of pgBoss must be a URL that begins with postgres://');
  for (const [name, value] of Object.entries({ schema, queue }))
    if (typeof value !== 'string' || !/^[a-z_][a-z0-9_]{0,39}$/.test(value))
      throw refuseOption(
        name,
        `"${name}" of pgBoss must be a name of small letters, digits and "_", not ${show(value)}`,
      );
  for (const [name, value, least] of [
    ['concurrency', concurrency, 1],
    ['connections', connections, 2],
  ] as const)
    if (!Number.isInteger(value) || value < least)
      throw refuseOption(name, `"${name}" of pgBoss must be a whole number from ${least}, not ${show(value)}`);
  const names = { woken: `${queue}_woken`, cancels: `${queue}_cancel` };
  return { url, schema, queue, concurrency, connections, onError, ...names };
}
