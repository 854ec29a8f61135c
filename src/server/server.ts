/**
 * A server of sessions, for any runtime that speaks in web-standard requests. The way of a request: who asks (`guard.ts`), what for (`route.ts`), the answer of its
 * route. Whatever is thrown on that way is one kind of answer (`http-error.ts`).
 */
import type { Context, Hono } from 'hono';
import type { SessionHost } from '../engines/host.ts';
import { answer, refusal } from './answers.ts';
import { CHAT_ROUTES } from './chat-routes.ts';
import { EVENT_ROUTES } from './event-routes.ts';
import { Guard, type Purpose } from './guard.ts';
import { again, HttpError } from './http-error.ts';
import { openApi } from './openapi.ts';
import { type ResolvedServerOptions, resolveServerOptions, type ServerOptions } from './options.ts';
import { hostFor, type Served } from './own-host.ts';
import { loadHono } from './packages.ts';
import { type Route, type RouteContext, RouteReader } from './route.ts';
import { SERVICE_ROUTES } from './service-routes.ts';
import { SESSION_ROUTES } from './session-routes.ts';
import { Pages } from './static-files.ts';
import { Streams } from './streams.ts';

/** All routes, as they are told and as they are answered. */
export const ROUTES: readonly Route[] = [...SESSION_ROUTES, ...EVENT_ROUTES, ...CHAT_ROUTES, ...SERVICE_ROUTES];

/** A server that answers requests. */
export interface Server extends AsyncDisposable {
  /** Answers a request. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * Takes no more requests, and ends all streams. A host that the server made of a rig ends too: turns under way may end by themselves for `graceMs`
   * milliseconds (default 0), and what is left of them is taken up by the next. A host that was given lives on.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Makes a server of the sessions of a rig, or of a host. Throws `ServerError`. */
export async function createServer(served: Served, options: ServerOptions = {}): Promise<Server> {
  const resolved = resolveServerOptions(options);
  const { Hono } = await loadHono();
  const { host, isOwn } = hostFor(served, resolved.onError);
  return new HostServer(new Hono(), host, isOwn, resolved);
}

/** Headers that a page of another origin may send. */
const TAKEN_HEADERS = 'authorization, content-type, idempotency-key, last-event-id, user-agent';
/** Headers that it may read. */
const GIVEN_HEADERS = 'location, retry-after, x-vercel-ai-ui-message-stream';

class HostServer implements Server {
  readonly #app: Hono;
  readonly #options: ResolvedServerOptions;
  readonly #guard: Guard;
  readonly #pages: Pages;
  readonly #context: RouteContext;
  readonly #endsHost: boolean;
  #closing: Promise<void> | undefined;

  constructor(app: Hono, host: SessionHost, endsHost: boolean, options: ResolvedServerOptions) {
    this.#app = app;
    this.#endsHost = endsHost;
    this.#options = options;
    this.#guard = new Guard(options);
    this.#pages = new Pages(options.files);
    const description = openApi(ROUTES, options.token !== undefined);
    this.#context = {
      ...{ host, options, streams: new Streams(options), metrics: options.metrics },
      isClosing: () => this.#closing !== undefined,
      describe: () => description,
    };
    for (const route of ROUTES) this.#add(route);
    for (const path of new Set(ROUTES.map(route => route.path))) this.#refuseOthers(path);
    app.notFound(context => this.#page(context));
    app.onError(error => refusal(error, options.onError));
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const response = await this.#guarded(request);
    this.#allowOrigin(request, response);
    return response;
  };

  async #guarded(request: Request): Promise<Response> {
    const { metrics, onError } = this.#options;
    try {
      this.#guard.check(request, this.#purposeOf(request, new URL(request.url).pathname));
    } catch (error) {
      const response = refusal(error, onError);
      metrics.requested('refused', response.status);
      return response;
    }
    const isPreflight = request.method === 'OPTIONS' && this.#guard.foreignOrigin(request) !== undefined;
    return isPreflight ? answer(null, undefined, 204) : this.#app.fetch(request);
  }

  close({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(graceMs: number): Promise<void> {
    const { host, streams } = this.#context;
    if (this.#endsHost) await host.close({ graceMs });
    streams.end('the server ends');
  }

  #purposeOf({ method }: Request, pathname: string): Purpose {
    if (ROUTES.some(({ isOpen, path }) => isOpen === true && path === pathname)) return 'health';
    return (method === 'GET' || method === 'HEAD') && this.#pages.has(pathname) ? 'page' : 'api';
  }

  #add(route: Route): void {
    const reader = new RouteReader(route, this.#options.bodyBytes);
    this.#app.on(route.method, honoPath(route.path), async context => {
      const response = await this.#answer(route, reader, context).catch(error => refusal(error, this.#options.onError));
      this.#options.metrics.requested(route.path, response.status);
      return response;
    });
  }

  async #answer(route: Route, reader: RouteReader, context: Context): Promise<Response> {
    const request = context.req.raw;
    if (request.method === 'HEAD' && route.isStream === true) throw this.#otherMethod(route.path);
    if (this.#closing !== undefined && route.isOpen !== true) {
      throw new HttpError(503, 'closed', 'the server ends: come again when it is back', again());
    }
    return route.handle(await reader.read(request, context.req.param()), this.#context);
  }

  #refuseOthers(path: string): void {
    this.#app.all(honoPath(path), () => refusal(this.#otherMethod(path), this.#options.onError));
  }

  #otherMethod(path: string): HttpError {
    const allow = ROUTES.filter(route => route.path === path).map(({ method }) => method);
    const headers = { allow: allow.join(', ') };
    return new HttpError(405, 'method_not_allowed', `the path takes ${allow.join(' and ')} alone`, { headers });
  }

  #page({ req: { raw: request } }: Context): Response {
    const { pathname } = new URL(request.url);
    const { metrics, onError } = this.#options;
    if (this.#purposeOf(request, pathname) === 'page') {
      const response = this.#pages.respond(request, pathname);
      metrics.requested('page', response.status);
      return response;
    }
    metrics.requested('none', 404);
    const message = 'there is nothing at this path: GET /openapi.json tells what there is';
    return refusal(new HttpError(404, 'unknown_route', message), onError);
  }

  #allowOrigin(request: Request, { headers }: Response): void {
    const origin = this.#guard.foreignOrigin(request);
    if (origin === undefined) return;
    headers.set('access-control-allow-origin', origin);
    headers.set('cross-origin-resource-policy', 'cross-origin');
    headers.append('vary', 'origin');
    headers.set('access-control-expose-headers', GIVEN_HEADERS);
    if (request.method !== 'OPTIONS') return;
    headers.set('access-control-allow-headers', TAKEN_HEADERS);
    headers.set('access-control-allow-methods', 'GET, POST, PUT, DELETE');
  }
}

function honoPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}
