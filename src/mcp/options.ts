/** The options of an MCP server, resolved once. */
import { type Refusal, readOptions } from '../define/options.ts';
import { DefinitionError } from '../errors.ts';
import { isList, show } from '../show.ts';

/** What a server asks the user for (MCP calls it elicitation). */
export interface McpElicitation {
  /** The name of the server that asks, as it was given. */
  readonly server: string;
  /** What it says to the person. */
  readonly message: string;
  /** JSON Schema of the answer. */
  readonly requestedSchema: unknown;
}

/** The answer to a server's question. Fields that an accepted answer leaves out get the defaults of the schema. */
export type McpElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: 'decline' | 'cancel' };

/** Something about a server's tools that a program may want to know, and that stops nothing. */
export interface McpNotice {
  readonly kind: /** A tool has come since the tools were listed: sessions that are open cannot have it, `mcpToolset` has to be called anew. */
    | 'tool_added'
    /** A tool is gone: its calls are answered with an error. */
    | 'tool_removed'
    /** A tool takes other arguments than the model was told: they are checked as the server has it now. */
    | 'tool_changed'
    /** A tool cannot be offered at all. */
    | 'tool_skipped'
    /** A tool is offered with less of its schema than the server gave. */
    | 'schema_simplified'
    /** The list of tools could not be had again, or was cut: the last one that could holds. */
    | 'listing_failed';
  /** The name of the server, as it was given. */
  readonly server: string;
  /** The tool's name as the server has it, where one tool is concerned. */
  readonly tool?: string;
  /** One line for people. */
  readonly message: string;
}

interface McpServerOptions {
  /** The server's name, for errors and for rules about access: letters, digits, `.`, `_` and `-`, at most 64. */
  readonly name: string;
  /** Put before the name of each tool, with a `_`; `true` for the server's name. Default: nothing. */
  readonly prefix?: string | true;
  /** Only these tools, by the names that the server gives them. Default: all. */
  readonly include?: readonly string[];
  /** All but these tools, by the names that the server gives them. */
  readonly exclude?: readonly string[];
  /** The longest a call may run, in milliseconds; the loop's `callTimeoutMs` holds as well. Default: that alone. */
  readonly timeoutMs?: number;
  /** The longest that starting, the handshake, and each listing of tools may take, in milliseconds. Default 30,000. */
  readonly connectTimeoutMs?: number;
  /** One connection for all sessions that use the toolset at a time, instead of one for each. Default false. */
  readonly shared?: boolean;
  /** The most tools that are taken, after `include` and `exclude`; a server with more is refused. Default 128. */
  readonly maxTools?: number;
  /** The largest message of the server that is read, in bytes; a larger one ends the connection. Default 33,554,432. */
  readonly maxMessageBytes?: number;
  /** Whether what the server says about its tools (`readOnlyHint`, `idempotentHint`) is believed. Not believed, each call asks for access. Default true. */
  readonly trustAnnotations?: boolean;
  /** Media types, or beginnings of them, that the model is given as files beside images and PDF, `audio/` for example. Anything else is named in words. Default none. */
  readonly passMedia?: readonly string[];
  /** Answers what the server asks the user. Default: the server is told that nobody can be asked. */
  readonly elicit?: (question: McpElicitation) => McpElicitationAnswer | Promise<McpElicitationAnswer>;
  /** Told what changed about the tools. What it throws is ignored. */
  readonly onNotice?: (notice: McpNotice) => void;
}

/** A server that is started as a child process and spoken to over its standard input and output. */
export interface McpCommandOptions extends McpServerOptions {
  /** The program. No shell is used. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables of its environment, beside the few that programs need to run at all. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs. Default: where this program does. */
  readonly cwd?: string;
  /** How long it may take to end after its input was closed, and again after SIGTERM, before SIGKILL; in milliseconds. Default 1,000. */
  readonly graceMs?: number;
  readonly url?: never;
  readonly headers?: never;
}

