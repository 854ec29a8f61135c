/** The files of a page. They are known before the first request: no path of a request ever leads to a disk. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { answer, PAGE } from './answers.ts';

/** Files by their path from the root, as `index.html` or `assets/index-4f2a9c1b.js`. */
export type StaticFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
};

/** A name that changes with the content: whatever has it never changes. */
const HASHED = /[-.][\w-]{8,}\.\w+$/;

/** Gives the files of a page. */
export class Pages {
  readonly #files: ReadonlyMap<string, { readonly bytes: Uint8Array<ArrayBuffer>; readonly etag: string }>;

  constructor(files: StaticFiles) {
    const served = [...files].filter(([path]) => typeOf(path) !== undefined);
    this.#files = new Map(
      served.map(([path, bytes]) => [path, { bytes, etag: `"${bytesToHex(sha256(bytes)).slice(0, 32)}"` }]),
    );
  }

  /** Whether a path, as a URL has it, is that of a file. */
  has(pathname: string): boolean {
    return this.#files.has(fileOf(pathname));
  }

  /** The answer to a `GET` or `HEAD` of a path that is there. */
  respond(request: Request, pathname: string): Response {
    const path = fileOf(pathname);
    const file = this.#files.get(path);
    if (file === undefined) throw new TypeError(`no file "${path}"`);
    const { bytes, etag } = file;
    const isForever = path.includes('/') && HASHED.test(path);
    const headers = {
      ...PAGE,
      etag,
      'cache-control': isForever ? 'public, max-age=31536000, immutable' : 'no-cache',
    };
    if (request.headers.get('if-none-match') === etag) return answer(null, undefined, 304, headers);
    const body = request.method === 'HEAD' ? null : bytes;
    return answer(body, typeOf(path), 200, { ...headers, 'content-length': String(bytes.byteLength) });
  }
}

function fileOf(pathname: string): string {
  return pathname === '/' ? 'index.html' : pathname.slice(1);
}

function typeOf(path: string): string | undefined {
  return TYPES[path.slice(path.lastIndexOf('.') + 1)];
}
