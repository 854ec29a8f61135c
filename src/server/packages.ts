/** Packages that only those install who serve. What is not installed throws `ServerError` `missing_package`. */
import { optionalPackage } from '../optional-package.ts';
import { ServerError } from './errors.ts';

/** Answers requests by their paths. */
export function loadHono(): Promise<typeof import('hono')> {
  return optionalPackage('a server', 'hono@4', () => import('hono'), missing);
}

/** Takes requests from Node's sockets. */
export function loadNodeServer(): Promise<typeof import('@hono/node-server')> {
  return optionalPackage('a server on Node', '@hono/node-server@2', () => import('@hono/node-server'), missing);
}

/** Makes messages of a stream. */
export function loadAi(): Promise<typeof import('ai')> {
  return optionalPackage('a page that begins with its messages', 'ai@7', () => import('ai'), missing);
}

function missing(message: string, options: { readonly cause: unknown }): ServerError {
  return new ServerError('missing_package', message, options);
}
