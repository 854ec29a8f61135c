/** What `postgresStore` takes, and what it makes of it. */
import { readOptions, readTyped } from '../../define/options.ts';
import { DefinitionError } from '../../errors.ts';
import { show } from '../../show.ts';

/** One database, by its parts. */
export interface PostgresConnection {
  /** A host name, an address, or the folder of a socket. Default `localhost`. */
  readonly host?: string;
  /** Default 5432. */
  readonly port?: number;
  readonly database: string;
  readonly user: string;
  /** The password, or what gives it each time that a connection is made: for passwords that expire. */
  readonly password?: string | (() => string | Promise<string>);
  /** Encryption: `true` checks the server's certificate; an object is what Node's `tls.connect` takes. Default: none. */
  readonly ssl?: boolean | object;
}

/** How a store reaches its databases, and what it waits for. */
export interface PostgresOptions {
  /** The database: `postgres://user:password@host:port/name`. */
  readonly url?: string;
  /** The database by its parts, in the place of `url`. */
  readonly connection?: PostgresConnection;
  /**
   * In the place of one, several databases: each session lives in one of them, by the hash of its id. Their number and their order must
   * not change as long as they hold sessions.
   */
  readonly shards?: readonly (string | PostgresConnection)[];
  /** The schema that holds the tables. It is made if it is not there. Default `looprig`. */
  readonly schema?: string;
  /** Whether tables are made, and older ones brought up to date, at the first use. Default true; with false `migrate` does it. */
  readonly migrate?: boolean;
  /** The most connections to one database, from 2. One of them is for appends. Reading live sessions takes one more. Default 5. */
  readonly connections?: number;
  /** How long a connection may take to be made, and how long to wait for one that is free, in milliseconds. Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** How long one statement may take, waiting for locks included, in milliseconds. Default 30,000. */
  readonly statementTimeoutMs?: number;
  /**
   * How long an append or a read waits for a database that was there and is lost, in milliseconds, before it fails. 0 fails at once. Default
   * 10,000.
   */
  readonly reconnectMs?: number;
}

/** Where one database is, as `pg` takes it. */
export interface Target {
  /** Where it is, for messages: never with a password. */
  readonly label: string;
  readonly user: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Options with nothing left open. */
export interface ResolvedOptions {
  readonly targets: readonly Target[];
  readonly schema: string;
  readonly migrate: boolean;
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly reconnectMs: number;
}

const DEFAULTS = Object.freeze({
  schema: 'looprig',
  migrate: true,
  connections: 5,
  connectTimeoutMs: 10_000,
  statementTimeoutMs: 30_000,
  reconnectMs: 10_000,
});

const OPTIONS = [
  ...(['url', 'connection', 'shards', 'schema', 'migrate', 'connections'] as const),
  ...(['connectTimeoutMs', 'statementTimeoutMs', 'reconnectMs'] as const),
] as const;
const PARTS = ['host', 'port', 'database', 'user', 'password', 'ssl'] as const;

/** The options with their defaults. Throws `DefinitionError` for what cannot be taken; its message never holds a password. */
export function resolveOptions(options: PostgresOptions): ResolvedOptions {
  const { url, connection, shards, ...rest } = readTyped(options, OPTIONS, 'a PostgreSQL store');
  const { schema, migrate, connections, connectTimeoutMs, statementTimeoutMs, reconnectMs } = {
    ...DEFAULTS,
    ...withoutUndefined(rest),
  };
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,47}$/.test(schema) || schema.startsWith('pg_')) {
    throw invalid('schema', `"schema" must be a name of small letters, digits and "_", not ${show(schema)}`, schema);
  }
  if (typeof migrate !== 'boolean') {
    throw invalid('migrate', `"migrate" must be true or false, not ${show(migrate)}`, migrate);
  }
  requireNumber('connections', connections, 2, 1_000);
  requireNumber('connectTimeoutMs', connectTimeoutMs, 1, LONGEST_MS);
  requireNumber('statementTimeoutMs', statementTimeoutMs, 1, LONGEST_MS);
  requireNumber('reconnectMs', reconnectMs, 0, LONGEST_MS);
  const targets = resolveTargets({ url, connection, shards });
  return { targets, schema, migrate, connections, connectTimeoutMs, statementTimeoutMs, reconnectMs };
}