/** A server that is reached over Streamable HTTP. */
export interface McpUrlOptions extends McpServerOptions {
  /** Its address, `http:` or `https:`. */
  readonly url: string | URL;
  /** Sent with each request, `Authorization` for example. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly command?: never;
  readonly args?: never;
  readonly env?: never;
  readonly cwd?: never;
  readonly graceMs?: never;
}

/** Which MCP server, and what is taken from it. */
export type McpToolsetOptions = McpCommandOptions | McpUrlOptions;

/** How a command's server is started. */
export interface ResolvedCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly graceMs: number;
}

/** Where a server is. */
export type ResolvedEndpoint =
  | { readonly start: ResolvedCommand; readonly url?: undefined }
  | { readonly start?: undefined; readonly url: URL; readonly headers: Readonly<Record<string, string>> };

/** `McpToolsetOptions` with nothing left open. */
export interface ResolvedMcpServer {
  readonly name: string;
  readonly endpoint: ResolvedEndpoint;
  /** With its separator; empty for none. */
  readonly prefix: string;
  readonly include: readonly string[] | undefined;
  readonly exclude: readonly string[];
  readonly timeoutMs: number | undefined;
  readonly connectTimeoutMs: number;
  readonly shared: boolean;
  readonly maxTools: number;
  readonly maxMessageBytes: number;
  readonly trustAnnotations: boolean;
  readonly passMedia: readonly string[];
  readonly elicit: McpToolsetOptions['elicit'];
  /** Never throws. */
  readonly notify: (notice: Omit<McpNotice, 'server'>) => void;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_TOOLS = 128;
const DEFAULT_MAX_MESSAGE_BYTES = 33_554_432;
const DEFAULT_GRACE_MS = 1_000;

/** The longest that a platform timer can wait is 2^31 - 1 ms; bytes are bounded alike. */
const MOST = 2_147_483_647;

const OPTIONS = [
  ...(['name', 'prefix', 'include', 'exclude', 'timeoutMs', 'connectTimeoutMs', 'shared', 'maxTools'] as const),
  ...(['maxMessageBytes', 'trustAnnotations', 'passMedia', 'elicit', 'onNotice'] as const),
  ...(['command', 'args', 'env', 'cwd', 'graceMs', 'url', 'headers'] as const),
] as const;

type Given = { readonly [Option in (typeof OPTIONS)[number]]: unknown };

/** Checks the options and fills in the defaults. Throws `DefinitionError` `invalid_option`, which never shows a value of `env` or `headers`. */
export function resolveOptions(options: McpToolsetOptions): ResolvedMcpServer {
  const given = readOptions(options, OPTIONS, 'an MCP server', refused);
  const name = resolveName(given.name);
  return Object.freeze({
    name,
    endpoint: resolveEndpoint(given),
    prefix: resolvePrefix(given.prefix, name),
    include: given.include === undefined ? undefined : texts(given.include, 'include'),
    exclude: texts(given.exclude ?? [], 'exclude'),
    timeoutMs: given.timeoutMs === undefined ? undefined : count(given.timeoutMs, 'timeoutMs', 1),
    connectTimeoutMs: count(given.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS, 'connectTimeoutMs', 1),
    shared: flag(given.shared ?? false, 'shared'),
    maxTools: count(given.maxTools ?? DEFAULT_MAX_TOOLS, 'maxTools', 1),
    maxMessageBytes: count(given.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES, 'maxMessageBytes', 1_024),
    trustAnnotations: flag(given.trustAnnotations ?? true, 'trustAnnotations'),
    passMedia: texts(given.passMedia ?? [], 'passMedia'),
    elicit: optionalFunction(given.elicit, 'elicit') as McpToolsetOptions['elicit'],
    notify: notifier(optionalFunction(given.onNotice, 'onNotice') as McpToolsetOptions['onNotice'], name),
  });
}

function resolveName(name: unknown): string {
  if (typeof name === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(name)) return name;
  throw refused('name', `name must be letters, digits, ".", "_" and "-", at most 64 of them, not ${show(name)}`);
}

function resolvePrefix(prefix: unknown, name: string): string {
  if (prefix === undefined) return '';
  const text = prefix === true ? name : prefix;
  if (typeof text === 'string' && /^[A-Za-z0-9._-]{1,32}$/.test(text)) return `${text}_`;
  const rule = 'true, or letters, digits, ".", "_" and "-", at most 32 of them';
  throw refused('prefix', `prefix must be ${rule}, not ${show(text)}`, { value: prefix });
}

function resolveEndpoint(given: Given): ResolvedEndpoint {
  const { command, url } = given;
  if ((command === undefined) === (url === undefined)) {
    throw refused('command', 'an MCP server has either a "command" that starts it or a "url" where it is');
  }
  const foreign = (url === undefined ? (['headers'] as const) : (['args', 'env', 'cwd', 'graceMs'] as const)).find(
    option => given[option] !== undefined,
  );
  if (foreign !== undefined) {
    const other = url === undefined ? '"url"' : '"command"';
    throw refused(foreign, `"${foreign}" goes with ${other}, which is not given`);
  }
  if (url === undefined) return Object.freeze({ start: resolveCommand(given) });
  return Object.freeze({ url: resolveUrl(url), headers: record(given.headers ?? {}, 'headers') });
}

function resolveCommand({ command, args, env, cwd, graceMs }: Given): ResolvedCommand {
  return Object.freeze({
    command: text(command, 'command'),
    args: texts(args ?? [], 'args'),
    env: record(env ?? {}, 'env'),
    cwd: cwd === undefined ? undefined : text(cwd, 'cwd'),
    graceMs: count(graceMs ?? DEFAULT_GRACE_MS, 'graceMs', 0),
  });
}

function resolveUrl(url: unknown): URL {
  const isText = typeof url === 'string' || url instanceof URL;
  const parsed = isText && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return parsed;
  // What was given may hold a password, so that the message does not show it.
  throw refused('url', 'url must be an http: or https: address');
}

function text(value: unknown, field: string): string {
  if (typeof value === 'string' && value.trim() !== '' && !value.includes('\0')) return value;
  throw refused(field, `${field} must be a nonblank string, not ${show(value)}`, { value });
}

function texts(value: unknown, field: string): readonly string[] {
  if (isList(value) && value.every(item => typeof item === 'string')) return Object.freeze([...value]);
  throw refused(field, `${field} must be a list of strings, not ${show(value)}`);
}

function record(value: unknown, field: string): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || isList(value)) {
    throw refused(field, `${field} must be an object of strings, not ${show(value)}`);
  }
  for (const [key, member] of Object.entries(value)) {
    // The value may be a secret, so that the message does not show it.
    if (typeof member !== 'string') {
      throw refused(`${field}.${key}`, `${field}.${key} must be a string, not ${typeof member}`);
    }
  }
  return Object.freeze({ ...(value as Record<string, string>) });
}

function count(value: unknown, field: string, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= MOST) return value;
  throw refused(field, `${field} must be a whole number from ${least} to ${MOST}, not ${show(value)}`, { value });
}

function flag(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value;
  throw refused(field, `${field} must be true or false, not ${show(value)}`, { value });
}

function optionalFunction(value: unknown, field: string): unknown {
  if (value === undefined || typeof value === 'function') return value;
  throw refused(field, `${field} must be a function, not ${show(value)}`, { value });
}

function notifier(onNotice: McpToolsetOptions['onNotice'], server: string): ResolvedMcpServer['notify'] {
  return notice => {
    try {
      onNotice?.(Object.freeze({ server, ...notice }));
    } catch {
      // A listener of the program's own must not cost a call.
    }
  };
}

const refused: Refusal = (field, message, details = {}) =>
  new DefinitionError('invalid_option', { field: field === '' ? 'options' : field, message, ...details });
