/**
 * Who may ask at all: looked at before anything else of a request is.
 *
 * 1. A request reaches the server by one of its own names, so that no foreign name can be made to lead here (DNS rebinding).
 * 2. A page of another origin may ask nothing, unless it is allowed by name; a browser says so itself (`Origin`, `Sec-Fetch-Site`).
 * 3. With a token, a request brings it. Comparing takes as long for a wrong one as for the right one.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { HttpError } from './http-error.ts';
import type { ResolvedServerOptions } from './options.ts';

/** What a request is for: an answer with content, the files of the page, or a sign of life. */
export type Purpose = 'api' | 'page' | 'health';

/** Looks at requests. Throws `HttpError` for one that may not ask. */
export class Guard {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;
  readonly #tokenDigest: Uint8Array | undefined;

  constructor({ allowedHosts, allowedOrigins, token }: ResolvedServerOptions) {
    this.#hosts = allowedHosts;
    this.#origins = allowedOrigins;
    this.#tokenDigest = token === undefined ? undefined : digestOf(token);
  }

  /** Whether the request may be answered. */
  check(request: Request, purpose: Purpose): void {
    if (purpose === 'health') return;
    this.#checkHost(request);
    this.#checkOrigin(request, purpose);
    if (purpose === 'api' && request.method !== 'OPTIONS') this.#checkToken(request);
  }

  /** The origin of another page that is allowed to ask, if it is one that asks. */
  foreignOrigin(request: Request): string | undefined {
    const origin = request.headers.get('origin');
    return origin !== null && this.#origins.has(origin) ? origin : undefined;
  }

  /** The header and the address of a request need not say the same: both must be the server's. */
  #checkHost(request: Request): void {
    const { host, hostname } = new URL(request.url);
    const said = request.headers.get('host') ?? host;
    if (this.#isOwn(hostname) && URL.canParse(`http://${said}/`) && this.#isOwn(new URL(`http://${said}/`).hostname)) {
      return;
    }
    const message = 'the server does not answer to this name: whoever runs it lists its names as "allowedHosts"';
    throw new HttpError(403, 'foreign_host', message);
  }

  #isOwn(hostname: string): boolean {
    if (isLoopback(hostname) || this.#hosts.has(hostname)) return true;
    return this.#tokenDigest !== undefined && isAddress(hostname); // no name leads to an address in numbers
  }

  #checkOrigin(request: Request, purpose: Purpose): void {
    const origin = request.headers.get('origin');
    if (origin === null) {
      const site = request.headers.get('sec-fetch-site');
      if (purpose === 'page' || site === null || site === 'same-origin' || site === 'none') return;
    } else if (this.#origins.has(origin) || isSameHost(origin, request)) return;
    const message = 'a page of another origin may not use the server: whoever runs it lists such as "allowedOrigins"';
    throw new HttpError(403, 'foreign_origin', message);
  }

  #checkToken(request: Request): void {
    if (this.#tokenDigest === undefined) return;
    const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    if (areEqual(digestOf(token ?? ''), this.#tokenDigest) && token !== undefined) return;
    const headers = { 'www-authenticate': 'Bearer' };
    const message = 'the server needs its token, as "Authorization: Bearer <token>"';
    throw new HttpError(401, 'unauthorized', message, { headers });
  }
}

function digestOf(text: string): Uint8Array {
  return sha256(utf8ToBytes(text));
}

function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  let difference = 0;
  for (const [index, byte] of one.entries()) difference |= byte ^ (other[index] ?? 0);
  return difference === 0;
}

/** Whether a host, as a URL has it, is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function isAddress(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}

/** By host and port: a proxy in front may speak another scheme than the server. */
function isSameHost(origin: string, request: Request): boolean {
  if (!URL.canParse(origin)) return false;
  const host = request.headers.get('host') ?? new URL(request.url).host;
  return new URL(origin).host === host.toLowerCase();
}