/** A day: within what a timer can count, and what PostgreSQL takes. */
const LONGEST_MS = 86_400_000;

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function requireNumber(field: string, value: unknown, least: number, most: number): void {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw invalid(field, `"${field}" must be a whole number from ${least} to ${most}, not ${show(value)}`, value);
}

function resolveTargets(places: Readonly<Record<'url' | 'connection' | 'shards', unknown>>): readonly Target[] {
  const given = Object.entries(places).filter(([, place]) => place !== undefined);
  const [first, second] = given;
  if (first === undefined || second !== undefined) {
    throw invalid('url', 'a PostgreSQL store needs one of "url", "connection" and "shards", and no two of them');
  }
  const [field, shards] = first;
  if (field !== 'shards') return [resolveTarget(field, shards)];
  if (!Array.isArray(shards) || shards.length === 0) {
    throw invalid('shards', '"shards" must be a list of at least one database');
  }
  const targets = shards.map((shard, index) => resolveTarget(`shards[${index}]`, shard));
  const twice = targets.findIndex(({ label }, index) => targets.findIndex(other => other.label === label) !== index);
  if (twice < 0) return targets;
  throw invalid(`shards[${twice}]`, `"shards[${twice}]" is a database that stands in the list before: name each once`);
}

function resolveTarget(field: string, value: unknown): Target {
  if (typeof value === 'string') return fromUrl(field, value);
  if (typeof value !== 'object' || value === null) {
    throw invalid(field, `"${field}" must be a URL such as postgres://user:password@host:5432/name, or its parts`);
  }
  const given = readOptions(value, PARTS, `"${field}"`, (part, message, details) =>
    invalid(part === '' ? field : `${field}.${part}`, message, details?.value),
  );
  const { host = 'localhost', port = 5_432, database, user, password, ssl = false } = given;
  for (const [name, text] of Object.entries({ host, database, user })) {
    if (typeof text === 'string' && text !== '') continue;
    throw invalid(`${field}.${name}`, `"${field}.${name}" must be a text, not ${show(text)}`, text);
  }
  requireNumber(`${field}.port`, port, 1, 65_535);
  if (password !== undefined && typeof password !== 'string' && typeof password !== 'function') {
    throw invalid(`${field}.password`, `"${field}.password" must be a text or a function, not ${show(password)}`);
  }
  if (typeof ssl !== 'boolean' && (typeof ssl !== 'object' || ssl === null)) {
    throw invalid(`${field}.ssl`, `"${field}.ssl" must be true, false or an object, not ${show(ssl)}`);
  }
  const config = { host, port, database, user, ssl, ...(password !== undefined && { password }) };
  return { label: labelOf(String(host), String(port), String(database)), user: String(user), config };
}

function fromUrl(field: string, text: string): Target {
  const wrong = (why: string): DefinitionError =>
    invalid(field, `"${field}" is no URL of a database, such as postgres://user:password@host:5432/name: ${why}`);
  if (!URL.canParse(text))
    throw wrong('it cannot be read as a URL; special characters in a password are written as %40');
  const url = new URL(text);
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) throw wrong('it must begin with postgres://');
  const [host, database, user] = [url.searchParams.get('host') ?? url.hostname, url.pathname.slice(1), url.username];
  if (database === '') throw wrong('it names no database');
  if (user === '') throw wrong('it names no user');
  if (![database, user, url.password].every(canDecode)) throw wrong('a "%" in it is not followed by two digits');
  const label = labelOf(host || 'localhost', url.port || '5432', decodeURIComponent(database));
  return { label, user: decodeURIComponent(user), config: { connectionString: text } };
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

function labelOf(host: string, port: string, database: string): string {
  return host.startsWith('/') ? `${database} at ${host}` : `${database} at ${host}:${port}`;
}

/** `value` only where it can be no secret. */
function invalid(field: string, message: string, value?: unknown): DefinitionError {
  return new DefinitionError('invalid_option', { field, message, ...(value !== undefined && { value }) });
}
