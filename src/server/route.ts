/** A route as data: what is checked of a request, what is told about it, and what answers. */
import { type JsonSchema, type ResolvedSchema, resolveSchema } from '../define/schema.ts';
import type { SessionHost } from '../engines/host.ts';
import { readJson } from './body.ts';
import { type ErrorStatus, HttpError } from './http-error.ts';
import type { ServerMetrics } from './metrics.ts';
import type { ResolvedServerOptions } from './options.ts';
import type { Shape } from './schemas.ts';
import type { Streams } from './streams.ts';

/** What a route answers with where all is well. */
export interface Answer {
  readonly description: string;
  /** Of a JSON body, or of each message of a stream of events. */
  readonly schema?: object;
  /** Default `application/json` where there is a schema, else no body. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A parameter of a query, or a header. */
export interface Parameter {
  readonly description: string;
  readonly schema: JsonSchema;
}

/** What every route works with. */
export interface RouteContext {
  readonly host: SessionHost;
  readonly options: ResolvedServerOptions;
  readonly streams: Streams;
  readonly metrics: ServerMetrics;
  /** Whether the server ends. */
  isClosing(): boolean;
  /** The server's description of itself. */
  describe(): object;
}

/** A request that was checked. */
export interface RouteCall<Body = unknown> {
  readonly request: Request;
  /** The parts of the path, by name. */
  param(name: string): string;
  /** A parameter of the query or a header, by name: a number, a truth value or text as its schema has it. */
  readonly given: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body: Body;
}

/** One route. */
export interface Route<Body = unknown> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` for what is an id. */
  readonly path: string;
  /** Its name in the description. */
  readonly id: string;
  readonly summary: string;
  /** Whether it is answered without a token and under any name: it says nothing but that the server is there. */
  readonly isOpen?: boolean;
  /** Whether its answer stays open. */
  readonly isStream?: boolean;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly headers?: Readonly<Record<string, Parameter>>;
  readonly body?: JsonSchema;
  readonly answers: Readonly<Partial<Record<200 | 201 | 202 | 204 | 503, Answer>>>;
  /** Statuses of its own errors, beside those that each route has. */
  readonly errors: readonly ErrorStatus[];
  handle(call: RouteCall<Body>, context: RouteContext): Response | Promise<Response>;
}

/** A route whose handler is given what its body's schema lets through. */
export function route<Body>(
  definition: Omit<Route, 'body' | 'handle'> & { readonly body: Shape<Body> } & Pick<Route<Body>, 'handle'>,
): Route;
export function route(definition: Omit<Route, 'body'>): Route;
export function route(definition: Route): Route {
  return Object.freeze(definition);
}

/** The names in a path. */
export function namesIn(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
}

const ID = /^[A-Za-z0-9._:~-]{1,256}$/;

/** Reads requests of one route. What does not fit is an `HttpError`. */
export class RouteReader {
  readonly #route: Route;
  readonly #mostBytes: number;
  readonly #body: ResolvedSchema | undefined;

  constructor(route: Route, mostBytes: number) {
    this.#route = route;
    this.#mostBytes = mostBytes;
    this.#body = route.body && resolveSchema({ $schema: DIALECT, ...route.body });
  }

  async read(request: Request, params: Readonly<Record<string, string>>): Promise<RouteCall> {
    requireAcceptable(request, this.#route);
    const given = this.#given(request);
    for (const name of namesIn(this.#route.path)) {
      if (!ID.test(params[name] ?? '')) throw invalidRequest(`the ${name} in the path is no id`);
    }
    const body = this.#body && (await this.#readBody(request, this.#body));
    return { request, given, body, param: name => params[name] ?? '' };
  }

  async #readBody(request: Request, schema: ResolvedSchema): Promise<unknown> {
    const checked = await schema.validate(await readJson(request, this.#mostBytes));
    if (checked.issues === undefined) return checked.value;
    const issues = checked.issues.slice(0, MOST_ISSUES);
    throw new HttpError(422, 'invalid_body', 'the body of the request does not fit: see "issues"', { issues });
  }

  #given(request: Request): RouteCall['given'] {
    const { query = {}, headers = {} } = this.#route;
    const asked = new URL(request.url).searchParams;
    const given: Record<string, string | number | boolean | undefined> = {};
    for (const [name, value] of asked) {
      const parameter = Object.hasOwn(query, name) ? query[name] : undefined;
      if (parameter === undefined) throw invalidRequest('the query has a parameter that the route does not take');
      if (given[name] !== undefined) throw invalidRequest(`the query has "${name}" more than once`);
      given[name] = readValue(value, `the parameter "${name}" of the query`, parameter.schema);
    }
    for (const [name, { schema }] of Object.entries(headers)) {
      const value = request.headers.get(name);
      if (value !== null) given[name] = readValue(value, `the header "${name}"`, schema);
    }
    return given;
  }
}

/** The dialect that descriptions of version 3.1 are written in. */
export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

const MOST_ISSUES = 20;

/** Text from outside as its schema has it. */
function readValue(text: string, what: string, schema: JsonSchema): string | number | boolean {
  if (schema.type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true';
    throw invalidRequest(`${what} must be true or false`);
  }
  if (schema.type === 'integer') {
    const least = Number(schema.minimum ?? 0);
    const most = Number(schema.maximum ?? Number.MAX_SAFE_INTEGER);
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw invalidRequest(`${what} must be a whole number from ${least} to ${most}`);
  }
  if (new RegExp(String(schema.pattern ?? ''), 'u').test(text)) return text;
  throw invalidRequest(`${what} must be ${schema.description}`);
}

function invalidRequest(message: string): HttpError {
  return new HttpError(400, 'invalid_request', message);
}

/** Whether the client takes what the route gives. */
function requireAcceptable(request: Request, { answers }: Route): void {
  const accept = request.headers.get('accept');
  if (accept === null) return;
  const types = Object.values(answers).flatMap(typesOf);
  const taken = accept.split(',').map(range => range.trim().toLowerCase());
  const isTaken = (type: string): boolean =>
    taken.some(range => {
      const [name = '', ...parameters] = range.split(';').map(part => part.trim());
      if (parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter))) return false;
      return name === '*/*' || name === type || name === `${type.split('/')[0]}/*`;
    });
  if (types.length === 0 || types.some(isTaken)) return;
  throw new HttpError(
    406,
    'not_acceptable',
    `the route gives ${types.join(' or ')}, which the request does not accept`,
  );
}

/** The media type of an answer, without its parameters. */
function typesOf({ type, schema }: Answer): readonly string[] {
  if (type !== undefined) return [type.split(';')[0] ?? type];
  return schema === undefined ? [] : ['application/json'];
}
